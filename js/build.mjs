// Bundles each widget into one ESM file and fails when one grows past its limit.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context, transform } from "esbuild";
import { minify } from "terser";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(here, "../agent_widget/static");
const WIDGETS = [
  { name: "widget.js", entry: "src/widget.tsx", limitBytes: 200_000 },
  { name: "explorer.js", entry: "src/explorer/widget.tsx", limitBytes: 120_000 },
];
const mode = process.argv[2];

// marked exports its parser and, in the same module, a convenience layer with state of its own that no
// bundler can drop. Only the parser is used here.
const markedParserOnly = {
  name: "marked-parser-only",
  setup(build) {
    build.onLoad({ filter: /marked\.esm\.js$/ }, ({ path }) => {
      const source = readFileSync(path, "utf8");
      const used = ["Lexer", "Parser", "Renderer"];
      const layer =
        /var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse[\s\S]*?export\{([^}]*)\}/;
      const found = layer.exec(source);
      const exported = found?.[2]
        .split(",")
        .filter((entry) => used.includes(entry.split(" as ")[1]));
      if (exported?.length !== used.length) {
        throw new Error(
          "this version of marked is laid out differently: adapt or drop this plugin",
        );
      }
      // What src/markdown/render.ts gives every lexer and parser: the branches for other options go.
      const fixed = source.replace(
        /this\.options\.(pedantic|gfm|breaks|silent|extensions|hooks)\b/g,
        (_whole, option) => ({ gfm: "!0", extensions: "null", hooks: "null" })[option] ?? "!1",
      );
      return { contents: fixed.replace(layer, () => `export{${exported.join(",")}}`) };
    });
  },
};

// `x.css?inline` is the minified style sheet as text, as it is in Vite.
const minifiedCss = {
  name: "minified-css",
  setup(build) {
    build.onResolve({ filter: /\.css\?inline$/ }, ({ path, resolveDir }) => ({
      path: resolve(resolveDir, path.replace("?inline", "")),
    }));
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: code.trim(), loader: "text" };
    });
  },
};

const shared = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  plugins: [markedParserOnly, minifiedCss],
  legalComments: "none",
  logLevel: "warning",
};
const bundles = WIDGETS.map(({ name, entry }) => ({
  ...shared,
  entryPoints: [entry],
  outfile: resolve(folder, name),
  minify: true,
}));

mkdirSync(folder, { recursive: true });
if (mode === "--watch") {
  for (const bundle of bundles) {
    const readable = { minify: false, sourcemap: "inline", logLevel: "info" };
    const watcher = await context({ ...bundle, ...readable });
    await watcher.watch();
  }
} else if (mode === "--demo") {
  await build({
    ...shared,
    entryPoints: ["dev/demo.ts"],
    outfile: resolve(here, "dev/dist/demo.js"),
  });
} else {
  for (const [index, { name, limitBytes }] of WIDGETS.entries()) {
    const bundle = await build({ ...bundles[index], write: false });
    // What esbuild leaves, terser makes some 1.5 % smaller.
    const { code } = await minify(bundle.outputFiles[0].text, {
      ecma: 2020,
      module: true,
      compress: { passes: 3, unsafe_arrows: true },
    });
    const size = Buffer.byteLength(code);
    writeFileSync(resolve(folder, name), code);
    console.log(`${name}: ${size} bytes of at most ${limitBytes}`);
    if (size > limitBytes) {
      console.error(`${name} is ${size - limitBytes} bytes too large: drop something`);
      process.exitCode = 1;
    }
  }
}

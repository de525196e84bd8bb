// Bundles each widget into one ESM file and fails when one grows past its limit.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context, transform } from "esbuild";
import { minify } from "terser";
import { shortProperties, trimmedMarked, trimmedPurifier, withShortProperties } from "./trim.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(here, "../agent_widget/static");
const WIDGETS = [
  { name: "widget.js", entry: "src/widget.tsx", limitBytes: 200_000 },
  { name: "explorer.js", entry: "src/explorer/widget.tsx", limitBytes: 120_000 },
];
const mode = process.argv[2];

const trimmedLibraries = {
  name: "trimmed-libraries",
  setup(build) {
    const trim = (filter, trimmed) =>
      build.onLoad({ filter }, ({ path }) => ({ contents: trimmed(readFileSync(path, "utf8")) }));
    trim(/marked\.esm\.js$/, trimmedMarked);
    trim(/purify\.es\.mjs$/, trimmedPurifier);
  },
};

// `x.css?inline` is the minified style sheet as text, as it is in Vite.
const short = shortProperties(resolve(here, "src/styles"));
const minifiedCss = {
  name: "minified-css",
  setup(build) {
    build.onResolve({ filter: /\.css\?inline$/ }, ({ path, resolveDir }) => ({
      path: resolve(resolveDir, path.replace("?inline", "")),
    }));
    build.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { code } = await transform(readFileSync(path, "utf8"), { loader: "css", minify: true });
      return { contents: withShortProperties(code.trim(), short), loader: "text" };
    });
  },
};

const shared = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: "es2022",
  // Instead of tsconfig.json, whose `jsx` would have the last word.
  tsconfigRaw: {
    compilerOptions: { jsx: "react", jsxFactory: "jsx", jsxFragmentFactory: "jsxFragment" },
  },
  inject: [resolve(here, "jsx.mjs")],
  charset: "utf8",
  plugins: [trimmedLibraries, minifiedCss],
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
      compress: { passes: 3, unsafe_arrows: true, hoist_funs: true },
    });
    const left = [...short.keys()].find((property) => code.includes(`"${property}"`));
    if (left)
      throw new Error(`code names ${left}, which has another name in the built style sheet`);
    const size = Buffer.byteLength(code);
    writeFileSync(resolve(folder, name), code);
    console.log(`${name}: ${size} bytes of at most ${limitBytes}`);
    if (size > limitBytes) {
      console.error(`${name} is ${size - limitBytes} bytes too large: drop something`);
      process.exitCode = 1;
    }
  }
}

// Bundles src/widget.tsx into one ESM file and fails when it grows past the limit.
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { context, build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const LIMIT_BYTES = 200_000;
const outfile = resolve(here, "../agent_widget/static/widget.js");
const mode = process.argv[2];

const shared = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".css": "text" },
  legalComments: "none",
  logLevel: "warning",
};
const widget = { ...shared, entryPoints: ["src/widget.tsx"], outfile, minify: true };

mkdirSync(dirname(outfile), { recursive: true });
if (mode === "--watch") {
  const watcher = await context({ ...widget, minify: false, sourcemap: "inline", logLevel: "info" });
  await watcher.watch();
} else if (mode === "--demo") {
  await build({ ...shared, entryPoints: ["dev/demo.ts"], outfile: resolve(here, "dev/dist/demo.js") });
} else {
  await build(widget);
  const { size } = statSync(outfile);
  console.log(`widget.js: ${size} bytes of at most ${LIMIT_BYTES}`);
  if (size > LIMIT_BYTES) {
    console.error(`widget.js is ${size - LIMIT_BYTES} bytes too large: drop a language or a dependency`);
    process.exit(1);
  }
}

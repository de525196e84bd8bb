// What the build leaves out of libraries and style sheets because nothing here uses it. Each step knows
// what it expects and fails when that is not there: a new version must be looked at, not guessed at.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** marked without its convenience layer: that has state of its own, which no bundler can drop. */
export function trimmedMarked(source) {
  const used = ["Lexer", "Parser", "Renderer"];
  const layer =
    /var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse[\s\S]*?export\{([^}]*)\}/;
  const exported = layer
    .exec(source)?.[2]
    .split(",")
    .filter((entry) => used.includes(entry.split(" as ")[1]));
  if (exported?.length !== used.length) throw unexpected("marked");
  // What src/markdown/render.ts gives every lexer and parser: the branches for other options go.
  const fixed = source.replace(
    /this\.options\.(pedantic|gfm|breaks|silent|extensions|hooks)\b/g,
    (_whole, option) => ({ gfm: "!0", extensions: "null", hooks: "null" })[option] ?? "!1",
  );
  return fixed.replace(layer, () => `export{${exported.join(",")}}`);
}

// These five lists are in nothing but the default allow lists and the profiles. src/markdown/sanitize.ts
// gives lists of its own with every call; without them nothing but text would now be let through.
const DEFAULTS = ["html$1", "html", "svg", "mathMl", "xml"];

/** DOMPurify without the names it allows by default, its other lists of names as one string each. */
export function trimmedPurifier(source) {
  const found = new Set();
  const trimmed = source.replace(
    /^const (\S+) = freeze\((\[\s*"[^\]]*\])\);$/gm,
    (_whole, name, list) => {
      found.add(name);
      const names = DEFAULTS.includes(name) ? [] : JSON.parse(list);
      const packed = names.length > 1 ? `"${names.join(" ")}".split(" ")` : JSON.stringify(names);
      return `const ${name} = freeze(${packed});`;
    },
  );
  if (!DEFAULTS.every((name) => found.has(name))) throw unexpected("DOMPurify");
  return trimmed;
}

const unexpected = (library) =>
  new Error(`this version of ${library} is laid out differently: adapt trim.mjs`);

/** Short names for the custom properties that the style sheets of `folder` declare, the most used first. */
export function shortProperties(folder) {
  const sheets = readdirSync(folder).filter((name) => name.endsWith(".css"));
  const text = sheets.map((name) => readFileSync(join(folder, name), "utf8")).join("\n");
  const declared = new Set(Array.from(text.matchAll(/[\s{;](--[\w-]+):/g), ([, name]) => name));
  const uses = new Map([...declared].map((name) => [name, 0]));
  for (const [name] of text.matchAll(/--[\w-]+/g)) {
    if (declared.has(name)) uses.set(name, uses.get(name) + 1);
  }
  const ordered = [...declared].sort((a, b) => uses.get(b) - uses.get(a) || (a < b ? -1 : 1));
  return new Map(ordered.map((name, index) => [name, `--${letters(index)}`]));
}

/** a, b, … z, A, … Z, aa, …: the name number `index`. */
function letters(index) {
  const alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const before = index < alphabet.length ? "" : letters(Math.floor(index / alphabet.length) - 1);
  return before + alphabet[index % alphabet.length];
}

/** `css` with the names of `short`. */
export const withShortProperties = (css, short) =>
  css.replace(/--[\w-]+/g, (name) => short.get(name) ?? name);

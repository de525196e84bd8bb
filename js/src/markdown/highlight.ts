// Syntax colours, built as DOM: no markup is parsed here.

import { appendVisible } from "../text/escapes";
import { bash, diff, javascript, json, markdown, python, r, sql, xml, yaml } from "./grammars";
import { type Language, type ScopeSink, scan } from "./modes";

const GRAMMARS: [definition: () => Language, names: string][] = [
  [python, "python py ipython ipython3"],
  [bash, "bash sh zsh shell console shell-session"],
  [javascript, "javascript js jsx mjs cjs typescript ts tsx"],
  [json, "json jsonc json5"],
  [sql, "sql"],
  [markdown, "markdown md"],
  [xml, "xml html svg xhtml"],
  [yaml, "yaml yml"],
  [diff, "diff patch"],
  [r, "r"],
];
const definitions = new Map(
  GRAMMARS.flatMap(([definition, names]) => names.split(" ").map((name) => [name, definition])),
);
const languages = new Map<() => Language, Language>();

function languageNamed(name: string): Language | null {
  const definition = definitions.get(name.toLowerCase());
  if (!definition) return null;
  const known = languages.get(definition) ?? definition();
  languages.set(definition, known);
  return known;
}

/** Longer code stays plain: colouring it would hold up the page. */
const LIMIT_CHARS = 20_000;
/** Deeper scopes than any real code has. */
const DEPTH = 30;

const labels: Record<string, string> = {
  plaintext: "text",
  xml: "html",
  javascript: "js",
  typescript: "ts",
};

/** The short name shown above a block of code. */
export const languageLabel = (language: string): string => labels[language] ?? language;

/** The coloured code as nodes; an unknown language or very long code is one run of text. */
export function highlighted(code: string, language: string, escapes: boolean): DocumentFragment {
  const fragment = document.createDocumentFragment();
  const known = code.length <= LIMIT_CHARS ? languageNamed(language) : null;
  if (known === null) appendText(fragment, code, escapes);
  else scan(code, known, new Painter(fragment, escapes));
  return fragment;
}

// Flat below a depth, because code can be made to nest without end.
class Painter implements ScopeSink {
  readonly #open: Node[];
  readonly #escapes: boolean;

  constructor(root: Node, escapes: boolean) {
    this.#open = [root];
    this.#escapes = escapes;
  }

  open(scope: string | undefined): void {
    const parent = this.#open.at(-1)!;
    if (scope === undefined || this.#open.length > DEPTH) {
      this.#open.push(parent);
      return;
    }
    const span = document.createElement("span");
    span.className = classOf(scope);
    this.#open.push(parent.appendChild(span));
  }

  text(text: string): void {
    if (text !== "") appendText(this.#open.at(-1)!, text, this.#escapes);
  }

  close(): void {
    this.#open.pop();
  }
}

// "title.function" is written "hljs-title function_".
function classOf(scope: string): string {
  const [head, ...rest] = scope.split(".");
  return [`hljs-${head}`, ...rest.map((part, depth) => part + "_".repeat(depth + 1))].join(" ");
}

function appendText(parent: Node, text: string, escapes: boolean): void {
  if (escapes) appendVisible(parent, text);
  else parent.appendChild(document.createTextNode(text));
}

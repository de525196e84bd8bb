// Syntax colours, built as DOM from the highlighter's token tree: no markup is parsed here.

import hljs from "highlight.js/lib/core";
import diff from "highlight.js/lib/languages/diff";
import json from "highlight.js/lib/languages/json";
import plaintext from "highlight.js/lib/languages/plaintext";
import python from "highlight.js/lib/languages/python";
import { appendVisible } from "../text/escapes";
import { bash, javascript, markdown, r, sql, xml, yaml } from "./grammars";

const LANGUAGES = { bash, diff, javascript, json, markdown, plaintext, python, r, sql, xml, yaml };
for (const [name, definition] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, definition);
hljs.registerAliases(["ipython", "ipython3"], { languageName: "python" });

/** Longer code stays plain: colouring it would hold up the page. */
const LIMIT_CHARS = 20_000;
/** Deeper scopes than any real code has. */
const DEPTH = 30;

interface ScopeNode {
  scope?: string;
  children: (ScopeNode | string)[];
}

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
  const tree =
    code.length <= LIMIT_CHARS && hljs.getLanguage(language) ? treeOf(code, language) : null;
  if (tree === null) appendText(fragment, code, escapes);
  else appendTree(fragment, tree, escapes);
  return fragment;
}

function treeOf(code: string, language: string): ScopeNode {
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true });
  return (_emitter as unknown as { root: ScopeNode }).root;
}

// Without recursion, and flat below a depth, because code can be made to nest without end.
function appendTree(root: Node, tree: ScopeNode, escapes: boolean): void {
  const open: { node: ScopeNode; next: number; parent: Node }[] = [
    { node: tree, next: 0, parent: root },
  ];
  for (let at = open.at(-1); at; at = open.at(-1)) {
    const child = at.node.children[at.next++];
    if (child === undefined) {
      open.pop();
    } else if (typeof child === "string") {
      appendText(at.parent, child, escapes);
    } else {
      const flat = open.length > DEPTH;
      open.push({ node: child, next: 0, parent: flat ? at.parent : spanFor(at.parent, child) });
    }
  }
}

function spanFor(parent: Node, node: ScopeNode): Node {
  const span = document.createElement("span");
  if (node.scope) span.className = classOf(node.scope);
  return parent.appendChild(span);
}

// "title.function" is written "hljs-title function_", as the highlighter's own renderer does.
function classOf(scope: string): string {
  const [head, ...rest] = scope.split(".");
  return [`hljs-${head}`, ...rest.map((part, depth) => part + "_".repeat(depth + 1))].join(" ");
}

function appendText(parent: Node, text: string, escapes: boolean): void {
  if (escapes) appendVisible(parent, text);
  else parent.appendChild(document.createTextNode(text));
}

// Syntax colours, built as DOM from the highlighter's token tree: no markup is parsed here.

import hljs from "highlight.js/lib/core";
import diff from "highlight.js/lib/languages/diff";
import json from "highlight.js/lib/languages/json";
import plaintext from "highlight.js/lib/languages/plaintext";
import python from "highlight.js/lib/languages/python";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { appendVisible } from "../text/escapes";
import { bash, javascript, markdown, r, sql } from "./grammars";

const LANGUAGES = { bash, diff, javascript, json, markdown, plaintext, python, r, sql, xml, yaml };
for (const [name, definition] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, definition);
hljs.registerAliases(["ipython", "ipython3"], { languageName: "python" });

/** Longer code stays plain: colouring it would hold up the page. */
const LIMIT_CHARS = 60_000;

interface ScopeNode {
  scope?: string;
  children: (ScopeNode | string)[];
}

const labels: Record<string, string> = { plaintext: "text", xml: "html", javascript: "js", typescript: "ts" };

/** The short name shown above a block of code. */
export const languageLabel = (language: string): string => labels[language] ?? language;

/** Fills `parent` with the coloured code; with `escapes`, characters without a glyph become escapes. */
export function fillWithCode(parent: Element, code: string, language: string, escapes: boolean): void {
  parent.replaceChildren(highlighted(code, language, escapes));
}

/** The coloured code as nodes; an unknown language or very long code is one run of text. */
export function highlighted(code: string, language: string, escapes: boolean): DocumentFragment {
  const fragment = document.createDocumentFragment();
  if (code.length > LIMIT_CHARS || !hljs.getLanguage(language)) {
    appendText(fragment, code, escapes);
    return fragment;
  }
  const result = hljs.highlight(code, { language, ignoreIllegals: true });
  const tree = result._emitter as unknown as { root: ScopeNode };
  appendNodes(fragment, tree.root, escapes);
  return fragment;
}

function appendNodes(parent: Node, node: ScopeNode, escapes: boolean): void {
  for (const child of node.children) {
    if (typeof child === "string") {
      appendText(parent, child, escapes);
      continue;
    }
    const span = document.createElement("span");
    if (child.scope) span.className = classOf(child.scope);
    appendNodes(span, child, escapes);
    parent.appendChild(span);
  }
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

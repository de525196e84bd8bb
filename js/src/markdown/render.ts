// Markdown source to sanitised DOM, one block at a time.

import { Lexer, type Links, Parser, Renderer, type Token, type Tokens } from "marked";
import { codeBlock } from "./code";
import { sanitized } from "./sanitize";

class BlockRenderer extends Renderer {
  // The sanitiser lets no form control pass; a task list keeps its marks as text.
  override checkbox({ checked }: Tokens.Checkbox): string {
    return checked ? "☑ " : "☐ ";
  }
}

const OPTIONS = { gfm: true, breaks: false, pedantic: false, renderer: new BlockRenderer() };
const parser = new Parser(OPTIONS);

export const noLinks = (): Links => Object.create(null) as Links;

/** The tokens of the source; `links` resolves references and receives the definitions found. */
export function lexed(source: string, links: Links): Token[] {
  const lexer = new Lexer(OPTIONS);
  lexer.tokens.links = links;
  return lexer.lex(source);
}

/** The tokens of the source without its inline structure: enough to see where blocks begin. */
export const blockTokens = (source: string): Token[] => new Lexer(OPTIONS).blockTokens(source, []);

/** Puts markup into an element, sooner or later. */
export type Fill = (element: HTMLElement, html: string) => void;

/** Sanitises the markup into the element at once. */
export const fillNow: Fill = (element, html) => {
  if (isPlain(html)) element.textContent = html;
  else element.replaceChildren(finished(sanitized(html)));
};

/** Gathers markup for many elements and sanitises it in one go, which is many times cheaper. */
export class Batch {
  #elements: HTMLElement[] = [];
  #html = "";

  /** The markup must come from a source without raw HTML, so that it cannot reach out of its element. */
  readonly add: Fill = (element, html) => {
    if (isPlain(html)) {
      element.textContent = html;
      return;
    }
    this.#elements.push(element);
    this.#html += `<div>${html}</div>`;
  };

  flush(): void {
    if (this.#elements.length === 0) return;
    const holders = [...sanitized(this.#html).children];
    const elements = this.#elements;
    this.#elements = [];
    this.#html = "";
    elements.forEach((element, index) => {
      const fragment = document.createDocumentFragment();
      fragment.append(...holders[index]!.childNodes);
      element.replaceChildren(finished(fragment));
    });
  }
}

const isPlain = (html: string): boolean => !/[<&\n]/.test(html);

/** The tokens as markup that is not sanitised yet. */
export const markupOf = (tokens: Token[]): string => parser.parse(tokens);

/** The tokens as DOM, ready to be shown. */
export const rendered = (tokens: Token[]): DocumentFragment =>
  finished(sanitized(markupOf(tokens)));

/** The item's content as one `li`. */
export function renderedItem(item: Tokens.ListItem, fill: Fill): HTMLLIElement {
  const element = document.createElement("li");
  element.dir = "auto";
  fill(element, markupOf(item.tokens));
  return element;
}

/** The cells as one `tr`. */
export function renderedRow(cells: Tokens.TableCell[], fill: Fill): HTMLTableRowElement {
  const row = document.createElement("tr");
  for (const cell of cells) {
    const element = document.createElement(cell.header ? "th" : "td");
    element.dir = "auto";
    if (cell.align) element.align = cell.align;
    fill(element, parser.parseInline(cell.tokens));
    row.append(element);
  }
  return row;
}

/** A table's element around `head` with an empty body, in a box that scrolls sideways. */
export function tableFrame(head: Tokens.TableCell[]): { box: HTMLElement; body: HTMLElement } {
  const box = scrollBox();
  const table = box.appendChild(document.createElement("table"));
  const body = document.createElement("tbody");
  table.append(document.createElement("thead"), body);
  table.tHead!.append(renderedRow(head, fillNow));
  return { box, body };
}

/** A tool's HTML as DOM; columns of numbers are aligned right, the first header row stays in sight. */
export function renderedHtml(html: string): DocumentFragment {
  const fragment = finished(sanitized(html));
  for (const table of fragment.querySelectorAll("table")) alignNumbers(table);
  return fragment;
}

function scrollBox(): HTMLElement {
  const box = document.createElement("div");
  box.className = "table-box";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-labelledby", "aw-table");
  return box;
}

const DIRECTED = "p,li,h1,h2,h3,h4,h5,h6,blockquote,td,th,dt,dd,summary,figcaption";

function finished(fragment: DocumentFragment): DocumentFragment {
  for (const element of fragment.querySelectorAll<HTMLElement>(DIRECTED)) element.dir ||= "auto";
  for (const code of fragment.querySelectorAll<HTMLElement>("code")) code.dir = "ltr";
  for (const pre of fragment.querySelectorAll("pre")) {
    const code = pre.querySelector(":scope > code");
    const language = code?.className.replace("language-", "") ?? "";
    pre.replaceWith(codeBlock(pre.textContent ?? "", language.toLowerCase()));
  }
  for (const table of fragment.querySelectorAll("table")) {
    if (table.parentElement?.closest("table")) continue;
    const box = scrollBox();
    table.replaceWith(box);
    box.append(table);
  }
  return fragment;
}

const NUMBER =
  /^[-+−]?[\d.,\s]*\d[\d.,]*(?:e[-+]?\d+)?\s?%?$|^(?:nan|inf|-inf|nat|<na>|none|—|-)?$/i;
const CELLS_LOOKED_AT = 4_000;

function alignNumbers(table: HTMLTableElement): void {
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
  const width = rows[0]?.cells.length ?? 0;
  const looked = rows.slice(0, Math.ceil(CELLS_LOOKED_AT / Math.max(1, width)));
  for (let column = 0; column < width; column++) {
    const cells = looked.flatMap((row) => row.cells[column] ?? []);
    const texts = cells.map((cell) => cell.textContent?.trim() ?? "");
    if (!texts.every((text) => NUMBER.test(text)) || !texts.some((text) => /\d/.test(text)))
      continue;
    for (const row of table.rows) row.cells[column]?.classList.add("num");
  }
}

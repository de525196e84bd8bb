// Growing Markdown as DOM: settled blocks keep their nodes, one frame re-renders the open block only.

import type { Links, Token, Tokens } from "marked";
import { BlockScanner, type BlockSink } from "./blocks";
import { CodeView } from "./code";
import {
  Batch,
  type Fill,
  fillNow,
  lexed,
  markupOf,
  noLinks,
  rendered,
  renderedItem,
  renderedRow,
  tableFrame,
} from "./render";

/** An open block beyond this size is parsed again only when it grew by an eighth; between, text is added. */
const LARGE_TAIL_CHARS = 4_000;

/** A settled block that may use a reference defined later. */
interface Settled {
  source: string;
  render(): void;
}

interface OpenList {
  element: HTMLElement;
  sources: string[];
  loose: boolean;
}

interface OpenTable {
  head: string;
  rows: string[];
  body: HTMLElement;
  box: HTMLElement;
}

export interface StreamStats {
  /** Renderings of a block, of any kind. */
  renders: number;
  /** Blocks that were settled. */
  settled: number;
}

/** Renders one text into `root`; `update` may be called as often as the text grows. */
export class MarkdownStream implements BlockSink {
  readonly stats: StreamStats = { renders: 0, settled: 0 };
  readonly #root: HTMLElement;
  readonly #batch = new Batch();
  #scanner = new BlockScanner(this);
  #links: Links = noLinks();
  #settledBlocks: Settled[] = [];
  #seen = "";
  #finished = false;
  #open: HTMLElement | null = null;
  #code: CodeView | null = null;
  #list: OpenList | null = null;
  #table: OpenTable | null = null;
  #tailNodes: ChildNode[] = [];
  #tailSource = "";
  #parsedChars = 0;

  constructor(root: HTMLElement) {
    this.#root = root;
  }

  /** Shows `text`; `final` says that it will not grow, so that nothing of it stays provisional. */
  update(text: string, final: boolean): void {
    if (this.#finished ? text !== this.#seen : !text.startsWith(this.#seen)) this.#reset();
    if (this.#finished) return;
    const held = !final && text.endsWith("\r") ? 1 : 0;
    const delta = text.slice(this.#seen.length, text.length - held);
    this.#seen = held ? text.slice(0, -1) : text;
    if (delta !== "") this.#scanner.push(delta.replace(/\r\n?/g, "\n"));
    if (final) {
      this.#clearTail();
      this.#scanner.finish();
      this.#finished = true;
    } else {
      this.#renderTail();
    }
    this.#batch.flush();
  }

  block(source: string): void {
    const element = this.#takeOpen();
    this.#settle(source, () => {
      this.#fillFor(source)(element, markupOf(lexed(source, this.#links)));
      this.stats.renders++;
    });
  }

  openFence(language: string): void {
    this.#code = new CodeView(language);
    this.#takeOpen().append(this.#code.element);
  }

  fenceText(text: string): void {
    this.#clearTail();
    this.#code!.append(text);
  }

  closeFence(): void {
    this.#clearTail();
    this.#code!.settle();
    this.stats.renders++;
    this.#code = null;
    this.stats.settled++;
  }

  listItems(sources: string[], loose: boolean): void {
    this.#clearTail();
    const list = this.#list ?? this.#beginList(sources[0]!);
    const turnsLoose = loose && !list.loose;
    list.sources.push(...sources);
    list.loose ||= loose;
    const added = turnsLoose ? list.sources : sources;
    if (turnsLoose) list.element.replaceChildren();
    this.#defining(() => {
      for (const source of added) list.element.append(this.#item(source, list.loose));
    }, sources.join(""));
  }

  closeList(): void {
    const list = this.#list!;
    this.#clearTail();
    this.#list = null;
    this.#remember(list.sources.join(""), () => {
      list.element.replaceChildren(...list.sources.map((source) => this.#item(source, list.loose)));
    });
  }

  openTable(head: string): void {
    const table = lexed(head, this.#links)[0] as Tokens.Table;
    this.#table = { head, rows: [], ...tableFrame(table.header) };
    this.#takeOpen().append(this.#table.box);
  }

  tableRow(source: string): void {
    this.#clearTail();
    this.#table!.rows.push(source);
    this.#table!.body.append(this.#row(this.#table!.head, source));
  }

  closeTable(): void {
    const table = this.#table!;
    this.#clearTail();
    this.#table = null;
    this.#remember(table.head + table.rows.join(""), () => {
      const head = lexed(table.head, this.#links)[0] as Tokens.Table;
      const frame = tableFrame(head.header);
      frame.body.append(...table.rows.map((row) => this.#row(table.head, row)));
      table.box.replaceChildren(...frame.box.childNodes);
    });
  }

  #reset(): void {
    this.#root.replaceChildren();
    this.#scanner = new BlockScanner(this);
    this.#links = noLinks();
    this.#settledBlocks = [];
    this.#seen = "";
    this.#finished = false;
    this.#open = null;
    this.#code = null;
    this.#list = null;
    this.#table = null;
    this.#tailNodes = [];
    this.#tailSource = "";
  }

  #beginList(source: string): OpenList {
    const list = lexed(source, noLinks())[0] as Tokens.List;
    const element = document.createElement(list.ordered ? "ol" : "ul");
    if (list.ordered && list.start !== 1) (element as HTMLOListElement).start = Number(list.start);
    this.#takeOpen().append(element);
    this.#list = { element, sources: [], loose: false };
    return this.#list;
  }

  // A list is loose as a whole. The parser is shown a blank line and one more item to make it so.
  #item(source: string, loose: boolean): HTMLElement {
    const marker = /^ {0,3}(?:[*+-]|\d{1,9}[.)])/.exec(source)![0];
    const shown = loose ? `${source.trimEnd()}\n\n${marker} x` : source;
    const list = lexed(shown, this.#links)[0] as Tokens.List;
    this.stats.renders++;
    return renderedItem(list.items[0]!, this.#fillFor(source));
  }

  #row(head: string, source: string): HTMLElement {
    const table = lexed(head + source, this.#links)[0] as Tokens.Table;
    this.stats.renders++;
    return renderedRow(table.rows[0]!, this.#fillFor(source));
  }

  /** The element of the block that begins now, emptied of its provisional content. */
  #takeOpen(): HTMLElement {
    this.#clearTail();
    const element = this.#openBlock();
    this.#open = null;
    return element;
  }

  #openBlock(): HTMLElement {
    if (this.#open) return this.#open;
    this.#open = document.createElement("div");
    this.#open.className = "blk";
    this.#root.append(this.#open);
    return this.#open;
  }

  // Raw HTML could close more than it opened: its element is filled by itself.
  #fillFor(source: string): Fill {
    return source.includes("<") ? fillNow : this.#batch.add;
  }

  #settle(source: string, render: () => void): void {
    this.#defining(render, source);
    this.#remember(source, render);
  }

  #remember(source: string, render: () => void): void {
    this.stats.settled++;
    if (source.includes("[")) this.#settledBlocks.push({ source, render });
  }

  /** Renders; when that defined references, earlier blocks that name them are rendered again. */
  #defining(render: () => void, source: string): void {
    const before = source.includes("]:") ? Object.keys(this.#links).length : -1;
    render();
    if (before < 0) return;
    const added = Object.keys(this.#links).slice(before);
    if (added.length === 0) return;
    this.#batch.flush();
    for (const block of this.#settledBlocks) {
      const labels = block.source.toLowerCase().replace(/\s+/g, " ");
      if (added.some((label) => labels.includes(`[${label}]`))) block.render();
    }
  }

  #clearTail(): void {
    for (const node of this.#tailNodes) node.remove();
    this.#tailNodes = [];
    this.#tailSource = "";
    this.#parsedChars = 0;
  }

  #renderTail(): void {
    const { tail, mode } = this.#scanner;
    if (tail === this.#tailSource && this.#tailNodes.length > 0) return;
    if (mode === "fence") this.#fenceTail(tail);
    else if (this.#tailIsDeferred(tail)) this.#extendTail(tail);
    else this.#parseTail(tail);
    this.#tailSource = tail;
  }

  #tailIsDeferred(tail: string): boolean {
    const parsed = this.#parsedChars;
    if (parsed < LARGE_TAIL_CHARS || this.#tailNodes.length === 0) return false;
    return tail.length < parsed * 1.125 && tail.startsWith(this.#tailSource);
  }

  // The unfinished line of a fence; one that may become the closing line is held back.
  #fenceTail(tail: string): void {
    for (const node of this.#tailNodes) node.remove();
    this.#tailNodes = [];
    if (this.#code!.flush()) this.stats.renders++;
    if (tail === "" || /^ {0,3}[`~]+ *$/.test(tail)) return;
    const text = document.createTextNode(tail);
    this.#code!.element.querySelector("code")!.append(text);
    this.#tailNodes = [text];
  }

  #extendTail(tail: string): void {
    const text = document.createTextNode(tail.slice(this.#tailSource.length));
    this.#tailNodes.at(-1)!.parentNode!.append(text);
    this.#tailNodes.push(text);
  }

  #parseTail(tail: string): void {
    this.#clearTail();
    if (tail.trim() === "") return;
    this.#parsedChars = tail.length;
    if (this.#table) this.#tableTail(this.#table, tail);
    else if (this.#scanner.mode === "list") this.#listTail(tail);
    else this.#appendTail(this.#openBlock(), rendered(this.#tailTokens(tail)));
    this.stats.renders++;
  }

  #listTail(tail: string): void {
    const tokens = this.#tailTokens(tail);
    const list = tokens[0] as Tokens.List;
    const open = this.#list;
    if (!open || list.type !== "list") {
      const parent = open?.element.parentElement ?? this.#openBlock();
      this.#appendTail(parent, rendered(tokens));
      return;
    }
    if (open.loose && !list.loose) {
      for (const item of list.items) {
        this.#appendTail(open.element, this.#item(item.raw, true));
      }
    } else {
      for (const item of list.items) this.#appendTail(open.element, renderedItem(item, fillNow));
    }
    this.#appendTail(open.element.parentElement!, rendered(tokens.slice(1)));
  }

  #tableTail(table: OpenTable, tail: string): void {
    const tokens = this.#tailTokens(table.head + tail);
    const rows = (tokens[0] as Tokens.Table).rows;
    for (const row of rows) this.#appendTail(table.body, renderedRow(row, fillNow));
    this.#appendTail(table.box.parentElement!, rendered(tokens.slice(1)));
  }

  // A definition that is still growing must not be remembered.
  #tailTokens(source: string): Token[] {
    return lexed(source, Object.assign(noLinks(), this.#links));
  }

  #appendTail(parent: HTMLElement, content: Node): void {
    const nodes =
      content instanceof DocumentFragment ? [...content.childNodes] : [content as ChildNode];
    parent.append(content);
    this.#tailNodes.push(...nodes);
  }
}

/** Shows a whole text at once. */
export function renderMarkdown(root: HTMLElement, text: string): void {
  new MarkdownStream(root).update(text, true);
}

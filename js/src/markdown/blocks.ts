// Cuts growing Markdown into blocks that can no longer change.
//
// Merging two blocks is always right (the parser sees both), cutting needs proof: a cut is made only where
// the parser itself, given the text before it and one plain word after it, sees a block begin. Decisions
// depend on whole lines (or on as much of a line as settles them), so they are the same for every chunking.

import type { Token, Tokens } from "marked";
import { blockTokens } from "./render";

/** Receives what is settled, in order. */
export interface BlockSink {
  /** One or more whole blocks. */
  block(source: string): void;
  openFence(language: string): void;
  fenceText(text: string): void;
  closeFence(): void;
  /** Items of the open list (opened by its first items); once loose, the whole list is loose. */
  listItems(sources: string[], loose: boolean): void;
  closeList(): void;
  openTable(head: string): void;
  tableRow(source: string): void;
  closeTable(): void;
}

export type TailMode = "block" | "fence" | "list" | "table";

const MARKER = /^ {0,3}(?:[*+-]|\d{1,9}[.)])(?:[ \t]|\n|$)/;
const MAYBE_MARKER = /^(?:[*+-]|\d{1,9}[.)]?)$/;
const FENCE = /^(`{3,}(?=[^`\n]*$)|~{3,})([^\n]*)/;
const FENCE_LIKE = /^ {0,3}(?:`{3}|~{3})/;
const DELIMITER_LIKE = /^ {0,3}[|:-][-:| \t]*$/;
const BLANK = /^[ \t]*\n?$/;

export class BlockScanner {
  /** What is not settled: the open block, the last item of a list, the unfinished line of a fence or table. */
  tail = "";
  mode: TailMode = "block";
  tableHead = "";
  #sink: BlockSink;
  #lineStart = 0;
  #afterBlank = false;
  #cutDecided = false;
  #fence = "";

  constructor(sink: BlockSink) {
    this.#sink = sink;
  }

  push(delta: string): void {
    this.tail += delta;
    this.#wholeLines();
    const partial = this.tail.slice(this.#lineStart);
    if (partial !== "" && !MAYBE_MARKER.test(partial)) this.#cutBefore(partial);
  }

  /** Settles all that is left; nothing may be pushed afterwards. */
  finish(): void {
    while (this.#lineStart < this.tail.length) {
      this.#line(this.tail.length);
      this.#wholeLines();
    }
    if (this.mode === "fence") this.#sink.closeFence();
    else if (this.mode === "table") this.#sink.closeTable();
    else this.#settle(this.tail.length);
    this.tail = "";
    this.mode = "block";
  }

  #wholeLines(): void {
    for (;;) {
      const end = this.tail.indexOf("\n", this.#lineStart);
      if (end < 0) return;
      this.#line(end + 1);
    }
  }

  #line(end: number): void {
    const line = this.tail.slice(this.#lineStart, end);
    if (this.mode === "fence") this.#fenceLine(line, end);
    else if (this.mode === "table") this.#tableLine(line, end);
    else if (BLANK.test(line)) this.#blankLine(end);
    else this.#blockLine(line);
  }

  #fenceLine(line: string, end: number): void {
    this.#drop(end);
    const closer = line.replace(/^ {0,3}/, "");
    if (
      closer.startsWith(this.#fence) &&
      /^[~`]*[ \t]*\n?$/.test(closer.slice(this.#fence.length))
    ) {
      this.mode = "block";
      this.#sink.closeFence();
    } else {
      this.#sink.fenceText(line);
    }
  }

  #tableLine(line: string, end: number): void {
    const tokens = BLANK.test(line) ? [] : blockTokens(this.tableHead + line);
    const table = tokens[0] as Tokens.Table | undefined;
    if (tokens.length === 1 && table?.type === "table" && table.rows.length === 1) {
      this.#drop(end);
      this.#sink.tableRow(line);
    } else {
      // The line begins another block and is read again as such.
      this.mode = "block";
      this.#sink.closeTable();
    }
  }

  #blankLine(end: number): void {
    if (this.#lineStart === 0) {
      this.#drop(end);
      return;
    }
    this.#nextLine(end);
    this.#afterBlank = true;
  }

  #blockLine(line: string): void {
    this.#cutBefore(line);
    const end = this.#lineStart + line.length;
    if (this.#lineStart === 0) this.#firstLine(line, end);
    else if (this.mode === "list") this.#listLine(line, end);
    else if (FENCE_LIKE.test(line)) this.#fenceInBlock(line, end);
    else if (DELIMITER_LIKE.test(line.trimEnd())) this.#tableInBlock(end);
    else this.#nextLine(end);
  }

  #firstLine(line: string, end: number): void {
    const fence = FENCE.exec(line.replace(/\n$/, ""));
    if (fence) {
      this.mode = "fence";
      this.#fence = fence[1]!;
      this.#drop(end);
      this.#sink.openFence(fence[2]!.trim().split(/\s/)[0]!.toLowerCase());
      return;
    }
    if (MARKER.test(line) && blockTokens(line)[0]?.type === "list") this.mode = "list";
    this.#nextLine(end);
  }

  #listLine(line: string, end: number): void {
    if (!line.includes("\t") && indentOf(line) >= contentIndentOf(this.tail)) {
      this.#nextLine(end);
      return;
    }
    const tokens = blockTokens(this.tail.slice(0, end));
    const list = tokens[0] as Tokens.List;
    if (list.type !== "list") {
      this.mode = "block";
      this.#nextLine(end);
      return;
    }
    const next = tokens.findIndex((token, index) => index > 0 && token.type !== "space");
    if (next > 0) {
      const cut = lengthOf(tokens.slice(0, next));
      this.#settle(cut);
      return;
    }
    const settled = list.items.slice(0, -1).map((item) => item.raw);
    if (settled.length > 0) this.#sink.listItems(settled, list.loose);
    const length = settled.reduce((sum, raw) => sum + raw.length, 0);
    this.tail = this.tail.slice(length);
    this.#nextLine(end - length);
  }

  #fenceInBlock(line: string, end: number): void {
    const tokens = blockTokens(this.tail.slice(0, end));
    const last = tokens.at(-1)!;
    if (FENCE.test(line.replace(/\n$/, "")) && last.type === "code" && last.raw === line) {
      this.#settle(this.#lineStart);
    } else {
      this.#nextLine(end);
    }
  }

  #tableInBlock(end: number): void {
    const tokens = blockTokens(this.tail.slice(0, end));
    const last = tokens.at(-1) as Tokens.Table;
    if (last.type !== "table" || last.rows.length > 0) {
      this.#nextLine(end);
      return;
    }
    const start = lengthOf(tokens.slice(0, -1));
    const head = this.tail.slice(start, end);
    if (start > 0) this.#sink.block(this.tail.slice(0, start));
    this.#drop(end);
    this.mode = "table";
    this.tableHead = head.endsWith("\n") ? head : `${head}\n`;
    this.#sink.openTable(this.tableHead);
  }

  /** Cuts before the current line when a blank line and this beginning prove that a block begins here. */
  #cutBefore(line: string): void {
    if (!this.#afterBlank || this.#cutDecided || this.mode === "fence" || this.mode === "table")
      return;
    this.#cutDecided = true;
    if (/^[ \t\n]/.test(line)) return;
    const tokens = blockTokens(`${this.tail.slice(0, this.#lineStart)}x\n`);
    const last = tokens.at(-1);
    if (last?.type !== "paragraph" || last.raw.trim() !== "x") return;
    const previous = tokens.findLast(
      (token, index) => index < tokens.length - 1 && token.type !== "space",
    );
    if (previous?.type === "list" && MARKER.test(line)) return;
    this.#settle(this.#lineStart);
  }

  /** Settles the first `length` characters of the tail; what follows is read as a new block. */
  #settle(length: number): void {
    const source = this.tail.slice(0, length);
    if (this.mode === "list") {
      const list = blockTokens(source)[0] as Tokens.List;
      this.#sink.listItems(
        list.items.map((item) => item.raw),
        list.loose,
      );
      this.#sink.closeList();
    } else if (source.trim() !== "") {
      this.#sink.block(source);
    }
    this.mode = "block";
    this.#drop(length);
  }

  #drop(length: number): void {
    this.tail = this.tail.slice(length);
    this.#nextLine(0);
  }

  #nextLine(start: number): void {
    this.#lineStart = start;
    this.#afterBlank = false;
    this.#cutDecided = false;
  }
}

const lengthOf = (tokens: Token[]): number =>
  tokens.reduce((sum, token) => sum + token.raw.length, 0);

const indentOf = (line: string): number => line.search(/[^ ]/);

function contentIndentOf(item: string): number {
  const match = /^( {0,3}(?:[*+-]|\d{1,9}[.)]))( *)/.exec(item)!;
  const spaces = match[2]!.length;
  return match[1]!.length + (spaces >= 1 && spaces <= 4 ? spaces : 1);
}

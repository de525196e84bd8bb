import { Lexer, marked } from "marked";
import { describe, expect, test, vi } from "vitest";
import { rendered } from "../../src/markdown/render";
import { MarkdownStream, renderMarkdown } from "../../src/markdown/stream";
import { DOCUMENTS, longText, randoms } from "../support/markdown";

const entries = Object.entries(DOCUMENTS);

const MARKER_LINES = [
  ..."- a|  b|||1. x|   y|```|    z|> q|# h|===|---|text|  - n|* * *|~~~|10) t|+ p".split("|"),
  "| a |",
  "|---|",
  "\ttab",
];

function whole(text: string): HTMLElement {
  const root = document.createElement("div");
  renderMarkdown(root, text);
  return root;
}

function streamed(text: string, cuts: number[]): HTMLElement {
  const root = document.createElement("div");
  const stream = new MarkdownStream(root);
  for (const cut of cuts) stream.update(text.slice(0, cut), false);
  stream.update(text, true);
  return root;
}

const everyCut = (text: string): number[] => Array.from({ length: text.length }, (_, i) => i + 1);

function randomCuts(text: string, random: () => number): number[] {
  const cuts: number[] = [];
  for (let at = 0; at < text.length; at += 1 + Math.floor(random() * 23)) cuts.push(at);
  return cuts;
}

/** The structure of a rendering without the wrappers, labels and whitespace that are ours. */
function skeleton(root: ParentNode): string {
  const copy = document.createElement("div");
  copy.append(...[...root.childNodes].map((node) => node.cloneNode(true)));
  for (const bar of copy.querySelectorAll(".code-bar")) bar.remove();
  for (const box of copy.querySelectorAll(".blk,.code,.table-box"))
    box.replaceWith(...box.childNodes);
  for (const span of copy.querySelectorAll("pre span")) span.replaceWith(...span.childNodes);
  for (const element of copy.querySelectorAll("*")) {
    for (const name of ["dir", "tabindex", "role", "aria-label", "class"])
      element.removeAttribute(name);
  }
  for (const empty of copy.querySelectorAll("tbody:empty")) empty.remove();
  copy.normalize();
  const html = copy.innerHTML.replace(/[☑☐] ?/g, "");
  return html.replace(/\s+/g, " ").replace(/ ?(<[^>]*>) ?/g, "$1");
}

describe("the final DOM is that of a one-shot rendering", () => {
  test.each(entries)("%s: cut after every character", (_name, text) => {
    expect(streamed(text, everyCut(text)).innerHTML).toBe(whole(text).innerHTML);
  });

  test("random cuts of random mixtures", () => {
    const random = randoms(7);
    for (let round = 0; round < 120; round++) {
      const pick = (): string => entries[Math.floor(random() * entries.length)]![1];
      const glue = ["\n", "\n\n", "\n\n\n", ""][Math.floor(random() * 4)]!;
      const text = [pick(), pick(), pick()].join(glue);
      const result = streamed(text, randomCuts(text, random)).innerHTML;
      expect(result, JSON.stringify(text)).toBe(whole(text).innerHTML);
    }
  });

  test("random lines of markers", () => {
    const random = randoms(11);
    const lines = [...MARKER_LINES, "[r]", "[r]: /u", "<div>", "</div>"];
    for (let round = 0; round < 400; round++) {
      const text = Array.from(
        { length: 12 },
        () => lines[Math.floor(random() * lines.length)],
      ).join("\n");
      const result = streamed(text, randomCuts(text, random)).innerHTML;
      expect(result, JSON.stringify(text)).toBe(whole(text).innerHTML);
    }
  });
});

describe("the structure is that of the whole text parsed at once", () => {
  // Raw HTML may not reach over blocks here: each block is sanitised, and closed, by itself.
  const comparable = entries.filter(([name]) => !["html", "unclosedComment"].includes(name));
  const parsedAtOnce = (text: string): string => {
    const reference = document.createElement("div");
    reference.append(rendered(marked.lexer(text.replace(/\r\n/g, "\n"))));
    return skeleton(reference);
  };

  test.each(comparable)("%s", (_name, text) => {
    expect(skeleton(whole(text))).toBe(parsedAtOnce(text));
  });

  test("random mixtures of texts and of lines", () => {
    const random = randoms(5);
    const from = <T>(choices: T[]): T => choices[Math.floor(random() * choices.length)]!;
    const texts = comparable.map(([, text]) => text);
    for (let round = 0; round < 600; round++) {
      const text =
        round % 2 === 0
          ? [from(texts), from(texts), from(texts)].join(from(["\n", "\n\n", "\n\n\n"]))
          : Array.from({ length: 10 }, () => from(MARKER_LINES)).join("\n");
      expect(skeleton(whole(text)), JSON.stringify(text)).toBe(parsedAtOnce(text));
    }
  });
});

test("settled blocks keep their nodes while the text goes on", () => {
  const text = longText(6_000);
  const root = document.createElement("div");
  const stream = new MarkdownStream(root);
  let settled: Node[] = [];
  for (let at = 0; at < text.length; at += 17) {
    stream.update(text.slice(0, at), false);
    const blocks = [...root.children];
    expect(blocks.slice(0, settled.length)).toEqual(settled);
    settled = blocks.slice(0, -1);
  }
  expect(settled.length).toBeGreaterThan(30);
});

test("a frame renders one block, also deep in a long text", () => {
  const root = document.createElement("div");
  const stream = new MarkdownStream(root);
  const text = `${longText(20_000)}\n\nA closing paragraph that `;
  stream.update(text, false);
  const { renders } = stream.stats;
  stream.update(`${text}goes on`, false);
  expect(stream.stats.renders - renders).toBe(1);
  stream.update(`${text}goes on`, false);
  expect(stream.stats.renders - renders).toBe(1);
});

describe("items, rows and lines of one huge block settle one by one", () => {
  const huge: Record<string, (n: number) => string> = {
    list: (n) => `- item ${n} with **bold** text\n`,
    looseList: (n) => `${n + 1}. item ${n}\n\n`,
    table: (n) => (n === 0 ? "| a | b |\n|---|---|\n" : `| ${n} | text ${n} |\n`),
  };
  test.each(Object.entries(huge))("%s", (_name, line) => {
    const root = document.createElement("div");
    const stream = new MarkdownStream(root);
    let text = "";
    for (let n = 0; n < 400; n++) {
      text += line(n);
      stream.update(text, false);
    }
    expect(stream.stats.renders).toBeLessThan(400 * 3);
    const rows = root.querySelectorAll("li,tbody tr");
    expect(rows.length).toBeGreaterThanOrEqual(399);
    const first = rows[0];
    stream.update(`${text}${line(400)}`, false);
    expect(root.querySelector("li,tbody tr")).toBe(first);
  });

  test("a fence keeps its element and colours all of it in the end", () => {
    const root = document.createElement("div");
    const stream = new MarkdownStream(root);
    const lines = Array.from({ length: 500 }, (_, n) => `value_${n} = ${n}  # comment ${n}\n`);
    let text = "```python\n";
    stream.update(text, false);
    const code = root.querySelector("code");
    for (const line of lines) {
      text += line;
      stream.update(text, false);
    }
    expect(root.querySelector("code")).toBe(code);
    expect(code!.textContent).toBe(lines.join(""));
    stream.update(`${text}\`\`\`\n`, true);
    expect(root.querySelector("code")).toBe(code);
    expect(code!.querySelectorAll(".hljs-comment")).toHaveLength(500);
  });
});

test("the cost of a frame does not grow with the length of the answer", () => {
  // Counted, not timed: what the parser is given to read, and the nodes that come and go.
  const framesCost = (length: number): { parsedChars: number; nodes: number } => {
    const root = document.createElement("div");
    const stream = new MarkdownStream(root);
    let text = `${longText(length)}\n\nThe last paragraph `;
    stream.update(text, false);
    const parsed = vi.spyOn(Lexer.prototype, "lex");
    const observer = new MutationObserver(() => {});
    observer.observe(root, { subtree: true, childList: true, characterData: true });
    for (let i = 0; i < 60; i++) {
      text += "goes on ";
      stream.update(text, false);
    }
    const changes = observer.takeRecords();
    observer.disconnect();
    const sources = parsed.mock.calls.map(([source]) => source);
    parsed.mockRestore();
    return {
      parsedChars: sources.join("").length,
      nodes: changes.flatMap((change) => [...change.addedNodes, ...change.removedNodes]).length,
    };
  };
  const short = framesCost(10_000);
  expect(short.parsedChars).toBeGreaterThan(60 * "goes on ".length);
  expect(short.nodes).toBeGreaterThan(60);
  expect(framesCost(200_000)).toEqual(short);
});

test("a text that does not continue the one before is rendered anew", () => {
  const root = document.createElement("div");
  const stream = new MarkdownStream(root);
  stream.update("first **text**\n\nmore", false);
  stream.update("other", false);
  expect(root.textContent?.trim()).toBe("other");
  stream.update("other", true);
  stream.update("other again", true);
  expect(root.textContent?.trim()).toBe("other again");
});

test("money and formulas stay text", () => {
  const root = whole(
    "It costs $5 now and $10 later. `$PATH`. $x^2$ ok. $\\href{javascript:P=1}{y}$ $\\htmlData{onclick=P=1}{z}$",
  );
  expect(root.textContent).toContain("$5 now and $10 later");
  expect(root.querySelectorAll("a,[onclick]")).toHaveLength(0);
});

test("a diagram is a plain block of code", () => {
  const root = whole(
    '```mermaid\n%%{init:{"securityLevel":"loose"}}%%\ngraph TD\n A["<img src=x onerror=window.P=1>"]\n```',
  );
  expect(root.querySelector("pre")!.textContent).toContain("<img src=x");
  expect(root.querySelectorAll("img")).toHaveLength(0);
});

test("blocks have their own direction and code is left to right", () => {
  const root = whole(DOCUMENTS.rtl!);
  expect(root.querySelector("p")!.dir).toBe("auto");
  expect([...root.querySelectorAll("li")].map((li) => li.dir)).toEqual(["auto", "auto"]);
  expect(root.querySelector("code")!.dir).toBe("ltr");
});

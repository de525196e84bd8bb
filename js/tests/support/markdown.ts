// Texts that are hard to cut into blocks.

export const DOCUMENTS: Record<string, string> = {
  prose: "One paragraph\nover two lines.\n\nAnother with **bold** and `code`.\n\n\n\nThe third.",
  setext: "Title\n=====\n\ntext\nSub\n---\nmore\n\n---\n\npara\n***\nnext\n***bold italic*** line",
  tightList: "- a\n- b\n  - nested\n  - more\n- c\n\nAfter.",
  looseList:
    "1. one\n\n2. two\n\n   second paragraph\n\n3. three\n   - x\n   - y\n\nAfter the list.",
  becomesLoose: "- a\n- b\n- c\n\n- d\n- e",
  lazy: "- item\nlazy continuation\n- next\n\n> quote\nlazy too\n\n> another",
  twoLists: "- a\n- b\n* c\n* d\n\n1. x\n2) y\n\n10. ten\n11. eleven",
  listThenBlocks:
    "- a\n# Heading\n- b\n***\n- c\n> quote\n- d\n```\ncode\n\nstill code\n```\n- e\n| a |\n|---|\n| 1 |",
  listWithCode:
    "1. Do this:\n\n   ```bash\n   ls -l\n\n   pwd\n   ```\n\n2. Then that\n\n```py\nx = 1\n\n\ny = 2\n```\n\n3. done",
  fenceAfterText:
    "text:\n```python\na = 1\n\n# not a heading\n- not a list\n```\nright after\n~~~\ntilde ``` inside\n~~~",
  unclosedFence: "Before\n\n```js\nlet a = 1;\n\nlet b = `x`;\n",
  fenceInfo: "````md\n```\ninner\n```\n````\n\n```\nno language\n```\n\n``not a fence`` here",
  indentedFence: " ```js\nlet a;\n\nlet b;\n ```\nafter\n\n  ~~~\n  x\n\ny\n\n- z",
  rawPre: "<pre>\na\n\nb\n</pre>\n\n<!-- c\n\nd -->\n\nafter",
  indentedCode: "para\n\n    code\n\n    more code\n\npara\n    lazy",
  table:
    "Intro\n| a | b |\n|---|--:|\n| 1 | 2 |\n| `x|y` | **3** |\nno pipes\n\nAfter | not a table",
  tableEnds: "| h |\n|---|\n| 1 |\n> quote\n\n| only head |\n|---|\n\n| not | a table\n\n|---|",
  references:
    'See [one] and [Two][two] and ![pic][three].\n\n- item with [one]\n- [missing]\n\n| [two] |\n|---|\n| [one] |\n\n[one]: https://a.example "T"\n[two]:\nhttps://b.example\n[three]: https://c.example/p.png\n[one]: https://ignored.example',
  html: "<div>\n\n**inside**\n\n</div>\n\n<!-- comment\n\nstill comment -->\n\ntext <b>bold</b> <script>x</script>\n\n<pre>\na\n\nb\n</pre>\n\nafter",
  unclosedComment: "a\n\n<!-- never closed\n\nb\n\n- c",
  hardBreaks: "line one  \nline two\\\nline three\n\ntrailing  ",
  quotes: "> - a\n> - b\n>\n> text\n\n> ```\n> code\n> ```\n> after\n\nend",
  tasks: "- [ ] open\n- [x] done\n\n1. [ ] numbered",
  deepList:
    "- a\n  - b\n    - c\n\n      para in c\n  - d\n\n    ```\n    code\n    ```\n- e\n\n\n\n- f",
  crlf: "a\r\nb\r\n\r\n- x\r\n- y\r\n\r\n```\r\ncode\r\n```\r\n",
  dollars: "It costs $5 now and $10 later. `$PATH`. $x^2$ ok.",
  markers: "-\n- a\n+\n\n1.\n2. b\n\n* * *\n- - -\n\n-not a list\n\n2024. Year",
  headings: "# A\n## B\ntext\n### C\n- l\n#### D\n\n#not\n\n##### E #####",
  escapes: "\\* not a list\n\n1986\\. A great year\n\n&amp; &lt; &#x41; <notatag",
  starts:
    "\n\n\n  leading spaces\n\n   # indented heading\n\n  - indented item\n  - more\n\n - one space\n - again",
  rtl: "مرحبا `rm -r dir` بالعالم\n\n- عنصر\n- item",
};

/** A text like a long answer: all kinds of blocks, over and over. */
export function longText(characters: number): string {
  const parts = Object.values(DOCUMENTS).filter((part) => !/<!--|```js/.test(part));
  let text = "";
  for (let i = 0; text.length < characters; i++) {
    text += `\n\n## Section ${i}\n\n${parts[i % parts.length]!}\n\nA sentence that ends it, number ${i}.`;
  }
  return text;
}

/** Numbers in [0, 1) from a seed. */
export function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

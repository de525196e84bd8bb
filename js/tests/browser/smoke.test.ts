import { expect, test } from "vitest";
import { renderMarkdown } from "../../src/markdown/stream";

test("renders", () => {
  const el = document.createElement("div");
  renderMarkdown(el, "# hi\n\n- a\n- b\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```python\nx=1\n```\n");
  expect(el.innerHTML).toContain("<h1");
  console.log(el.innerHTML);
});

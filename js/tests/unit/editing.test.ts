import { expect, test } from "vitest";
import { editableOf, editedFrom, unseenLines } from "../../src/editing";
import type { Question } from "../../src/protocol";
import { t } from "../support/model";

const asked = (fields: Partial<Question>): Question => ({
  pid: "p",
  tid: "t",
  tool: "bash",
  agent: null,
  reason: null,
  text: "ls",
  language: "bash",
  args: { command: "ls" },
  options: ["allow_once", "edit", "deny"],
  rules: [],
  project_file: null,
  ...fields,
});

test("one argument that is the shown text is edited as that text, all else as JSON", () => {
  expect(editableOf(asked({}))).toEqual({ text: "ls", argument: "command" });
  for (const fields of [
    { language: null },
    { args: { command: "ls", timeout_s: 5 } },
    { args: { command: "ls -l" } },
    { args: { command: 1 }, text: "1" },
    { args: { command: "a\r\nb" }, text: "a\r\nb" },
  ]) {
    const question = asked(fields);
    const { text, argument } = editableOf(question);
    expect(argument).toBeNull();
    expect(editedFrom(t, text, null)).toEqual({ args: question.args });
  }
});

test("JSON hides nothing: characters without a glyph are its escapes, and mean the same", () => {
  const args = { "a\u202E": "x\u200B\u{E0041}\u0000\u2028مرحبا\ud800", n: [1.5, null, true] };
  const { text } = editableOf(asked({ args }));
  expect(unseenLines(text)).toEqual([]);
  expect(text).toContain("\\u202E");
  expect(text).toContain("مرحبا");
  expect(editedFrom(t, text, null)).toEqual({ args });
});

test.each([
  ["", /not JSON/],
  ['{"a": 1,}', /not JSON/],
  ["[1]", /one JSON object/],
  ["null", /one JSON object/],
  ['"text"', /one JSON object/],
  ['{"a": 1, "a": 2}', /twice/],
  ['{"a": {"b": "x", "b": "x"}}', /twice/],
  ['{"a": 12345678901234567890}', /12345678901234567890 is too large/],
  ['{"a": \u202E1}', /not JSON.*\\u202E/],
])("%s cannot be sent, and why is told in words", (text, words) => {
  expect(editedFrom(t, text, null)).toEqual({ problem: expect.stringMatching(words) });
});

test.each([
  '{"2": "b", "1": "a: {}", "": "\\"x\\", \\\\"}',
  '{"a": [1.0, -0.5e3, 9007199254740991, {"a": {"a": []}}]}',
  "{}",
])("%s is sent as it stands", (text) => {
  expect(editedFrom(t, text, null)).toEqual({ args: JSON.parse(text) });
});

test("a text that is one argument is sent as typed, whatever it looks like", () => {
  for (const typed of ["", "{", "x\u202E", '{"a": 1, "a": 2}'])
    expect(editedFrom(t, typed, "code")).toEqual({ args: { code: typed } });
});

test("lines with hidden characters are told as they really are", () => {
  expect(unseenLines("plain\n\tمرحبا\n")).toEqual([]);
  expect(unseenLines("a\nb\u202Ec\n\nd\u200B")).toEqual([
    { number: 2, shown: "b\\u202Ec" },
    { number: 4, shown: "d\\u200B" },
  ]);
});

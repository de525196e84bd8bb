import { expect, test } from "vitest";
import { ansiRuns, plainText } from "../../src/text/ansi";
import { pieces, visible } from "../../src/text/escapes";

test("colour is kept, every other terminal sequence goes with its payload", () => {
  const raw =
    "\x1b[31mred\x1b[0m  ok\x1b[1A\x1b[2Khidden  \x1b]8;;javascript:P=1\x07click\x1b]8;;\x07  \x1b]52;c;cHduZWQ=\x07  \x1b]0;title\x07  \x9b31m  \x1bP1$r\x1b\\";
  expect(plainText(raw)).toBe("red  okhidden  click        ");
  expect(ansiRuns(raw)[0]).toEqual({ text: "red", classes: "fg-1" });
});

test.each([
  ["\x1b[1;31mbold red\x1b[22m red\x1b[m plain", ["fg-1 ansi-bold", "fg-1", ""]],
  ["\x1b[38;5;9mnine\x1b[39m\x1b[38;5;200mother\x1b[38;2;1;2;3mtrue", ["fg-9", ""]],
  ["\x1b[97;44mwhite on blue", ["fg-15 bg-4"]],
])("styles of %j", (raw, classes) => {
  expect(ansiRuns(raw).map((run) => run.classes)).toEqual(classes);
});

test("an unfinished sequence at the end of live output does not show", () => {
  for (const cut of ["\x1b", "\x1b[", "\x1b[3", "\x1b]8;;http://x", "\x1b]0;ti"]) {
    expect(plainText(`text${cut}`)).toBe("text");
  }
});

test("a carriage return hides nothing but an older version of a progress line", () => {
  expect(plainText("secret\rnothing to see")).toBe("secret\nnothing to see");
  expect(plainText(" 10%|#    |\r 50%|###  |\r100%|#####|\ndone")).toBe("100%|#####|\ndone");
  expect(plainText("a\r\nb\r\n")).toBe("a\nb\n");
});

test("bidirectional, zero-width and control characters become visible escapes", () => {
  expect(visible("echo \u202E f/ tsil ; rm -r /\u202C ok")).toBe(
    "echo \\u202E f/ tsil ; rm -r /\\u202C ok",
  );
  expect(visible("report\u202Egpj.sh")).toBe("report\\u202Egpj.sh");
  expect(visible("a\u200Bb\u00ADc\uFEFFd\u2066e\u0000f\u001b[2K\rg\u00a0h")).toBe(
    "a\\u200Bb\\u00ADc\\uFEFFd\\u2066e\\u0000f\\u001B[2K\\u000Dg\\u00A0h",
  );
  expect(visible("\u{E0041}\u3164\uD800")).toBe("\\u{E0041}\\u3164\\uD800");
});

test("ordinary text of any script stays as it is", () => {
  for (const plain of ["مرحبا بالعالم", "שלום עולם", "日本語", "naïve\tline\nnext", "😀 a – b"]) {
    expect(visible(plain)).toBe(plain);
  }
});

test("pieces joined are the text again", () => {
  const raw = "x\u202Ey\u200Dz\u0007";
  expect(
    pieces(raw)
      .map((piece) => piece.text)
      .join(""),
  ).toBe(raw);
  expect(pieces("", true)).toEqual([]);
});

import { expect, test } from "vitest";
import * as grammars from "../../src/markdown/grammars";
import { type Language, scan } from "../../src/markdown/modes";
import { randoms } from "../support/markdown";

const scanned = (code: string, language: Language): { text: string; depth: number } => {
  let text = "";
  let depth = 0;
  scan(code, language, {
    open: () => depth++,
    close: () => {
      depth--;
      if (depth < 0) throw new Error("closed more than opened");
    },
    text: (piece) => {
      text += piece;
    },
  });
  return { text, depth };
};

const PIECES =
  "'|\"|`|\"\"\"|'''|f\"|rb'|$\x7b|{|}|{{|\\|/|//|/*|*/|--|#|@|<|</a|<!--|-->|&amp;|$x|0x1f|1.5e-3|.5|def f|class A|self|key: |- |**b**|[a](b)|\n|\r\n|\t|  |é|\u202E|\ud800|😀|SELECT|for".split(
    "|",
  );

test.each(Object.entries(grammars))(
  "%s: whatever the code is, its text is kept and every scope is closed",
  (_, definition) => {
    const language = definition();
    const random = randoms(7);
    for (let i = 0; i < 300; i++) {
      const code = Array.from(
        { length: 1 + Math.floor(random() * 25) },
        () => PIECES[Math.floor(random() * PIECES.length)],
      ).join("");
      expect(scanned(code, language)).toEqual({ text: code, depth: 0 });
    }
  },
);

// What a person edits of a call or a rule before allowing it, and what is sent of it.

import { isRecord, type Question } from "./protocol";
import { escapeOf, pieces, visible } from "./text/escapes";
import type { Words } from "./words";

/** The text in the editor; `argument` names the only argument when it is that one's value, else all are JSON. */
export interface Editable {
  text: string;
  argument: string | null;
}

/** The arguments to send, or what is wrong with the text, in words. */
export type Edited = { args: Record<string, unknown> } | { problem: string };

/** What the editor starts with. A field holds no carriage return, JSON writes it as an escape. */
export function editableOf({ args, text, language }: Question): Editable {
  const entries = isRecord(args) ? Object.entries(args) : [];
  const [only] = entries;
  if (language && only && entries.length === 1 && only[1] === text && !text.includes("\r"))
    return { text, argument: only[0] };
  return { text: escapedJson(args), argument: null };
}

// A hidden character outside a string is not JSON, and inside one it may be written as an escape.
function escapedJson(value: unknown): string {
  const units = (text: string): string =>
    text
      .split("")
      .map((unit) => escapeOf(unit))
      .join("");
  return pieces(JSON.stringify(value, null, 2))
    .map((piece) => (piece.hidden ? units(piece.text) : piece.text))
    .join("");
}

/** The arguments that the text of an editor stands for. */
export function editedFrom(t: Words, text: string, argument: string | null): Edited {
  if (argument !== null) return { args: { [argument]: text } };
  let args: unknown;
  try {
    args = JSON.parse(text);
  } catch (error) {
    return { problem: t("edit.invalid", { error: visible((error as Error).message) }) };
  }
  if (!isRecord(args)) return { problem: t("edit.object", { shape: "{ … }" }) };
  return differenceOnceRead(t, text, args) ?? { args };
}

const JSON_TOKEN = /"(?:\\.|[^"\\])*"|[-+.\w]+|[{}[\],:]/g;

// Reading JSON drops all but the last of equal names and rounds large numbers: then what would be sent is not
// what is shown.
function differenceOnceRead(t: Words, text: string, args: object): { problem: string } | null {
  const tokens = text.match(JSON_TOKEN) ?? [];
  const large = tokens.find((token) => /^-?\d+$/.test(token) && !Number.isSafeInteger(+token));
  if (large) return { problem: t("edit.large", { number: large }) };
  const kept = JSON.stringify(args).match(JSON_TOKEN) ?? [];
  return kept.length === tokens.length ? null : { problem: t("edit.twice") };
}

/** The lines with characters that a field shows nothing of, numbered from 1, with their escapes. */
export const unseenLines = (text: string): { number: number; shown: string }[] =>
  text
    .split("\n")
    .map((line, index) => ({ number: index + 1, shown: visible(line), line }))
    .filter(({ shown, line }) => shown !== line)
    .map(({ number, shown }) => ({ number, shown }));

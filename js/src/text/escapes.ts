// Characters that cannot be seen, or that reorder what is seen, and their visible form.

// Format, control, separator and default-ignorable characters and lone surrogates, without newline and
// tab, and without the Arabic and Syriac marks of class Cf that have a glyph of their own.
const HIDDEN =
  /(?![\n\t\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2])(?:[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs})/gu;

// What can hide or reorder text in a program's output, where joiners and no-break spaces are common.
const HARMFUL =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069\u200E\u200F\u061C]/g;

const RTL_LETTERS = "[\\u0590-\\u08FF\\uFB1D-\\uFDFF\\uFE70-\\uFEFC]+";
const RIGHT_TO_LEFT = new RegExp(`(${RTL_LETTERS}(?: +${RTL_LETTERS})*)`);

export interface Piece {
  text: string;
  hidden: boolean;
}

/** `\u202E`, `\u{E0041}`: how the view writes a character that has no glyph. */
export function escapeOf(character: string): string {
  const code = character.codePointAt(0)!;
  const hex = code.toString(16).toUpperCase();
  return code > 0xffff ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
}

/** The text cut into plain pieces and hidden characters; joined without escapes it is the text again. */
export function pieces(text: string, strict = true): Piece[] {
  const found: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(strict ? HIDDEN : HARMFUL)) {
    if (match.index > end) found.push({ text: text.slice(end, match.index), hidden: false });
    found.push({ text: match[0], hidden: true });
    end = match.index + match[0].length;
  }
  if (end < text.length) found.push({ text: text.slice(end), hidden: false });
  return found;
}

/** The text as one string in which every hidden character is written as its escape. */
export const visible = (text: string): string =>
  pieces(text)
    .map((piece) => (piece.hidden ? escapeOf(piece.text) : piece.text))
    .join("");

/** Appends the text to `parent`, hidden characters as marked escapes. */
export function appendVisible(parent: Node, text: string, strict = true): void {
  for (const piece of pieces(text, strict)) {
    if (piece.hidden) appendSpan(parent, "esc", escapeOf(piece.text));
    else appendIsolated(parent, piece.text);
  }
}

// Two right-to-left strings with only punctuation between them would be shown in reversed order.
function appendIsolated(parent: Node, text: string): void {
  text.split(RIGHT_TO_LEFT).forEach((part, index) => {
    if (index % 2 === 1) appendSpan(parent, "rtl", part);
    else if (part !== "") parent.appendChild(document.createTextNode(part));
  });
}

function appendSpan(parent: Node, name: string, text: string): void {
  const span = document.createElement("span");
  span.className = name;
  span.textContent = text;
  parent.appendChild(span);
}

// Terminal output as coloured runs of text: colours are kept, every other sequence goes with its payload.

export interface Run {
  text: string;
  /** Space-separated class names, "" for plain text. */
  classes: string;
}

// OSC, DCS, SOS, PM and APC strings up to their terminator (or the end); CSI; two-byte escapes.
const SEQUENCE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal control sequences are the subject
  /(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u001b(?!\\)[^\u0007\u001b\u009c]*)*(?:\u0007|\u001b\\|\u009c|$)|(?:\u001b\[|\u009b)([0-?]*)[ -/]*([@-~]|$)|\u001b[ -/]*[0-~]?/g;

// biome-ignore lint/suspicious/noControlCharactersInRegex: carriage returns and bells are the subject
const OTHER_CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;

interface Style {
  foreground: string;
  background: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

const PLAIN: Style = {
  foreground: "",
  background: "",
  bold: false,
  dim: false,
  italic: false,
  underline: false,
};

/** The runs of the text; colours of the 16-colour palette become `fg-3`, `bg-12`, others are dropped. */
export function ansiRuns(text: string): Run[] {
  const runs: Run[] = [];
  let style = PLAIN;
  let end = 0;
  const push = (chunk: string): void => {
    const clean = chunk.replace(OTHER_CONTROLS, "");
    if (clean === "") return;
    const classes = classesOf(style);
    const last = runs.at(-1);
    if (last?.classes === classes) last.text += clean;
    else runs.push({ text: clean, classes });
  };
  const source = withoutOverwrites(text);
  for (const match of source.matchAll(SEQUENCE)) {
    push(source.slice(end, match.index));
    if (match[2] === "m" && match[1] !== undefined) style = styled(style, match[1]);
    end = match.index + match[0].length;
  }
  push(source.slice(end));
  return runs;
}

/** The text without any terminal sequence. */
export const plainText = (text: string): string =>
  ansiRuns(text)
    .map((run) => run.text)
    .join("");

const PROGRESS = /\d\s*%|\d\s*\/\s*\d/;

// A carriage return lets later text hide earlier text. Only a progress line may be replaced by its next
// version; anything else keeps a line of its own.
function withoutOverwrites(text: string): string {
  if (!text.includes("\r")) return text;
  const lines = text.replace(/\r+\n/g, "\n").split("\n");
  return lines.map((line) => (line.includes("\r") ? withoutOldProgress(line) : line)).join("\n");
}

function withoutOldProgress(line: string): string {
  const versions = line.split(/\r+/).filter((version) => version !== "");
  const kept = versions.filter((version, index) => {
    const next = versions[index + 1];
    return next === undefined || !PROGRESS.test(version) || !PROGRESS.test(next);
  });
  return kept.join("\n");
}

function classesOf(style: Style): string {
  const names = [
    style.foreground,
    style.background,
    style.bold ? "ansi-bold" : "",
    style.dim ? "ansi-dim" : "",
    style.italic ? "ansi-italic" : "",
    style.underline ? "ansi-underline" : "",
  ];
  return names.filter(Boolean).join(" ");
}

function styled(before: Style, parameters: string): Style {
  const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map(Number);
  let style = before;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code === 38 || code === 48) {
      const indexed = codes[i + 1] === 5;
      const index = indexed ? (codes[i + 2] ?? 16) : 16;
      const name = index < 16 ? `${code === 38 ? "fg" : "bg"}-${index}` : "";
      style = code === 38 ? { ...style, foreground: name } : { ...style, background: name };
      i += indexed ? 2 : 4;
      continue;
    }
    style = afterCode(style, code);
  }
  return style;
}

function afterCode(style: Style, code: number): Style {
  if (code === 0) return PLAIN;
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 3) return { ...style, italic: true };
  if (code === 4) return { ...style, underline: true };
  if (code === 22) return { ...style, bold: false, dim: false };
  if (code === 23) return { ...style, italic: false };
  if (code === 24) return { ...style, underline: false };
  if (code >= 30 && code <= 37) return { ...style, foreground: `fg-${code - 30}` };
  if (code === 39) return { ...style, foreground: "" };
  if (code >= 40 && code <= 47) return { ...style, background: `bg-${code - 40}` };
  if (code === 49) return { ...style, background: "" };
  if (code >= 90 && code <= 97) return { ...style, foreground: `fg-${code - 82}` };
  if (code >= 100 && code <= 107) return { ...style, background: `bg-${code - 92}` };
  return style;
}

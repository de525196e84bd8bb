// Cuts code into scopes by grammars of nested modes, each with a beginning, an end and what may stand inside.

/** Words by scope; `pattern` says what a word is. */
export interface Keywords {
  pattern?: RegExp;
  [scope: string]: string | RegExp | undefined;
}

/** What begins with `begin` and goes on to `end`, or without `end` is that one match. */
export interface Mode {
  /** Never matches the empty text. A sequence takes its scopes from `scopes`, one for each piece. */
  begin: RegExp | RegExp[];
  end?: RegExp;
  scope?: string;
  scopes?: string[];
  keywords?: Keywords;
  contains?: Mode[];
}

export interface Language {
  keywords?: Keywords;
  ignoresCase?: boolean;
  contains: Mode[];
}

/** Receives the code in order; every `open` has its `close`. */
export interface ScopeSink {
  open(scope: string | undefined): void;
  text(text: string): void;
  close(): void;
}

interface Rule {
  /** Null: the end of the mode around. */
  mode: Mode | null;
  /** The capture group of the whole rule; those of a sequence's pieces follow. */
  group: number;
}

interface Compiled {
  /** The first of the modes inside, or the end, whatever comes first. */
  pattern: RegExp;
  rules: Rule[];
  words: Map<string, string>;
  word: RegExp;
}

const compiledModes = new WeakMap<object, Compiled>();

const sourceOf = ({ begin }: Mode): string =>
  Array.isArray(begin) ? begin.map((piece) => `(${piece.source})`).join("") : begin.source;

const groupCount = (source: string): number => new RegExp(`${source}|`, "u").exec("")!.length - 1;

function compiled(mode: Mode | Language, flags: string): Compiled {
  const known = compiledModes.get(mode);
  if (known) return known;
  const rules: Rule[] = [];
  const sources: string[] = [];
  let group = 1;
  const add = (source: string, inner: Mode | null): void => {
    rules.push({ mode: inner, group });
    sources.push(`(${source})`);
    group += 1 + groupCount(source);
  };
  for (const inner of mode.contains ?? []) add(sourceOf(inner), inner);
  if ("end" in mode && mode.end) add(mode.end.source, null);
  const { pattern: word = /\w+/, ...scopes } = mode.keywords ?? {};
  const words = new Map<string, string>();
  for (const [scope, list] of Object.entries(scopes))
    for (const entry of (list as string).split(" ")) words.set(entry, scope);
  const result = {
    pattern: new RegExp(sources.join("|") || "$^", flags),
    rules,
    words,
    word: new RegExp(word.source, flags),
  };
  compiledModes.set(mode, result);
  return result;
}

/** Tells the scopes of the code to `sink`; the texts told, joined, are the code. */
export function scan(code: string, language: Language, sink: ScopeSink): void {
  const flags = language.ignoresCase ? "gimu" : "gmu";
  const stack: (Mode | Language)[] = [language];
  let at = 0;
  while (at <= code.length) {
    const inside = compiled(stack.at(-1)!, flags);
    inside.pattern.lastIndex = at;
    const match = inside.pattern.exec(code);
    if (match === null) break;
    const { mode, group } = inside.rules.find((rule) => match[rule.group] !== undefined)!;
    plain(code.slice(at, match.index), inside, language, sink);
    at = match.index + match[0].length;
    if (mode === null) {
      sink.text(match[0]);
      sink.close();
      stack.pop();
    } else if (Array.isArray(mode.begin)) {
      mode.begin.forEach((_, index) => {
        scoped(match[group + 1 + index]!, mode.scopes?.[index], sink);
      });
    } else if (mode.end) {
      sink.open(mode.scope);
      sink.text(match[0]);
      stack.push(mode);
    } else {
      scoped(match[0], mode.scope, sink);
    }
  }
  plain(code.slice(at), compiled(stack.at(-1)!, flags), language, sink);
  while (stack.pop() !== language) sink.close();
}

/** Text between two modes: its keywords are scopes. */
function plain(text: string, inside: Compiled, language: Language, sink: ScopeSink): void {
  let end = 0;
  if (inside.words.size > 0) {
    for (const { 0: found, index } of text.matchAll(inside.word)) {
      const scope = inside.words.get(language.ignoresCase ? found.toLowerCase() : found);
      if (scope === undefined) continue;
      sink.text(text.slice(end, index));
      scoped(found, scope, sink);
      end = index + found.length;
    }
  }
  sink.text(text.slice(end));
}

function scoped(text: string, scope: string | undefined, sink: ScopeSink): void {
  if (scope) sink.open(scope);
  sink.text(text);
  if (scope) sink.close();
}

// Small grammars for the languages that come up in a notebook's chat: what makes code readable, and no more,
// because the bundle travels with every widget.

import type { Keywords, Language, Mode } from "./modes";

const ESCAPE: Mode = { begin: /\\[\s\S]/ };
/** A string that ends with its line at the latest, so that one open quote does not colour all that follows. */
const APOS_STRING: Mode = { scope: "string", begin: /'/, end: /'|$/, contains: [ESCAPE] };
const QUOTE_STRING: Mode = { scope: "string", begin: /"/, end: /"|$/, contains: [ESCAPE] };
const LINE_COMMENT: Mode = { scope: "comment", begin: /\/\/.*/ };
const BLOCK_COMMENT: Mode = { scope: "comment", begin: /\/\*/, end: /\*\// };
const HASH_COMMENT: Mode = { scope: "comment", begin: /#.*/ };
const NUMBER: Mode = {
  scope: "number",
  begin: /\b0x[\da-fA-F_]+n?|(?:\b\d[\d_]*\.?|(?<![\w.])\.(?=\d))[\d_]*(?:[eE][-+]?\d+)?n?/,
};

const NAME = /[\p{XID_Start}_]\p{XID_Continue}*/u;
const PYTHON_KEYWORDS: Keywords = {
  pattern: /(?<![.\w])[A-Za-z_]\w+/,
  keyword:
    "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda lazy match nonlocal not or pass raise return try while with yield",
  built_in:
    "__import__ abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir divmod enumerate eval exec filter float format frozendict frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len list locals map max memoryview min next object oct open ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip",
  literal: "__debug__ Ellipsis False None NotImplemented True",
  type: "Any Callable Coroutine Dict List Literal Generic Optional Sequence Set Tuple Type Union",
};

/** Python, and IPython's prompts, magics and shell lines. */
export function python(): Language {
  const number: Mode = {
    scope: "number",
    begin:
      /\b0[xXbBoO][\da-fA-F_]+|(?:\b\d[\d_]*\.?|(?<![\w.])\.(?=\d))[\d_]*(?:[eE][-+]?\d[\d_]*)?[jJ]?/,
  };
  const prompt: Mode = { scope: "meta", begin: /^(?:>>>|\.\.\.) / };
  const field: Mode = { scope: "subst", begin: /\{/, end: /\}/, keywords: PYTHON_KEYWORDS };
  const fields = [ESCAPE, { begin: /\{\{/ }, field];
  const F = "\\b(?:[fFtT][rR]?|[rR][fFtT])";
  const OTHER = "(?:\\b[bBrRuU]{1,2})?";
  const string = (prefix: string, quote: string, contains: Mode[]): Mode => ({
    scope: "string",
    begin: new RegExp(prefix + quote),
    end: new RegExp(quote.length > 1 ? quote : `${quote}|$`),
    contains,
  });
  const strings = [`"""`, "'''", `"`, "'"].flatMap((quote) => [
    string(F, quote, fields),
    string(OTHER, quote, quote.length > 1 ? [ESCAPE, prompt] : [ESCAPE]),
  ]);
  field.contains = [...strings, number, field];
  return {
    keywords: PYTHON_KEYWORDS,
    contains: [
      prompt,
      number,
      { scope: "variable.language", begin: /\bself\b/ },
      ...strings,
      HASH_COMMENT,
      { begin: [/\bdef/, /\s+/, NAME], scopes: ["keyword", "", "title.function"] },
      {
        begin: [/\bclass/, /\s+/, NAME, /\s*\(\s*/, NAME, /\s*\)/],
        scopes: ["keyword", "", "title.class", "", "title.class.inherited"],
      },
      { begin: [/\bclass/, /\s+/, NAME], scopes: ["keyword", "", "title.class"] },
      { scope: "meta", begin: /^[\t ]*@[\w.]*/ },
    ],
  };
}

/** JSON, with comments. */
export function json(): Language {
  return {
    keywords: { literal: "true false null NaN Infinity" },
    contains: [
      { scope: "attr", begin: /"(?:\\.|[^\\"\r\n])*"(?=\s*:)/ },
      QUOTE_STRING,
      APOS_STRING,
      { scope: "number", begin: /-?(?:\b\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?/ },
      LINE_COMMENT,
      BLOCK_COMMENT,
    ],
  };
}

/** Unified and context diffs. */
export function diff(): Language {
  return {
    contains: [
      { scope: "meta", begin: /^(?:@@ .*|\*\*\* \d.*\*{4}|--- \d.*-{4})$/ },
      {
        scope: "comment",
        begin: /^(?:Index: |index|={3,}|-{3}|\*{3} |\+{3}|diff --git|\*{15}$).*/,
      },
      { scope: "addition", begin: /^[+!].*/ },
      { scope: "deletion", begin: /^-.*/ },
    ],
  };
}

const SQL_KEYWORDS =
  "add all alter analyze and any as asc attach begin between by cascade case cast check collate column commit constraint create cross current_date current_time current_timestamp database default delete desc describe distinct drop else end escape except exists explain fetch filter first following for foreign from full function group having if ignore ilike in index inner insert intersect interval into is isnull join key last lateral left like limit materialized natural not notnull null nulls offset on or order outer over partition pivot pragma preceding primary qualify range recursive references rename replace returning right rollback row rows sample schema select set similar some summarize table temp temporary then ties to transaction trigger truncate unbounded union unique unpivot update use using vacuum values view when where window with within";
const SQL_TYPES =
  "array bigint binary blob boolean char date datetime decimal double float int integer json numeric real smallint text time timestamp uuid varchar";

/** SQL as the common engines speak it. */
export function sql(): Language {
  return {
    ignoresCase: true,
    keywords: { keyword: SQL_KEYWORDS, type: SQL_TYPES, literal: "true false unknown" },
    contains: [
      { scope: "string", begin: /'/, end: /'/, contains: [{ begin: /''/ }] },
      { begin: /"/, end: /"/, contains: [{ begin: /""/ }] },
      {
        scope: "title.function",
        begin: /\b(?!(?:in|values|and|or|not|as|on|over|using|exists)\b)[a-z_]\w{0,60}(?=\()/,
      },
      NUMBER,
      BLOCK_COMMENT,
      { scope: "comment", begin: /--.*/ },
    ],
  };
}

const JS_KEYWORDS =
  "abstract as asserts async await break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in infer instanceof interface is keyof let namespace new of override private protected public readonly return satisfies set static super switch throw try type typeof var void while with yield";

/** JavaScript and TypeScript. */
export function javascript(): Language {
  const keywords = {
    keyword: JS_KEYWORDS,
    literal: "true false null undefined NaN Infinity",
    type: "any bigint boolean never number object string symbol unknown",
    built_in:
      "Array Boolean Date Error JSON Map Math Number Object Promise RegExp Set String Symbol console document globalThis process require this window",
  };
  const inside: Mode = { scope: "subst", begin: /\$\{/, end: /\}/, keywords, contains: [] };
  const template: Mode = {
    scope: "string",
    begin: /`/,
    end: /`/,
    contains: [ESCAPE, inside],
  };
  const contains: Mode[] = [
    APOS_STRING,
    QUOTE_STRING,
    template,
    LINE_COMMENT,
    BLOCK_COMMENT,
    NUMBER,
    {
      scope: "regexp",
      begin:
        /(?<=(?:[=(,:[!&|?{};\n]|\breturn)\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/,
    },
    {
      begin: [/\b(?:class|interface|enum|extends)/, /\s+/, /[A-Za-z_$][\w$]*/],
      scopes: ["keyword", "", "title.class"],
    },
    {
      begin: [/\bfunction/, /\s*\*?\s*/, /[A-Za-z_$][\w$]*/],
      scopes: ["keyword", "", "title.function"],
    },
    {
      scope: "title.function",
      begin: /\b(?!(?:if|for|while|switch|catch|return|await|typeof)\b)[A-Za-z_$][\w$]{0,60}(?=\()/,
    },
    { scope: "meta", begin: /@[A-Za-z_]\w*/ },
  ];
  inside.contains = contains;
  return {
    keywords,
    contains,
  };
}

const SHELL_KEYWORDS =
  "if then else elif fi for while until in do done case esac function select time";
const SHELL_BUILT_INS =
  "alias awk cat cd chmod chown conda cp curl cut docker echo env eval exec exit export find git grep head jupyter kill ln ls make mkdir mv pip printf pwd python read return rm rsync sed set sh shift sort source ssh sudo tail tar tee test touch trap true uniq unset wc wget which xargs";

/** Shell commands and scripts. */
export function bash(): Language {
  const variable: Mode = { scope: "variable", begin: /\$(?:[\w@#?*!$-]+|\{[^}]*\})/ };
  return {
    keywords: { pattern: /\b[a-z][\w-]*\b/, keyword: SHELL_KEYWORDS, built_in: SHELL_BUILT_INS },
    contains: [
      { scope: "comment", begin: /(?<=^|\s)#/, end: /$/ },
      { scope: "string", begin: /"/, end: /"/, contains: [ESCAPE, variable] },
      { scope: "string", begin: /'/, end: /'/ },
      { begin: /\\./ },
      variable,
      { begin: [/^\s*/, /[A-Za-z_]\w*/, /\s*\(\)/], scopes: ["", "title.function", ""] },
      { scope: "attr", begin: /(?<=\s)--?[A-Za-z][\w-]*/ },
    ],
  };
}

const R_KEYWORDS = "break else for function if in next repeat return while library require";

/** R. */
export function r(): Language {
  return {
    keywords: {
      pattern: /[A-Za-z.][\w.]*/,
      keyword: R_KEYWORDS,
      literal: "NULL NA TRUE FALSE Inf NaN NA_integer_ NA_real_ NA_character_",
    },
    contains: [
      HASH_COMMENT,
      QUOTE_STRING,
      APOS_STRING,
      { begin: /`/, end: /`/ },
      { scope: "number", begin: /(?<![\w.])(?:0x[\da-f]+|\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)[Li]?/i },
      { scope: "operator", begin: /<-|->|\|>|%[^%\n]*%/ },
      {
        scope: "title.function",
        begin: /\b(?!(?:if|for|while|function)\b)[A-Za-z.][\w.]{0,60}(?=\()/,
      },
    ],
  };
}

/** Markdown shown as source. */
export function markdown(): Language {
  return {
    contains: [
      { scope: "section", begin: /^#{1,6}\s.*$/ },
      { scope: "string", begin: /^```/, end: /^```/ },
      { scope: "string", begin: /`[^`\n]{1,300}`/ },
      { scope: "strong", begin: /\*\*[^*\n]{1,300}\*\*/ },
      { scope: "emphasis", begin: /(?<![*\w])[*_][^*_\n]{1,300}[*_](?!\w)/ },
      { scope: "bullet", begin: /^\s*(?:[*+-]|\d+[.)])(?=\s)/ },
      { scope: "quote", begin: /^>.*$/ },
      { begin: [/\[[^\]\n]*\]/, /\([^)\n]*\)/], scopes: ["attr", "string"] },
    ],
  };
}

/** HTML, XML and SVG. */
export function xml(): Language {
  return {
    contains: [
      { scope: "comment", begin: /<!--/, end: /-->/ },
      { scope: "meta", begin: /<[!?]/, end: />/ },
      {
        begin: /<\/?(?=[A-Za-z])/,
        end: /\/?>/,
        contains: [
          { scope: "name", begin: /(?<=<\/?)[\w:.-]+/ },
          { scope: "attr", begin: /[\w:@.-]{1,60}(?=\s*=)/ },
          { scope: "string", begin: /"/, end: /"/ },
          { scope: "string", begin: /'/, end: /'/ },
        ],
      },
      { scope: "symbol", begin: /&#?\w+;/ },
    ],
  };
}

/** YAML. */
export function yaml(): Language {
  return {
    contains: [
      { scope: "comment", begin: /(?<=^|\s)#/, end: /$/ },
      { scope: "meta", begin: /^(?:---|\.\.\.)\s*$/ },
      { scope: "attr", begin: /(?<=^\s*(?:- +)*)[\w"'./ -]{1,120}(?=:(?:\s|$))/ },
      { scope: "bullet", begin: /^\s*-(?=\s)/ },
      QUOTE_STRING,
      { scope: "string", begin: /'/, end: /'/ },
      { scope: "meta", begin: /[&*!][\w-]+/ },
      { scope: "literal", begin: /\b(?:true|false|null|yes|no|on|off)\b/ },
      { scope: "number", begin: /(?<![\w.-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/ },
    ],
  };
}

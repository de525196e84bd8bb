// Small grammars for the languages that are guests in a notebook's chat. The highlighter's own for these
// take 32 kB of a bundle that travels with every widget.

import type { HLJSApi, Language, Mode } from "highlight.js";

const SQL_KEYWORDS =
  "add all alter analyze and any as asc attach begin between by cascade case cast check collate column commit constraint create cross current_date current_time current_timestamp database default delete desc describe distinct drop else end escape except exists explain fetch filter first following for foreign from full function group having if ignore ilike in index inner insert intersect interval into is isnull join key last lateral left like limit materialized natural not notnull null nulls offset on or order outer over partition pivot pragma preceding primary qualify range recursive references rename replace returning right rollback row rows sample schema select set similar some summarize table temp temporary then ties to transaction trigger truncate unbounded union unique unpivot update use using vacuum values view when where window with within";
const SQL_TYPES =
  "array bigint binary blob boolean char date datetime decimal double float int integer json numeric real smallint text time timestamp uuid varchar";

/** SQL as the common engines speak it. */
export function sql(hljs: HLJSApi): Language {
  return {
    name: "SQL",
    case_insensitive: true,
    keywords: { keyword: SQL_KEYWORDS, type: SQL_TYPES, literal: "true false unknown" },
    contains: [
      { scope: "string", begin: /'/, end: /'/, contains: [{ begin: /''/ }] },
      { begin: /"/, end: /"/, contains: [{ begin: /""/ }] },
      {
        scope: "title.function",
        begin: /\b(?!(?:in|values|and|or|not|as|on|over|using|exists)\b)[a-z_]\w{0,60}(?=\()/,
      },
      hljs.C_NUMBER_MODE,
      hljs.C_BLOCK_COMMENT_MODE,
      hljs.COMMENT("--", "$"),
    ],
  };
}

const JS_KEYWORDS =
  "abstract as asserts async await break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in infer instanceof interface is keyof let namespace new of override private protected public readonly return satisfies set static super switch throw try type typeof var void while with yield";

/** JavaScript and TypeScript. */
export function javascript(hljs: HLJSApi): Language {
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
    contains: [hljs.BACKSLASH_ESCAPE, inside],
  };
  const contains: Mode[] = [
    hljs.APOS_STRING_MODE,
    hljs.QUOTE_STRING_MODE,
    template,
    hljs.C_LINE_COMMENT_MODE,
    hljs.C_BLOCK_COMMENT_MODE,
    hljs.C_NUMBER_MODE,
    {
      scope: "regexp",
      begin:
        /(?<=(?:[=(,:[!&|?{};\n]|\breturn)\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/,
    },
    {
      match: [/\b(?:class|interface|enum|extends)/, /\s+/, /[A-Za-z_$][\w$]*/],
      scope: { 1: "keyword", 3: "title.class" },
    },
    {
      match: [/\bfunction/, /\s*\*?\s*/, /[A-Za-z_$][\w$]*/],
      scope: { 1: "keyword", 3: "title.function" },
    },
    {
      scope: "title.function",
      begin: /\b(?!(?:if|for|while|switch|catch|return|await|typeof)\b)[A-Za-z_$][\w$]{0,60}(?=\()/,
    },
    { scope: "meta", begin: /@[A-Za-z_]\w*/ },
  ];
  inside.contains = contains;
  return {
    name: "JavaScript",
    aliases: ["js", "jsx", "mjs", "cjs", "ts", "tsx", "typescript"],
    keywords,
    contains,
  };
}

const SHELL_KEYWORDS =
  "if then else elif fi for while until in do done case esac function select time";
const SHELL_BUILT_INS =
  "alias awk cat cd chmod chown conda cp curl cut docker echo env eval exec exit export find git grep head jupyter kill ln ls make mkdir mv pip printf pwd python read return rm rsync sed set sh shift sort source ssh sudo tail tar tee test touch trap true uniq unset wc wget which xargs";

/** Shell commands and scripts. */
export function bash(hljs: HLJSApi): Language {
  const variable: Mode = { scope: "variable", begin: /\$(?:[\w@#?*!$-]+|\{[^}]*\})/ };
  return {
    name: "Bash",
    aliases: ["sh", "zsh", "shell", "console", "shell-session"],
    keywords: { $pattern: /\b[a-z][\w-]*\b/, keyword: SHELL_KEYWORDS, built_in: SHELL_BUILT_INS },
    contains: [
      { scope: "comment", begin: /(?<=^|\s)#/, end: /$/ },
      { scope: "string", begin: /"/, end: /"/, contains: [hljs.BACKSLASH_ESCAPE, variable] },
      { scope: "string", begin: /'/, end: /'/ },
      { begin: /\\./ },
      variable,
      { match: [/^\s*/, /[A-Za-z_]\w*/, /\s*\(\)/], scope: { 2: "title.function" } },
      { scope: "attr", begin: /(?<=\s)--?[A-Za-z][\w-]*/ },
    ],
  };
}

const R_KEYWORDS = "break else for function if in next repeat return while library require";

/** R. */
export function r(hljs: HLJSApi): Language {
  return {
    name: "R",
    keywords: {
      $pattern: /[A-Za-z.][\w.]*/,
      keyword: R_KEYWORDS,
      literal: "NULL NA TRUE FALSE Inf NaN NA_integer_ NA_real_ NA_character_",
    },
    contains: [
      hljs.HASH_COMMENT_MODE,
      hljs.QUOTE_STRING_MODE,
      hljs.APOS_STRING_MODE,
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
    name: "Markdown",
    aliases: ["md"],
    contains: [
      { scope: "section", begin: /^#{1,6}\s.*$/ },
      { scope: "string", begin: /^```/, end: /^```/ },
      { scope: "string", begin: /`[^`\n]{1,300}`/ },
      { scope: "strong", begin: /\*\*[^*\n]{1,300}\*\*/ },
      { scope: "emphasis", begin: /(?<![*\w])[*_][^*_\n]{1,300}[*_](?!\w)/ },
      { scope: "bullet", begin: /^\s*(?:[*+-]|\d+[.)])(?=\s)/ },
      { scope: "quote", begin: /^>.*$/ },
      { match: [/\[[^\]\n]*\]/, /\([^)\n]*\)/], scope: { 1: "attr", 2: "string" } },
    ],
  };
}

/** HTML, XML and SVG. */
export function xml(hljs: HLJSApi): Language {
  return {
    name: "HTML, XML",
    aliases: ["html", "svg", "xhtml"],
    contains: [
      hljs.COMMENT("<!--", "-->"),
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
export function yaml(hljs: HLJSApi): Language {
  return {
    name: "YAML",
    aliases: ["yml"],
    contains: [
      { scope: "comment", begin: /(?<=^|\s)#/, end: /$/ },
      { scope: "meta", begin: /^(?:---|\.\.\.)\s*$/ },
      { scope: "attr", begin: /(?<=^\s*(?:- +)*)[\w"'./ -]{1,120}(?=:(?:\s|$))/ },
      { scope: "bullet", begin: /^\s*-(?=\s)/ },
      hljs.QUOTE_STRING_MODE,
      { scope: "string", begin: /'/, end: /'/ },
      { scope: "meta", begin: /[&*!][\w-]+/ },
      { scope: "literal", begin: /\b(?:true|false|null|yes|no|on|off)\b/ },
      { scope: "number", begin: /(?<![\w.-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\b/ },
    ],
  };
}

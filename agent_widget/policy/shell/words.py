"""What a word of the syntax tree is after expansion, as far as the text alone can tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from .model import GLOB, UNKNOWN, Word
from .syntax import NotUnderstood, text_of

if TYPE_CHECKING:
    from tree_sitter import Node

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_EXPANSION: Final = re.compile(
    r"""(?sx) \$\{ (?:
        \#? (?:[A-Za-z_]\w* | [0-9]+ | [@*#?$!-]) (?: \[ (?: [@*] | [0-9]+ ) \] )?
      | (?:[A-Za-z_]\w* | [0-9]+ | [@*]) (?: \[ [@*] \] )? : [ ]? [0-9]+ (?: : [0-9]+ )?
      | (?:[A-Za-z_]\w* | [0-9]+ | [@*]) (?: \[ (?: [@*] | [0-9]+ ) \] )?
        (?: :?[-+?=] | \#\#? | %%? | //? ) .*
      | (?:[A-Za-z_]\w* | [0-9]+) (?: \^\^? | ,,? )
    ) \}"""
)
_ASSIGNS: Final = re.compile(r"\$\{([A-Za-z_]\w*):?=")
_SIMPLE: Final = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9@*#?$!_-])")
_ANSI: Final = re.compile(
    r"(?s)\\(?:(?P<hex>x[0-9a-fA-F]{1,2})|(?P<uni>u[0-9a-fA-F]{1,4})|(?P<oct>[0-7]{1,3})|(?P<one>.))"
)
_ANSI_ONE: Final = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "a": "\a", "b": "\b",
                    "e": "\x1b", "E": "\x1b", "f": "\f", "r": "\r", "v": "\v"}  # fmt: skip
_PLACES: Final = {"$HOME": "~", "${HOME}": "~", "$PWD": ".", "${PWD}": "."}


_SUBSTITUTED: Final = {
    "command_substitution": (UNKNOWN, True),
    "brace_expression": (UNKNOWN, True),
    "arithmetic_expansion": (UNKNOWN, False),
    "process_substitution": ("/dev/fd/63", False),
}


class Words:
    """Reads words; ``assigned`` are the variables that the line itself changes."""

    def __init__(self, data: bytes, assigned: frozenset[str]) -> None:
        self._data = data
        self._assigned = assigned

    def word(self, node: Node) -> Word:
        """The word at ``node``; raises NotUnderstood where bash's reading is not certain."""
        text, many = self._value(node, node.start_byte)
        if _has_braces(node):
            return Word(UNKNOWN, many=True)
        if text.startswith("~") and not text_of(node).startswith(("~", "$", '"$')):
            text = f"./{text}"
        if re.match(r"~[^/]", text):
            text = UNKNOWN + text[text.find("/") :] if "/" in text else UNKNOWN
        return Word(text, many)

    def _value(self, node: Node, start: int) -> tuple[str, bool]:
        """The text at ``node``, part of the word at ``start``, and whether it may be many words."""
        match node.type:
            case "string":
                return self._quoted(node, start), False
            case "concatenation" | "command_name":
                values = [self._value(child, start) for child in node.children]
                return "".join(text for text, _ in values), any(many for _, many in values)
            case "simple_expansion" | "expansion":
                value = self._expansion(node, start)
                return value, UNKNOWN in value
            case "command_substitution":
                _check_backticks(node)
        if node.type in _SUBSTITUTED:
            return _SUBSTITUTED[node.type]
        return _written(node), False

    def _quoted(self, node: Node, start: int) -> str:
        """The text between double quotes; blanks that the tree leaves out are in it."""
        pieces: list[str] = []
        at = node.start_byte + 1
        for child in node.children[1:-1]:
            if child.type in {"string_content", "$"}:
                continue
            blanks = len(text_of(child)) - len(text_of(child).lstrip())
            pieces.append(_unescaped(self._data[at : child.start_byte + blanks].decode()))
            pieces.append(self._value(child, start)[0])
            at = child.end_byte
        pieces.append(_unescaped(self._data[at : node.end_byte - 1].decode()))
        return "".join(pieces)

    def _expansion(self, node: Node, start: int) -> str:
        text = text_of(node).lstrip()
        quoted = self._data[start : start + 1] == b'"'
        first = node.start_byte == start + quoted
        if first and text in _PLACES and not {"HOME", "PWD"} & self._assigned:
            return _PLACES[text]
        if not (_SIMPLE.fullmatch(text) or _EXPANSION.fullmatch(text)):
            raise NotUnderstood(f"{text} expands to what only the shell can tell")
        return UNKNOWN


def assigned_by(text: str) -> str | None:
    """The variable that an expansion ``${name:=value}`` sets."""
    found = _ASSIGNS.match(text)
    return found[1] if found else None


def _written(node: Node) -> str:
    """The text of a part of a word in which nothing is replaced."""
    text = text_of(node)
    match node.type:
        case "word" | "number" | "variable_name" | "extglob_pattern" | "regex":
            return _bare(text)
        case "raw_string":
            return text[1:-1]
        case "ansi_c_string":
            return _ansi(text[2:-1])
        case "test_operator":
            return text
    if node.is_named or len(text) != 1:
        raise NotUnderstood(f"it holds {node.type.replace('_', ' ')!r}, which is not understood")
    return text


def _check_backticks(node: Node) -> None:
    text = text_of(node)
    if text.startswith("`") and ("\\" in text or "`" in text[1:-1]):
        raise NotUnderstood("backticks with a backslash are not understood")


def _bare(text: str) -> str:
    """An unquoted word: backslashes gone, wildcards marked."""
    pieces: list[str] = []
    for found in re.finditer(r"(?s)\\(.)|(.)", text):
        escaped, plain = found[1], found[2]
        if escaped is not None:
            pieces.append("" if escaped == "\n" else escaped)
        elif plain in "*?":
            pieces.append(GLOB)
        elif plain == "[" and "]" in text[found.end() :]:
            tail = text[text.rindex("]") + 1 :]
            return "".join([*pieces, GLOB, re.sub(r"[*?\\]", GLOB, tail)])
        else:
            pieces.append(plain)
    return "".join(pieces)


def _unescaped(text: str) -> str:
    """A stretch between double quotes."""
    return re.sub(r'(?s)\\([$`"\\\n])', lambda m: "" if m[1] == "\n" else m[1], text)


def _ansi(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        if found["hex"] or found["uni"]:
            code = int((found["hex"] or found["uni"])[1:], 16)
        elif found["oct"]:
            code = int(found["oct"], 8)
        elif found["one"] in _ANSI_ONE:
            return _ANSI_ONE[found["one"]]
        else:
            raise NotUnderstood(f"\\{found['one']} in a quoted text is not understood")
        if not 0 < code < 128 and not found["uni"]:
            raise NotUnderstood("a quoted text holds bytes that are not understood")
        if code == 0 or 0xD800 <= code < 0xE000:
            raise NotUnderstood("a quoted text holds bytes that are not understood")
        return chr(code)

    return _ANSI.sub(character, text)


def _has_braces(node: Node) -> bool:
    """True when an unquoted ``{a,b}`` or ``{1..3}`` makes several words of one."""
    bare = ""
    leaves = node.children if node.type in {"concatenation", "command_name"} else [node]
    left = list(leaves)
    while left:
        leaf = left.pop(0)
        if leaf.type in {"concatenation", "command_name"}:
            left[:0] = leaf.children
        elif leaf.type == "brace_expression":
            return True
        elif leaf.type in {"word", "number", "{", "}", ","}:
            bare += re.sub(r"(?s)\\.", "_", text_of(leaf))
        else:
            bare += "_"
    return re.search(r"\{.*(?:,|\.\.).*\}", bare, re.DOTALL) is not None

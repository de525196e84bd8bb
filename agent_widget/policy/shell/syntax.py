"""The syntax tree of a POSIX shell line, taken only where bash would read the line the same way.

The grammar of tree-sitter is not bash. So the tree is not trusted: every byte must lie in a token
or be a blank, every token must be one that bash would cut out too, and a command must not run over
a line's end. What fails a check is a doubt, and a doubt asks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from .model import names

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_BYTES: Final = 20_000
MAX_DEPTH: Final = 60

_BLANKS: Final = re.compile(rb"(?:[ \t\n]|\\\n)*")
_HEREDOC_NAME: Final = re.compile(r"""(?P<quote>['"]?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P=quote)""")
_OPERATORS: Final = names(
    "; ;; ;& ;;& & && | || |& ( ) { } < > >> >| &> &>> >& <& <> << <<- <<< <( >( $( ` ${ $ $(( )) "
    "(( [ ] [[ ]] \" ' = += == != =~ ! + - * / % ** ++ -- ~ ^ ? : , <= >= -= *= /= %= <<= >>= &= "
    "^= |= :- := :? :+ # ## %% // /# /% ^^ ,, @ @P .."
)
_FUSED: Final = (
    b"&&", b"||", b"|&", b";;", b";&", b"<<", b">>", b"<&", b">&", b"<>", b">|", b"&>", b"((",
    b"<(",
    b">(", b"$(", b"${", b"$((", b"<<<", b"<<-", b"&>>", b";;&",
)  # fmt: skip
_KEYWORDS: Final = names(
    "if then elif else fi for in do done while until case esac select function declare "
    "typeset export readonly local unset unsetenv U u L E P K a A k Q"
)
_ONE_LINE: Final = frozenset(
    {"command", "file_redirect", "herestring_redirect", "declaration_command", "unset_command",
     "test_command", "variable_assignment", "concatenation", "redirected_statement"}
)  # fmt: skip
_OPAQUE: Final = frozenset({"string", "raw_string", "ansi_c_string", "heredoc_redirect"})
_BARE: Final = frozenset(
    {"word", "number", "variable_name", "special_variable_name", "file_descriptor"}
)
_QUOTED: Final = {
    "raw_string": re.compile(rb"'[^']*'"),
    "ansi_c_string": re.compile(rb"(?s)\$'(?:[^'\\]|\\.)*'"),
}
_EXPANDED: Final = frozenset(
    {"command_substitution", "process_substitution", "arithmetic_expansion", "expansion",
     "simple_expansion", "file_redirect"}
)  # fmt: skip
_HEREDOC_PARTS: Final = frozenset(
    {"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "file_redirect", "\n"}
)
_EXPANDS: Final = re.compile(r'(?s)(?<!\\)(?:\\\\)*(?:`|"|\$[A-Za-z_0-9{(@*#?$!\[-])')
_WORD_STOPS: Final = re.compile(rb"""(?s)\\.|(?P<stop>[\s;|&<>()`$"'])""")


@lru_cache(maxsize=1)
def _bash() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


class NotUnderstood(Exception):
    """The line cannot be read with certainty; the message says why."""


def syntax_tree(source: str) -> tuple[Node, bytes]:
    """The checked tree of ``source`` and its bytes; raises NotUnderstood."""
    from tree_sitter import Parser

    check_characters(source)
    data = source.encode()
    if len(data) > MAX_BYTES:
        raise NotUnderstood(f"the command is longer than {MAX_BYTES} bytes")
    root = Parser(_bash()).parse(data).root_node
    if root.has_error:
        raise NotUnderstood("the command could not be parsed")
    _check_depth(root)
    _check_tokens(root, data)
    return root, data


def check_characters(source: str) -> None:
    """Raises NotUnderstood when ``source`` holds characters that show as nothing or mislead."""
    for char in source:
        if char in " \t\n" or "!" <= char <= "~":
            continue
        if unicodedata.category(char)[0] in "CZ":
            raise NotUnderstood(f"the command holds the invisible character U+{ord(char):04X}")


def nodes_within(root: Node) -> Iterator[Node]:
    """``root`` and all nodes below it, in the order of the text."""
    left = [root]
    while left:
        node = left.pop()
        yield node
        left.extend(reversed(node.children))


def has_lone_dash(heredoc: Node, data: bytes) -> bool:
    """True for ``cmd - <<E``, of which the grammar drops the ``-``."""
    before = heredoc.prev_sibling
    gap = data[before.end_byte : heredoc.start_byte] if before is not None else b""
    return re.fullmatch(rb"[ \t]+-[ \t]+", gap) is not None


def text_of(node: Node) -> str:
    return (node.text or b"").decode()


def _check_depth(root: Node) -> None:
    level, depth = [root], 0
    while level:
        level = [child for node in level for child in node.children]
        depth += 1
        if depth > MAX_DEPTH:
            raise NotUnderstood("the command is nested too deeply")


def _check_tokens(root: Node, data: bytes) -> None:
    at = 0
    before = b""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type in _ONE_LINE:
            _check_one_line(node, data)
        if node.child_count and node.type not in _OPAQUE:
            stack.extend(reversed(node.children))
            continue
        if not (node.type == "heredoc_redirect" and has_lone_dash(node, data)):
            _check_gap(data[at : node.start_byte])
        _check_leaf(node, data)
        text = data[node.start_byte : node.end_byte]
        if node.start_byte == at and (before + text).startswith(_longer(before)):
            raise NotUnderstood("where an operator ends is not certain")
        before = text
        at = max(at, node.end_byte)
        if node.type in _OPAQUE:
            _check_inside(node, data)
    _check_gap(data[at:])


def _longer(operator: bytes) -> tuple[bytes, ...]:
    """The operators that bash would read where ``operator`` and more stands."""
    return tuple(each for each in _FUSED if operator and each[:-1] == operator)


def _check_inside(node: Node, data: bytes) -> None:
    """What is expanded inside quotes and here-documents is checked like what is outside."""
    expanded = node.type == "string"
    if node.type == "heredoc_redirect":
        expanded = _check_heredoc(node, data)
    literal, at = "", node.start_byte
    for child in _expansions(node):
        _check_tokens_of(child, data)
        literal += data[at : child.start_byte].decode() + "_"
        at = child.end_byte
    literal += data[at : node.end_byte].decode()
    literal = literal[1:-1] if node.type == "string" else literal.replace('"', "")
    if expanded and _EXPANDS.search(literal):
        raise NotUnderstood("what a quoted text expands to is not understood")


def _expansions(node: Node) -> Iterator[Node]:
    """The outermost expansions and redirections below a quoted text or a here-document."""
    left = list(reversed(node.children))
    while left:
        child = left.pop()
        if child.type in _EXPANDED:
            yield child
        else:
            left.extend(reversed(child.children))


def _check_tokens_of(node: Node, data: bytes) -> None:
    before = data[: node.start_byte]
    _check_tokens(node, b" " * len(before) + data[node.start_byte : node.end_byte])


def _check_gap(gap: bytes) -> None:
    if not _BLANKS.fullmatch(gap):
        raise NotUnderstood("a part of the command was not parsed")


def _check_one_line(node: Node, data: bytes) -> None:
    """A newline between the words of a command would start another one."""
    children = node.children
    if node.type == "redirected_statement" and children and children[0].type not in {
        "command", "file_redirect", "test_command", "declaration_command", "variable_assignment",
        "unset_command",
    }:  # fmt: skip
        return
    for left, right in pairwise(children):
        gap = data[left.end_byte : right.start_byte].replace(b"\\\n", b"")
        glued = node.type in {"concatenation", "variable_assignment"}
        if b"\n" in gap or (glued and left.end_byte != right.start_byte):
            raise NotUnderstood("the ends of its commands are not certain")


def _check_leaf(node: Node, data: bytes) -> None:
    text = data[node.start_byte : node.end_byte]
    if node.type == "comment":
        before = data[node.start_byte - 1 : node.start_byte] if node.start_byte else b"\n"
        if b"\n" in text or before not in b" \t\n;&|()":
            raise NotUnderstood("where a comment begins or ends is not certain")
    elif node.type in _BARE:
        stop = next((m for m in _WORD_STOPS.finditer(text) if m["stop"]), None)
        special = node.type == "special_variable_name" and text == b"$"
        if (stop is not None and not special) or _ends_in_backslash(text):
            raise NotUnderstood("where a word ends is not certain")
    elif node.type in _QUOTED:
        if not _QUOTED[node.type].fullmatch(text):
            raise NotUnderstood("where a quote ends is not certain")
    elif node.type in {"regex", "extglob_pattern"}:
        if re.search(rb"[\s;|&<>`$\"'\\]", text):
            raise NotUnderstood("it matches a pattern that is not certain")
    elif node.type not in {"string", "heredoc_redirect", "test_operator"}:
        _check_token(node.type, text, named=node.is_named)


def _check_token(kind: str, text: bytes, *, named: bool) -> None:
    known = text.decode() in _OPERATORS or text.decode() in _KEYWORDS or not text.strip()
    if named or not known:
        raise NotUnderstood(f"it holds {kind!r}, which is not understood")


def _ends_in_backslash(text: bytes) -> bool:
    return (len(text) - len(text.rstrip(b"\\"))) % 2 == 1


def _check_heredoc(node: Node, data: bytes) -> bool:
    """Whether the text is expanded. Bash ends it at the first line that is the name alone."""
    if any(child.type not in _HEREDOC_PARTS for child in node.children):
        raise NotUnderstood("a here-document shares its line with other words or commands")
    start = next((c for c in node.children if c.type == "heredoc_start"), None)
    body = next((c for c in node.children if c.type == "heredoc_body"), None)
    end = next((c for c in node.children if c.type == "heredoc_end"), None)
    named = start and _HEREDOC_NAME.fullmatch(text_of(start))
    if start is None or body is None or end is None or not named:
        raise NotUnderstood("where a here-document ends is not certain")
    head = data[start.end_byte : data.find(b"\n", start.end_byte)]
    after_head = data.find(b"\n", start.end_byte) + 1
    tabs = any(child.type == "<<-" for child in node.children)
    at = after_head
    for line in data[after_head:].split(b"\n"):
        if (line.lstrip(b"\t") if tabs else line) == named["name"].encode():
            break
        at += len(line) + 1
    end_of_name = at + len(data[at : data.find(b"\n", at) if b"\n" in data[at:] else len(data)])
    if end.end_byte != end_of_name or b"<<" in head or b"\\" in head:
        raise NotUnderstood("where a here-document ends is not certain")
    return not named["quote"]


def heredoc_text(node: Node, data: bytes) -> str | None:
    """The literal text of a here-document whose name is quoted; None when it is expanded."""
    start = next(c for c in node.children if c.type == "heredoc_start")
    end = next(c for c in node.children if c.type == "heredoc_end")
    body = data[data.find(b"\n", start.end_byte) + 1 : end.start_byte].decode()
    quoted = text_of(start)[0] in "'\""
    return body if quoted or not re.search(r"[$`\\]", body) else None

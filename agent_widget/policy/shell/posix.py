"""Every simple command, assignment and redirection of a POSIX shell line."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from .model import UNKNOWN, Assignment, Command, Redirect, Script, Word, doubtful, names
from .syntax import NotUnderstood, has_lone_dash, heredoc_text, nodes_within, syntax_tree, text_of
from .words import NAME, Words, assigned_by

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_NODES: Final = 5_000
MAX_COMMANDS: Final = 200
_STATEMENTS: Final = names(
    "program list pipeline command command_name redirected_statement file_redirect "
    "heredoc_redirect herestring_redirect heredoc_start heredoc_body heredoc_content "
    "heredoc_end declaration_command unset_command test_command negated_command subshell "
    "compound_statement function_definition if_statement elif_clause else_clause "
    "while_statement for_statement c_style_for_statement case_statement case_item do_group "
    "variable_assignment variable_assignments comment"
)
_EXPRESSIONS: Final = names(
    "binary_expression unary_expression postfix_expression ternary_expression "
    "parenthesized_expression subscript array word number string string_content raw_string "
    "ansi_c_string concatenation simple_expansion expansion command_substitution "
    "process_substitution arithmetic_expansion brace_expression variable_name "
    "special_variable_name file_descriptor test_operator regex extglob_pattern"
)
_ARITHMETIC_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_STATEMENT_MARKS: Final = frozenset({"&&", "||", ";", "|", "&", "<", ">", "(", ")", "\n", "|&"})
_RESERVED: Final = names(
    "{ } ! if then elif else fi for in do done while until case esac select function [[ ]]"
)
_FD: Final = re.compile(r"\d+-?|-")
_HARMLESS_FILES: Final = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
_READS: Final = frozenset({"<", "<&"})
_DUPLICATES: Final = frozenset({">&", "<&"})
_VALUES_EVALUATED: Final = re.compile(r"\$\(|`|\$\{")


def posix_script(source: str) -> Script:
    """What ``source`` would do in bash. Never raises: what is not understood is a doubt."""
    try:
        root, data = syntax_tree(source)
        return _Reader(root, data).script()
    except NotUnderstood as reason:
        return doubtful(str(reason))
    except ImportError:
        return doubtful("tree-sitter-bash is not installed, so no command can be judged")


class _Reader:
    """Reads one checked tree."""

    def __init__(self, root: Node, data: bytes) -> None:
        self._data = data
        self._nodes = tuple(islice(nodes_within(root), MAX_NODES + 1))
        commands = sum(node.type == "command" for node in self._nodes)
        if len(self._nodes) > MAX_NODES or commands > MAX_COMMANDS:
            raise NotUnderstood("it is too long to be judged")
        self._variables = frozenset(
            text_of(node).rstrip("+=")
            for node in self._nodes
            if node.type == "variable_name" and _is_set(node)
        )
        self._words = Words(data, self._variables)
        self._numbers = self._number_variables()

    def script(self) -> Script:
        commands: list[Command] = []
        redirects: list[Redirect] = []
        doubts: list[str] = []
        for node in self._nodes:
            if node.is_named and node.type not in _STATEMENTS | _EXPRESSIONS:
                raise NotUnderstood(f"it holds {node.type!r}, which is not understood")
            try:
                self._read(node, commands, redirects)
            except NotUnderstood as reason:
                doubts.append(str(reason))
        return Script(tuple(commands), tuple(redirects), tuple(doubts), self._variables)

    def _read(self, node: Node, commands: list[Command], redirects: list[Redirect]) -> None:
        match node.type:
            case "command" | "declaration_command" | "unset_command":
                commands.append(self._command(node))
            case "file_redirect":
                redirects.extend(self._redirect(node))
            case "variable_assignment" if _alone(node):
                commands.append(Command((), (self._assignment(node, exported=False),)))
            case "expansion":
                if name := assigned_by(text_of(node)):
                    value = Assignment(name, Word(UNKNOWN), exported=False)
                    commands.append(Command((), (value,)))
                self._words.word(node)
            case "for_statement":
                value = Assignment(text_of(node.named_children[0]), Word(UNKNOWN), exported=False)
                commands.append(Command((), (value,)))
            case _:
                self._check(node)

    def _check(self, node: Node) -> None:
        if node.type == "test_command":
            self._check_test(node)
        elif _is_arithmetic(node):
            self._check_arithmetic(node)
        elif node.type == "function_definition":
            _check_function(node)

    # Commands -------------------------------------------------------------------------------------

    def _command(self, node: Node) -> Command:
        words: list[Word] = []
        assignments: list[Assignment] = []
        for child in [*node.children, *_words_after_redirects(node)]:
            match child.type:
                case "variable_assignment" if node.type == "command":
                    assignments.append(self._assignment(child, exported=True))
                case "variable_assignment":
                    assignment = self._assignment(child, exported=True)
                    assignments.append(assignment)
                    words.append(Word(f"{assignment.name}={assignment.value.text}"))
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect":
                    pass
                case "declare" | "typeset" | "export" | "readonly" | "local" | "unset" | "unsetenv":
                    words.append(Word(child.type))
                case _:
                    words.append(self._words.word(child))
        if any(
            child.type == "heredoc_redirect" and has_lone_dash(child, self._data)
            for child in (node.parent.children if node.parent is not None else ())
        ):
            words.append(Word("-"))
        if node.type == "command" and words and words[0].text in _RESERVED:
            raise NotUnderstood(f"{words[0].text!r} stands where a command should")
        return Command(tuple(words), tuple(assignments), self._stdin(node))

    def _assignment(self, node: Node, *, exported: bool) -> Assignment:
        target = node.children[0]
        if target.type != "variable_name" or not NAME.fullmatch(text_of(target)):
            if not re.fullmatch(r"[A-Za-z_]\w*\[(\d+|\$[A-Za-z_]\w*|\"\$[A-Za-z_]\w*\")\]",
                                text_of(target)):  # fmt: skip
                raise NotUnderstood("it assigns to what only the shell can tell")
            if "$" in text_of(target):
                self._check_arithmetic(target)
            target = target.children[0]
        value = node.children[2] if len(node.children) > 2 else None
        if value is None:
            return Assignment(text_of(target), Word(""), exported)
        if value.type == "array":
            for item in value.named_children:
                self._words.word(item)
            return Assignment(text_of(target), Word(UNKNOWN), exported)
        word = self._words.word(value)
        return Assignment(text_of(target), Word(word.text), exported)

    def _stdin(self, node: Node) -> Word | None:
        statement = node.parent
        around = (
            []
            if statement is None or statement.type != "redirected_statement"
            else [child for child in statement.children if child.id != node.id]
        )
        for child in [*node.children, *around]:
            if child.type == "herestring_redirect":
                return self._words.word(child.named_children[-1])
            if child.type == "heredoc_redirect":
                text = heredoc_text(child, self._data)
                return Word(UNKNOWN) if text is None else Word(text)
        return None

    # Redirections ---------------------------------------------------------------------------------

    def _redirect(self, node: Node) -> list[Redirect]:
        operator = next(child.type for child in node.children if not child.is_named)
        targets = [c for c in node.named_children if c.type != "file_descriptor"]
        if operator.endswith("-") or not targets:
            return []
        if len(targets) > 1 and not _has_command(node):
            raise NotUnderstood("words after a redirection belong to no command")
        target = self._words.word(targets[0])
        if operator in _DUPLICATES and _FD.fullmatch(target.text):
            return []
        if target.known and target.text in _HARMLESS_FILES:
            return []
        if target.text.startswith(("/dev/tcp", "/dev/udp")):
            raise NotUnderstood("it opens a network connection")
        if targets[0].type == "process_substitution":
            return []
        return [Redirect("read" if operator in _READS else "write", target)]

    # What the shell evaluates ---------------------------------------------------------------------

    def _check_test(self, node: Node) -> None:
        """Only ``[[`` has operators; in ``[`` they start commands and open files."""
        single = node.children[0].type == "["
        inner = [n for c in node.children[1:-1] for n in _outside_substitutions(c)]
        if single and any(n.type in _STATEMENT_MARKS for n in inner):
            raise NotUnderstood("a test holds an operator of the shell")
        if any(text_of(n) in {"-v", "-R"} for n in inner):
            raise NotUnderstood("a test of a variable's name may run what the name holds")
        if any(n.type == "raw_string" and _VALUES_EVALUATED.search(text_of(n)) for n in inner):
            raise NotUnderstood("a test holds quoted code")
        if not single and any(text_of(n) in _ARITHMETIC_TESTS for n in inner):
            for operand in (n for c in node.named_children for n in _operands(c)):
                self._check_number(operand)

    def _check_number(self, node: Node) -> None:
        text = text_of(node).strip('"')
        name = text.lstrip("$").strip("{}")
        fine = re.fullmatch(r"-?\d+|\$[#?$!]|\$\{#\w+(\[[@*]\])?\}", text)
        if not fine and not (text.startswith("$") and name in self._numbers):
            raise NotUnderstood(f"{text} is evaluated as arithmetic, which may run commands")

    def _check_arithmetic(self, node: Node) -> None:
        """A variable in arithmetic is evaluated again: it must be a number that the line made."""
        for inner in (n for c in node.children for n in _outside_substitutions(c)):
            if inner.type in {"do_group", "compound_statement"}:
                break
            if inner.type in {"raw_string", "ansi_c_string", "string", "concatenation"}:
                raise NotUnderstood("arithmetic holds a quoted text")
            if inner.type in {"word", "variable_name"}:
                name = text_of(inner)
                if NAME.fullmatch(name) and name not in self._numbers:
                    raise NotUnderstood(
                        f"{name} is evaluated as arithmetic, which may run commands"
                    )
            if inner.type == "command_substitution":
                raise NotUnderstood("an output is evaluated as arithmetic, which may run commands")

    def _number_variables(self) -> frozenset[str]:
        """Variables that the line sets, and only ever to whole numbers."""
        numbers: dict[str, bool] = {}
        for node in self._nodes:
            if node.type == "variable_assignment":
                value = node.children[-1]
                fine = value.type == "arithmetic_expansion" or _is_number(value)
            elif node.type == "for_statement":
                values = [c for c in node.named_children[1:] if c.type != "do_group"]
                fine = bool(values) and all(_is_number(value) for value in values)
            elif node.type == "binary_expression" and node.children[1].type == "=":
                fine = True
            else:
                continue
            target = next((c for c in node.children if c.type in {"variable_name", "word"}), None)
            name = text_of(target) if target is not None else ""
            numbers[name] = numbers.get(name, True) and fine
        if self._sets_by_name():
            return frozenset()
        return frozenset(name for name, fine in numbers.items() if fine)

    def _sets_by_name(self) -> bool:
        """True when a command of the line could set a variable that it is told by name."""
        names = {text_of(n).lstrip("\\") for n in self._nodes if n.type == "command_name"}
        plain = re.compile(r"[A-Za-z0-9_./-]+")
        return bool(names & _SETS_VARIABLES) or any(not plain.fullmatch(name) for name in names)


_SETS_VARIABLES: Final = names(
    "read mapfile readarray printf let eval source . declare typeset local export readonly "
    "getopts wait command builtin"
)


def _is_arithmetic(node: Node) -> bool:
    if node.type == "compound_statement":
        return node.children[0].type == "(("
    return node.type in {"arithmetic_expansion", "c_style_for_statement"}


def _is_set(node: Node) -> bool:
    parent = node.parent
    return parent is not None and parent.type in {
        "variable_assignment", "for_statement", "declaration_command", "subscript",
    }  # fmt: skip


def _is_number(node: Node) -> bool:
    return re.fullmatch(r"-?\d+|\{\d+\.\.\d+(\.\.\d+)?\}", text_of(node)) is not None


def _alone(node: Node) -> bool:
    return node.parent is None or node.parent.type not in {
        "command", "declaration_command", "unset_command",
    }  # fmt: skip


def _has_command(redirect: Node) -> bool:
    statement = redirect.parent
    if statement is None:
        return False
    return statement.type == "command" or any(c.type == "command" for c in statement.children)


def _words_after_redirects(node: Node) -> list[Node]:
    """Words that the grammar hangs below a redirection after the command: ``echo a >f b``."""
    statement = node.parent
    around = list(node.children)
    if statement is not None and statement.type == "redirected_statement":
        around += [child for child in statement.children if child.id != node.id]
    return [
        word
        for child in around
        if child.type == "file_redirect"
        for word in [c for c in child.named_children if c.type != "file_descriptor"][1:]
    ]


def _outside_substitutions(node: Node) -> list[Node]:
    """``node`` and what is below it, but not the inside of substitutions: it is judged itself."""
    found, left = [], [node]
    while left:
        at = left.pop()
        found.append(at)
        if at.type not in {"command_substitution", "process_substitution"}:
            left.extend(reversed(at.children))
    return found


def _operands(node: Node) -> list[Node]:
    """The two sides of every arithmetic comparison below ``node``."""
    return [
        child
        for inner in _outside_substitutions(node)
        if inner.type == "binary_expression"
        and len(inner.children) == 3
        and text_of(inner.children[1]) in _ARITHMETIC_TESTS
        for child in (inner.children[0], inner.children[2])
    ]


def _check_function(node: Node) -> None:
    name = next((text_of(c) for c in node.children if c.type == "word"), "")
    if not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        raise NotUnderstood("a function has a name that is not understood")

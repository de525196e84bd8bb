"""The English texts of the kernel that a page can show, read from the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import agent_widget

PACKAGE: Final = Path(agent_widget.__file__).parent
NO_PAGE: Final = frozenset({"testing"})
"""Parts of the package that nothing of a page uses."""
TOLD: Final[Mapping[str, int]] = {
    "notice": 2,
    "_notice": 2,
    "ModelError": 1,
    "SessionError": 1,
    "StoreError": 1,
    "_fixed": 0,
    "NoCredentials": 0,
    "NotUnderstood": 0,
    "doubtful": 0,
    "unsure": 1,
}
"""What a person is told through, and which argument says it; ``advice`` and the rest follow it."""
OF_CODE: Final = frozenset(
    {
        "invalid_event",
        "session_store_corrupted",
        "malformed_input_metadata",
        "checkpoint_not_found",
        "wrong_thread",
        "invalid_options",
        "query_not_ended",
        "prompt.message",
        "session_not_found",
        "assembly_failed",
    }
)
"""Codes of errors that only code can meet: opening a session, and calls that no page makes."""
OF_PAGE: Final = frozenset(
    {
        "INPUT_BLOCKED",
        "SESSION_NOT_RUNNING",
        "SESSION_BUSY",
        "QUESTION_CLOSED",
        "SESSION_CLOSED",
    }
)
"""Codes that the page has words of its own for."""
Known = Mapping[str, Sequence[ast.expr]]


def spoken_texts() -> Iterator[tuple[str, str]]:
    """Where a text is made, and the text, with X where something is put in."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if NO_PAGE & {*path.relative_to(PACKAGE).parts}:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        of_module = _assigned(node for node in tree.body if not isinstance(node, ast.ClassDef))
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            known = {**of_module, **_assigned(ast.walk(function))}
            for call in ast.walk(function):
                for text in _told_by(call, known):
                    place = f"{path.relative_to(PACKAGE)}:{getattr(call, 'lineno', 0)}"
                    yield place, text


def _assigned(nodes: Iterator[ast.AST]) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(target.elts, value.elts, strict=False)]
        for name, said in pairs:
            if isinstance(name, ast.Name):
                found.setdefault(name.id, []).append(said)
    return found


def _told_by(call: ast.AST, known: Known) -> Iterator[str]:
    if not isinstance(call, ast.Call):
        return
    called = call.func
    name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
    if name == "append" and isinstance(called, ast.Attribute):  # doubts.append("...")
        is_doubt = isinstance(called.value, ast.Name) and called.value.id == "doubts"
        at = 0 if is_doubt else None
    elif name == "__init__":  # super().__init__("STORAGE_ERROR", ...) of an error with a code
        at = 1 if len(call.args) > 1 else None
    else:
        at = TOLD.get(name)
    if at is None or (at == 1 and name != "unsure" and _code_of(call) in OF_CODE | OF_PAGE):
        return
    advice = [each.value for each in call.keywords if each.arg == "advice"]
    for said in chain(call.args[at:], advice):
        yield from _texts(said, known)


def _code_of(call: ast.Call) -> object:
    code = call.args[0] if call.args else None
    return code.value if isinstance(code, ast.Constant) else None


def _texts(node: ast.expr, known: Known) -> list[str]:
    """What ``node`` can say, as far as the function and the module show it."""
    if isinstance(node, ast.Name):
        rest = {name: values for name, values in known.items() if name != node.id}
        return [text for each in known.get(node.id, ()) for text in _texts(each, rest)]
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return [written(node)]
    if isinstance(node, ast.IfExp):
        return _texts(node.body, known) + _texts(node.orelse, known)
    if isinstance(node, ast.BoolOp):
        return [text for each in node.values for text in _texts(each, known)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _texts(node.left, known), _texts(node.right, known)
        return [one + other for one in left or ["X"] for other in right or ["X"]]
    return []


def written(node: ast.expr) -> str:
    """A literal, with X where something is put in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    assert isinstance(node, ast.JoinedStr)
    return "".join(str(v.value) if isinstance(v, ast.Constant) else "X" for v in node.values)

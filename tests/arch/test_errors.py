"""There is one error class, and a table says what each of its codes means."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import agent_widget
from agent_widget.core.errorcodes import CODES
from agent_widget.core.errors import ERROR_CODES, SessionError, ToolFailure

PACKAGE: Final = Path(agent_widget.__file__).parent
SOURCES: Final = [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))]
NEAR: Final = r"Error|Failure|\w: Final = \"[\w.]+\"\n"
"""What stands in each module that makes an error or names a code."""
TREES: Final = [ast.parse(text) for text in SOURCES if re.search(NEAR, text)]
CODE_FIRST: Final = ("SessionError", "StoreError", "ModelError")
"""Classes whose first argument is the code; others bring their own, or take it by name."""


def codes_named_in(tree: ast.Module) -> dict[str, str]:
    """The texts that could be codes and that a module names in capitals."""
    return {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str) and re.fullmatch(r"[\w.]+", node.value.value)
    }


def error_classes() -> set[str]:
    """The names of ``SessionError`` and of all classes below it."""
    found = {"SessionError"}
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in TREES
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def raised_codes() -> Iterator[str]:
    """Every code that the package writes down where it makes an error."""
    named = {name: code for tree in TREES for name, code in codes_named_in(tree).items()}
    classes = error_classes()
    for tree in TREES:
        own = {**named, **codes_named_in(tree)}
        for value in code_arguments(tree, classes):
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value
            elif isinstance(value, ast.Name) and value.id in own:
                yield own[value.id]


def code_arguments(tree: ast.Module, classes: set[str]) -> Iterator[ast.expr]:
    """What a module gives for codes: to the classes, and in the constructors of new ones."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in classes:
            takes_code = any(isinstance(b, ast.Name) and b.id in CODE_FIRST for b in node.bases)
            for call in (each for each in ast.walk(node) if isinstance(each, ast.Call)):
                if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__":
                    yield from call.args[: int(takes_code)]
                    yield from (word.value for word in call.keywords if word.arg == "code")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in CODE_FIRST:
                yield from node.args[:1]
            if node.func.id in classes:
                yield from (word.value for word in node.keywords if word.arg == "code")


def test_the_table_has_each_code_that_is_raised_and_no_other() -> None:
    assert {*raised_codes(), *ERROR_CODES, ToolFailure("").code} == CODES.keys()


def test_a_code_is_explained_in_a_sentence_of_its_own() -> None:
    assert all(text.endswith(".") and text[0].isupper() for text in CODES.values())
    assert len({*CODES.values()}) == len(CODES)


@pytest.mark.parametrize(
    "code",
    [
        "invalid_options",
        "assembly_failed",
        "session_closed",
        "session_not_found",
        "session_store_corrupted",
        "checkpoint_not_found",
    ],
)
def test_the_codes_of_the_contract_are_there(code: str) -> None:
    assert code in CODES


def test_what_the_package_raises_by_name_is_of_the_one_class() -> None:
    public = (getattr(agent_widget, name) for name in agent_widget.__all__)
    errors = [each for each in public if isinstance(each, type) and issubclass(each, Exception)]
    assert SessionError in errors
    assert all(issubclass(error, SessionError) for error in errors)

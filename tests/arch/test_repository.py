"""The repository holds what it should, and nothing of the machine it was written on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

ALLOWED_AT_THE_TOP = {
    "CHANGELOG.md",
    "LICENSE",
    "Makefile",
    "README.md",
    "agent_widget",
    "js",
    "notebooks",
    "pyproject.toml",
    "tests",
}
# Written in pieces, so that this file does not match itself.
NOT_FOR_A_REPOSITORY = re.compile(
    "|".join(
        (
            r"registry\.(npmjs|yarnpkg|npmmirror)\.",
            r"(test\.)?pypi\." + r"org/(simple|pypi)",
            r"files\." + r"pythonhosted",
            r"(deb|security|ftp)\.debian\." + r"org",
            r"--(extra-)?index-" + r"url",
            r"(?<![\w.])/" + r"(work|root|opt/pypi|opt/wheels)/",
            r"(?<![\w.])/tmp/" + r"w/",
        )
    )
)


def test_the_top_level_holds_only_what_belongs_there(repository_files: Sequence[Path]) -> None:
    top = {path.parts[0] for path in repository_files}
    assert {name for name in top - ALLOWED_AT_THE_TOP if not name.startswith(".")} == set()


def test_no_file_names_a_registry_or_a_path_of_a_machine(
    root: Path, repository_files: Sequence[Path]
) -> None:
    found = [
        f"{path}:{number}: {match.group()}"
        for path in repository_files
        for number, line in enumerate(text_lines(root / path), start=1)
        if (match := NOT_FOR_A_REPOSITORY.search(line))
    ]
    assert found == []


def text_lines(path: Path) -> list[str]:
    """The lines of a text file; a file of bytes has none."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []


@pytest.mark.parametrize(
    "line",
    [
        '"resolved": "https://registry.' + 'npmjs.org/preact"',
        "pip install -i https://pypi." + "org/simple x",
        "see /" + "work/main/x",
        "open /" + "root/.cache",
    ],
)
def test_the_pattern_finds_what_it_is_for(line: str) -> None:
    assert NOT_FOR_A_REPOSITORY.search(line)


@pytest.mark.parametrize("line", ["https://pypi.org/project/agent_widget", "a/work/b", "/api/root"])
def test_the_pattern_leaves_ordinary_text_alone(line: str) -> None:
    assert NOT_FOR_A_REPOSITORY.search(line) is None


def test_what_is_built_is_never_tracked(repository_files: Sequence[Path]) -> None:
    built = {"static", "node_modules", "dist", "__pycache__", ".venv"}
    assert [path for path in repository_files if built & set(path.parts)] == []

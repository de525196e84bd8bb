from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from agent_widget.core.errors import ToolFailure
from agent_widget.tools import ToolOutput
from agent_widget.tools import search as search_module
from agent_widget.tools.search import MATCHES, search_tool
from agent_widget.tools.workspace import Workspace
from tests.tools.support.calls import Call, output_of

pytestmark = pytest.mark.anyio

HANGS = "(a+)+$"


async def searched(root: Path, pattern: str, **args: Any) -> list[str]:
    output = await output_of(search_tool(Workspace(root)), pattern=pattern, **args)
    return output.text_for_model().split("\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "s").mkdir()
    (tmp_path / "a.py").write_text("import os\n\ndef Fox():\r\n    pass\n")
    (tmp_path / "s/b.txt").write_text("a fox.*\nno\nfoxes\n")
    (tmp_path / ".hidden").write_text("fox\n")
    (tmp_path / "bin").write_bytes(b"fox\0")
    return tmp_path


SKIPPED = "[1 files that are not text were not searched.]"


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        ({"pattern": "fox"}, ["s/b.txt:1: a fox.*", "s/b.txt:3: foxes", SKIPPED]),
        ({"pattern": r"^\s*def (\w+)"}, ["a.py:3: def Fox():", SKIPPED]),
        ({"pattern": r"\)(:)$"}, ["a.py:3: def Fox():", SKIPPED]),
        ({"pattern": "fox.*", "literal": True}, ["s/b.txt:1: a fox.*", SKIPPED]),
        (
            {"pattern": "FOX", "ignore_case": True, "glob": "*.py"},
            ["a.py:3: def Fox():"],
        ),
        (
            {"pattern": "FOX", "literal": True, "ignore_case": True, "path": "a.py"},
            ["a.py:3: def Fox():"],
        ),
        ({"pattern": "fox", "path": "s"}, ["s/b.txt:1: a fox.*", "s/b.txt:3: foxes"]),
        ({"pattern": "fox", "path": ".hidden"}, [".hidden:1: fox"]),
        ({"pattern": "cat", "path": "s"}, ["[No match in 1 text files.]"]),
    ],
    ids=str,
)
async def test_lines_are_found_with_their_file_and_number(
    root: Path, args: dict[str, Any], lines: list[str]
) -> None:
    assert await searched(root, **args) == lines


@pytest.mark.parametrize("literal", [True, False])
async def test_matches_are_bounded_and_long_lines_shown_around_the_match(
    tmp_path: Path, literal: bool
) -> None:
    (tmp_path / "f").write_text("x\n" * (MATCHES + 5))
    lines = await searched(tmp_path, "x", literal=literal)
    assert len(lines) == MATCHES + 1
    assert lines[-1].startswith("[There are more matches")
    (tmp_path / "f").write_text("-" * 100_000 + "needle" + "-" * 100_000)
    (line,) = await searched(tmp_path, "needle", literal=literal)
    assert line.startswith("f:1: …-")
    assert "needle" in line
    assert len(line) < 320


async def test_a_huge_or_unreadable_file_is_left_out_and_counted(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(tmp_path / "pipe")
    assert await searched(tmp_path, "x") == [
        "[No match in 0 text files.]",
        "[1 files that cannot be read or have more than 5 MB were not.]",
    ]
    with pytest.raises(ToolFailure, match="named pipe"):
        await searched(tmp_path, "x", path="pipe")


@pytest.mark.parametrize("pattern", ["(", "*", "[", "(?P<n>", r"\N", "a{99999999999}", "(" * 5_000])
async def test_what_is_no_regular_expression_is_said_to_be_none(root: Path, pattern: str) -> None:
    with pytest.raises(ToolFailure, match="is not a regular expression"):
        await searched(root, pattern)


async def test_a_pattern_that_never_ends_is_killed_and_the_loop_turns_meanwhile(
    tmp_path: Path,
) -> None:
    (tmp_path / "a").write_text("aaa\n")
    (tmp_path / "b").write_text("a" * 60 + "b\n")
    turns = 0

    async def turning() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    tool = search_tool(Workspace(tmp_path), pattern_s=0.3)
    beside = asyncio.create_task(turning())
    try:
        output = await output_of(tool, pattern=HANGS)
    finally:
        beside.cancel()
    assert output.is_error
    assert output.text_for_model().split("\n") == [
        "a:1: aaa",
        "[The pattern took too long on b; make it simpler.]",
    ]
    assert turns > 1_000


async def test_stop_kills_the_process_of_a_pattern(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "b").write_text("a" * 60 + "b\n")
    started: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    start = search_module._started

    def noted() -> Any:
        process = start()
        loop.call_soon_threadsafe(started.put_nowait, process)
        return process

    monkeypatch.setattr(search_module, "_started", noted)
    call = asyncio.create_task(Call(search_tool(Workspace(tmp_path))).run(pattern=HANGS))
    process = await started.get()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.to_thread(process.wait)


async def test_without_python_literal_search_is_the_way_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nothing/python")
    with pytest.raises(ToolFailure, match="Search with literal"):
        await searched(root, "fox")
    found: ToolOutput = await output_of(
        search_tool(Workspace(root)), pattern="foxes", literal=True, path="s"
    )
    assert found.text_for_model() == "s/b.txt:3: foxes"

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_widget.core.errors import ToolFailure
from agent_widget.tools import FunctionTool, TextBlock, ToolOutput, file_tools
from agent_widget.tools.diff import unified_diff
from tests.tools.support.calls import Call, output_of

pytestmark = pytest.mark.anyio


def editor(root: Path) -> FunctionTool:
    return file_tools(root)[3]


def writer(root: Path) -> FunctionTool:
    return file_tools(root)[4]


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def edited(root: Path, data: bytes, old: str, new: str, **args: Any) -> bytes:
    (root / "f").write_bytes(data)
    await output_of(editor(root), path="f", old=old, new=new, **args)
    return (root / "f").read_bytes()


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\nb\nc", "b", "B", b"a\nB\nc"),
        (b"a\r\nb\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "x\r\ny", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "b", "c", b"a\r\nc\n"),
        (b"\xef\xbb\xbfa\n", "a", "é", b"\xef\xbb\xbf\xc3\xa9\n"),
        ("aé\r\n".encode("utf-16"), "é", "ü\n", "aü\r\n\r\n".encode("utf-16")),
        (b"caf\xe9 \xa0", "caf", "th", b"th\xe9 \xa0"),
        (b"a\x0cb\xe2\x80\xa8c\rd", "c", "C", b"a\x0cb\xe2\x80\xa8C\rd"),
        (b"ab", "b", "", b"a"),
    ],
)
async def test_an_edit_changes_its_piece_and_no_other_byte(
    tmp_path: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    assert await edited(tmp_path, before, old, new) == after


async def test_an_edit_returns_the_diff_that_was_shown_before_it(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"{n}\n" for n in range(1, 21)))
    tool = editor(tmp_path)
    args = tool.validate({"path": "f", "old": "10\n11", "new": "ten"})
    shown = tool.describe(args)
    diff = "--- f\n+++ f\n@@ -7,8 +7,7 @@\n 7\n 8\n 9\n-10\n-11\n+ten\n 12\n 13\n 14"
    assert (shown.text, shown.language) == (diff, "diff")
    assert await Call(tool).run(**args) == ToolOutput((TextBlock(diff),))


async def test_a_piece_that_is_there_more_than_once_is_refused_with_its_lines(
    tmp_path: Path,
) -> None:
    data = b"x = 1\ny\nx = 1\n"
    with pytest.raises(ToolFailure, match=r"f 2 times, at lines 1, 3\. Give more .* replace_all"):
        await edited(tmp_path, data, "x = 1", "z")
    assert (tmp_path / "f").read_bytes() == data
    assert await edited(tmp_path, data, "x = 1", "z", replace_all=True) == b"z\ny\nz\n"
    with pytest.raises(ToolFailure, match="2 times"):  # overlapping
        await edited(tmp_path, b"aaa", "aa", "b")


@pytest.mark.parametrize(
    ("data", "old", "new", "problem"),
    [
        (b"a\n", "b", "c", "old is not in f"),
        (b"a\n  b\n", "b\nc", "d", "first line is like line 2"),
        (b"a\r\nb\nc", "a\nb", "d", "line ends are mixed"),
        (b"a", "", "b", "old is empty"),
        (b"a", "a", "a", "the same"),
        (b"a\0", "a", "b", "not text"),
        (b"caf\xe9", "caf", "€", "Latin-1, which has no '€'"),
        (b"a" * 20_000, "a", "b" * 1_000, "20,000,000 bytes"),
    ],
)
async def test_an_edit_that_cannot_be_made_says_why_and_changes_nothing(
    tmp_path: Path, data: bytes, old: str, new: str, problem: str
) -> None:
    with pytest.raises(ToolFailure, match=problem):
        await edited(tmp_path, data, old, new, replace_all=True)
    assert (tmp_path / "f").read_bytes() == data


async def test_writing_creates_or_replaces_a_whole_file(tmp_path: Path) -> None:
    tool = writer(tmp_path)
    args = {"path": "new/f.txt", "content": "a\nb"}
    shown = tool.describe(args)
    assert shown.text == (
        "--- /dev/null\n+++ new/f.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file"
    )
    output = await output_of(tool, **args)
    assert output.text_for_model() == "Created new/f.txt: 3 bytes."
    assert output.content[1] == TextBlock(shown.text, "user")
    output = await output_of(tool, path="new/f.txt", content="a\nc\n")
    assert output.text_for_model() == "Replaced new/f.txt: 4 bytes."
    assert (tmp_path / "new/f.txt").read_text() == "a\nc\n"


async def test_writing_keeps_mode_mark_and_line_ends_and_names_them(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes("a\r\nb\r\n".encode("utf-16"))
    file.chmod(0o640)
    tool = writer(tmp_path)
    assert tool.describe({"path": "f", "content": "a\nc\n"}).text == (
        "--- f\n+++ f\t(UTF-16-LE with byte order mark, \\r\\n line ends)\n"
        "@@ -1,2 +1,2 @@\n a\n-b\n+c"
    )
    await output_of(tool, path="f", content="a\nc\n")
    assert file.read_bytes() == "a\r\nc\r\n".encode("utf-16")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


async def test_writing_spares_what_is_no_text_and_what_has_that_content(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\0\1")
    (tmp_path / "s").write_text("same")
    for path, content, problem in [
        ("b", "x", "not overwritten"),
        ("s", "same", "this content already"),
        (".", "x", "folder"),
        ("../x", "x", "outside"),
        ("s/x", "x", "part of this path"),
        ("big", "x" * 10_000_001, "10,000,001 bytes"),
    ]:
        with pytest.raises(ToolFailure, match=problem):
            await output_of(writer(tmp_path), path=path, content=content)
    assert names_in(tmp_path) == ["b", "s"]


@pytest.mark.parametrize("path", ["nothing", "../x", "bin", "pipe", "", "a\0b"])
def test_what_cannot_be_planned_is_shown_whole_with_the_reason(tmp_path: Path, path: str) -> None:
    (tmp_path / "bin").write_bytes(b"\0")
    os.mkfifo(tmp_path / "pipe")
    shown = editor(tmp_path).describe({"path": path, "old": "one\ntwo", "new": "three"}).text
    assert shown.endswith(f"--- {path}\n+++ {path}\n-one\n-two\n+three")
    reason = shown.partition("\n---")[0]
    assert len(reason) > 10
    if path != "nothing":
        text = writer(tmp_path).describe({"path": path, "content": "one\ntwo\n"}).text
        assert text.endswith("@@ -0,0 +1,2 @@\n+one\n+two")


# Between the question and the run -------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "what"), [("a", "a b", "changed"), ("a", None, "is gone")]
)
async def test_a_file_that_others_change_after_it_was_shown_is_left_alone(
    tmp_path: Path, before: str, after: str | None, what: str
) -> None:
    file = tmp_path / "f"
    for tool, given_args in [
        (editor(tmp_path), {"path": "f", "old": "a", "new": "c"}),
        (writer(tmp_path), {"path": "f", "content": "c"}),
    ]:
        file.write_text(before)
        args = tool.validate(given_args)
        tool.describe(args)
        file.write_text(after) if after is not None else file.unlink()
        with pytest.raises(ToolFailure, match=f"f {what} after this change was shown"):
            await Call(tool).run(**args)
        assert (file.read_text() if file.exists() else None) == after


async def test_a_file_that_appears_after_it_was_shown_as_new_is_left_alone(tmp_path: Path) -> None:
    tool = writer(tmp_path)
    tool.describe({"path": "f", "content": "mine"})
    (tmp_path / "f").write_text("theirs")
    with pytest.raises(ToolFailure, match="f appeared after"):
        await output_of(tool, path="f", content="mine")
    assert (tmp_path / "f").read_text() == "theirs"


async def test_changes_of_one_answer_shown_together_run_one_after_the_other(
    tmp_path: Path,
) -> None:
    *_, edit, write = file_tools(tmp_path)
    calls: list[tuple[FunctionTool, dict[str, Any]]] = [
        (write, {"path": "f", "content": "one\ntwo\n"}),
        (edit, {"path": "f", "old": "one", "new": "1"}),
        (edit, {"path": "f", "old": "two", "new": "2"}),
    ]
    for tool, args in calls:
        tool.describe(args)
    for tool, args in calls:
        await output_of(tool, **args)
    assert (tmp_path / "f").read_text() == "1\n2\n"
    tool.describe(args := {"path": "f", "old": "2", "new": "3"})
    (tmp_path / "f").write_text("1\n2\n# theirs\n")
    with pytest.raises(ToolFailure, match="changed after"):
        await output_of(tool, **args)


# Diffs ----------------------------------------------------------------------------------------


LINES = st.lists(st.sampled_from(["a", "b", "", "c\r", "\\ x", "--- y"]), max_size=30)


@given(old=LINES, new=LINES, ends=st.tuples(st.booleans(), st.booleans()))
def test_a_diff_makes_the_new_text_of_the_old(
    tmp_path_factory: pytest.TempPathFactory,
    old: list[str],
    new: list[str],
    ends: tuple[bool, bool],
) -> None:
    before = "\n".join(old) + ("\n" if ends[0] and old else "")
    after = "\n".join(new) + ("\n" if ends[1] and new else "")
    assert applied(before, unified_diff(before, after, "f")) == after


def applied(text: str, diff: str) -> str:
    """``text`` with ``diff`` applied, strictly: every line of it must fit."""
    lines = text.splitlines(keepends=True) if "\r" not in text else split(text)
    made: list[str] = []
    at = 0
    body = diff.split("\n")[2:]
    for index, line in enumerate(body):
        if line.startswith("@@"):
            start, _, count = line.split()[1][1:].partition(",")
            start_at = int(start) - (count != "0")
            made += lines[at:start_at]
            at = start_at
        elif not line.startswith("\\ No newline"):
            last = index + 1 < len(body) and body[index + 1].startswith("\\ No newline")
            whole = line[1:] + ("" if last else "\n")
            if line[0] in " -":
                assert lines[at] == whole
                at += 1
            if line[0] in " +":
                made.append(whole)
    return "".join([*made, *lines[at:]])


def split(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def test_git_applies_a_diff(tmp_path: Path) -> None:
    before = "".join(f"line {n}\n" for n in range(100))
    after = before.replace("line 3\n", "").replace("line 50\n", "new\nnewer\n") + "end"
    (tmp_path / "f").write_text(before)
    diff = unified_diff(before, after, "f").replace("--- f", "--- a/f").replace("+++ f", "+++ b/f")
    command = ["git", "apply", "--unsafe-paths", "-"]
    subprocess.run(command, cwd=tmp_path, input=f"{diff}\n", text=True, check=True)
    assert (tmp_path / "f").read_text() == after


def test_the_diff_of_two_large_texts_is_one_block_and_at_once() -> None:
    old, new = "a\nb\n" * 20_000, "b\nc\n" * 20_000
    lines = unified_diff(old, new, "f").split("\n")
    assert len(lines) == 80_003

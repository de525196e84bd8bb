"""What a card and a model do not get of an output is in a file that they name."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from agent_widget.core.errors import Cancelled
from agent_widget.tools import TextBlock, ToolOutput, notebook_tools, tool
from agent_widget.tools.outputfile import OUTPUTS, OutputFile, OutputFolder
from agent_widget.tools.truncate import MODEL_TEXT_CHARS, USER_TEXT_BYTES
from tests.tools.support.calls import output_of

pytestmark = pytest.mark.anyio

LINES = "".join(f"line {n}\n" for n in range(120_000))
NOTE = re.compile(r"\[The output has ([\d,]+) bytes; all of it is in (\S+)\]\Z")


def whole(text: str) -> str:
    """The content of the file that ``text`` names at its end, after a look at who can read it."""
    found = NOTE.search(text)
    assert found is not None, text[-300:]
    path = Path(found[2])
    assert path.stat().st_size == int(found[1].replace(",", ""))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    return path.read_text()


def kept() -> set[Path]:
    return {*OUTPUTS._files}


def returns() -> str:
    return LINES


def prints() -> None:
    for line in LINES.splitlines():
        sys.stdout.write(f"{line}\n")  # more than a capture holds


def prints_and_returns() -> str:
    sys.stdout.write(LINES[: len(LINES) // 2])
    return LINES[len(LINES) // 2 :]


def prints_and_fails() -> None:
    sys.stdout.write(LINES)
    raise ValueError("in the end")


@pytest.mark.parametrize(
    ("function", "rest"),
    [
        (returns, "\n"),
        (prints, ""),
        (prints_and_returns, "\n"),
        (prints_and_fails, "ValueError: in the end\n"),
    ],
)
async def test_a_function_that_puts_out_too_much(function: Callable[[], Any], rest: str) -> None:
    output = await output_of(tool(function))
    texts = [block for block in output.content if isinstance(block, TextBlock)]
    for_user = "\n".join(block.text for block in texts if block.audience != "model")
    for_model = output.text_for_model()
    assert whole(for_model) == LINES + rest
    assert NOTE.search(for_user.partition("\nTraceback")[0]) or NOTE.search(for_user)
    for text, size in ((for_model, len(for_model)), (for_user, len(for_user.encode()))):
        assert text.startswith("line 0\nline 1\n")
        assert "line 119999\n" in text
        assert "characters left out" in text
        assert size < (MODEL_TEXT_CHARS if text is for_model else USER_TEXT_BYTES) + 1_000


async def test_a_cell_that_puts_out_too_much_also_one_that_is_interrupted() -> None:
    namespace: dict[str, Any] = {"lines": LINES, "stop": KeyboardInterrupt()}
    run_python = notebook_tools(namespace)[2]
    output = await output_of(run_python, code="print(lines, end='')\n'the value'")
    assert whole(output.text_for_model()) == f"{LINES}'the value'\n"
    with pytest.raises(Cancelled) as interrupted:
        await output_of(run_python, code="print(lines, end='')\nraise stop")
    assert whole(interrupted.value.message) == LINES


async def test_what_is_shown_whole_leaves_no_file() -> None:
    before = kept()
    text = "x" * (MODEL_TEXT_CHARS - 10)
    output = await output_of(tool(lambda_of(text)))
    assert output == ToolOutput((TextBlock(text),))
    assert kept() == before


async def test_text_for_the_user_alone_is_in_no_file() -> None:
    blocks = [TextBlock("secret\n" * 20_000, "user"), TextBlock(LINES)]
    output = await output_of(tool(lambda_of(blocks)))
    assert whole(output.text_for_model()) == f"{LINES}\n"


def lambda_of(value: Any) -> Callable[[], Any]:
    def gives() -> Any:
        return value

    return gives


class FullDisk(OutputFolder):
    def new_file(self) -> tuple[Path, IO[bytes]]:
        return Path("/dev/full"), Path("/dev/full").open("wb")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_a_full_disk_ends_the_file_and_not_the_call() -> None:
    file = OutputFile(FullDisk())
    file.write(b"x" * 20_000)
    file.write(b"x" * 20_000)
    file.close()
    assert (file.size_bytes, file.kept_bytes, file.note) == (40_000, 0, None)


FORKS = """
import os, sys
from agent_widget.tools.outputfile import OutputFile

file = OutputFile()
file.write(b"x" * 20_000)
file.close()
if os.fork() == 0:
    sys.exit()
os.wait()
print(file.path, file.path.exists())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_the_files_go_with_the_process_that_made_them_and_not_with_its_fork() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, check=True, timeout=30
    )
    path, there = done.stdout.split()
    assert there == "True"
    assert not Path(path).parent.exists()

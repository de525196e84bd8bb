"""How an exception of a tool reads: one line for everybody, the user's own frames below."""

from __future__ import annotations

import linecache
import sysconfig
import traceback
from pathlib import Path
from types import CodeType, TracebackType
from typing import Final

from .base import TextBlock, ToolOutput

_FRAMES: Final = 10
_LIBRARIES: Final = tuple(
    {str(Path(path).resolve()) for path in sysconfig.get_paths().values() if path}
)
_OWN: Final = str(Path(__file__).resolve().parent)


def error_line(error: BaseException) -> str:
    """``ValueError: message``, also where ``str(error)`` itself fails."""
    return "".join(traceback.format_exception_only(error)).strip()


def failed_output(error: BaseException, entry: CodeType | None = None) -> ToolOutput:
    """The error that a call raised, and where it came from."""
    frames = user_frames(error.__traceback__, entry)
    trace = () if not frames else (TextBlock(f"Traceback:\n{frames}", "user"),)
    return ToolOutput((TextBlock(error_line(error)), *trace), is_error=True)


def user_frames(tb: TracebackType | None, entry: CodeType | None = None) -> str:
    """The frames from ``entry`` on that are the user's, and the innermost one.

    Without ``entry``, from the first frame on that is no library's. None of this package's is
    shown; files of libraries are named without their folder.
    """
    while tb is not None and not _starts(tb, entry):
        tb = tb.tb_next
    frames = [f for f in traceback.extract_tb(tb) if not f.filename.startswith(_OWN)]
    shown = [
        frame
        for index, frame in enumerate(frames)
        if index == len(frames) - 1 or not _is_library(frame.filename)
    ]
    return "\n".join(_frame_text(frame) for frame in shown[-_FRAMES:])


def _starts(tb: TracebackType, entry: CodeType | None) -> bool:
    code = tb.tb_frame.f_code
    if entry is not None:
        return code is entry
    return not _is_library(code.co_filename)


def _is_library(filename: str) -> bool:
    if filename.startswith("<") and not linecache.getline(filename, 1):
        return True
    return str(Path(filename).resolve()).startswith((*_LIBRARIES, _OWN))


def _frame_text(frame: traceback.FrameSummary) -> str:
    name = frame.filename
    if "ipykernel_" in name:
        name = "notebook cell"
    elif _is_library(name):
        name = Path(name).name
    line = f"\n    {frame.line}" if frame.line else ""
    return f"  {name}, line {frame.lineno}, in {frame.name}{line}"

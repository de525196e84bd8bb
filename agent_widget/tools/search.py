"""``search_files``: lines of the files in the working directory that hold something.

Plain text is looked for in this process. A regular expression is run by a process of its own
(`linesearch`), which is killed when the time is up or the call is stopped: no pattern can hang
the kernel.
"""

from __future__ import annotations

import contextlib
import json
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Final, Protocol

from ..core.errors import ToolFailure
from . import linesearch
from .base import TextBlock, ToolContext, ToolOutput
from .function import FunctionTool, tool
from .globs import glob as glob_of
from .textfile import text_of
from .walk import Walk
from .workspace import Place, Workspace, shown_path

MATCHES: Final = 200
FILE_BYTES: Final = 5_000_000
"""Larger files are not searched."""
TIME_S: Final = 20.0
PATTERN_S: Final = 5.0

_OUTPUT_CHARS: Final = 18_000
_WATCH_S: Final = 0.1


class TooSlowError(Exception):
    """The pattern did not come to an end in time."""


class Matcher(Protocol):
    """Finds lines in one text after the other."""

    def matches(self, text: str, limit: int) -> Sequence[tuple[int, str]]:
        """Numbers and texts of the first ``limit`` lines. Raises TooSlowError."""
        ...

    def close(self) -> None: ...


def search_tool(
    workspace: Workspace, *, time_s: float = TIME_S, pattern_s: float = PATTERN_S
) -> FunctionTool:
    """The ``search_files`` tool for ``workspace``.

    After ``time_s`` seconds a call ends with what it has, and a regular expression after
    ``pattern_s`` on one file.
    """

    @tool(name="search_files", kind="read", timeout_s=time_s + 10)
    def search_files(  # noqa: PLR0917  # arguments of a tool are given by name
        pattern: str,
        context: ToolContext,
        path: str = ".",
        glob: str | None = None,
        literal: bool = False,
        ignore_case: bool = False,
        include_hidden: bool = False,
    ) -> ToolOutput:
        """Search text files of the working directory, line by line, for a regular expression.

        Each match is one line: path, line number, text. Hidden files and those that .gitignore
        names are left out.

        Args:
            pattern: A Python regular expression, or with literal the text itself.
            context: Whom the call belongs to.
            path: The folder or the file to search.
            glob: A glob that files must fit, such as *.py or src/**/test_*.py.
            literal: Whether pattern is plain text.
            ignore_case: Whether letter case is ignored.
            include_hidden: Whether to search hidden and ignored files, too.
        """
        if not pattern:
            raise ToolFailure("pattern is empty. Give what to look for.")
        ends = time.monotonic() + time_s

        def stops() -> bool:
            return context.cancelled.is_set() or time.monotonic() > ends

        walk = Walk(workspace, everything=include_hidden, stops=stops)
        files = _files(workspace, walk, workspace.place(path), glob)
        matcher: Matcher = (
            _Literal(pattern, ignore_case=ignore_case)
            if literal
            else _RegexProcess(pattern, ignore_case, stops, pattern_s)
        )
        with contextlib.closing(matcher):
            return _Search(workspace, matcher, stops).output(files, walk)

    return search_files


def _files(workspace: Workspace, walk: Walk, start: Place, pattern: str | None) -> Iterator[Place]:
    status = workspace.status(start)
    if status is None or not stat.S_ISDIR(status.st_mode):
        with workspace.opened(start):  # says what is wrong with it
            pass
        yield start
        return
    wanted = None if pattern is None else glob_of(pattern)
    for found in walk.below(start, recursive=True):
        below = found.place.parts[len(start.parts) :]
        if found.entry.kind == "file" and (wanted is None or wanted.matches(below)):
            yield found.place


class _Search:
    """One search: what it found and what it left out."""

    def __init__(self, workspace: Workspace, matcher: Matcher, stops: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._matcher = matcher
        self._stops = stops
        self._lines: list[str] = []
        self._chars_left = _OUTPUT_CHARS
        self._files = self._not_text = self._unread = 0
        self._note: str | None = None

    def output(self, files: Iterator[Place], walk: Walk) -> ToolOutput:
        is_error = False
        for place in files:
            try:
                self._search(place)
            except TooSlowError:
                self._note = f"The pattern took too long on {shown_path(place)}; make it simpler."
                is_error = True
            if self._note is None and self._stops():
                self._note = "The time for this call ran out before every file was searched."
            if self._note is not None:
                break
        notes = [*self._notes(), *walk.left_out]
        lines = [*self._lines, *(f"[{note}]" for note in notes)]
        return ToolOutput((TextBlock("\n".join(lines)),), is_error)

    def _search(self, place: Place) -> None:
        try:
            text = text_of(self._workspace.read(place, FILE_BYTES).data)
        except ToolFailure:
            self._unread += 1
            return
        if text is None:
            self._not_text += 1
            return
        self._files += 1
        wanted = MATCHES - len(self._lines)
        for number, line in self._matcher.matches(text.text, wanted + 1):
            shown = f"{shown_path(place)}:{number}: {line}"
            self._chars_left -= len(shown) + 1
            if len(self._lines) >= MATCHES or self._chars_left < 0:
                self._note = "There are more matches; narrow the pattern, the path or the glob."
                return
            self._lines.append(shown)

    def _notes(self) -> Iterator[str]:
        if not self._lines:
            yield f"No match in {self._files:,} text files."
        if self._note is not None:
            yield self._note
        if self._not_text:
            yield f"{self._not_text:,} files that are not text were not searched."
        if self._unread:
            yield f"{self._unread:,} files that cannot be read or have more than 5 MB were not."


class _Literal:
    """Plain text. Without repetition in it the pattern takes time in proportion to the text."""

    def __init__(self, text: str, *, ignore_case: bool) -> None:
        self._pattern = linesearch.compiled(re.escape(text), ignore_case=ignore_case)

    def matches(self, text: str, limit: int) -> Sequence[tuple[int, str]]:
        return linesearch.line_matches(text, self._pattern, limit)

    def close(self) -> None:
        pass


class _RegexProcess:
    """A regular expression in a process of its own.

    It is killed when ``stops()`` holds, or when one answer takes longer than ``limit_s``.
    """

    def __init__(
        self,
        pattern: str,
        ignore_case: bool,
        stops: Callable[[], bool],
        limit_s: float,
    ) -> None:
        self._process = _started()
        self._stops = stops
        self._limit_s = limit_s
        self._asked_at = time.monotonic()
        self._done = threading.Event()
        threading.Thread(target=self._watch, name="search_files watch", daemon=True).start()
        order = {"pattern": pattern, "ignore_case": ignore_case}
        try:
            self._send(json.dumps(order).encode() + b"\n")
            problem = self._answer()
        except TooSlowError:
            self.close()
            raise ToolFailure(f"The pattern {pattern!r} took too long to read.") from None
        if problem:
            self.close()
            raise ToolFailure(
                f"{pattern!r} is not a regular expression: {problem['error']}. "
                "For plain text, set literal."
            )

    def matches(self, text: str, limit: int) -> Sequence[tuple[int, str]]:
        data = text.encode(errors="replace")
        self._send(f"{len(data)} {limit}\n".encode() + data)
        found: list[tuple[int, str]] = self._answer()
        return found

    def close(self) -> None:
        self._done.set()
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                _pipe(pipe).close()
        self._process.wait()

    def _watch(self) -> None:
        while not self._done.wait(_WATCH_S):
            if self._stops() or time.monotonic() - self._asked_at > self._limit_s:
                self._process.kill()
                return

    def _send(self, data: bytes) -> None:
        pipe = _pipe(self._process.stdin)
        self._asked_at = time.monotonic()
        try:
            pipe.write(data)
            pipe.flush()
        except OSError:
            raise TooSlowError from None

    def _answer(self) -> Any:
        line = _pipe(self._process.stdout).readline()
        if not line.endswith(b"\n"):
            raise TooSlowError
        return json.loads(line)


def _started() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable or "python", "-I", "-S", linesearch.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise ToolFailure(
            f"Regular expressions are not available here: Python could not be started "
            f"({error}). Search with literal."
        ) from None


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe

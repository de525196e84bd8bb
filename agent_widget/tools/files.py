"""``read_file`` and ``list_files``: what is in the working directory."""

from __future__ import annotations

import base64
import codecs
import os
import time
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ..core.errors import ToolFailure
from .base import Block, TextBlock, ToolContext, ToolOutput
from .edit import edit_tool, write_tool
from .function import FunctionTool, tool
from .globs import glob
from .mime import image_block
from .revisions import Revisions
from .search import search_tool
from .textfile import Encoding, binary_type, encoding_of, image_mime
from .truncate import RICH_BYTES
from .walk import Found, Walk
from .workspace import Place, Workspace, shown_path

DEFAULT_LINES: Final = 2_000
OUTPUT_CHARS: Final = 18_000
"""Text of one ``read_file`` or ``list_files``: whole lines, below what a model is ever given."""
LINE_CHARS: Final = 2_000
SCANNED_BYTES: Final = 200_000_000
LISTED: Final = 500

_WHOLE_BYTES: Final = 4_000_000
_CHUNK_BYTES: Final = 1 << 18
_TIME_S: Final = 20.0
_TIMEOUT_S: Final = 60.0


def file_tools(
    root: str | os.PathLike[str] | None = None,
) -> tuple[FunctionTool, FunctionTool, FunctionTool, FunctionTool, FunctionTool]:
    """``read_file``, ``list_files``, ``search_files`` (read-only), ``edit_file``, ``write_file``.

    They work inside ``root`` alone, by default the working directory of this moment. Raises
    InvalidOptions when ``root`` is not a folder.
    """
    workspace = Workspace(root)
    revisions = Revisions()
    return (
        read_tool(workspace),
        list_tool(workspace),
        search_tool(workspace),
        edit_tool(workspace, revisions),
        write_tool(workspace, revisions),
    )


def read_tool(workspace: Workspace) -> FunctionTool:
    """The ``read_file`` tool for ``workspace``."""

    @tool(name="read_file", kind="read", timeout_s=_TIMEOUT_S)
    def read_file(
        path: str, context: ToolContext, offset: int = 1, limit: int = DEFAULT_LINES
    ) -> ToolOutput:
        """Read a text file of the working directory; an image is shown to the user.

        Each line comes with its number and a tab, which are not part of the file.

        Args:
            path: The file, relative to the working directory.
            context: Whom the call belongs to.
            offset: The first line to read, counted from 1.
            limit: How many lines to read at most.
        """
        if offset < 1 or limit < 1:
            raise ToolFailure(f"offset={offset} and limit={limit} must be 1 or more.")
        place = workspace.place(path)
        with workspace.opened(place) as (descriptor, status):
            head = os.read(descriptor, _CHUNK_BYTES)
            mime = image_mime(head)
            if mime is not None:
                return _shown_image(workspace, place, mime, status.st_size)
            data = head if status.st_size > _WHOLE_BYTES else head + _rest(descriptor)
            is_whole = status.st_size <= _WHOLE_BYTES
            encoding = encoding_of(data, is_whole=is_whole)
            if encoding is None:
                raise ToolFailure(
                    f"{place.relative} is not text: {binary_type(head)}, {status.st_size:,} bytes."
                )
            chunks = _decoded(data, None if is_whole else descriptor, encoding)
            part = _lines(chunks, offset, limit, context)
        return _read_output(place, part, encoding, offset)

    return read_file


class _Part(Struct, frozen=True):
    """Some lines of a file; ``total`` is how many it has, None when it was not read to its end."""

    lines: list[str]
    total: int | None


def _rest(descriptor: int) -> bytes:
    chunks: list[bytes] = []
    left = _WHOLE_BYTES
    while left > 0 and (chunk := os.read(descriptor, min(left, _CHUNK_BYTES))):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _decoded(head: bytes, descriptor: int | None, encoding: Encoding) -> Iterator[str]:
    """The text of the file whose first bytes are ``head``, in pieces."""
    decoder = codecs.getincrementaldecoder(encoding.codec)(errors="replace")
    chunk, left = head[len(encoding.mark) :], SCANNED_BYTES
    while chunk:
        yield decoder.decode(chunk)
        left -= len(chunk)
        chunk = os.read(descriptor, _CHUNK_BYTES) if descriptor is not None and left > 0 else b""
    yield decoder.decode(b"", final=True)


def _lines(chunks: Iterator[str], offset: int, limit: int, context: ToolContext) -> _Part:
    """Lines ``offset`` and following: whole ones within ``OUTPUT_CHARS``, long ones cut."""
    reader = _LineReader(offset, limit)
    size_chars = 0
    for chunk in chunks:
        size_chars += len(chunk)
        reader.feed(chunk)
        if (reader.is_full and size_chars > _WHOLE_BYTES) or context.cancelled.is_set():
            return _Part(reader.lines, None)
    reader.end()
    return _Part(reader.lines, reader.number if size_chars < SCANNED_BYTES else None)


class _LineReader:
    """Keeps lines ``offset`` and following of a text in pieces; memory is what it keeps.

    ``number`` counts the lines seen so far; ``is_full`` says that no more will be kept.
    """

    def __init__(self, offset: int, limit: int) -> None:
        self._wanted = range(offset, offset + limit)
        self._chars_left = OUTPUT_CHARS
        self._line: list[str] = []
        self._line_chars = 0
        self.lines: list[str] = []
        self.number = 0
        self.is_full = False

    def feed(self, text: str) -> None:
        *ended, rest = text.split("\n")
        for piece in ended:
            self._add(piece)
            self._end_line()
        self._add(rest)

    def end(self) -> None:
        if self._line_chars:
            self._end_line()

    def _add(self, piece: str) -> None:
        room = LINE_CHARS + 1 - self._line_chars
        if room > 0 and not self.is_full:
            self._line.append(piece[:room])
        self._line_chars += len(piece)

    def _end_line(self) -> None:
        self.number += 1
        if self.number in self._wanted and not self.is_full:
            self._keep(_shortened("".join(self._line), self._line_chars))
        elif self.number >= self._wanted.stop:
            self.is_full = True
        self._line.clear()
        self._line_chars = 0

    def _keep(self, line: str) -> None:
        line = f"{self.number}\t{line}"
        if self.lines and len(line) + 1 > self._chars_left:
            self.is_full = True
            return
        self._chars_left -= len(line) + 1
        self.lines.append(line)


def _shortened(line: str, size_chars: int) -> str:
    if size_chars <= LINE_CHARS:
        return line.removesuffix("\r")
    return f"{line[:LINE_CHARS]}… [{size_chars - LINE_CHARS:,} more characters in this line]"


def _read_output(place: Place, part: _Part, encoding: Encoding, offset: int) -> ToolOutput:
    notes: list[str] = []
    last = offset + len(part.lines) - 1
    if not part.lines:
        if part.total == 0:
            notes.append(f"{place.relative} is empty.")
        else:
            total = "the part that was read" if part.total is None else f"{part.total:,} lines"
            notes.append(f"{place.relative} ends before line {offset:,}: {total}.")
    elif part.total is None:
        notes.append(f"Lines {offset:,} to {last:,}; more follow, from offset={last + 1}.")
    elif last < part.total:
        notes.append(f"Lines {offset:,} to {last:,} of {part.total:,}; go on at offset={last + 1}.")
    if encoding.codec == "latin-1":
        notes.append("The file is not UTF-8; it was read as Latin-1, which may be wrong.")
    elif encoding.codec != "utf-8":
        notes.append(f"The file is {encoding.label}.")
    lines = [*part.lines, *(f"[{note}]" for note in notes)]
    return ToolOutput((TextBlock("\n".join(lines)),))


def _shown_image(workspace: Workspace, place: Place, mime: str, size_bytes: int) -> ToolOutput:
    if size_bytes * 4 / 3 > RICH_BYTES:
        raise ToolFailure(
            f"{place.relative} is an image ({mime}, {size_bytes:,} bytes): "
            "more than a card can show."
        )
    shown: Block = image_block(
        mime, base64.b64encode(workspace.read(place, RICH_BYTES).data).decode()
    )
    text = f"{place.relative}: {mime}, {size_bytes:,} bytes, shown to the user."
    if isinstance(shown, TextBlock):
        raise ToolFailure(f"{place.relative}: {shown.text}")
    return ToolOutput((shown, TextBlock(text, "model")))


def list_tool(workspace: Workspace) -> FunctionTool:
    """The ``list_files`` tool for ``workspace``."""

    @tool(name="list_files", kind="read", timeout_s=_TIMEOUT_S)
    def list_files(
        context: ToolContext,
        path: str = ".",
        pattern: str | None = None,
        recursive: bool | None = None,
        include_hidden: bool = False,
    ) -> ToolOutput:
        """List files and folders of the working directory, sorted; folders end in /.

        Hidden files and those that .gitignore names are left out.

        Args:
            context: Whom the call belongs to.
            path: The folder to list.
            pattern: A glob that files must fit, such as *.py or src/**/test_*.py.
            recursive: Whether to list what is in the folders below, too. By default only
                with a pattern.
            include_hidden: Whether to list hidden and ignored files, too.
        """
        place = workspace.place(path)
        ends = time.monotonic() + _TIME_S
        walk = Walk(
            workspace,
            everything=include_hidden,
            stops=lambda: context.cancelled.is_set() or time.monotonic() > ends,
        )
        deep = pattern is not None if recursive is None else recursive
        wanted = None if pattern is None else glob(pattern)
        lines: list[str] = []
        left_chars = OUTPUT_CHARS
        for found in walk.below(place, recursive=deep):
            below = found.place.parts[len(place.parts) :]
            if wanted is not None and (found.entry.kind == "folder" or not wanted.matches(below)):
                continue
            line = _listed(found)
            left_chars -= len(line) + 1
            if len(lines) >= LISTED or left_chars < 0:
                walk.left_out.append("There are more; give a pattern or a folder.")
                break
            lines.append(line)
        if not lines:
            what = "nothing" if pattern is None else f"no file that fits {pattern!r}"
            lines.append(f"[There is {what} in {place.relative}, hidden and ignored files aside.]")
        return ToolOutput((TextBlock("\n".join([*lines, *(f"[{n}]" for n in walk.left_out)])),))

    return list_files


def _listed(found: Found) -> str:
    mark = {"folder": "/", "link": " (link)", "other": " (not a file)"}.get(found.entry.kind, "")
    return shown_path(found.place) + mark

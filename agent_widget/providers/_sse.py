"""Server-sent events, incrementally, from bytes.

Differs from httpx-sse, with which the tests compare it, in what a reader of long answers needs:
an event is bounded, data stay bytes (JSON is decoded from them, without a copy as text), and the
common framing (``data: …`` and a blank line) is cut without looking at single lines.
Source: HTML standard, section "Interpreting an event stream".
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

MAX_EVENT_BYTES: Final = 16 * 1024 * 1024

_BOM: Final = b"\xef\xbb\xbf"
_LINE_END: Final = re.compile(rb"\r\n|\r|\n")


class ServerEvent(NamedTuple):
    """One event: its ``data`` lines joined by a line feed, and its type (empty: "message")."""

    data: bytes
    type: bytes = b""


class EventTooLarge(Exception):
    """An event of more than ``MAX_EVENT_BYTES``."""


class EventReader:
    """Turns the bytes of a stream, cut anywhere, into events.

    Events without data (comments, keep-alives) are dropped. Holds at most ``MAX_EVENT_BYTES``
    and the piece that is fed.
    """

    def __init__(self) -> None:
        self._is_start = True
        self._skips_lf = False  # the last line ended in CR: its LF may come yet
        self._line: list[bytes] = []  # pieces of the line that has not ended
        self._line_bytes = 0
        self._data: list[bytes] = []
        self._data_bytes = 0
        self._type = b""

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that ``piece`` completes. Raises EventTooLarge."""
        is_between_events = not (self._line or self._data or self._type)
        if is_between_events and piece.startswith(b"data: ") and piece.endswith(b"\n\n"):
            blocks = piece[6:-2].split(b"\n\ndata: ")
            if b"\r" not in piece and not any(b"\n" in block for block in blocks):
                self._is_start = self._skips_lf = False
                return [ServerEvent(block) for block in blocks]
        return self._feed_lines(piece)

    def end(self) -> list[ServerEvent]:
        """The event that the end of the stream completes, if any.

        The standard drops it. Servers that close without the last blank line are common, and JSON
        that was cut short does not parse, so nothing half-received gets through.
        """
        events: list[ServerEvent] = []
        for line in (b"".join(self._line), b""):
            self._end_line(line, events)
        self._line, self._line_bytes = [], 0
        return events

    def _feed_lines(self, piece: bytes) -> list[ServerEvent]:
        if self._skips_lf and piece:
            self._skips_lf = False
            piece = piece.removeprefix(b"\n")
        text = b"".join((*self._line, piece)) if self._is_start else piece
        if self._is_start:
            self._line, self._line_bytes = [], 0
            if _BOM.startswith(text):  # less than a byte order mark: wait for the rest
                self._keep(text)
                return []
            self._is_start = False
            text = text.removeprefix(_BOM)
        events: list[ServerEvent] = []
        self._skips_lf = text.endswith(b"\r")
        first, *others = _LINE_END.split(text)
        self._keep(first)
        for line in others:
            whole = b"".join(self._line)
            self._line, self._line_bytes = [], 0
            self._end_line(whole, events)
            self._keep(line)
        return events

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._line.append(piece)
            self._line_bytes += len(piece)
            self._check_size()

    def _check_size(self) -> None:
        if self._line_bytes + self._data_bytes > MAX_EVENT_BYTES:
            raise EventTooLarge

    def _end_line(self, line: bytes, events: list[ServerEvent]) -> None:
        if not line:
            if self._data:
                events.append(ServerEvent(b"\n".join(self._data), self._type))
            self._data, self._data_bytes, self._type = [], 0, b""
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name in (b"data", b"error"):
            if name == b"error":  # a field that llama.cpp's server writes
                self._type = name
            self._data.append(value)
            self._data_bytes += len(value) + 1  # empty lines count: there may be many
            self._check_size()
        elif name == b"event":
            self._type = value

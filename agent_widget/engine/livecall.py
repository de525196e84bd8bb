"""What a running call reports, on its way from any thread to the engine's loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from ..core.events import ToolOutputDelta, ToolProgress
from .ports import Ports

LIVE_OUTPUT_CHARS: Final = 64_000
"""A card's live output stops growing here; the result has head and tail of all of it."""


class LiveCall:
    """Carries a running call's reports from any thread to the engine's loop, gathered per turn.

    ``heard`` gets each that is told: ``progress`` or ``output``, and the text.
    """

    def __init__(self, ports: Ports, call_id: str) -> None:
        self._ports = ports
        self._call_id = call_id
        self._lock = threading.Lock()
        self._chunks: list[str] = []
        self._left = LIVE_OUTPUT_CHARS
        self._progress: list[str | None] = []
        self._is_scheduled = False
        self._is_closed = False
        self.heard: Callable[[str, str | None], None] = lambda _kind, _text: None

    def progress(self, message: str | None) -> None:
        with self._lock:
            self._progress = [message]
            self._schedule()

    def output(self, chunk: str) -> None:
        with self._lock:
            chunk = chunk[: self._left]
            self._left -= len(chunk)
            if chunk:
                self._chunks.append(chunk)
                self._schedule()

    def close(self) -> None:
        """What comes later, from a thread that goes on, is dropped. Harmless twice."""
        self._flush()
        self._is_closed = True

    def _schedule(self) -> None:
        if not self._is_scheduled and not self._is_closed:
            self._is_scheduled = True
            self._ports.loop.call_soon_threadsafe(self._flush)

    def _flush(self) -> None:
        with self._lock:
            chunks, progress = self._chunks, self._progress
            self._chunks, self._progress, self._is_scheduled = [], [], False
        if self._is_closed:
            return
        for message in progress:
            self.heard("progress", message)
            self._ports.emit(ToolProgress(tool_call_id=self._call_id, message=message))
        if chunks:
            text = "".join(chunks)
            self.heard("output", text)
            self._ports.emit(ToolOutputDelta(tool_call_id=self._call_id, chunk=text))

"""Messages of one widget, each handed over once, whichever way it came."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

_log = logging.getLogger(__name__)

Path = Literal["tap", "on_msg"]
Deliver = Callable[[dict[str, Any], list[memoryview] | None, Path], None]

REMEMBERED: Final = 4096
"""Request ids that an inbox remembers; a copy that comes later than that is delivered again."""


@dataclass(frozen=True, slots=True)
class InboxStatistics:
    """Counts since the inbox was made: ``tap`` and ``on_msg`` say which way won."""

    tap: int = 0
    on_msg: int = 0
    duplicates: int = 0
    dropped: int = 0
    failed: int = 0


class Inbox:
    """Hands each message of the browser to ``deliver`` once, in order of arrival.

    A message is known by its string ``request_id``. One without can only be told apart from
    its copy by the way it came, so the tap's copy is dropped. ``deliver`` runs on whatever
    thread the message came on and under a lock: it must only hand over. What it raises is
    logged. Any method may be called from any thread.
    """

    def __init__(self, deliver: Deliver, *, remembered: int = REMEMBERED) -> None:
        self._deliver = deliver
        self._remembered = remembered
        self._lock = threading.RLock()
        self._ways: dict[str, Path] = {}
        self._oldest: deque[str] = deque()
        self._counts = dict.fromkeys(InboxStatistics.__dataclass_fields__, 0)

    def receive(self, content: object, buffers: object, path: Path) -> None:
        """Take one copy of a message; never raises an Exception."""
        with self._lock:
            if not isinstance(content, dict):
                self._counts["dropped"] += 1
                return
            request_id = content.get("request_id")
            if not isinstance(request_id, str):
                if path == "tap":
                    return
            elif request_id in self._ways:
                self._counts["duplicates"] += 1
                return
            self._hand_over(content, _memoryviews(buffers), path)
            # Only now: an interrupt in between leaves the second copy to be delivered.
            if isinstance(request_id, str):
                self._remember(request_id, path)

    def path_of(self, request_id: str) -> Path | None:
        """Which way delivered that message, None when it is unknown or forgotten."""
        with self._lock:
            return self._ways.get(request_id)

    @property
    def statistics(self) -> InboxStatistics:
        with self._lock:
            return InboxStatistics(**self._counts)

    def _hand_over(
        self, content: dict[str, Any], buffers: list[memoryview] | None, path: Path
    ) -> None:
        self._counts[path] += 1
        try:
            self._deliver(content, buffers, path)
        except Exception:  # noqa: BLE001 - it would end the kernel's callback
            self._counts["failed"] += 1
            _log.exception("A message of the browser could not be delivered.")

    def _remember(self, request_id: str, path: Path) -> None:
        self._ways[request_id] = path
        self._oldest.append(request_id)
        while len(self._oldest) > self._remembered:
            del self._ways[self._oldest.popleft()]


def custom_content(data: object) -> Mapping[str, Any] | None:
    """Content of a widget's custom message, from the data of its comm message; else None."""
    if not isinstance(data, dict) or data.get("method") != "custom":
        return None
    content = data.get("content")
    return content if isinstance(content, dict) else None


def _memoryviews(buffers: object) -> list[memoryview] | None:
    if not isinstance(buffers, list) or not buffers:
        return None
    return [memoryview(buffer) for buffer in buffers]

"""Events that wait to be read: bounded, and honest about what did not fit."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import Final, Literal

from ..core.events import Event, EventsDropped

BACKLOG_SCOPE: Final = "sdk.events"
READER_SCOPE: Final = "sdk.subscriber"


class EventQueue:
    """First in, first out; beyond its bounds the oldest goes, the newest always stays.

    What went is told once, by one ``session.events_dropped`` before what is left; ``head`` comes
    before that and is outside the bounds. ``dropped_count`` is the total of all times.
    """

    def __init__(
        self, max_events: float, max_bytes: float, scope: str, head: Iterable[Event] = ()
    ) -> None:
        self.size_bytes = 0
        self.dropped_count = 0
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._scope = scope
        self._head = deque(head)
        self._events: deque[tuple[Event, int]] = deque()
        self._report: EventsDropped | None = None

    def __len__(self) -> int:
        """How many events wait, the report of those that do not counted as one."""
        return len(self._head) + len(self._events) + (self._report is not None)

    def put(self, event: Event, size_bytes: int) -> None:
        self._events.append((event, size_bytes))
        self.size_bytes += size_bytes
        while len(self._events) > 1:
            if len(self._events) > self._max_events:
                self._drop("count_limit")
            elif self.size_bytes > self._max_bytes:
                self._drop("bytes_limit")
            else:
                break

    def take(self) -> Event | None:
        """The next event, None when none waits."""
        if self._head:
            return self._head.popleft()
        if self._report is not None:
            report, self._report = self._report, None
            return report
        if not self._events:
            return None
        event, size_bytes = self._events.popleft()
        self.size_bytes -= size_bytes
        return event

    def waiting(self) -> list[Event]:
        """All that waits, in order."""
        report = [] if self._report is None else [self._report]
        return [*self._head, *report, *(event for event, _ in self._events)]

    def _drop(self, reason: Literal["count_limit", "bytes_limit"]) -> None:
        event, size_bytes = self._events.popleft()
        self.size_bytes -= size_bytes
        self.dropped_count += 1
        before = self._report
        self._report = EventsDropped(
            session_id=event.session_id,
            seq=event.seq if before is None else before.seq,
            ts=event.ts,
            source="sdk",
            scope=self._scope,
            dropped_count=1 if before is None else before.dropped_count + 1,
            reason=reason if before is None else before.reason,
            dropped_bytes=size_bytes + (0 if before is None else before.dropped_bytes),
            first_dropped_seq=event.seq if before is None else before.first_dropped_seq,
            last_dropped_seq=event.seq,
            max_events=_stated(self._max_events),
            max_bytes=_stated(self._max_bytes),
        )


def _stated(bound: float) -> float | None:
    """``bound`` as a report names it: one that is off is not there."""
    return None if math.isinf(bound) else bound

"""The events of a session for pages that ask for them: the same ones that code reads.

A page greets with ``"events": true`` and gets ``{"kind": "events", "epoch", "events": […]}``, each
event in the wire form of the event contract, all of them in order from then on. It is for front
ends of others; the chat itself follows the view.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.events import Event
from ..core.eventwire import event_to_wire


class EventFeed:
    """Gathers events for the pages in ``views``, as long as there are any; ``flush`` sends them."""

    def __init__(self, epoch: str, send: Callable[[dict[str, Any]], None]) -> None:
        self.views: set[str] = set()
        self._epoch = epoch
        self._send = send
        self._waiting: list[Event] = []

    def take(self, event: Event) -> None:
        """Keep ``event`` for the next message."""
        if self.views:
            self._waiting.append(event)

    def flush(self) -> None:
        """Send what came since the last message, in one."""
        if self._waiting:
            events, self._waiting = [event_to_wire(each) for each in self._waiting], []
            self._send({"kind": "events", "epoch": self._epoch, "events": events})

"""Following a session: what it was when one came, every event after that, and every request."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from ..core.events import Event
from ..core.records import Record
from ..providers.base import ModelRequest
from ..view.model import SessionView
from .writer import Writer

_log = logging.getLogger(__name__)


class Watcher(Protocol):
    """Is told on the engine's thread; must return at once."""

    def event(self, event: Event, view: SessionView) -> None:
        """Something happened, after which this is the view."""
        ...

    def request(self, agent_id: str | None, request: ModelRequest) -> None:
        """That is being sent to the model now, for the agent of that call (None: the session)."""
        ...


class Watching:
    """Those who follow a session. Lives on the engine's loop."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._watchers: dict[int, tuple[Watcher, Callable[[], None]]] = {}

    async def begin(self, watcher: Watcher) -> tuple[list[Record], SessionView]:
        """The records so far and the view; ``watcher`` is told of all that follows, nothing twice.

        Raises StoreError when the records cannot be read.
        """
        records, view, unsubscribe = await self._writer.joined(watcher.event)
        self._watchers[id(watcher)] = (watcher, unsubscribe)
        return records, view

    def end(self, watcher: Watcher) -> None:
        """Tell that one no more. Harmless twice."""
        _, unsubscribe = self._watchers.pop(id(watcher), (None, None))
        if unsubscribe is not None:
            unsubscribe()

    def requested(self, agent_id: str | None, request: ModelRequest) -> None:
        """Tell of a request; what a watcher raises is logged and stops nothing."""
        for watcher, _ in (*self._watchers.values(),):
            try:
                watcher.request(agent_id, request)
            except Exception:  # noqa: BLE001  # whoever looks on must not disturb the run
                _log.warning("a watcher failed", exc_info=True)

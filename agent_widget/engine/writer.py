"""The one writer of a session: it records, folds and publishes, in that order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from msgspec.structs import replace

from ..core.errors import SessionError
from ..core.events import Event
from ..core.ids import Clock, IdSource
from ..store.base import Record, RecordKind, SessionStore
from ..view.model import SessionView
from ..view.project import project

T = TypeVar("T")
Listener = Callable[[Event, SessionView], None]
_log = logging.getLogger(__name__)


class Writer:
    """Owns the view of a session; lives on the engine's loop.

    ``view`` is immutable and may be read from any thread. Listeners are called in the order they
    came, on the engine's thread; what one raises is logged and reaches neither the others nor
    the run.
    """

    def __init__(
        self, session_id: str, store: SessionStore, clock_ms: Clock, new_id: IdSource
    ) -> None:
        self.session_id = session_id
        self.view = SessionView(session_id=session_id)
        self._store = store
        self._clock_ms = clock_ms
        self._new_id = new_id
        self._seq = 0
        self._last_entry: str | None = None
        self._lock = asyncio.Lock()
        self._listeners: list[Listener] = []

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(event, view)`` for every later event; returns the way to end that."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    async def commit(self, kind: RecordKind, data: dict[str, Any], *events: Event) -> None:
        """Store a fact, then fold and publish ``events``; all of it or nothing.

        A cancelled caller still gets a whole commit before the cancellation goes on. Raises
        SessionError STORAGE_ERROR when the store refuses; then nothing has changed.
        """
        await uncancelled(self._commit(kind, data, events))

    async def _commit(
        self, kind: RecordKind, data: dict[str, Any], events: tuple[Event, ...]
    ) -> None:
        async with self._lock:
            record = Record(self._new_id("e"), self._last_entry, self._clock_ms(), kind, data)
            try:
                await self._store.append(self.session_id, record)
            except Exception as error:
                message = f"The {kind} record could not be stored: {error}"
                raise SessionError(
                    "STORAGE_ERROR", message, advice="Nothing was changed; try again."
                ) from error
            self._last_entry = record.id
            for event in events:
                self.emit(event)

    def emit(self, event: Event) -> None:
        """Stamp, fold and publish ``event``. Only streaming progress comes without a record."""
        stamped = replace(event, session_id=self.session_id, seq=self._seq, ts=self._clock_ms())
        self._seq += 1
        self.view = project(self.view, stamped)
        for listener in tuple(self._listeners):
            try:
                listener(stamped, self.view)
            except Exception:  # noqa: BLE001  # a listener is not ours
                _log.exception("a listener failed on %s", stamped.type)


async def uncancelled(work: Coroutine[Any, Any, T]) -> T:
    """Finish ``work`` even when the caller is cancelled meanwhile; then cancel the caller."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait({task})
        if not task.cancelled() and task.exception() is not None:
            _log.error("work of a cancelled caller failed", exc_info=task.exception())
        raise

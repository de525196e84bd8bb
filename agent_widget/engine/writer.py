"""The one writer of a session: it records, folds and publishes, in that order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from msgspec.structs import replace

from ..core.errors import SessionClosed
from ..core.events import Event, SessionEnded, StorageChanged, notice
from ..core.ids import Clock, IdSource
from ..core.records import Record, RecordKind
from ..policy.events import EventOptions
from ..store.base import SessionStore
from ..view.model import SessionView
from ..view.project import project
from .bus import Bus, Listener
from .recorder import GRACE_S, HERE, Here, Recorder

T = TypeVar("T")
Told = Event | tuple[Event, SessionView]
"""An event, with the view it is folded into where that is not the one before it."""
Fact = tuple[dict[str, Any], Iterable[Told]]
"""The data of a record, and the events that tell it."""

_log = logging.getLogger(__name__)


class Writer:
    """Owns the view of a session; lives on the engine's loop.

    ``view`` is immutable and may be read from any thread; events go out on ``bus``. ``stream_id``
    names this stream of events, in which ``seq`` counts from 0. ``when_lost`` is called when the
    session can only be read any more; ``is_closing`` says that no new command is taken.
    """

    def __init__(
        self,
        session_id: str,
        store: SessionStore,
        clock_ms: Clock,
        new_id: IdSource,
        events: EventOptions | None = None,
        store_grace_s: float = GRACE_S,
    ) -> None:
        self.session_id = session_id
        self.stream_id = new_id("v")
        self.view = SessionView(session_id=session_id)
        self.recorder = Recorder(
            store,
            session_id,
            clock_ms,
            new_id,
            on_change=self._storage_changed,
            grace_s=store_grace_s,
        )
        self.when_lost: Callable[[], None] = lambda: None
        self.is_closing = False
        self._is_ended = False
        self._clock_ms = clock_ms
        self._seq = 0
        self._lock = asyncio.Lock()
        self.bus = Bus(events)
        self.bus.on_hook_removed = self._hook_removed

    def require_open(self) -> None:
        """Raises SessionClosed once the session is being closed."""
        if self.is_closing:
            raise SessionClosed

    async def commit(self, kind: RecordKind, data: dict[str, Any], *events: Event) -> Record:
        """Store a fact, then fold and publish ``events``; all of it or nothing.

        A cancelled caller still gets a whole commit before the cancellation goes on. Raises
        SessionError STORAGE_ERROR when the store refuses, SessionClosed after the end; then nothing
        has changed.
        """
        return await self.commit_made(kind, lambda: (data, events))

    async def commit_made(
        self, kind: RecordKind, make: Callable[[], Fact], *, after: str | Here | None = HERE
    ) -> Record:
        """Like ``commit``, of what ``make()`` says when it is this fact's turn.

        What it reads is then what holds; what it raises refuses the fact. ``after`` is the entry
        that the record follows, where that is not the leaf.
        """
        return await uncancelled(self._commit(kind, make, after))

    async def _commit(
        self, kind: RecordKind, make: Callable[[], Fact], after: str | Here | None
    ) -> Record:
        async with self._lock:
            data, events = make()
            record = await self.recorder.append(kind, data, after)
            self.tell(events)
        await self.bus.relieved()
        return record

    async def joined(
        self, listener: Listener
    ) -> tuple[list[Record], SessionView, Callable[[], None]]:
        """The records and the view so far; ``listener`` is told of every event after them.

        The last value ends that.
        """
        async with self._lock:
            records = await self.recorder.records()
            return records, self.view, self.bus.subscribe(listener)

    def tell(self, events: Iterable[Told]) -> None:
        """Fold and publish ``events`` in order."""
        for told in events:
            if isinstance(told, tuple):
                self.emit(*told)
            else:
                self.emit(told)

    def emit(self, event: Event, view: SessionView | None = None) -> None:
        """Stamp, fold and publish ``event``. Only streaming progress comes without a record.

        ``view`` is what is seen after it, where it cannot be folded from the event alone. After
        ``end`` nothing is published.
        """
        if self._is_ended:
            return
        stamped = replace(event, session_id=self.session_id, seq=self._seq, ts=self._clock_ms())
        self._seq += 1
        self.view = project(self.view if view is None else view, stamped)
        self.bus.publish(stamped, self.view)

    def end(self) -> None:
        """Tell that the session has ended: the last event. Harmless twice."""
        self.emit(SessionEnded())
        self._is_ended = True

    def _storage_changed(self) -> None:
        self.emit(self.storage_event())
        if self.recorder.read_only is not None:
            self.when_lost()

    def _hook_removed(self, event: Event, timeout_s: float) -> None:
        text = (
            f"A hook on events did not return from {event.type} within {timeout_s:g} s. It is"
            " asked no more; the session goes on."
        )
        self.emit(notice("hook", "hook_timeout", text))

    def storage_event(self) -> StorageChanged:
        """Where the session is kept now, and what is wrong with that."""
        pen = self.recorder
        return StorageChanged(
            label=pen.store.label,
            is_durable=pen.store.is_durable,
            trouble=pen.trouble,
            waiting_count=pen.waiting_count,
            read_only=pen.read_only,
        )


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

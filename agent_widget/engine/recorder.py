"""Puts the records of one session into its store: one at a time, in order, none lost.

A fact that somebody waits for (input, Stop, a decision) is stored or refused. What has already
happened (an answer, a result, the end of a run) cannot be refused: while the store fails it waits
here, in order, and goes first at the next chance (features C140, cases PERS-05 and PERS-06).
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
from collections.abc import Callable
from typing import Any, Final

from ..core.errors import SessionClosed, SessionError
from ..core.ids import Clock, IdSource
from ..core.journal import VOIDED, leaf_after
from ..core.records import Record, RecordKind
from ..store.base import (
    RENEW_S,
    Lease,
    LeaseLost,
    Owner,
    SessionStore,
    StoreConflict,
    StoreError,
)
from .artifacts import brought_back, set_aside

HAPPENED: Final[frozenset[RecordKind]] = frozenset(
    {"message", "run_ended", "agent_run", "compaction", "custom"}
)
"""Kinds of what has already happened when it is written down."""

ATTEMPTS: Final = 2
"""The same append may be asked for again (contract S4 of stores), so a lost answer does no harm."""

RETRY_S: Final = 2.0

GRACE_S: Final = 10.0
"""So long an append may take until the session goes on without its answer."""


class Here(enum.Enum):
    """Stands for the leaf of the tree, whatever it is when a record is written."""

    HERE = "here"


HERE: Final = Here.HERE


class Recorder:
    """The pen of a session. Lives on the engine's loop; calls come one at a time.

    ``trouble`` says in words why records are waiting, ``read_only`` why nothing can be written any
    more; both are None when all is well. ``on_change`` is called whenever one of them changes.
    """

    def __init__(
        self,
        store: SessionStore,
        session_id: str,
        clock_ms: Clock,
        new_id: IdSource,
        *,
        on_change: Callable[[], None] = lambda: None,
        grace_s: float = GRACE_S,
    ) -> None:
        self.session_id = session_id
        self.store = store
        self.position = 0
        self.leaf: str | None = None
        self.trouble: str | None = None
        self.read_only: str | None = None
        self.on_change = on_change
        self._clock_ms = clock_ms
        self._new_id = new_id
        self._lease: Lease | None = None
        self._waiting: list[Record] = []
        self._grace_s = grace_s
        self._late: asyncio.Task[None] | None = None
        self._is_retrying = False
        self._is_closed = False
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def waiting_count(self) -> int:
        """How many records are not stored yet."""
        return len(self._waiting)

    async def open(self, owner: Owner) -> list[Record]:
        """Take the session and read what is stored of it. Raises StoreError."""
        self._lease = await self.store.acquire(self.session_id, owner)
        try:
            records = await self._load()
        except BaseException:
            await self._release()
            raise
        self._start_from(records)
        if self.store.is_durable:
            self._keep(self._renew_for_ever())
        return records

    async def take_over(self, owner: Owner) -> list[Record]:
        """Take a session that could only be read, as it is stored now. Raises StoreError."""
        async with self._lock:
            records = await self.open(owner)
            self.read_only = None
            return records

    async def open_read_only(self, reason: str) -> list[Record]:
        """Read what is stored without the right to write."""
        records = await self._load()
        self._start_from(records)
        self.read_only = reason
        return records

    async def records(self) -> list[Record]:
        """All records, those that still wait included."""
        async with self._lock:
            return [*await self._load(), *self._waiting]

    async def append(
        self, kind: RecordKind, data: dict[str, Any], after: str | Here | None = HERE
    ) -> Record:
        """Write one fact down. Raises SessionError STORAGE_ERROR, session_in_use or session_closed:
        then nothing was.

        Kinds in ``HAPPENED`` are never refused, they wait when the store fails. ``after`` is the
        entry it follows: the leaf, unless another one is named.
        """
        async with self._lock:
            parent = self.leaf if isinstance(after, Here) else after
            record = Record(self._new_id("e"), parent, self._clock_ms(), kind, data)
            if self._is_closed:
                raise SessionClosed
            if self.read_only is not None:
                raise SessionError("session_in_use", self.read_only)
            is_refusable = kind not in HAPPENED
            try:
                await self._store_in_time(record if is_refusable else None, record)
            except (StoreError, OSError) as error:
                if is_refusable or self.read_only is not None:
                    message = f"The {kind} record could not be stored: {_words(error)}"
                    advice = "Nothing was changed; try again."
                    raise SessionError("STORAGE_ERROR", message, advice=advice) from error
                self._waiting.append(record)
                self._say_trouble(_words(error))
            self.leaf = leaf_after(record)
            return record

    async def flush(self) -> bool:
        """Try to store what waits; True when nothing waits any more."""
        async with self._lock:
            if self._late is not None:
                await asyncio.wait({self._late}, timeout=self._grace_s)
            if self._waiting and self.read_only is None:
                with contextlib.suppress(StoreError, OSError):
                    await self._store_in_time(None)
            return not self._waiting and self._late is None

    async def close(self) -> bool:
        """Store what waits and give the session back; False when something could not be stored."""
        is_saved = await self.flush()
        self._is_closed = True
        tasks = (*self._tasks,)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._release()
        return is_saved

    # --- inside --------------------------------------------------------------------------------

    async def _load(self) -> list[Record]:
        records = await self.store.load(self.session_id)
        return await brought_back(self.store, self.session_id, records)

    def _start_from(self, records: list[Record]) -> None:
        self.position = len(records)
        if records:
            self.leaf = leaf_after(records[-1])

    async def _store_in_time(self, refused: Record | None, *records: Record) -> None:
        """Store what waits and ``records``. Raises StoreError when there is no answer in time.

        That append goes on, and nothing else is written before it has ended: order is kept.
        ``refused`` is what its caller then takes for not stored.
        """
        if self._late is not None:
            raise StoreError("STORAGE_ERROR", self.trouble or "The store does not answer.")
        work = asyncio.ensure_future(self._store([*self._waiting, *records]))
        done, _ = await asyncio.wait({work}, timeout=self._grace_s)
        if done:
            return work.result()
        self._late = asyncio.create_task(self._settle(work, refused))
        self._tasks.add(self._late)
        self._late.add_done_callback(self._tasks.discard)
        message = f"{self.store.label} has not answered for {self._grace_s:g} s."
        self._say_trouble(message)
        raise StoreError("STORAGE_ERROR", message)

    async def _settle(self, work: asyncio.Future[None], refused: Record | None) -> None:
        """When a late append has ended: take back what was refused and is stored now."""
        try:
            await work
        except (StoreError, OSError) as error:
            self._late = None
            self._say_trouble(_words(error) if self._waiting else None)
            return
        self._late = None
        if refused is not None:
            data = {"custom_type": VOIDED, "data": refused.id}
            void = Record(self._new_id("e"), self.leaf, self._clock_ms(), "custom", data)
            self._waiting.append(void)
            self.leaf = leaf_after(void)
        if self._waiting:
            self._say_trouble("The last records are being written.")

    async def _store(self, records: list[Record]) -> None:
        if self._lease is None:
            raise StoreError("session_closed", "The session is not open for writing.")
        for attempt in range(ATTEMPTS):
            try:
                stored = records
                if self.store.is_durable:
                    stored = [await set_aside(self.store, self._lease, each) for each in records]
                await self.store.append(self._lease, self.position, stored)
                break
            except (LeaseLost, StoreConflict) as error:
                self._lose(error)
                raise
            except (StoreError, OSError):
                if attempt + 1 == ATTEMPTS:
                    raise
        self.position += len(records)
        stored_ids = {record.id for record in records}
        self._waiting = [each for each in self._waiting if each.id not in stored_ids]
        self._say_trouble(None)

    def _lose(self, error: StoreError) -> None:
        if self.read_only is None:
            self.read_only = error.message
            self.on_change()

    def _say_trouble(self, trouble: str | None) -> None:
        if trouble is None and self.trouble is None:
            return
        self.trouble = trouble
        if trouble is not None and not self._is_retrying:
            self._is_retrying = True
            self._keep(self._retry_until_well())
        self.on_change()

    async def _retry_until_well(self) -> None:
        while self.trouble is not None and self.read_only is None:
            await asyncio.sleep(RETRY_S)
            await self.flush()
        self._is_retrying = False

    async def _renew_for_ever(self) -> None:
        while self._lease is not None and self.read_only is None:
            await asyncio.sleep(RENEW_S)
            try:
                await self.store.renew(self._lease)
            except LeaseLost as error:
                self._lose(error)
            except (StoreError, OSError):
                continue  # the next append says what is wrong

    async def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            with contextlib.suppress(StoreError, OSError):
                await self.store.release(lease)

    def _keep(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _words(error: Exception) -> str:
    return error.message if isinstance(error, SessionError) else str(error)

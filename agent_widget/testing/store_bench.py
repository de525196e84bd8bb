"""What the laws of session stores are written with: a storage, a clock, records, refusals."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, TypeAlias, TypeVar
from unittest import SkipTest
from uuid import uuid4

from msgspec.structs import replace

from ..core.records import Record, RecordKind
from ..store.base import LEASE_S, Lease, LeaseLost, Owner, SessionStore
from ..store.owner import started_at, this_process
from .clock import FakeClock

E = TypeVar("E", bound=Exception)
Opened: TypeAlias = SessionStore | Awaitable[SessionStore]


@dataclass
class Bench:
    """One storage and the time; every ``open`` is another process to the store."""

    open_store: Callable[[Callable[[], float]], Opened]
    clock: FakeClock = field(default_factory=FakeClock)
    opened: list[SessionStore] = field(default_factory=list)

    async def open(self) -> SessionStore:
        store = self.open_store(self.clock)
        self.opened.append(await store if isawaitable(store) else store)
        return self.opened[-1]

    async def started(self, *records: Record) -> tuple[SessionStore, Lease]:
        """A store that holds a session no one else has, with ``records`` in it."""
        store = await self.open()
        lease = await store.acquire(new_id(), this_process())
        if records:
            await store.append(lease, 0, records)
        return store, lease


class Laws:
    """What all laws share; a subclass says how its storage is opened."""

    lease_s: float = LEASE_S

    def open_store(self, clock: Callable[[], float]) -> Opened:
        """The same storage again, as another process would open it; may be a coroutine.

        A test calls it several times; what it opened is closed with ``aclose``.
        """
        raise NotImplementedError

    async def tear_end(self, session_id: str) -> None:
        """Put half a record after the last one, as a kill in the middle of a write does."""
        raise SkipTest(f"nothing says how a write to {session_id} is torn")

    async def damage(self, session_id: str) -> None:
        """Change some bytes of a record that is not the last one."""
        raise SkipTest(f"nothing says how a record of {session_id} is damaged")

    async def make_newer(self, session_id: str) -> None:
        """Mark the session, or the whole storage, as written by a later version."""
        raise SkipTest(f"nothing says how the version of {session_id} is written")

    async def stored(self) -> object:
        """All that is stored, to be compared; needed with ``damage`` and ``make_newer``."""
        raise SkipTest("nothing says what is stored")

    @asynccontextmanager
    async def bench(self) -> AsyncIterator[Bench]:
        bench = Bench(self.open_store)
        try:
            yield bench
        finally:
            for store in bench.opened:
                await store.aclose()


def record(kind: RecordKind = "notice", data: dict[str, Any] | None = None) -> Record:
    """A record with an id of its own."""
    return Record(new_id("e"), None, 1_700_000_000_000, kind, {"n": 1} if data is None else data)


def new_id(prefix: str = "s") -> str:
    """An id that nothing else has, so that tests may share a database."""
    return f"{prefix}-{uuid4().hex}"


async def refused(kind: type[E], call: Awaitable[object]) -> E:
    """The error of exactly that kind which ``call`` raises; anything else fails the test."""
    try:
        await call
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


async def refused_all(store: SessionStore, lease: Lease) -> None:
    """Everything that needs the lease raises LeaseLost and changes nothing."""
    before = list(await store.load(lease.session_id))
    await refused(LeaseLost, store.append(lease, len(before), [record()]))
    await refused(LeaseLost, store.append(lease, len(before) + 1, [record()]))
    await refused(LeaseLost, store.append(lease, 0, before[:1] or [record()]))
    await refused(LeaseLost, store.put_artifact(lease, b"refused"))
    await refused(LeaseLost, store.renew(lease))
    await refused(LeaseLost, store.delete(lease))
    assert list(await store.load(lease.session_id)) == before


async def listed(store: SessionStore, *ids: str) -> list[str]:
    """Those of ``ids`` that the store lists, in its order."""
    return [row.session_id for row in await store.list() if row.session_id in ids]


async def gone_owner() -> Owner:
    """A process of this host that has ended."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE
    )
    started = started_at(process.pid)
    await process.communicate(b"")
    return replace(this_process(), pid=process.pid, started=started)

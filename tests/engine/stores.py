"""Stores that are slow, refuse, hang or tell, for tests of what a session does with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from agent_widget.core.records import Record
from agent_widget.store.base import Lease
from agent_widget.store.memory import MemoryStore
from agent_widget.store.owner import this_process

NO_SPACE = OSError(28, "No space left on device")


class MoodyStore(MemoryStore):
    """Memory with the moods of a disk.

    ``ticks`` turns of the loop pass before and after each append; ``trouble`` is raised instead of
    it; ``open`` holds it while it is not set; ``on_append`` is called when one begins and, once
    it is stored, when it is about to return.
    """

    def __init__(self, ticks: int = 0) -> None:
        super().__init__()
        self.ticks = ticks
        self.trouble: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()
        self.reached = asyncio.Event()
        self.on_append: Callable[[], None] = lambda: None
        self.appends: list[list[str]] = []

    async def append(self, lease: Lease, position: int, records: Sequence[Record]) -> None:
        self.on_append()
        await self._pass()
        self.reached.set()
        await self.open.wait()
        if self.trouble is not None:
            raise self.trouble
        await super().append(lease, position, records)
        self.appends.append([record.kind for record in records])
        await self._pass()
        self.on_append()

    async def _pass(self) -> None:
        for _ in range(self.ticks):
            await asyncio.sleep(0)


async def stored(records: Sequence[Record]) -> MoodyStore:
    """A store in which a process that is gone left ``records``."""
    store = MoodyStore()
    lease = await store.acquire(records[0].data["session_id"], this_process())
    await store.append(lease, 0, records)
    await store.release(lease)
    return store

"""Processes that all want to write one session, while they are killed and stopped.

    python -m tests.support.rivals URL ROUNDS

``URL`` is what ``opened_store`` takes. A process of its own forks the rivals, because a fork of
one with threads is no safe thing; a test starts it by ``disturbed``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from agent_widget.core.records import Record
from agent_widget.store.base import Lease, LeaseLost, SessionStore, StoreConflict, StoreError
from agent_widget.store.owner import this_process
from tests.support.crashes import in_child, record

SESSION: Final = "s-1"
LEASE_S: Final = 0.1
"""Short, so that a stopped owner is replaced soon; one that is only slow then is too."""
RIVALS: Final = 3
REPLACED_S: Final = 5.0
"""A dead owner is replaced within this time."""


def disturbed(url: str, rounds: int, timeout_s: float = 60) -> dict[str, int]:
    """How often what happened in so many rounds of rivalry for a session of the store at ``url``.

    Raises AssertionError when a record was lost or two owners wrote at the same time.
    """
    command = [sys.executable, "-m", "tests.support.rivals", url, str(rounds)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed, problems = process.communicate(timeout=timeout_s)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # a rival may be stopped
        process.wait()
    assert process.returncode == 0, problems
    counts: dict[str, int] = json.loads(printed)
    return counts


def opened_store(url: str) -> SessionStore:
    if url.startswith("jsonl:"):
        from agent_widget.store.jsonl import JsonlStore

        return JsonlStore(url.removeprefix("jsonl:"), lease_s=LEASE_S)
    from agent_widget.store.sql import SqlStore

    return SqlStore(url, lease_s=LEASE_S)


class Said(Struct):
    """What a rival says: that it has the session, or that ``names`` are stored at ``position``."""

    pid: int
    fence: int
    position: int = 0
    names: tuple[str, ...] = ()


class Rival:
    """Takes the session whenever it can and writes to it until it loses it."""

    def __init__(self, store: SessionStore, pipe: int) -> None:
        self._store = store
        self._pipe = pipe
        self._parent = os.getppid()
        self._count = 0

    async def run(self) -> None:
        owner = this_process()
        while self._is_wanted():
            try:
                lease = await self._store.acquire(SESSION, owner)
                await self._write(lease)
            except StoreConflict:
                raise  # two have written at one position
            except StoreError:  # in use, or lost
                await asyncio.sleep(LEASE_S / 20)

    async def _write(self, lease: Lease) -> None:
        position = len(await self._store.load(SESSION))
        self._say(Said(os.getpid(), lease.fence))
        renewed = time.monotonic()
        while self._is_wanted():
            names = tuple(f"{os.getpid()}-{self._count + n}" for n in range(1 + self._count % 3))
            self._count += len(names)
            await self._append(lease, position, [record(name) for name in names])
            self._say(Said(os.getpid(), lease.fence, position, names))
            position += len(names)
            if time.monotonic() - renewed > LEASE_S / 4:
                await self._store.renew(lease)
                renewed = time.monotonic()
            await asyncio.sleep(0.002)  # as much time outside of changes as in them

    async def _append(self, lease: Lease, position: int, records: list[Record]) -> None:
        """Append, and ask again after an answer that leaves it open."""
        while True:
            try:
                return await self._store.append(lease, position, records)
            except (LeaseLost, StoreConflict):
                raise
            except StoreError:
                continue

    def _say(self, said: Said) -> None:
        os.write(self._pipe, msgspec.json.encode(said) + b"\n")

    def _is_wanted(self) -> bool:
        return os.getppid() == self._parent


class Arena:
    """Starts rivals, disturbs the one that writes, and keeps what they say."""

    def __init__(self, url: str) -> None:
        self.heard: list[Said] = []
        self.counts: Counter[str] = Counter()
        self._url = url
        self._rivals: set[int] = set()
        self._reads, self._writes = os.pipe()
        self._rest = b""
        self._chance = random.Random(1)

    def start(self) -> None:
        pid = os.fork()
        if pid == 0:
            in_child(Rival(opened_store(self._url), self._writes).run())
        self._rivals.add(pid)

    def disturb(self) -> None:
        """Kill or stop the one that writes, after a few records; another one takes its place."""
        # What a rival said before it was killed may be heard after that.
        holder = self._next(lambda said: bool(said.names) and said.pid in self._rivals, REPLACED_S)
        assert holder is not None, f"nobody wrote for {REPLACED_S:g} s"
        for _ in range(self._chance.randrange(4)):
            self._next(lambda said: bool(said.names), LEASE_S)
        if self._chance.random() < 0.6:
            self.end(holder.pid)
            self.start()
            self.counts["killed"] += 1
            return
        os.kill(holder.pid, signal.SIGSTOP)
        if self._next(lambda said: said.pid != holder.pid, 2 * LEASE_S):
            self.counts["replaced while stopped"] += 1
        os.kill(holder.pid, signal.SIGCONT)
        self.counts["stopped"] += 1

    def end(self, *pids: int) -> None:
        for pid in pids or tuple(self._rivals):
            assert os.waitpid(pid, os.WNOHANG) == (0, 0), f"rival {pid} ended by itself"
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._rivals.remove(pid)

    def hear_the_rest(self) -> None:
        os.close(self._writes)
        while self._hear(0):
            pass

    def _next(self, is_wanted: Callable[[Said], bool], timeout_s: float) -> Said | None:
        """The next thing of that kind that is said, or None."""
        deadline = time.monotonic() + timeout_s
        known = len(self.heard)
        while True:
            for said in self.heard[known:]:
                known += 1
                if is_wanted(said):
                    return said
            if not self._hear(deadline - time.monotonic()):
                return None

    def _hear(self, timeout_s: float) -> bool:
        """Take in what is said within that time; whether anything was."""
        if not select.select([self._reads], [], [], max(0, timeout_s))[0]:
            return False
        data = os.read(self._reads, 65536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.heard += [msgspec.json.decode(line, type=Said) for line in lines]
        return bool(data)


async def check(url: str, heard: list[Said]) -> None:
    """What was acknowledged is there, where it was said to be, and owners took turns."""
    store = opened_store(url)
    loaded = [one.id for one in await store.load(SESSION)]
    assert len(set(loaded)) == len(loaded), "a record is there twice"
    stored = [said for said in heard if said.names]
    for said in stored:
        there = loaded[said.position : said.position + len(said.names)]
        assert there == list(said.names), f"{said} was acknowledged, but {there} is there"
    in_order = sorted(stored, key=lambda said: said.position)
    fences = [said.fence for said in in_order]
    assert fences == sorted(fences), "an owner wrote after its successor"
    owners = {(said.fence, said.pid) for said in heard}
    assert len(owners) == len({fence for fence, _ in owners}), "a fence was given out twice"
    lease = await asyncio.wait_for(acquired(store), REPLACED_S)
    await store.append(lease, len(loaded), [record("last")])
    assert [one.id for one in await store.load(SESSION)] == [*loaded, "last"]
    await store.aclose()


async def acquired(store: SessionStore) -> Lease:
    while True:
        try:
            return await store.acquire(SESSION, this_process())
        except StoreError:
            await asyncio.sleep(LEASE_S / 10)


def main(url: str, rounds: int) -> None:
    arena = Arena(url)
    for _ in range(RIVALS):
        arena.start()
    for _ in range(rounds):
        arena.disturb()
    arena.end()
    arena.hear_the_rest()
    asyncio.run(check(url, arena.heard))
    arena.counts["records"] = sum(len(said.names) for said in arena.heard)
    sys.stdout.write(json.dumps(arena.counts))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

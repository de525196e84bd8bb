"""A piece of work that is disturbed at a chosen call, and what must be found after it.

As a program it does so in processes that are killed:

    python -m tests.support.crashes FOLDER kill

A process of its own forks them, because a fork of one with threads is no safe thing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from agent_widget.core.records import Record
from agent_widget.store.base import LEASE_S, SessionStore, StoreError
from agent_widget.store.jsonl import JsonlStore
from agent_widget.store.owner import this_process
from agent_widget.testing.faults import KILLED, FailingFiles, Fault
from agent_widget.testing.store_conformance import FakeClock

T = TypeVar("T")

SESSION = "s-1"
PICTURE = b"picture" * 100
PICTURE_SAVED = "picture"
_BATCHES = (["a"], ["b", "c", "d"], ["e"])
_TRIES = 10


def record(name: str) -> Record:
    return Record(name, None, 0, "notice", {"text": f"é{name}" * 20})


async def work(
    store: SessionStore,
    acknowledge: Callable[[str], None],
    *,
    stubborn: bool,
    session_id: str = SESSION,
) -> None:
    """Write three batches and an artifact, and tell what was acknowledged, one by one.

    A call that fails is made again, so the store must fail for a while only; an append, unless
    ``stubborn``, with other records.
    """
    owner = this_process()
    lease = await persistent(lambda: store.acquire(session_id, owner))
    position = 0
    for batch in _BATCHES:
        names = batch
        for _ in range(_TRIES):
            try:
                await store.append(lease, position, [record(name) for name in names])
            except StoreError:
                names = names if stubborn else [f"{name}'" for name in names]
                continue
            for name in names:
                acknowledge(name)
            break
        else:
            raise AssertionError(f"{batch} could not be stored in {_TRIES} tries")
        position += len(batch)
        if position == 4:
            await persistent(lambda: store.put_artifact(lease, PICTURE))
            acknowledge(PICTURE_SAVED)
    await persistent(lambda: store.renew(lease))
    await persistent(lambda: store.release(lease))


async def persistent(call: Callable[[], Awaitable[T]]) -> T:
    """What ``call`` returns, once it does not fail."""
    for _ in range(_TRIES - 1):
        with suppress(StoreError):
            return await call()
    return await call()


async def check(folder: Path, acknowledged: list[str], *, extra: int) -> None:
    """What was acknowledged is there, at most ``extra`` records more, and work can go on."""
    clock = FakeClock()
    clock.advance(LEASE_S)
    store = JsonlStore(folder, clock=clock)
    lease = await store.acquire(SESSION, this_process())
    loaded = list(await store.load(SESSION))
    names = [name for name in acknowledged if name != PICTURE_SAVED]
    assert [one.id for one in loaded[: len(names)]] == names
    assert loaded == [record(one.id) for one in loaded]
    assert len(loaded) <= len(names) + extra
    if PICTURE_SAVED in acknowledged:
        assert await store.artifact(SESSION, sha256_of(PICTURE)) == PICTURE
    await store.append(lease, len(loaded), [record("last")])
    await store.put_artifact(lease, PICTURE)
    await store.release(lease)
    await store.aclose()
    other = JsonlStore(folder)
    assert list(await other.load(SESSION)) == [*loaded, record("last")]
    await other.aclose()
    head, *lines = (folder / SESSION / "records.jsonl").read_bytes().splitlines()
    assert json.loads(head) == {"agent_widget_session": 2, "session_id": SESSION}
    assert [json.loads(line)["id"] for line in lines] == [one.id for one in loaded] + ["last"]


def sha256_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def killed_at(folder: Path, fault: Fault, at: int) -> tuple[list[str], bool]:
    """What a process acknowledged that was killed at call ``at``, and whether it was."""
    reads, writes = os.pipe()
    pid = os.fork()
    if pid == 0:
        store = JsonlStore(folder, clock=FakeClock(), files=FailingFiles(fault, at))
        in_child(work(store, lambda name: _say(writes, name), stubborn=True))
    os.close(writes)
    with os.fdopen(reads) as said:
        acknowledged = said.read().split()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code in (0, KILLED), f"the process ended with {code}"
    return acknowledged, code == KILLED


def in_child(work: Coroutine[Any, Any, None]) -> None:
    """Do ``work`` in a process that was forked, and end it."""
    code = 1
    try:
        asyncio.run(work)
        code = 0
    finally:
        os._exit(code)


def _say(pipe: int, name: str) -> None:
    os.write(pipe, f"{name}\n".encode())


def main(folder: Path, fault: Fault) -> None:
    """Kill a process at every call, and check each time in a fresh one."""
    at = 0
    was_killed = True
    while was_killed:
        at += 1
        place = folder / f"{fault}-{at}"
        acknowledged, was_killed = killed_at(place, fault, at)
        pid = os.fork()
        if pid == 0:
            in_child(check(place, acknowledged, extra=3))
        assert os.waitpid(pid, 0)[1] == 0, f"after {fault} at call {at}: {acknowledged}"
    sys.stdout.write(str(at))


if __name__ == "__main__":
    main(Path(sys.argv[1]), cast("Fault", sys.argv[2]))

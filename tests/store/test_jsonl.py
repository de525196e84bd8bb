"""What the files of a session survive, and what they look like from outside."""

from __future__ import annotations

import asyncio
import json
import os
import random
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.records import Record
from agent_widget.store.base import Lease, SessionInUse, StoreCorrupted, StoreError
from agent_widget.store.files import Files
from agent_widget.store.jsonl import LOCK_WAIT_S, JsonlStore
from agent_widget.store.owner import this_process
from agent_widget.testing.store_conformance import FakeClock
from tests.support.crashes import SESSION, record
from tests.support.virtualtime import VirtualTimeLoop

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[JsonlStore, Lease]]:
    store = JsonlStore(folder)
    lease = await store.acquire(SESSION, this_process())
    try:
        yield store, lease
    finally:
        await store.release(lease)
        await store.aclose()


async def loaded(folder: Path) -> list[Record]:
    store = JsonlStore(folder)
    try:
        return list(await store.load(SESSION))
    finally:
        await store.aclose()


async def saved(folder: Path, *names: str) -> Path:
    """The file of a session with these records."""
    async with opened(folder) as (store, lease):
        await store.append(lease, 0, [record(name) for name in names])
    return folder / SESSION / "records.jsonl"


def cut_inside_a_character(content: bytes) -> bytes:
    return content[: content.rindex("é".encode()) + 1]


def zeros_at_the_end(content: bytes) -> bytes:
    start = content.rindex(b"\n", 0, -1) + 1
    return content[:start] + bytes(len(content) - start)


TORN: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "in the middle of the last line": (lambda content: content[:-40], "a"),
    "inside a character": (cut_inside_a_character, "a"),
    "before the last line break": (lambda content: content[:-1], "ab"),
    "zeros instead of the last line": (zeros_at_the_end, "a"),
    "line breaks after the end": (lambda content: content + b"\n\n", "ab"),
    "in the first line": (lambda content: content[:20], ""),
    "empty": (lambda _: b"", ""),
    "zeros alone": (lambda _: bytes(4096), ""),
    "blank lines alone": (lambda _: b"\n \n\n", ""),
    "blank lines and half of the first one": (lambda content: b"\n\n" + content[:9], ""),
}


@pytest.mark.parametrize("how", TORN)
async def test_a_torn_end_costs_no_whole_record_and_the_next_is_not_glued_to_it(
    tmp_path: Path, how: str
) -> None:
    """PERS-01: two crashes in a row."""
    tear, left = TORN[how]
    path = await saved(tmp_path, "a", "b")
    for added in ("x", "y"):
        path.write_bytes(tear(path.read_bytes()))
        before = path.read_bytes()
        there = await loaded(tmp_path)
        assert path.read_bytes() == before  # who reads repairs nothing
        if added == "x":
            assert there == [record(name) for name in left]
        async with opened(tmp_path) as (store, lease):
            await store.append(lease, len(there), [record(added)])
        assert await loaded(tmp_path) == [*there, record(added)]
        _, *lines = path.read_bytes().splitlines()
        assert [json.loads(line)["id"] for line in lines if line] == [
            one.id for one in [*there, record(added)]
        ]


DAMAGED: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a line is missing": lambda lines: [lines[0], *lines[2:]],
    "two lines changed places": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "a line is there twice": lambda lines: [*lines[:2], *lines[1:]],
    "the first line is missing": lambda lines: lines[1:],
    "another line is the first one": lambda lines: [b"{}", *lines[1:]],
    "a letter was changed": lambda lines: [lines[0], lines[1].replace(b"a", b"b"), *lines[2:]],
    "the last line was changed": lambda lines: [*lines[:-2], lines[-2].replace(b"c", b"d"), b""],
    "someone's notes, without a line break": lambda _: [b"buy milk"],
    "another session's id": lambda lines: [lines[0].replace(b"s-1", b"s-2"), *lines[1:]],
}


@pytest.mark.parametrize("how", DAMAGED)
async def test_damage_elsewhere_is_refused_and_nothing_is_changed(tmp_path: Path, how: str) -> None:
    path = await saved(tmp_path, "a", "b", "c")
    path.write_bytes(b"\n".join(DAMAGED[how](path.read_bytes().split(b"\n"))))
    before = path.read_bytes()
    with pytest.raises(StoreCorrupted, match=r"records\.jsonl"):
        await loaded(tmp_path)
    async with opened(tmp_path) as (store, lease):
        with pytest.raises(StoreCorrupted):
            await store.append(lease, 3, [record("d")])
        assert path.read_bytes() == before
        assert [row.title for row in await store.list()] == [None]  # seen, though it cannot be read
        await store.delete(lease)  # the way out, when there is no copy
        assert await store.list() == []


async def test_no_random_damage_makes_up_a_record_or_an_unforeseen_error(
    quick_folder: Path,
) -> None:
    """G7: what is loaded was stored, from the first record on, or the damage is reported."""
    names = [f"r{n}" for n in range(8)]
    path = await saved(quick_folder, *names)
    whole, chance, outcomes = path.read_bytes(), random.Random(7), {"read": 0, "refused": 0}
    store = JsonlStore(quick_folder)
    for _ in range(1000):
        damaged = damage(whole, chance)
        path.write_bytes(damaged)
        try:
            there = list(await store.load(SESSION))
            outcomes["read"] += 1
        except StoreError:
            outcomes["refused"] += 1
            continue
        assert there == [record(name) for name in names[: len(there)]], damaged
    await store.aclose()
    assert min(outcomes.values()) > 50, outcomes


def damage(content: bytes, chance: random.Random) -> bytes:
    """``content`` with a bit turned, or some bytes lost, doubled, replaced or moved."""
    start = chance.randrange(len(content))
    end = min(len(content), start + chance.choice((1, 2, 30, 400)))
    before, piece, after = content[:start], content[start:end], content[end:]
    match chance.randrange(7):
        case 0:
            return before + bytes([piece[0] ^ 1 << chance.randrange(8)]) + content[start + 1 :]
        case 1:
            return before + after
        case 2:
            return before + piece + piece + after
        case 3:
            return before + chance.randbytes(len(piece)) + after
        case 4:
            return before + bytes(len(piece)) + after
        case 5:
            return before
        case _:
            return after + piece + before


async def test_a_session_has_version_2_once_it_has_an_artifact(tmp_path: Path) -> None:
    """C113."""
    path = await saved(tmp_path, "a")
    assert json.loads(path.read_bytes().splitlines()[0])["agent_widget_session"] == 1
    async with opened(tmp_path) as (store, lease):
        await store.append(lease, 1, [record("b")])
        sha256 = await store.put_artifact(lease, b"picture")
        await store.append(lease, 2, [record("c")])
        assert json.loads(path.read_bytes().splitlines()[0])["agent_widget_session"] == 2
        (tmp_path / SESSION / "artifacts" / sha256).write_bytes(b"pictura")
        assert await store.artifact(SESSION, sha256) is None
        await store.put_artifact(lease, b"picture")
        assert await store.artifact(SESSION, sha256) == b"picture"
    assert await loaded(tmp_path) == [record(name) for name in "abc"]


async def test_an_artifact_before_the_first_record_makes_it_version_2(tmp_path: Path) -> None:
    """C113."""
    async with opened(tmp_path) as (store, lease):
        await store.put_artifact(lease, b"picture")
        await store.append(lease, 0, [record("a")])
    first = (tmp_path / SESSION / "records.jsonl").read_bytes().splitlines()[0]
    assert json.loads(first)["agent_widget_session"] == 2


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
async def test_only_the_user_can_read_what_is_stored(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "sessions"
    async with opened(folder) as (store, lease):
        await store.append(lease, 0, [record("a")])
        await store.put_artifact(lease, b"picture")
    paths = list(folder.parent.rglob("*"))
    assert len(paths) == 7
    for path in (folder.parent, *paths):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize("session_id", ["../up", "/tmp/x", "A", "con", "lpt1", "", ".", "a/b", "é"])
async def test_an_id_that_is_no_file_name_stays_in_the_folder(
    tmp_path: Path, session_id: str
) -> None:
    folder = tmp_path / "sessions"
    store = JsonlStore(folder)
    await store.append(await store.acquire(session_id, this_process()), 0, [record("a")])
    await store.aclose()
    assert names_in(tmp_path) == ["sessions"]
    (name,) = names_in(folder)
    assert name.startswith("_")
    assert name == name.lower()
    assert name.isascii()


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_file_in_the_place_of_the_folder_is_a_wrong_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidOptions, match="is no folder"):
        JsonlStore(tmp_path / "file")


async def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    store = JsonlStore(tmp_path / "file" / "sessions")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StoreError, match="cannot be used") as refused:
        await store.acquire(SESSION, this_process())
    assert refused.value.code == "STORAGE_ERROR"
    await store.aclose()


async def test_data_that_is_not_json_is_refused_and_nothing_is_stored(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, lease):
        with pytest.raises(StoreError, match="is not JSON"):
            await store.append(lease, 0, [record("a"), Record("b", None, 0, "notice", {"x": {1}})])
        assert list(await store.load(SESSION)) == []


async def test_a_lease_file_that_cannot_be_read_is_nobodys_and_no_old_fence_comes_again(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as (store, lost):
        (tmp_path / SESSION / "lease.json").write_bytes(b"")
        lease = await store.acquire(SESSION, this_process())
        assert lease.fence > lost.fence
        await store.append(lease, 0, [record("a")])
        await store.release(lease)


async def test_a_clock_that_was_set_back_does_not_make_a_lease_last(tmp_path: Path) -> None:
    """PERS-08."""
    clock = FakeClock()
    store = JsonlStore(tmp_path, clock=clock)
    await store.acquire(SESSION, this_process())
    clock.advance(-5 * 3600)
    await store.acquire(SESSION, this_process())
    await store.aclose()


def test_a_lock_that_stays_taken_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    """A process that was stopped in the middle of a change: reading goes on, writing says why."""

    async def scenario() -> None:
        store = JsonlStore(tmp_path)
        owner = this_process()
        lease = await store.acquire(SESSION, owner)
        await store.append(lease, 0, [record("a")])
        loop = asyncio.get_running_loop()
        with Files().locked(tmp_path / SESSION / "lock"):
            begun = loop.time()
            with pytest.raises(StoreError, match="locked by another process") as refused:
                await store.append(lease, 1, [record("b")])
            assert refused.value.code == "STORAGE_ERROR"
            assert loop.time() - begun >= LOCK_WAIT_S
            with pytest.raises(SessionInUse) as in_use:
                await store.acquire(SESSION, this_process())
            assert in_use.value.owner == owner
            assert list(await store.load(SESSION)) == [record("a")]
            waiting = asyncio.ensure_future(store.append(lease, 1, [record("b")]))
            other = await store.acquire("s-2", this_process())  # other sessions need not wait
            await store.append(other, 0, [record("c")])
        await waiting
        assert list(await store.load(SESSION)) == [record("a"), record("b")]
        await store.aclose()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(scenario())

"""Whatever call to the system fails or is the last one, no acknowledged record is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable
from itertools import count
from pathlib import Path

import pytest

from agent_widget.store.base import StoreError
from agent_widget.store.files import Files
from agent_widget.store.jsonl import JsonlStore
from agent_widget.store.owner import this_process
from agent_widget.testing.faults import FailingFiles, Fault
from agent_widget.testing.store_conformance import FakeClock
from tests.support.crashes import SESSION, check, record, work


@pytest.mark.anyio
@pytest.mark.parametrize("stubborn", [True, False], ids=["the same again", "something else"])
@pytest.mark.parametrize(
    ("fault", "in_a_row"), [("ENOSPC", 1), ("short", 1), ("EIO", 2), ("short", 3)]
)
async def test_a_call_that_fails_loses_no_acknowledged_record(
    quick_folder: Path, fault: Fault, in_a_row: int, stubborn: bool
) -> None:
    failed: set[str] = set()
    for at in count(1):
        folder = quick_folder / str(at)
        files = FailingFiles(fault, at, count=in_a_row)
        store = JsonlStore(folder, clock=FakeClock(), files=files)
        acknowledged: list[str] = []
        await work(store, acknowledged.append, stubborn=stubborn)
        await store.aclose()
        await check(folder, acknowledged, extra=0)
        failed.update(files.failed)
        if files.calls < at:
            break
    assert failed >= {"open", "write", "fsync", "replace", "mkdir", "utime"}
    assert ("truncate" in failed) == (in_a_row > 1)  # what cuts a failed append off again


@pytest.mark.skipif(os.name != "posix", reason="processes are forked")
@pytest.mark.parametrize("fault", ["kill", "kill_after"])
def test_a_process_killed_at_any_call_loses_no_acknowledged_record(
    quick_folder: Path, fault: Fault
) -> None:
    crashes = [sys.executable, "-m", "tests.support.crashes", str(quick_folder), fault]
    done = subprocess.run(crashes, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 40


@pytest.mark.anyio
async def test_what_a_failed_append_left_is_kept_once_a_later_owner_has_read_it(
    tmp_path: Path,
) -> None:
    """S3: it was neither acknowledged nor taken back."""
    counting = FailingFiles("EIO", 10_000)
    store = JsonlStore(tmp_path / "count", files=counting)
    await store.append(await store.acquire(SESSION, this_process()), 0, [record("a")])
    await store.aclose()
    # The sync of the folder after a first record, and then the cut.
    files = FailingFiles("EIO", counting.calls, count=2)
    store = JsonlStore(tmp_path / "fail", files=files)
    owner = this_process()
    lease = await store.acquire(SESSION, owner)
    with pytest.raises(StoreError):
        await store.append(lease, 0, [record("a")])
    assert files.failed == ["fsync", "truncate"]
    lease = await store.acquire(SESSION, owner)
    assert list(await store.load(SESSION)) == [record("a")]
    await store.append(lease, 1, [record("b")])
    assert list(await store.load(SESSION)) == [record("a"), record("b")]
    await store.aclose()


@pytest.mark.anyio
async def test_a_session_is_deleted_as_a_whole_by_trying_again(quick_folder: Path) -> None:
    """S12: whatever call failed first, the session was listed until nothing of it was left."""
    for at in count(1):
        folder = quick_folder / str(at)
        store = JsonlStore(folder)
        lease = await store.acquire(SESSION, this_process())
        await store.append(lease, 0, [record("a")])
        sha256 = await store.put_artifact(lease, b"picture")
        await store.aclose()
        files = FailingFiles("EIO", at)
        store = JsonlStore(folder, files=files)
        if not await succeeds(store.delete(lease)):
            if await store.artifact(SESSION, sha256) is not None:
                assert len(await store.list()) == 1
            await succeeds(store.delete(lease))
        await store.aclose()
        left = {path.name for path in (folder / SESSION).rglob("*") if path.is_file()}
        assert left <= {"lock", "lease.json"}
        if files.calls < at:
            break
    assert at > 8


async def succeeds(call: Awaitable[object]) -> bool:
    try:
        await call
    except StoreError:
        return False
    return True


class FullDisk(Files):
    """A real full disk for what is written, as long as ``is_full``."""

    is_full = False

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if not self.is_full:
            return super().write(fd, data)
        super().write(fd, data[:7])  # what still fitted
        with self.opened(Path("/dev/full"), os.O_WRONLY) as full:
            return super().write(full, data)


@pytest.mark.anyio
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
async def test_records_that_found_the_disk_full_can_be_stored_once_there_is_space(
    tmp_path: Path,
) -> None:
    """PERS-06."""
    files = FullDisk()
    store = JsonlStore(tmp_path, files=files)
    lease = await store.acquire(SESSION, this_process())
    await store.append(lease, 0, [record("a")])
    files.is_full = True
    for _ in range(3):
        with pytest.raises(StoreError, match="No space left") as refused:
            await store.append(lease, 1, [record("b"), record("c")])
        assert refused.value.code == "STORAGE_ERROR"
        assert list(await store.load(SESSION)) == [record("a")]
        await store.renew(lease)  # the session is not lost meanwhile
    files.is_full = False
    await store.append(lease, 1, [record("b"), record("c")])
    await store.append(lease, 3, [record("d")])
    await store.aclose()
    other = JsonlStore(tmp_path)
    assert list(await other.load(SESSION)) == [record(name) for name in "abcd"]
    await other.aclose()

"""What goes wrong outside is said, changes nothing, and is over when its cause is."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import Connection, event, text

from agent_widget.core.errors import InvalidOptions
from agent_widget.store.base import SessionInUse, StoreCorrupted, StoreError
from agent_widget.store.databases import Engines, Way
from agent_widget.store.owner import this_process
from agent_widget.store.sql import SqlStore
from agent_widget.testing.clock import FakeClock
from agent_widget.testing.store_bench import record
from tests.store.sql.raw import engine_of, file_contents, run_sql, started

LOCKS = {
    "sqlite": "BEGIN IMMEDIATE",
    "postgresql": "SELECT * FROM agent_widget_sessions FOR UPDATE",
}


def driver_of(connection: Connection) -> Any:
    """The connection of the driver itself."""
    return connection.connection.dbapi_connection


class Lock:
    """Another program that holds the lock which an append needs."""

    def __init__(self, where: str) -> None:
        self._connection = engine_of(where).connect()
        self._driver = driver_of(self._connection)
        # SQLite's own transaction, not the one that the driver would begin.
        self._driver.isolation_level = None
        self._connection.execute(text(LOCKS[self._connection.dialect.name]))

    def release(self) -> None:
        self._driver.rollback()
        self._connection.close()


def engines_of(store: SqlStore) -> Engines:
    assert store._engines is not None
    return store._engines


async def asked(store: SqlStore, way: Way, *questions: str) -> list[object]:
    """What the connection of the store answers."""

    def ask() -> list[object]:
        with engines_of(store).way(way).begin() as connection:
            return [connection.exec_driver_sql(question).scalar() for question in questions]

    return await store._worker.run(ask)


@pytest.mark.anyio
async def test_a_lock_held_for_a_moment_is_waited_for_and_the_loop_goes_on(where: str) -> None:
    store = SqlStore(where)
    first, second = record(), record()
    lease = await started(store, first)
    lock = Lock(where)
    appending = asyncio.ensure_future(store.append(lease, 1, [second]))
    for _ in range(10):
        await asyncio.sleep(0.01)
        assert not appending.done()
    lock.release()
    await appending
    assert list(await store.load(lease.session_id)) == [first, second]
    await store.aclose()


@pytest.mark.anyio
async def test_a_lock_held_for_long_is_named_and_the_same_append_works_after_it(
    where: str,
) -> None:
    store = SqlStore(where)
    first, second = record(), record()
    lease = await started(store, first)
    lock = Lock(where)
    with pytest.raises(StoreError, match="locked") as caught:
        await store.append(lease, 1, [second])
    assert caught.value.code == "STORAGE_ERROR"
    assert where in caught.value.message or "PostgreSQL database" in caught.value.message
    # Nobody is kept from reading.
    assert list(await store.load(lease.session_id)) == [first]
    lock.release()
    await store.append(lease, 1, [second])
    assert list(await store.load(lease.session_id)) == [first, second]
    await store.aclose()


@pytest.mark.anyio
async def test_what_a_full_disk_refused_can_be_written_when_there_is_room(tmp_path: Path) -> None:
    store = SqlStore(tmp_path / "chats.db")
    first, small, large = record(), record(), record(data={"text": "x" * 100_000})
    lease = await started(store, first)
    await asked(store, "facts", "PRAGMA max_page_count = 20")
    for _ in range(2):
        with pytest.raises(StoreError, match="full") as caught:
            await store.append(lease, 1, [small, large])
        assert caught.value.code == "STORAGE_ERROR"
        assert list(await store.load(lease.session_id)) == [first]
    await asked(store, "facts", "PRAGMA max_page_count = 1000")
    await store.append(lease, 1, [small, large])
    assert list(await store.load(lease.session_id)) == [first, small, large]
    await store.aclose()


@pytest.mark.anyio
async def test_an_append_whose_answer_was_lost_is_kept_once(where: str) -> None:
    store = SqlStore(where)
    lease = await started(store, record())
    records = [record(), record()]

    def lose_answer(connection: Connection) -> None:
        driver_of(connection).commit()
        message = "the answer got lost"
        raise OSError(message)

    engine = engines_of(store).facts
    event.listen(engine, "commit", lose_answer)
    with pytest.raises(StoreError, match="got lost"):
        await store.append(lease, 1, records)
    event.remove(engine, "commit", lose_answer)
    await store.append(lease, 1, records)
    assert list(await store.load(lease.session_id))[1:] == records
    await store.aclose()


@pytest.mark.anyio
async def test_a_server_that_closed_the_connection_is_reached_again(postgresql_url: str) -> None:
    store = SqlStore(postgresql_url)
    lease = await started(store, record())
    await store.renew(lease)
    for way in ("facts", "beats"):
        (pid,) = await asked(store, way, "SELECT pg_backend_pid()")
        run_sql(postgresql_url, "SELECT pg_terminate_backend(:pid, 5000)", pid=pid)
    await store.append(lease, 1, [record()])
    await store.renew(lease)
    assert len(await store.load(lease.session_id)) == 2
    await store.aclose()


@pytest.mark.anyio
async def test_facts_are_on_the_disk_and_signs_of_life_wait_for_no_disk(where: str) -> None:
    store = SqlStore(where)
    await started(store)
    facts: list[object]
    beats: list[object]
    if "://" in where:
        questions = ["SHOW synchronous_commit", "SHOW lock_timeout"]
        facts, beats = ["on", "2s"], ["off", "2s"]
    else:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout", "fullfsync")
        questions = [f"PRAGMA {name}" for name in names]
        facts, beats = ["wal", 2, 1, 2000, 1], ["wal", 1, 1, 2000, 1]
    assert await asked(store, "facts", *questions) == facts
    assert await asked(store, "beats", *questions) == beats
    await store.aclose()


@pytest.mark.anyio
async def test_a_file_is_private_and_so_is_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "new" / "chats.db"
    store = SqlStore(path)
    assert not path.parent.exists()
    await started(store, record())
    files = [path.parent, *path.parent.iterdir()]
    assert len(files) == 4
    modes = {file.name: oct(file.stat().st_mode & 0o777) for file in files}
    assert modes.pop("new") == "0o700"
    assert set(modes.values()) == {"0o600"}
    await store.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("loss", [Path.unlink, lambda path: path.with_suffix(".new").replace(path)])
async def test_nothing_is_acknowledged_that_goes_into_a_file_which_was_removed(
    tmp_path: Path, loss: Callable[[Path], object]
) -> None:
    path = tmp_path / "chats.db"
    path.with_suffix(".new").touch()
    store = SqlStore(path)
    lease = await started(store, record())
    loss(path)
    with pytest.raises(StoreError, match="removed or replaced"):
        await store.append(lease, 1, [record()])
    await store.aclose()


@pytest.mark.anyio
async def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path, content = tmp_path / "notes.db", b"not a database, but long enough to be one" * 20
    path.write_bytes(content)
    store = SqlStore(path)
    with pytest.raises(StoreCorrupted, match=r"notes\.db"):
        await store.list()
    await store.aclose()
    assert file_contents(tmp_path) == {"notes.db": content}


@pytest.mark.anyio
async def test_a_damaged_file_never_gives_other_records_than_were_put_in(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    store = SqlStore(path)
    records = [record(data={"text": f"{n} " * 200}) for n in range(20)]
    lease = await started(store, *records)
    await store.release(lease)
    await store.aclose()
    sound = path.read_bytes()
    chance = random.Random(4)
    refused = 0
    for _ in range(60):
        damaged = bytearray(sound)
        for _ in range(chance.choice((1, 3, 200))):
            damaged[chance.randrange(len(sound))] = chance.randrange(256)
        path.write_bytes(
            damaged[: chance.choice((len(sound), len(sound), chance.randrange(9_000)))]
        )
        store = SqlStore(path)
        try:
            assert list(await store.load(lease.session_id)) == records
        except StoreError:
            refused += 1
        finally:
            await store.aclose()
            for name in file_contents(tmp_path).keys() - {"chats.db"}:
                tmp_path.joinpath(name).unlink()
    assert refused > 20


@pytest.mark.anyio
async def test_an_owner_with_a_time_yet_to_come_is_replaced(where: str) -> None:
    clock = FakeClock()
    store = SqlStore(where, clock=clock)
    lease = await started(store, record())
    clock.advance(-3_600)
    assert (await store.acquire(lease.session_id, this_process())).fence > lease.fence
    await store.aclose()


@pytest.mark.anyio
async def test_without_a_clock_the_one_of_the_database_counts(where: str) -> None:
    store = SqlStore(where, lease_s=0.2)
    lease = await started(store, record())
    with pytest.raises(SessionInUse):
        await store.acquire(lease.session_id, this_process())
    other = None
    while other is None:
        await asyncio.sleep(0.02)
        with suppress(SessionInUse):
            other = await store.acquire(lease.session_id, this_process())
    assert other.fence > lease.fence
    await store.aclose()


@pytest.mark.anyio
async def test_a_closed_store_has_no_thread_and_says_that_it_is_closed(where: str) -> None:
    before = set(threading.enumerate())
    store, unused = SqlStore(where), SqlStore(where)
    writing = asyncio.ensure_future(started(store, record()))
    await asyncio.sleep(0)
    await asyncio.gather(store.aclose(), store.aclose())
    # What was asked for before the close is done.
    assert len(run_sql(where, "SELECT * FROM agent_widget_sessions")) == 1
    with pytest.raises(StoreError, match="closed"):
        await writing
    await unused.aclose()
    assert set(threading.enumerate()) == before
    for closed in (store, unused):
        with pytest.raises(StoreError, match="closed"):
            await closed.list()
        await closed.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:{}@127.0.0.1:1/chats",
        "postgres://user@127.0.0.1:1/chats?password={}",
        "postgresql+psycopg://user:{}@%2Fnowhere/chats",
        "postgresql://user:{}@127.0.0.1:1/chats?options={}",
    ],
)
async def test_a_password_is_in_no_label_and_no_error(url: str) -> None:
    password = "s3cret & more"
    store = SqlStore(url.replace("{}", quote(password, safe="")))
    with pytest.raises(StoreError) as caught:
        await store.list()
    await store.aclose()
    shown = [store.label, repr(store), *traceback.format_exception(caught.value)]
    for form in (password, quote(password, safe=""), "s3cret"):
        assert form not in "".join(shown)
    assert "chats" in store.label


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:s3cret@host:port/chats",
        "mysql://user:s3cret@host/chats",
        "postgresql+asyncpg://user:s3cret@host/chats",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite://host/chats.db",
        "sqlite:///chats.db?mode=ro",
    ],
)
def test_a_url_that_names_no_database_is_refused_at_once(url: str) -> None:
    with pytest.raises(InvalidOptions) as caught:
        SqlStore(url)
    assert url.partition(":")[0] in str(caught.value)
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def test_a_missing_driver_is_named_with_what_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InvalidOptions, match=r"pip install 'agent_widget\[postgresql\]'"):
        SqlStore("postgresql://user@host/chats")

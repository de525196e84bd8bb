"""Older tables become the ones of today, newer ones are left alone."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from agent_widget.store.base import StoreTooNew
from agent_widget.store.migrations import MIGRATIONS, Migration, migrate, version_of
from agent_widget.store.owner import this_process
from agent_widget.store.sql import SqlStore
from agent_widget.testing.store_bench import new_id, record
from tests.store.sql.killed import NEXT
from tests.store.sql.raw import contents, file_contents, opened, run_sql, started


def set_version(where: str, version: int) -> None:
    run_sql(where, "UPDATE agent_widget_schema SET version = :version", version=version)


async def refuse_all(store: SqlStore, session_id: str) -> None:
    calls = (store.list, lambda: store.load(session_id))
    for call in (*calls, lambda: store.acquire(session_id, this_process())):
        with pytest.raises(StoreTooNew) as caught:
            await call()
        assert store.label in str(caught.value)
    await store.aclose()


@pytest.mark.anyio
async def test_newer_tables_are_refused_and_left_as_they_are(where: str) -> None:
    store = SqlStore(where)
    lease = await started(store, record())
    await store.aclose()
    set_version(where, MIGRATIONS[-1].version + 1)
    before = contents(where)
    await refuse_all(SqlStore(where), lease.session_id)
    assert contents(where) == before


@pytest.mark.anyio
async def test_a_newer_file_is_not_changed_by_one_byte(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    store = SqlStore(path)
    await started(store, record())
    await store.aclose()
    set_version(str(path), MIGRATIONS[-1].version + 1)
    before = file_contents(tmp_path)
    await refuse_all(SqlStore(path), new_id())
    assert file_contents(tmp_path) == before


@pytest.mark.anyio
async def test_a_newer_file_whose_writer_was_killed_is_not_changed_by_one_byte(
    tmp_path: Path,
) -> None:
    path = tmp_path / "chats.db"
    store = SqlStore(path)
    await started(store, record())
    await store.aclose()
    # The version is in the log alone.
    writer = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('UPDATE agent_widget_schema SET version = version + 1')\n"
        "os._exit(0)\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", writer, str(path))
    assert await process.wait() == 0
    before = file_contents(tmp_path)
    assert before["chats.db-wal"]
    await refuse_all(SqlStore(path), new_id())
    after = file_contents(tmp_path)
    # What the -shm file holds is an index of the log for those who have it open.
    assert {**after, "chats.db-shm": b""} == {**before, "chats.db-shm": b""}


@pytest.mark.parametrize("failing", range(len(NEXT.statements) + 1))
def test_a_migration_that_fails_changes_nothing_and_can_be_made_again(
    where: str, failing: int
) -> None:
    wrong = text("INSERT INTO agent_widget_nowhere VALUES (1)")
    statements = (*NEXT.statements[:failing], wrong, *NEXT.statements[failing:])
    with opened(where) as engines:
        before = contents(where)
        broken = (*MIGRATIONS, Migration(NEXT.version, statements))
        with pytest.raises(DBAPIError):
            migrate(engines.reads, engines.facts, "it", broken)
        assert contents(where) == before
        for _ in range(2):
            migrate(engines.reads, engines.facts, "it", (*MIGRATIONS, NEXT))
            with engines.reads.begin() as connection:
                assert version_of(connection) == NEXT.version
        with pytest.raises(StoreTooNew):
            migrate(engines.reads, engines.facts, "it", MIGRATIONS)


@pytest.mark.anyio
async def test_many_may_be_the_first_to_open_it(where: str) -> None:
    stores = [SqlStore(where) for _ in range(6)]
    leases = await asyncio.gather(*(started(store, record()) for store in stores))
    assert sorted(lease.fence for lease in leases) == list(range(1, 7))
    assert len(await stores[0].list()) == 6
    assert run_sql(where, "SELECT version FROM agent_widget_schema") == [(MIGRATIONS[-1].version,)]
    for store in stores:
        await store.aclose()

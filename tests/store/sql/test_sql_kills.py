"""Whoever is killed at any statement loses nothing that was acknowledged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from agent_widget.store.owner import this_process
from agent_widget.store.sql import SqlStore
from agent_widget.testing.store_bench import record
from tests.store.sql.killed import NEXT, entry
from tests.store.sql.raw import contents, integrity, run_sql, started


@contextmanager
def killed(work: str, where: str) -> Iterator[tuple[IO[str], IO[str]]]:
    """What the module `killed` prints, and what it reads."""
    command = [sys.executable, "-m", "tests.store.sql.killed", work, where]
    root = Path(__file__).parents[3]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout, process.stdin
    assert process.returncode == 0


@pytest.mark.anyio
async def test_no_acknowledged_record_is_lost_by_a_kill_at_any_statement(where: str) -> None:
    with killed("write", where) as (said, _):
        rounds = [json.loads(line) for line in said]
    assert [one["done"] for one in rounds] == [False] * (len(rounds) - 1) + [True]
    assert [one["acknowledged"] for one in rounds] == sorted(one["acknowledged"] for one in rounds)
    assert {one["acknowledged"] for one in rounds} == {0, 1, 3}
    stores = {one["where"]: SqlStore(one["where"]) for one in rounds}
    for one in rounds:
        store, session_id = stores[one["where"]], one["session_id"]
        # The owner is gone, so the session is free at once.
        lease = await store.acquire(session_id, this_process())
        kept = await store.load(session_id)
        assert len(kept) >= one["acknowledged"]
        assert len(kept) in {0, 1, 3}
        assert list(kept) == [entry(number) for number in range(len(kept))]
        if one["artifact"]:
            assert await store.artifact(session_id, one["artifact"]) == b"picture"
        await store.append(lease, len(kept), [record()])
        assert integrity(one["where"]) == "ok"
    for store in stores.values():
        await store.aclose()


@pytest.mark.anyio
async def test_a_migration_that_is_killed_at_any_statement_leaves_the_tables_as_they_were(
    where: str,
) -> None:
    store = SqlStore(where)
    records = [record(), record()]
    lease = await started(store, *records)
    before = contents(where)
    await store.aclose()
    kills = 0
    with killed("migrate", where) as (said, answers):
        for line in said:
            if not json.loads(line)["done"]:
                kills += 1
                assert contents(where) == before
                assert integrity(where) == "ok"
            answers.write("\n")
            answers.flush()
    assert kills > len(NEXT.statements)
    assert run_sql(where, "SELECT version FROM agent_widget_schema") == [(NEXT.version,)]
    assert run_sql(where, "SELECT session_id, colour FROM agent_widget_sessions") == [
        (lease.session_id, "blue")
    ]

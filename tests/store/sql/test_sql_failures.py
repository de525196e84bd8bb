"""Whatever statement or commit fails, no acknowledged record is lost and none comes twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError

from agent_widget.store.owner import this_process
from agent_widget.store.sql import SqlStore
from tests.store.sql.raw import integrity
from tests.support.crashes import PICTURE, PICTURE_SAVED, record, sha256_of, work
from tests.support.thorough import is_thorough

ERRORS = {"sqlite": sqlite3.OperationalError, "postgresql": psycopg.OperationalError}


WAYS = [(1, False), (1, True), (3, False), (3, True)]
"""How many in a row, and whether the same records are tried again or others."""


class Failing:
    """Lets the driver's ``count`` statements and commits from number ``at`` on fail."""

    def __init__(self, at: int, count: int) -> None:
        self._failing = range(at, at + count)
        self.calls = 0
        self.failed: list[str] = []

    def execute(self, _cursor: Any, statement: str, _parameters: Any, context: Any) -> None:
        if self._fails(statement.split(maxsplit=1)[0]):
            raise ERRORS[context.dialect.name]("disk I/O error")

    def commit(self, connection: Any) -> None:
        if self._fails("COMMIT"):  # as SQLAlchemy says it
            error = ERRORS[connection.dialect.name]("disk I/O error")
            raise OperationalError("COMMIT", None, error)

    def _fails(self, what: str) -> bool:
        self.calls += 1
        if self.calls not in self._failing:
            return False
        self.failed.append(what)
        return True


@contextmanager
def failing(at: int, count: int) -> Iterator[Failing]:
    """Every engine of this process fails so meanwhile."""
    failures = Failing(at, count)
    event.listen(Engine, "do_execute", failures.execute)
    event.listen(Engine, "commit", failures.commit)
    try:
        yield failures
    finally:
        event.remove(Engine, "do_execute", failures.execute)
        event.remove(Engine, "commit", failures.commit)


@pytest.mark.anyio
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("in_a_row", "stubborn"), WAYS if is_thorough() else WAYS[:1])
async def test_a_statement_that_fails_loses_no_acknowledged_record(
    where: str, in_a_row: int, stubborn: bool
) -> None:
    failed: set[str] = set()
    for at in count(1):
        place = where if "://" in where else f"{where}-{at}.db"
        session_id, acknowledged = f"s-{at}", list[str]()
        store = SqlStore(place)
        with failing(at, in_a_row) as failures:
            await work(store, acknowledged.append, stubborn=stubborn, session_id=session_id)
        names = [name for name in acknowledged if name != PICTURE_SAVED]
        lease = await store.acquire(session_id, this_process())
        assert list(await store.load(session_id)) == [record(name) for name in names]
        assert await store.artifact(session_id, sha256_of(PICTURE)) == PICTURE
        await store.append(lease, len(names), [record("last")])
        await store.aclose()
        assert integrity(place) == "ok"
        failed.update(failures.failed)
        if failures.calls < at:
            break
    assert failed >= {"INSERT", "SELECT", "UPDATE", "COMMIT"}

"""The SQL store keeps every contract, in a SQLite file and on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text

from agent_widget.store.sql import SqlStore
from agent_widget.testing.store_conformance import StoreConformance
from tests.store.sql.raw import contents, engine_of, run_sql


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


class SqlConformance(StoreConformance):
    where: str

    def open_store(self, clock: Callable[[], float]) -> SqlStore:
        return SqlStore(self.where, clock=clock)

    async def damage(self, session_id: str) -> None:
        run_sql(
            self.where,
            "UPDATE agent_widget_records SET record = replace(record, '1', '2')"
            " WHERE session_id = :session_id AND position = 1",
            session_id=session_id,
        )

    async def make_newer(self, session_id: str) -> None:
        run_sql(
            self.where,
            "UPDATE agent_widget_sessions SET version = 3 WHERE session_id = :session_id",
            session_id=session_id,
        )

    async def stored(self) -> object:
        return contents(self.where)


@pytest.mark.anyio
class TestSqliteStore(SqlConformance):
    @pytest.fixture(autouse=True)
    def storage(self, quick_folder: Path) -> None:
        self.where = str(quick_folder / "chats.db")

    async def tear_end(self, _session_id: str) -> None:
        """The start of a page in the log, which no commit follows."""
        append(Path(f"{self.where}-wal"), b"\x00\x00\x00\x02\x00\x00\x00\x00torn")


@pytest.mark.anyio
class TestPostgresqlStore(SqlConformance):
    @pytest.fixture(autouse=True)
    def storage(self, postgresql_url: str) -> None:
        self.where = postgresql_url

    async def tear_end(self, session_id: str) -> None:
        """A row that no commit follows."""
        statement = "INSERT INTO agent_widget_records VALUES (:id, 2, 'e', 'notice', '{', 0)"
        with engine_of(self.where).connect() as connection:
            connection.execute(text(statement), {"id": session_id})

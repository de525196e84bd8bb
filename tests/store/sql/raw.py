"""A second way into the database of a store, past the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Engine, create_engine, make_url, text
from sqlalchemy.pool import NullPool

from agent_widget.core.records import Record
from agent_widget.store.base import Lease
from agent_widget.store.databases import Engines
from agent_widget.store.owner import this_process
from agent_widget.store.sql import SqlStore, database_of
from agent_widget.testing.store_bench import new_id

TABLES = ("schema", "fences", "sessions", "records", "artifacts")


def engine_of(where: str) -> Engine:
    """A plain engine, without what the store sets on its connections."""
    url = make_url(where if "://" in where else f"sqlite:///{where}")
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    return create_engine(url, poolclass=NullPool)


def run_sql(where: str, statement: str, **values: object) -> list[tuple[object, ...]]:
    """The rows that the statement gives."""
    with engine_of(where).begin() as connection:
        result = connection.execute(text(statement), values)
        return [tuple(row) for row in result] if result.returns_rows else []


def contents(where: str) -> dict[str, list[str]]:
    """All rows of all tables."""
    return {
        table: sorted(map(repr, run_sql(where, f"SELECT * FROM agent_widget_{table}")))
        for table in TABLES
    }


def file_contents(folder: Path) -> dict[str, bytes]:
    """All bytes in the files of the folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def integrity(where: str) -> str:
    """What SQLite thinks of its file; PostgreSQL looks after its own."""
    if "://" in where:
        return "ok"
    return str(run_sql(where, "PRAGMA integrity_check")[0][0])


@contextmanager
def opened(where: str) -> Iterator[Engines]:
    """The engines of a store, without the store."""
    engines = database_of(where).opened()
    try:
        yield engines
    finally:
        engines.dispose()


async def started(store: SqlStore, *records: Record) -> Lease:
    """A session of its own, with ``records`` in it."""
    lease = await store.acquire(new_id(), this_process())
    await store.append(lease, 0, records)
    return lease

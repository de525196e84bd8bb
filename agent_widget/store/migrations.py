"""How the tables of a database become the ones of today.

A migration is never changed once it was released: a change of the tables is a new migration at
the end of ``MIGRATIONS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, Engine, Executable, func, insert, inspect, select, update
from sqlalchemy.schema import CreateTable

from .base import StoreCorrupted, StoreTooNew
from .tables import artifacts, fences, records, schema, sessions

LOCK_KEY: Final = 0x6167_656E_7477_6964
"""Number of the lock under which PostgreSQL lets one process at a time migrate ("agentwid")."""


class Migration(Struct, frozen=True):
    """The statements that make tables of ``version`` out of those of the version before it."""

    version: int
    statements: tuple[Executable, ...]


MIGRATIONS: Final = (
    Migration(
        1,
        (
            *(CreateTable(table) for table in (fences, sessions, records, artifacts)),
            insert(fences).values(last=0),
        ),
    ),
)


def migrate(
    reads: Engine, writes: Engine, what: str, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    """Bring the tables of a database to the last of ``migrations``; no lock when they are there.

    Each one is a transaction of its own, the number of its version included: whoever is killed
    leaves the version before it or after it. Raises StoreTooNew, which names ``what``.
    """
    with reads.begin() as connection:
        version = version_of(connection)
    refuse_newer(version, what, migrations)
    for migration in migrations:
        if migration.version > version:
            with writes.begin() as connection:
                _apply(connection, migration, what, migrations)


def version_of(connection: Connection) -> int:
    """The version of the tables, 0 when there are none. Raises StoreCorrupted."""
    if not inspect(connection).has_table(schema.name):
        return 0
    version = connection.scalar(select(func.max(schema.c.version)))
    if not isinstance(version, int):
        raise StoreCorrupted(f"The version of the tables is {version!r}.")
    return version


def refuse_newer(version: int, what: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Raise StoreTooNew when ``version`` is later than the last of ``migrations``."""
    if version > migrations[-1].version:
        raise StoreTooNew(what, version, migrations[-1].version)


def _apply(
    connection: Connection, migration: Migration, what: str, migrations: Sequence[Migration]
) -> None:
    """Apply ``migration``, unless another process has done so since the version was read."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
        connection.execute(select(func.pg_advisory_xact_lock(LOCK_KEY)))
    version = version_of(connection)
    refuse_newer(version, what, migrations)
    if version >= migration.version:
        return
    for statement in migration.statements:
        connection.execute(statement)
    if version == 0:
        connection.execute(CreateTable(schema))
        connection.execute(insert(schema).values(version=migration.version))
    else:
        connection.execute(update(schema).values(version=migration.version))

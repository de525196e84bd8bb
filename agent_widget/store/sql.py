"""Sessions in a database through SQLAlchemy Core: a SQLite file or a PostgreSQL server."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import ColumnElement, Connection, Double, literal, make_url, select
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ..core.errors import InvalidOptions
from ..core.records import Record
from . import rows
from .base import LEASE_S, Lease, LeaseLost, Owner, SessionInUse, SessionSummary
from .databases import Database, Engines, Way
from .owner import is_gone
from .postgresql import PostgresqlDatabase
from .sqlite import SqliteFile
from .worker import Worker

T = TypeVar("T")
SQLITE_SCHEMES: Final = ("sqlite", "sqlite+pysqlite")
POSTGRESQL_SCHEMES: Final = ("postgresql", "postgresql+psycopg")
_HEX_SHA256: Final = re.compile("[0-9a-f]{64}")
FORMS: Final = "Use a path, sqlite:///chats.db or postgresql://user@host/database."


class SqlStore:
    """Sessions in a SQLite file (a path or ``sqlite:///…``) or PostgreSQL (``postgresql://…``).

    It is opened at first use. ``clock`` gives the time of leases in s since the epoch; by default
    it is the one of this machine for a file, and the one of the server. A lock of another program
    is waited for up to 2 s; then, as for a full disk or a lost server, StoreError STORAGE_ERROR
    says so, and the same call may be made again. A cancelled call may have been carried out.
    Raises InvalidOptions for what is no such place and for a missing driver.
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        *,
        clock: Callable[[], float] | None = None,
        lease_s: float = LEASE_S,
    ) -> None:
        self._database = database_of(where)
        self._clock = clock
        self._lease_s = lease_s
        self._engines: Engines | None = None
        # Sessions read to their end; nothing is put after damage that nobody has looked for.
        self._sound: set[str] = set()
        self._worker = Worker(f"store in {self._database.label}")

    def __repr__(self) -> str:
        return f"<SqlStore in {self.label}>"

    @property
    def label(self) -> str:
        return self._database.label

    @property
    def is_durable(self) -> bool:
        return True

    async def acquire(self, session_id: str, owner: Owner) -> Lease:
        def acquired(connection: Connection) -> Lease:
            lease = Lease(session_id, owner, rows.next_fence(connection))
            row = rows.session_row(connection, session_id, lock=True)
            if row is not None:
                self._refuse_other(connection, row, owner)
            rows.claim(connection, lease, self._now(), is_known=row is not None)
            return lease

        return await self._run("facts", acquired)

    async def renew(self, lease: Lease) -> None:
        def renewed(connection: Connection) -> None:
            rows.held_row(connection, lease)
            rows.change(connection, lease.session_id, renewed=self._now())

        await self._run("beats", renewed)

    async def release(self, lease: Lease) -> None:
        def released(connection: Connection) -> None:
            with suppress(LeaseLost):
                rows.give_back(connection, rows.held_row(connection, lease))

        await self._run("facts", released)

    async def append(self, lease: Lease, position: int, records: Sequence[Record]) -> None:
        def appended(connection: Connection) -> None:
            row = rows.held_row(connection, lease)
            if lease.session_id not in self._sound:
                rows.read(connection, lease.session_id)
                self._sound.add(lease.session_id)
            if not rows.are_there(connection, row, position, records):
                rows.add(connection, row, position, records, self._now())

        await self._run("facts", appended)

    async def load(self, session_id: str) -> Sequence[Record]:
        def loaded(connection: Connection) -> Sequence[Record]:
            records = rows.read(connection, session_id)
            self._sound.add(session_id)
            return records

        return await self._run("reads", loaded)

    async def put_artifact(self, lease: Lease, data: bytes) -> str:
        def put(connection: Connection) -> str:
            rows.held_row(connection, lease)
            return rows.put_artifact(connection, lease.session_id, data, self._now())

        return await self._run("facts", put)

    async def artifact(self, session_id: str, sha256: str) -> bytes | None:
        if not _HEX_SHA256.fullmatch(sha256):
            return None
        return await self._run(
            "reads", lambda connection: rows.artifact(connection, session_id, sha256)
        )

    async def list(self) -> Sequence[SessionSummary]:
        return await self._run("reads", rows.summaries)

    async def delete(self, lease: Lease) -> None:
        def deleted(connection: Connection) -> None:
            rows.held_row(connection, lease)
            rows.remove(connection, lease.session_id)

        await self._run("facts", deleted)

    async def aclose(self) -> None:
        await self._worker.close(self._disconnect)

    async def _run(self, way: Way, job: Callable[[Connection], T]) -> T:
        return await self._worker.run(lambda: self._transaction(way, job))

    def _transaction(self, way: Way, job: Callable[[Connection], T]) -> T:
        try:
            if self._engines is None:
                self._engines = self._database.opened()
            if way != "reads":
                self._database.check()
            with self._engines.way(way).begin() as connection:
                return job(connection)
        except (SQLAlchemyError, OSError, ValueError, OverflowError) as error:
            # Without its cause: that of a driver may show what the message must not.
            raise self._database.failure(error) from None

    def _disconnect(self) -> None:
        if self._engines is not None:
            self._engines.dispose()

    def _refuse_other(self, connection: Connection, row: rows.SessionRow, owner: Owner) -> None:
        """Raise SessionInUse when another living owner holds the session of ``row``."""
        holder, renewed = row.owner, row.renewed
        if holder is None or renewed is None or holder.token == owner.token or is_gone(holder):
            return
        now: float = connection.execute(select(self._now())).scalar_one()
        # A time that is yet to come is from before the clock was set back.
        if abs(now - renewed) < self._lease_s:
            raise SessionInUse(row.session_id, holder)

    def _now(self) -> ColumnElement[float]:
        return self._database.now() if self._clock is None else literal(self._clock(), Double)


def database_of(where: str | os.PathLike[str]) -> Database:
    """The database that a path or URL names. Raises InvalidOptions."""
    text = os.fspath(where)
    if "://" not in text:
        return SqliteFile(Path(text).expanduser())
    scheme = text.partition("://")[0]
    try:
        url = make_url(text.replace("postgres://", "postgresql://", 1))
    except (ArgumentError, ValueError):
        # Neither the rest of it nor the cause: they may show a password.
        message = f"This {scheme}:// URL cannot be read."
        raise InvalidOptions(message, advice=FORMS) from None
    if url.drivername in POSTGRESQL_SCHEMES:
        return PostgresqlDatabase(url)
    if url.drivername not in SQLITE_SCHEMES:
        message = f"There is no store for {scheme}:// URLs."
    elif url.query or url.host or url.database in (None, "", ":memory:"):
        message = f"{text!r} names no file."
    else:
        return SqliteFile(Path(url.database))
    raise InvalidOptions(message, advice=FORMS)

"""A SQLite file: how it is opened, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from sqlalchemy import URL, ColumnElement, Connection, Double, Engine, create_engine, event, literal
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from .base import StoreCorrupted, StoreError
from .databases import BUSY_S, ENGINE_OPTIONS, Engines
from .migrations import migrate, refuse_newer, version_of


class SqliteFile:
    """A file with a write-ahead log. It is made readable for its owner alone."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._identity: tuple[int, int] | None = None

    @property
    def label(self) -> str:
        return f"SQLite file {self._path}"

    def opened(self) -> Engines:
        self._refuse_newer()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        facts = _engine(self._path, synchronous="FULL")
        beats = _engine(self._path, synchronous="NORMAL")
        engines = Engines(facts, beats, facts.execution_options(begin="BEGIN"))
        try:
            migrate(engines.reads, engines.facts, self.label)
            self._identity = self._identity_now()
        except BaseException:
            engines.dispose()
            raise
        return engines

    def check(self) -> None:
        if self._identity_now() != self._identity:
            message = f"{self._path} was removed or replaced while it was open."
            raise StoreError("STORAGE_ERROR", message, advice="Put it back, or open it again.")

    def now(self) -> ColumnElement[float]:
        return literal(time.time(), Double)

    def failure(self, error: Exception) -> StoreError:
        cause = error.orig if isinstance(error, DBAPIError) else error
        name = getattr(cause, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            message = f"{self._path} is locked by another program."
            return StoreError("STORAGE_ERROR", message, advice="Close what uses the file.")
        is_damaged = name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
        if is_damaged or "Could not decode to UTF-8" in str(cause):
            return StoreCorrupted(f"{self._path} cannot be read: {cause}.")
        advice = "Check that the file and its folder can be written, or name another place."
        return StoreError("STORAGE_ERROR", f"{self._path} cannot be used: {cause}.", advice=advice)

    def _identity_now(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def _refuse_newer(self) -> None:
        """Look at the version without the right to write: a newer file is not touched."""
        if not self._path.exists():
            return
        # A file without a log is not written to, so it may be read as one that never changes;
        # otherwise SQLite would put files of its own beside it.
        try:
            has_log = self._path.with_name(f"{self._path.name}-wal").stat().st_size > 0
        except FileNotFoundError:
            has_log = False
        address = f"{self._path.as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
        engine = create_engine(
            "sqlite://",
            creator=lambda: sqlite3.connect(address, uri=True, timeout=BUSY_S),
            poolclass=NullPool,
        )
        try:
            with engine.connect() as connection:
                version = version_of(connection)
        except DBAPIError:
            return  # opening it for real mends the file or says what is wrong
        refuse_newer(version, self.label)


def _engine(path: Path, *, synchronous: str) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": BUSY_S, "isolation_level": None},
        **ENGINE_OPTIONS,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _record: object) -> None:
        _use_log(connection)
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: to the disk, not only to its cache
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # The lock first: a transaction that has read may not wait for the right to write.
        statement = connection.get_execution_options().get("begin", "BEGIN IMMEDIATE")
        connection.exec_driver_sql(statement)

    return engine


def _use_log(connection: sqlite3.Connection) -> None:
    """Switch the write-ahead log on, and wait for the lock, which SQLite does not do here."""
    end = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
        time.sleep(0.02)

"""A database on a PostgreSQL server: how it is reached, and what its errors mean."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import URL, ColumnElement, Double, Engine, cast, create_engine, event, extract, func
from sqlalchemy.exc import DBAPIError

from ..core.errors import InvalidOptions
from .base import StoreError
from .databases import BUSY_S, ENGINE_OPTIONS, Engines
from .migrations import migrate

DRIVER_OPTIONS: Final = {
    # libpq waits for ever unless it is told otherwise.
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
}
_LOCK_NOT_AVAILABLE: Final = "55P03"
_ADVICE: Final = {
    # By what the server says in words: a connection that fails has no SQLSTATE in psycopg.
    "password authentication failed": "Check user and password of the URL.",
    "no password supplied": "Put the password into the URL, PGPASSWORD or ~/.pgpass.",
    "no pg_hba.conf entry": "Ask who runs the server to let this user and machine in.",
    "does not exist": "Make the database or the user, or name one that is there.",
    "permission denied": "Ask for the right to make tables in that database.",
    "ssl": "Check sslmode and the certificates of the URL.",
    "resolve": "Check the host of the URL.",
    "name or service not known": "Check the host of the URL.",
    "too many": "Close other connections to it.",
    "refused": "Start the server, or check host and port of the URL.",
    "timeout": "Check host, port and firewall, or start the server.",
}
_ELSE: Final = "Check that the server runs and that the URL is right."


def _advice(cause: object) -> str:
    said = str(cause).lower()
    return next((advice for words, advice in _ADVICE.items() if words in said), _ELSE)


class PostgresqlDatabase:
    """A database by its URL. Raises InvalidOptions when the driver is missing."""

    def __init__(self, url: URL) -> None:
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            message = f"PostgreSQL needs the package psycopg, which cannot be used: {error}."
            advice = "Install it: pip install 'agent_widget[postgresql]'"
            raise InvalidOptions(message, advice=advice) from error
        self._url = url.set(drivername="postgresql+psycopg")

    @property
    def label(self) -> str:
        host = self._url.host or self._url.query.get("host") or "this machine"
        port = "" if self._url.port is None else f":{self._url.port}"
        return f"PostgreSQL database {self._url.database or 'of the user'} on {host}{port}"

    def opened(self) -> Engines:
        facts = self._engine()
        # A heartbeat need not wait until the disk has it.
        beats = self._engine("SET synchronous_commit = off")
        engines = Engines(facts, beats, facts.execution_options(isolation_level="REPEATABLE READ"))
        try:
            migrate(engines.reads, engines.facts, self.label)
        except BaseException:
            engines.dispose()
            raise
        return engines

    def check(self) -> None:
        pass

    def now(self) -> ColumnElement[float]:
        return cast(extract("epoch", func.clock_timestamp()), Double)

    def failure(self, error: Exception) -> StoreError:
        cause = error.orig if isinstance(error, DBAPIError) else error
        if getattr(cause, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            message = f"The {self.label} is locked by another connection."
            return StoreError("STORAGE_ERROR", message, advice="Close what holds the lock.")
        reason = " ".join(str(cause).split())
        if any(password in reason for password in self._passwords()):
            reason = f"{type(cause).__name__}, whose text would show the password"
        message = f"The {self.label} cannot be used: {reason}."
        return StoreError("STORAGE_ERROR", message, advice=_advice(cause))

    def _passwords(self) -> list[str]:
        named = (self._url.password, *map(self._url.query.get, ("password", "sslpassword")))
        return [str(password) for password in named if password]

    def _engine(self, *settings: str) -> Engine:
        options: dict[str, Any] = {
            name: value for name, value in DRIVER_OPTIONS.items() if name not in self._url.query
        }
        engine = create_engine(
            self._url,
            connect_args=options,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,  # a server that was restarted is reached again
            **ENGINE_OPTIONS,
        )

        @event.listens_for(engine, "connect")
        def configure(connection: Any, _record: object) -> None:
            for setting in (f"SET lock_timeout = '{BUSY_S:g}s'", *settings):
                connection.execute(setting)
            connection.commit()

        return engine

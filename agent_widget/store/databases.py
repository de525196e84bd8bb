"""What the store asks of a database, whichever it is."""

from __future__ import annotations

from typing import Any, Final, Literal, Protocol

from msgspec import Struct
from sqlalchemy import ColumnElement, Engine

from .base import StoreError

Way = Literal["facts", "beats", "reads"]

BUSY_S: Final = 2.0
"""How long a statement waits for the lock of another process."""

ENGINE_OPTIONS: Final[dict[str, Any]] = {
    "hide_parameters": True,  # an error does not quote what people wrote
    "max_overflow": 0,
    "pool_size": 1,
}


class Engines(Struct, frozen=True):
    """Ways to one database; ``facts`` and ``reads`` share a connection.

    What ``facts`` commits is on the disk; what ``beats`` commits may be lost with the power;
    a transaction of ``reads`` sees one state and writes nothing.
    """

    facts: Engine
    beats: Engine
    reads: Engine

    def way(self, name: Way) -> Engine:
        """The engine of that name."""
        engine: Engine = getattr(self, name)
        return engine

    def dispose(self) -> None:
        self.facts.dispose()
        self.beats.dispose()


class Database(Protocol):
    """A place for tables; ``label`` names it without a password."""

    @property
    def label(self) -> str: ...

    def opened(self) -> Engines:
        """Connections to it, with the tables of today in it."""
        ...

    def check(self) -> None:
        """Raise StoreError when what is written now would be lost."""
        ...

    def now(self) -> ColumnElement[float]:
        """The time in s since the epoch by the clock of all who share it."""
        ...

    def failure(self, error: Exception) -> StoreError:
        """What ``error``, raised by the database or its driver, means to a person."""
        ...

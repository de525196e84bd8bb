"""What a session writes down, and where.

A record is one fact in one transaction: it is stored before it changes memory, is published or is
answered. Kinds and fields follow the journal of the unified model, section 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct

RecordKind = Literal[
    "header",
    "run_admitted",
    "message",
    "permission_decided",
    "stop_committed",
    "run_ended",
    "leaf",
    "notice",
]


class Record(Struct, frozen=True):
    """One journal line; ``data`` is JSON, ``ts`` in ms, ``parent_id`` the entry before it."""

    id: str
    parent_id: str | None
    ts: int
    kind: RecordKind
    data: dict[str, Any]


class SessionStore(Protocol):
    """Keeps the records of sessions. ``append`` returns once the record is safe, or raises."""

    async def append(self, session_id: str, record: Record) -> None: ...

    async def load(self, session_id: str) -> Sequence[Record]:
        """All records of the session in the order of appending; empty when unknown."""
        ...

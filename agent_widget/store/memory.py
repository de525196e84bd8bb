"""A store that lives and dies with the process: the default, nothing is written to disk."""

from __future__ import annotations

from collections.abc import Sequence

from .base import Record


class MemoryStore:
    """Records in lists, one a session."""

    def __init__(self) -> None:
        self._records: dict[str, list[Record]] = {}

    async def append(self, session_id: str, record: Record) -> None:
        self._records.setdefault(session_id, []).append(record)

    async def load(self, session_id: str) -> Sequence[Record]:
        return tuple(self._records.get(session_id, ()))

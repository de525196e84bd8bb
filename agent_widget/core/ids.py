"""Ids that sort by time and never repeat.

Pure code gets ids handed in; only the engine makes them, through an ``IdSource``.
"""

from __future__ import annotations

import secrets
from typing import Protocol


class IdSource(Protocol):
    """Makes a new id with a readable prefix, for example ``m-01jd…``."""

    def __call__(self, prefix: str) -> str: ...


class TimeOrderedIds:
    """Ids ``<prefix>-<12 hex of ms><4 hex counter><4 hex random>``, increasing per process."""

    def __init__(self, clock_ms: Clock) -> None:
        self._clock_ms = clock_ms
        self._last_ms = 0
        self._count = 0

    def __call__(self, prefix: str) -> str:
        now = max(self._clock_ms(), self._last_ms)
        self._count = self._count + 1 if now == self._last_ms else 0
        self._last_ms = now
        return f"{prefix}-{now:012x}{self._count:04x}{secrets.token_hex(2)}"


class SequentialIds:
    """Ids ``<prefix>-1``, ``<prefix>-2``, … by prefix: the same ones at every run."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def __call__(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}-{self._counts[prefix]}"


class Clock(Protocol):
    """Milliseconds since the epoch, as an integer."""

    def __call__(self) -> int: ...

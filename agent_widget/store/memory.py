"""A store that lives and dies with the process: the default, nothing is written to disk."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from ..core.records import Record
from .base import (
    LEASE_S,
    Lease,
    LeaseLost,
    Owner,
    SessionInUse,
    SessionSummary,
    StoreConflict,
)
from .summary import title_of


class _Kept(Struct):
    """What is kept of one session; ``renewed_s`` is when its owner was last heard of."""

    lease: Lease | None = None
    fence: int = 0
    renewed_s: float = 0.0
    records: list[Record] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)


class MemoryStore:
    """Records in lists. All its owners share a process, so only silence tells that one is gone."""

    def __init__(self, *, clock: Callable[[], float] = time.time, lease_s: float = LEASE_S) -> None:
        self._clock = clock
        self._lease_s = lease_s
        self._sessions: dict[str, _Kept] = {}

    @property
    def label(self) -> str:
        return "memory, until the kernel ends"

    @property
    def is_durable(self) -> bool:
        return False

    async def acquire(self, session_id: str, owner: Owner) -> Lease:
        kept = self._sessions.setdefault(session_id, _Kept())
        held = kept.lease
        is_alive = abs(self._clock() - kept.renewed_s) < self._lease_s
        if held is not None and held.owner != owner and is_alive:
            raise SessionInUse(session_id, held.owner)
        kept.fence += 1
        kept.lease = Lease(session_id, owner, kept.fence)
        kept.renewed_s = self._clock()
        return kept.lease

    async def renew(self, lease: Lease) -> None:
        self._held(lease).renewed_s = self._clock()

    async def release(self, lease: Lease) -> None:
        kept = self._sessions.get(lease.session_id)
        if kept is not None and kept.lease == lease:
            kept.lease = None

    async def append(self, lease: Lease, position: int, records: Sequence[Record]) -> None:
        kept = self._held(lease)
        there = kept.records[position : position + len(records)]
        if there and [record.id for record in there] == [record.id for record in records]:
            return
        if position != len(kept.records):
            raise StoreConflict(lease.session_id, position, len(kept.records))
        kept.records += records

    async def load(self, session_id: str) -> Sequence[Record]:
        kept = self._sessions.get(session_id)
        return () if kept is None else tuple(kept.records)

    async def put_artifact(self, lease: Lease, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        self._held(lease).artifacts[sha256] = data
        return sha256

    async def artifact(self, session_id: str, sha256: str) -> bytes | None:
        kept = self._sessions.get(session_id)
        return None if kept is None else kept.artifacts.get(sha256)

    async def list(self) -> Sequence[SessionSummary]:
        rows = [
            SessionSummary(
                session_id,
                kept.records[0].ts,
                kept.records[-1].ts,
                len(kept.records),
                title_of(kept.records),
            )
            for session_id, kept in self._sessions.items()
            if kept.records
        ]
        return sorted(rows, key=lambda row: row.updated, reverse=True)

    async def delete(self, lease: Lease) -> None:
        kept = self._held(lease)
        self._sessions[lease.session_id] = _Kept(fence=kept.fence)

    async def aclose(self) -> None:
        pass

    def _held(self, lease: Lease) -> _Kept:
        kept = self._sessions.get(lease.session_id)
        if kept is None or kept.lease != lease:
            raise LeaseLost(lease.session_id)
        return kept

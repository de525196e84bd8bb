"""Where a session's records are kept, and who may write them.

A record is one fact in one transaction: it is stored before it changes memory, is published or is
answered.

A store keeps the contracts below; ``agent_widget.testing.store_conformance`` checks each of them
against any store, by its number.

S1  ``load`` gives the records that ``append`` was given, in that order, equal in every field.
S2  Once ``append`` has returned, its records outlive the process and the power, if ``is_durable``.
S3  ``append`` of several records keeps all of them or the first few, never a part of one. When it
    raises, what it kept of them is not loaded, or the same call made again completes it.
S4  ``append`` at a position where exactly these records (same ids) already are changes nothing
    and returns: an answer that got lost may be asked for again.
S5  ``append`` at any other position than the number of records kept raises StoreConflict.
S6  Only the latest lease of a session writes. Any other one gets LeaseLost, and writes nothing,
    whatever its owner was doing meanwhile (a stopped process that goes on later included).
S7  ``acquire`` of a session that another living owner holds raises SessionInUse and says who. An
    owner that is gone, or that has not renewed for ``LEASE_S``, loses it: ``fence`` grows by 1 or
    more, and never shrinks, also after ``release`` and across processes.
S8  A session that was never appended to is unknown: it is not listed, and ``load`` gives nothing.
S9  Half a record at the end (a torn write) is dropped on load and cut off before the next append;
    damage anywhere else raises StoreCorrupted and leaves everything as it is.
S10 A store or session of a newer format raises StoreTooNew and is not changed by one byte.
S11 An artifact is kept once under the hex SHA-256 of its bytes; unknown or damaged ones are None.
S12 ``delete`` removes records and artifacts of one session, and needs its lease.
S13 All methods may be used from one event loop, many at a time; none blocks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from ..core.errors import SessionError
from ..core.records import ARTIFACT_VERSION, Record

LEASE_S: Final = 4.0
"""A lease that was not renewed for this long may be taken over."""
RENEW_S: Final = 1.0
"""How often an owner renews its lease."""


class Owner(Struct, frozen=True):
    """Who holds a session: a process on a host. ``token`` tells two owners of one process apart.

    ``started`` is when the process was started, where the system says it (see ``store.owner``): a
    process number that is used again is not the same process.
    """

    pid: int
    host: str
    token: str
    started: float | None = None

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


class Lease(Struct, frozen=True):
    """The right to write to one session, as long as no later ``fence`` was given out."""

    session_id: str
    owner: Owner
    fence: int


class SessionSummary(Struct, frozen=True):
    """One row of ``list``: times in ms since the epoch, ``title`` a name or the first message."""

    session_id: str
    created: int
    updated: int
    record_count: int
    title: str | None = None


class StoreError(SessionError):
    """A store could not do what it was asked for; nothing was changed."""


FROM_A_VIEW: Final = "Close it there and take it over, or go on with a fork."
"""The ways out for somebody who can read the session that another one holds."""


class SessionInUse(StoreError):
    """Another living owner holds the session, which can be ``read`` already where that is told."""

    def __init__(self, session_id: str, owner: Owner, *, read: bool = False) -> None:
        message = f"The session {session_id} is in use by {owner}."
        advice = FROM_A_VIEW if read else "Close it there, open it read-only, or fork it."
        super().__init__("session_in_use", message, advice=advice)
        self.owner = owner


class LeaseLost(StoreError):
    """Another owner has taken the session over; this one may only read."""

    def __init__(self, session_id: str) -> None:
        message = f"The session {session_id} was taken over by another process."
        super().__init__("session_in_use", message, advice="Open it again to go on.")


class StoreConflict(StoreError):
    """Records were to be put at a position that is not the end."""

    def __init__(self, session_id: str, position: int, count: int) -> None:
        message = f"The session {session_id} has {count} records, so none can be put at {position}."
        super().__init__("STORAGE_ERROR", message)


class StoreCorrupted(StoreError):
    """What is stored cannot be read; it was left as it is."""

    def __init__(self, message: str) -> None:
        advice = "The file was left as it is; restore it from a copy or start a new session."
        super().__init__("session_store_corrupted", message, advice=advice)


class StoreTooNew(StoreError):
    """What is stored was written by a newer version; it was left as it is."""

    def __init__(self, what: str, version: object, newest: object = ARTIFACT_VERSION) -> None:
        message = f"{what} has format {version!r}; this version reads up to {newest!r}."
        super().__init__("session_store_corrupted", message, advice="Update agent_widget.")


class SessionStore(Protocol):
    """Keeps the records of sessions, one writer each. See the contracts S1 to S13 above.

    ``label`` says in words where sessions are kept; ``is_durable`` whether they outlive the
    process. Every method raises StoreError (or one of its kinds) and nothing else. A store may do
    without ``put_artifact`` and ``artifact``: pictures are then kept within the records.
    """

    @property
    def label(self) -> str: ...

    @property
    def is_durable(self) -> bool: ...

    async def acquire(self, session_id: str, owner: Owner) -> Lease:
        """Take the session, known or new. Raises SessionInUse, StoreTooNew."""
        ...

    async def renew(self, lease: Lease) -> None:
        """Say that the owner lives. Raises LeaseLost."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give the session back; harmless when it is already lost."""
        ...

    async def append(self, lease: Lease, position: int, records: Sequence[Record]) -> None:
        """Keep ``records`` after the first ``position`` ones. Raises LeaseLost, StoreConflict."""
        ...

    async def load(self, session_id: str) -> Sequence[Record]:
        """All records in order; empty when unknown. Raises StoreCorrupted, StoreTooNew."""
        ...

    async def put_artifact(self, lease: Lease, data: bytes) -> str:
        """Keep ``data``; returns its hex SHA-256. The session is of version 2 from then on."""
        ...

    async def artifact(self, session_id: str, sha256: str) -> bytes | None:
        """The bytes kept under that hash, or None when they are missing or not the same."""
        ...

    async def list(self) -> Sequence[SessionSummary]:
        """The sessions there are, the last written first."""
        ...

    async def delete(self, lease: Lease) -> None:
        """Remove the session and end the lease."""
        ...

    async def aclose(self) -> None:
        """Free files and connections; leases that are held stay until they run out."""
        ...

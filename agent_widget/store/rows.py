"""The rows of one session. Each function is a part of the transaction of its ``connection``."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from ..core.records import ARTIFACT_VERSION, Record
from .base import (
    Lease,
    LeaseLost,
    Owner,
    SessionSummary,
    StoreConflict,
    StoreCorrupted,
    StoreTooNew,
)
from .summary import decoded, encoded, title_of
from .tables import artifacts, fences, records, sessions

_OWNER_FIELDS: Final = ("pid", "host", "token", "started")
_TITLE_KINDS: Final = ("run_admitted", "session_info")
T = TypeVar("T")


class SessionRow(Struct, frozen=True, array_like=True):
    """A row of ``tables.sessions``, in the order of its columns."""

    session_id: str
    version: int
    record_count: int
    created: int | None
    updated: int | None
    title: str | None
    fence: int
    renewed: float | None
    pid: int | None
    host: str | None
    token: str | None
    started: float | None

    @property
    def owner(self) -> Owner | None:
        """Who holds the session."""
        if self.pid is None or self.host is None or self.token is None:
            return None
        return Owner(self.pid, self.host, self.token, self.started)


def session_row(connection: Connection, session_id: str, *, lock: bool) -> SessionRow | None:
    """The row of the session, or None; ``lock`` keeps others from it until the transaction ends.

    Raises StoreTooNew, StoreCorrupted.
    """
    query = select(sessions).where(sessions.c.session_id == session_id)
    found = connection.execute(query.with_for_update() if lock else query).one_or_none()
    if found is None:
        return None
    row = _typed(tuple(found), SessionRow, session_id)
    if row.version > ARTIFACT_VERSION:
        raise StoreTooNew(f"The session {session_id}", row.version)
    return row


def held_row(connection: Connection, lease: Lease) -> SessionRow:
    """The row of the session, locked. Raises LeaseLost when ``lease`` is not the latest one."""
    row = session_row(connection, lease.session_id, lock=True)
    # The token, too: a database that was set back gives fences out again.
    if row is None or (row.fence, row.token) != (lease.fence, lease.owner.token):
        raise LeaseLost(lease.session_id)
    return row


def next_fence(connection: Connection) -> int:
    """A fence later than all before it. Locks: one transaction at a time goes past it."""
    connection.execute(update(fences).values(last=fences.c.last + 1))
    fence: int = connection.execute(select(fences.c.last)).scalar_one()
    return fence


def claim(
    connection: Connection, lease: Lease, now: ColumnElement[float], *, is_known: bool
) -> None:
    """Write ``lease`` down as the latest one."""
    if not is_known:
        connection.execute(insert(sessions).values(session_id=lease.session_id))
    owner = {name: getattr(lease.owner, name) for name in _OWNER_FIELDS}
    change(connection, lease.session_id, fence=lease.fence, renewed=now, **owner)


def change(connection: Connection, session_id: str, **values: object) -> None:
    """Set columns of the session's row."""
    connection.execute(update(sessions).where(sessions.c.session_id == session_id).values(**values))


def give_back(connection: Connection, row: SessionRow) -> None:
    """Leave the session without an owner; nothing is left of one that nothing was put into."""
    if row.record_count or row.version == ARTIFACT_VERSION:
        change(connection, row.session_id, renewed=None, **dict.fromkeys(_OWNER_FIELDS))
    else:
        remove(connection, row.session_id)


def remove(connection: Connection, session_id: str) -> None:
    """Delete all rows of the session."""
    for table in (artifacts, records, sessions):
        connection.execute(delete(table).where(table.c.session_id == session_id))


def are_there(
    connection: Connection, row: SessionRow, position: int, added: Sequence[Record]
) -> bool:
    """True when exactly the records ``added`` are at ``position`` already."""
    if not added or position >= row.record_count:
        return False
    same = records.c.session_id == row.session_id
    there = records.c.position.between(position, position + len(added) - 1)
    query = select(records.c.id).where(same, there).order_by(records.c.position)
    return list(connection.scalars(query)) == [record.id for record in added]


def add(
    connection: Connection,
    row: SessionRow,
    position: int,
    added: Sequence[Record],
    now: ColumnElement[float],
) -> None:
    """Put records at ``position`` and renew the lease. Raises StoreConflict unless at the end."""
    if position != row.record_count:
        raise StoreConflict(row.session_id, position, row.record_count)
    if not added:
        return
    values = [
        {
            "session_id": row.session_id,
            "position": place,
            "id": record.id,
            "kind": record.kind,
            "record": line.decode(),
            "crc": _crc(row.session_id, place, line),
        }
        for place, record, line in (
            (place, record, encoded(record)) for place, record in enumerate(added, position)
        )
    ]
    connection.execute(insert(records), values)
    changed: dict[str, object] = {
        "record_count": position + len(added),
        "updated": added[-1].ts,
        "renewed": now,
    }
    if position == 0:
        changed["created"] = added[0].ts
    kinds = {record.kind for record in added}
    if "session_info" in kinds or (row.title is None and "run_admitted" in kinds):
        changed["title"] = _title(connection, row.session_id)
    change(connection, row.session_id, **changed)


def read(connection: Connection, session_id: str) -> tuple[Record, ...]:
    """All records in order. Raises StoreCorrupted, StoreTooNew."""
    row = session_row(connection, session_id, lock=False)
    query = select(records.c.position, records.c.record, records.c.crc)
    of_session = query.where(records.c.session_id == session_id).order_by(records.c.position)
    rows = [tuple(entry) for entry in connection.execute(of_session)]
    found = _typed(rows, list[tuple[int, str, int]], session_id)
    count = 0 if row is None else row.record_count
    if [position for position, _, _ in found] != [*range(count)]:
        raise StoreCorrupted(f"Records of the session {session_id} are missing.")
    lines = [(line.encode(), crc) for _, line, crc in found]
    for position, (line, crc) in enumerate(lines):
        if _crc(session_id, position, line) != crc:
            message = f"Record {position} of the session {session_id} was changed."
            raise StoreCorrupted(message)
    return tuple(decoded(line) for line, _ in lines)


def _crc(session_id: str, position: int, line: bytes) -> int:
    """The CRC-32 of a record's JSON, continued from that of its place."""
    place = f"{position} {session_id}".encode()
    return zlib.crc32(line, zlib.crc32(place))


def _title(connection: Connection, session_id: str) -> str | None:
    query = select(records.c.record).where(
        records.c.session_id == session_id, records.c.kind.in_(_TITLE_KINDS)
    )
    lines = connection.scalars(query.order_by(records.c.position))
    return title_of(decoded(line.encode()) for line in lines)


def _typed(values: object, kind: type[T], session_id: str) -> T:
    """``values``, checked: a column of a damaged SQLite file may hold a value of any type."""
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise StoreCorrupted(f"The session {session_id} is damaged: {error}.") from error


def artifact(connection: Connection, session_id: str, sha256: str) -> bytes | None:
    """The bytes kept under that hash, or None when they are missing or not the same."""
    same = artifacts.c.session_id == session_id, artifacts.c.sha256 == sha256
    data = connection.scalar(select(artifacts.c.data).where(*same))
    is_whole = isinstance(data, bytes) and hashlib.sha256(data).hexdigest() == sha256
    return data if is_whole else None


def put_artifact(
    connection: Connection, session_id: str, data: bytes, now: ColumnElement[float]
) -> str:
    """Keep ``data`` once, also after damage, and renew the lease. Returns its SHA-256."""
    sha256 = hashlib.sha256(data).hexdigest()
    if artifact(connection, session_id, sha256) is None:
        same = artifacts.c.session_id == session_id, artifacts.c.sha256 == sha256
        connection.execute(delete(artifacts).where(*same))
        values = {"session_id": session_id, "sha256": sha256, "data": data}
        connection.execute(insert(artifacts).values(values))
    change(connection, session_id, version=ARTIFACT_VERSION, renewed=now)
    return sha256


def summaries(connection: Connection) -> list[SessionSummary]:
    """The sessions that have records, the last written first."""
    table = sessions.c
    columns = (table.session_id, table.created, table.updated, table.record_count, table.title)
    query = select(*columns).where(table.record_count > 0)
    ordered = query.order_by(table.updated.desc(), table.session_id)
    return [SessionSummary(*row) for row in connection.execute(ordered)]

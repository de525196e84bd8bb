"""One session in a folder of its own: its records, its lease, its artifacts. Everything blocks."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from ..core.records import ARTIFACT_VERSION, FORMAT_VERSION, Record
from .base import (
    Lease,
    LeaseLost,
    Owner,
    SessionInUse,
    SessionSummary,
    StoreConflict,
    StoreCorrupted,
    StoreError,
)
from .files import Files
from .jsonl_log import VERSION_OFFSET, Log, header_line, read_log, record_lines, seed
from .owner import is_gone
from .summary import title_of

_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_RESERVED: Final = re.compile(r"con|prn|aux|nul|(com|lpt)\d")
"""Names that stand for devices on Windows."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def folder_name(session_id: str) -> str:
    """The name of a session's folder, on any file system: the id itself where that is possible.

    Any other id, with capitals too, as some systems do not tell these apart, becomes a name that
    starts with ``_`` and ends with a hash of it.
    """
    if _PLAIN.fullmatch(session_id) and not _RESERVED.fullmatch(session_id):
        return session_id
    readable = re.sub(r"[^a-z0-9]+", "-", session_id[:60].lower()).strip("-")
    digest = hashlib.sha256(session_id.encode(errors="surrogatepass")).hexdigest()
    return f"_{readable[:40]}-{digest[:32]}"


def session_id_of(path: Path) -> str | None:
    """Which session is in the folder ``path``: what its file says, or else what its name says."""
    said: str | None = None
    with suppress(StoreError, FileNotFoundError), (path / "records.jsonl").open("rb") as file:
        said = read_log(file.readline(), str(path)).session_id
    names = (name for name in (said, path.name) if name is not None)
    return next((name for name in names if folder_name(name) == path.name), None)


class Holding(Struct, frozen=True):
    """What ``lease.json`` says; the time of that file is when the owner was last heard of."""

    fence: int = 0
    owner: Owner | None = None


class _End(Struct):
    """Where the records end, as the lease ``fence`` left it.

    What follows there, up to ``file_size_bytes``, is half a record or a failed append.
    """

    fence: int
    log: Log
    file_size_bytes: int


class SessionFolder:
    """The files of one session. Raises OSError, Locked and StoreError of all kinds."""

    def __init__(
        self,
        path: Path,
        session_id: str,
        files: Files,
        clock: Callable[[], float],
        lease_s: float,
    ) -> None:
        self.session_id = session_id
        self._path = path
        self._files = files
        self._clock = clock
        self._lease_s = lease_s
        self._log_path = path / "records.jsonl"
        self._lease_path = path / "lease.json"
        self._artifacts = path / "artifacts"
        self._end: _End | None = None

    # --- the lease -----------------------------------------------------------------------------

    def acquire(self, owner: Owner) -> Lease:
        with suppress(StoreCorrupted):  # that may be acquired to be deleted
            self.header()  # before anything is written
        self._files.make_folder(self._path)
        with self._locked():
            held = self.holding()
            if held.owner not in (None, owner) and not self._is_over(held.owner):
                raise SessionInUse(self.session_id, held.owner)
            lease = Lease(self.session_id, owner, held.fence + 1)
            self._hold(Holding(lease.fence, owner))
        return lease

    def renew(self, lease: Lease) -> None:
        with self._held(lease):
            self._files.utime(self._lease_path, self._clock())

    def release(self, lease: Lease) -> None:
        with suppress(LeaseLost), self._held(lease):
            self._hold(Holding(lease.fence))

    def holding(self) -> Holding:
        """Who has the session, and the last fence given out."""
        try:
            data = self._lease_path.read_bytes()
        except FileNotFoundError:
            return Holding()
        try:
            return msgspec.json.decode(data, type=Holding)
        except msgspec.MsgspecError:
            # Whoever held it is unknown, so nobody does; and this is later than any fence counted
            # up from 1.
            return Holding(fence=int(self._clock() * 1000))

    def _hold(self, holding: Holding) -> None:
        beside = self._files.write_beside(self._lease_path, msgspec.json.encode(holding))
        self._files.utime(beside, self._clock())
        self._files.replace(beside, self._lease_path)
        self._files.sync_folder(self._path)

    def _is_over(self, owner: Owner) -> bool:
        # A clock that was set back must not make a lease last for hours.
        silent_s = abs(self._clock() - self._lease_path.stat().st_mtime)
        return silent_s >= self._lease_s or is_gone(owner)

    @contextmanager
    def _held(self, lease: Lease) -> Iterator[None]:
        """Keep every other process out, once it is certain that none has a later lease."""
        if not self._path.is_dir():
            raise LeaseLost(self.session_id)
        with self._locked():
            if self.holding() != Holding(lease.fence, lease.owner):
                raise LeaseLost(self.session_id)
            yield

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._files.locked(self._path / "lock"):
            yield

    # --- the records ---------------------------------------------------------------------------

    def load(self) -> list[Record]:
        return self._read().records()

    def append(self, lease: Lease, position: int, records: Sequence[Record]) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        with self._held(lease), self._files.opened(self._log_path, flags) as fd:
            end = self._end_of(fd, lease)
            rest = self._missing(end.log, position, records)
            if rest:
                self._write(fd, end, rest)
            elif records:
                self._files.fsync(fd)  # a process that died may have written them just before

    def summary(self) -> SessionSummary | None:
        """What the session is, or None without records. Raises StoreCorrupted, StoreTooNew."""
        records = self.load()
        if not records:
            return None
        first, last = records[0].ts, records[-1].ts
        return SessionSummary(self.session_id, first, last, len(records), title_of(records))

    def header(self) -> Log:
        """What the first line says; no ``version`` when there is none."""
        try:
            with self._log_path.open("rb") as file:
                return self._log_in(file.readline())
        except FileNotFoundError:
            return Log()

    def _read(self) -> Log:
        try:
            return self._log_in(self._log_path.read_bytes())
        except FileNotFoundError:
            return Log()

    def _log_in(self, data: bytes) -> Log:
        log = read_log(data, str(self._log_path))
        if log.session_id not in (None, self.session_id):
            raise StoreCorrupted(f"{self._log_path} holds the session {log.session_id}.")
        return log

    def _end_of(self, fd: int, lease: Lease) -> _End:
        """The end of the records, found again if anything but this lease changed the file."""
        size_bytes = os.fstat(fd).st_size
        end = self._end
        if end is None or end.fence != lease.fence or end.file_size_bytes != size_bytes:
            log = self._log_in(self._log_path.read_bytes())
            log.bodies.clear()
            self._end = end = _End(lease.fence, log, size_bytes)
        return end

    def _missing(self, log: Log, position: int, records: Sequence[Record]) -> Sequence[Record]:
        """Those of ``records`` that are not there yet. Raises StoreConflict."""
        if position == log.count:
            return records
        there = self.load()[: log.count][position:][: len(records)] if position >= 0 else []
        if not there or [one.id for one in there] != [one.id for one in records[: len(there)]]:
            raise StoreConflict(self.session_id, position, log.count)
        return records[len(there) :]

    def _write(self, fd: int, end: _End, records: Sequence[Record]) -> None:
        """Put ``records`` at the end: all of them, or, when it raises, none if that can be."""
        log = end.log
        crc = log.crc if log.version else seed(self.session_id)
        lines, crc = record_lines(records, crc)
        version = log.version or (ARTIFACT_VERSION if self._has_artifacts() else FORMAT_VERSION)
        start = b"" if log.version else header_line(self.session_id, version)
        if log.is_open:
            start = b"\n"
        try:
            if end.file_size_bytes != log.size_bytes:
                self._files.truncate(fd, log.size_bytes)
            self._files.write_all(fd, start + lines)
            self._files.fsync(fd)
            if not log.version:  # the file may be new
                self._files.sync_folder(self._path)
        except OSError:
            with suppress(OSError):
                self._files.truncate(fd, log.size_bytes)
            end.file_size_bytes = os.fstat(fd).st_size
            raise
        size_bytes = log.size_bytes + len(start) + len(lines)
        count = log.count + len(records)
        end.log = Log(self.session_id, version, size_bytes, crc, count)
        end.file_size_bytes = size_bytes

    # --- artifacts -----------------------------------------------------------------------------

    def put_artifact(self, lease: Lease, data: bytes) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        with self._held(lease):
            if self.artifact(sha256) is None:
                self._files.make_folder(self._artifacts)
                beside = self._files.write_beside(self._artifacts / sha256, data)
                # First, so that a reader of the first version never takes the session for one of
                # its own.
                self._mark_version()
                self._files.replace(beside, self._artifacts / sha256)
                self._files.sync_folder(self._artifacts)
        return sha256

    def artifact(self, sha256: str) -> bytes | None:
        if not _SHA256.fullmatch(sha256):
            return None
        try:
            data = (self._artifacts / sha256).read_bytes()
        except FileNotFoundError:
            return None
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def _has_artifacts(self) -> bool:
        if not self._artifacts.is_dir():
            return False
        return any(_SHA256.fullmatch(path.name) for path in self._artifacts.iterdir())

    def _mark_version(self) -> None:
        """Make the session one of ARTIFACT_VERSION; without records the first append does so."""
        if self.header().version not in (0, ARTIFACT_VERSION):
            with self._files.opened(self._log_path, os.O_WRONLY) as fd:
                os.lseek(fd, VERSION_OFFSET, os.SEEK_SET)
                self._files.write_all(fd, b"%d" % ARTIFACT_VERSION)
                self._files.fsync(fd)
            if self._end is not None:
                self._end.log.version = ARTIFACT_VERSION

    def delete(self, lease: Lease) -> None:
        """Remove everything but the last fence, which must not come again.

        The records last: as long as the session is listed, deleting can be tried again.
        """
        with self._held(lease):
            if self._artifacts.is_dir():
                for path in self._artifacts.iterdir():
                    self._files.unlink(path)
                self._files.sync_folder(self._artifacts)
            self._files.unlink(self._log_path)
            self._files.sync_folder(self._path)
            self._hold(Holding(lease.fence))

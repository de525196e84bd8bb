"""Sessions in files of JSON lines: they can be read, copied and searched without this package.

A folder for each session holds ``records.jsonl`` (see ``jsonl_log``), ``artifacts``, ``lease.json``
and ``lock``. Of a deleted session the last two stay, so that no fence is given out twice.

Every change is made under a lock between processes that is held for that change alone, and after
a look at the lease. So a process that is stopped and goes on after another one took its session
over changes nothing. One that is stopped in the middle of a change keeps the lock until it goes on
or ends: meanwhile the session can be read, and not taken over.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from ..core.errors import InvalidOptions
from ..core.records import Record
from .base import (
    LEASE_S,
    Lease,
    Owner,
    SessionInUse,
    SessionSummary,
    StoreError,
)
from .files import Files, Locked
from .jsonl_folder import SessionFolder, folder_name, session_id_of
from .worker import Worker

T = TypeVar("T")

LOCK_WAIT_S: Final = 2.0
"""How long a change waits for the lock; one change takes milliseconds."""
_LOCK_POLL_S: Final = 0.01


class JsonlStore:
    """Sessions in ``folder``, which is made when the first one is; readable by the user alone.

    ``clock`` gives seconds since the epoch, ``lease_s`` how long a silent owner keeps a session.
    Raises InvalidOptions when ``folder`` is a file.
    """

    is_durable: Final = True

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        clock: Callable[[], float] = time.time,
        lease_s: float = LEASE_S,
        files: Files | None = None,
    ) -> None:
        self._folder = Path(folder).expanduser().absolute()
        if self._folder.exists() and not self._folder.is_dir():
            message = f"{self._folder} is no folder, so sessions cannot be kept in it."
            raise InvalidOptions(message, advice="Name a folder, also one that is not there yet.")
        self._clock = clock
        self._lease_s = lease_s
        self._files = files or Files()
        self._worker = Worker(f"store in {self._folder}")
        self._held: dict[str, SessionFolder] = {}
        self._summaries: dict[Path, tuple[int, int, SessionSummary | None]] = {}

    @property
    def label(self) -> str:
        return f"JSONL files in {self._folder}"

    async def acquire(self, session_id: str, owner: Owner) -> Lease:
        folder = self._session(session_id)
        try:
            lease = await self._change(lambda: folder.acquire(owner))
        except _StillLocked:
            holder = (await self._run(folder.holding)).owner
            if holder in (None, owner):
                raise
            raise SessionInUse(session_id, holder) from None
        self._held[session_id] = folder
        return lease

    async def renew(self, lease: Lease) -> None:
        folder = self._session(lease.session_id)
        await self._change(lambda: folder.renew(lease))

    async def release(self, lease: Lease) -> None:
        folder = self._session(lease.session_id)
        await self._change(lambda: folder.release(lease))
        self._held.pop(lease.session_id, None)

    async def append(self, lease: Lease, position: int, records: Sequence[Record]) -> None:
        folder, kept = self._session(lease.session_id), tuple(records)
        await self._change(lambda: folder.append(lease, position, kept))

    async def load(self, session_id: str) -> Sequence[Record]:
        return await self._run(self._session(session_id).load)

    async def put_artifact(self, lease: Lease, data: bytes) -> str:
        folder = self._session(lease.session_id)
        return await self._change(lambda: folder.put_artifact(lease, data))

    async def artifact(self, session_id: str, sha256: str) -> bytes | None:
        folder = self._session(session_id)
        return await self._run(lambda: folder.artifact(sha256))

    async def list(self) -> Sequence[SessionSummary]:
        """The sessions there are, the last written first; one that cannot be read without title."""
        paths = await self._run(self._paths)
        # One by one, so that an append need not wait until all of them are read.
        rows = [await self._run(partial(self._summary, path)) for path in paths]
        return sorted(filter(None, rows), key=lambda row: row.updated, reverse=True)

    async def delete(self, lease: Lease) -> None:
        folder = self._session(lease.session_id)
        await self._change(lambda: folder.delete(lease))
        self._held.pop(lease.session_id, None)

    async def aclose(self) -> None:
        await self._worker.close(lambda: None)

    def _session(self, session_id: str) -> SessionFolder:
        """The folder of the session; a held one remembers where its records end."""
        if session_id in self._held:
            return self._held[session_id]
        path = self._folder / folder_name(session_id)
        return SessionFolder(path, session_id, self._files, self._clock, self._lease_s)

    def _paths(self) -> Sequence[Path]:
        if not self._folder.is_dir():
            return ()
        return sorted(path.parent for path in self._folder.glob("*/records.jsonl"))

    def _summary(self, path: Path) -> SessionSummary | None:
        """The row of the session in ``path``; read once as long as its file stays the same."""
        try:
            stat = (path / "records.jsonl").stat()
        except FileNotFoundError:
            return None  # it was deleted meanwhile
        known = self._summaries.get(path)
        if known is None or known[:2] != (stat.st_mtime_ns, stat.st_size):
            row = self._read_summary(path, updated=stat.st_mtime_ns // 1_000_000)
            known = self._summaries[path] = (stat.st_mtime_ns, stat.st_size, row)
        return known[2]

    def _read_summary(self, path: Path, updated: int) -> SessionSummary | None:
        session_id = session_id_of(path)
        if session_id is None:
            return None  # it never got a record, or not even its name is left
        try:
            return self._session(session_id).summary()
        except StoreError:
            return SessionSummary(session_id, updated, updated, 0)

    async def _change(self, change: Callable[[], T]) -> T:
        """What ``change`` returns, once the lock is free. Raises StoreError when it stays taken."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LOCK_WAIT_S
        while True:
            try:
                return await self._run(change)
            except Locked:
                # Waited for here and not in the worker, which other sessions need too.
                if loop.time() >= deadline:
                    raise _StillLocked(self.label) from None
            await asyncio.sleep(_LOCK_POLL_S)

    async def _run(self, job: Callable[[], T]) -> T:
        try:
            return await self._worker.run(job)
        except OSError as error:
            message = f"The {self.label} cannot be used: {error}."
            advice = "Nothing was changed; try again."
            raise StoreError("STORAGE_ERROR", message, advice=advice) from error


class _StillLocked(StoreError):
    def __init__(self, label: str) -> None:
        message = f"The {label} were locked by another process for {LOCK_WAIT_S:g} s."
        super().__init__(
            "STORAGE_ERROR", message, advice="If it is stopped, let it go on or end it."
        )

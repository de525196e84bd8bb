"""Files that fail or die at a chosen call, to show that a store of files loses nothing.

for at in itertools.count(1):
    files = FailingFiles("ENOSPC", at)
    await scenario(JsonlStore(folder, files=files))
    if files.calls < at:
        break  # nothing failed: every call had its turn
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final, Literal

from ..store.files import Files

Fault = Literal["ENOSPC", "EIO", "short", "kill", "kill_after"]
"""How a call goes wrong.

``ENOSPC`` and ``EIO`` raise that error and do nothing. ``short`` is for a write: half of it is
written, then the disk is full; other calls fail. ``kill`` ends the process without any cleaning up,
a write after half of it; ``kill_after`` does so when the call is done.
"""
KILLED: Final = 77
"""The exit code of a process that was killed by a fault."""


class FailingFiles(Files):
    """Fails ``count`` calls from call number ``at`` on, counted from 1.

    ``calls`` is how many there were; ``failed`` names those that went wrong.
    """

    def __init__(self, fault: Fault, at: int, *, count: int = 1) -> None:
        self.calls = 0
        self.failed: list[str] = []
        self._fault: Final = fault
        self._failing = range(at, at + count)

    def open(self, path: Path, flags: int) -> int:
        self._before("open", path)
        fd = super().open(path, flags)
        self._after()
        return fd

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.calls + 1 in self._failing and self._fault in ("short", "kill"):
            super().write(fd, data[: len(data) // 2])
        self._before("write")
        size_bytes = super().write(fd, data)
        self._after()
        return size_bytes

    def fsync(self, fd: int) -> None:
        self._before("fsync")
        super().fsync(fd)
        self._after()

    def truncate(self, fd: int, size_bytes: int) -> None:
        self._before("truncate")
        super().truncate(fd, size_bytes)
        self._after()

    def replace(self, source: Path, target: Path) -> None:
        self._before("replace", target)
        super().replace(source, target)
        self._after()

    def unlink(self, path: Path) -> None:
        self._before("unlink", path)
        super().unlink(path)
        self._after()

    def mkdir(self, path: Path) -> None:
        self._before("mkdir", path)
        super().mkdir(path)
        self._after()

    def utime(self, path: Path, time_s: float) -> None:
        self._before("utime", path)
        super().utime(path, time_s)
        self._after()

    def _before(self, name: str, path: Path | None = None) -> None:
        self.calls += 1
        if self.calls not in self._failing or self._fault == "kill_after":
            return
        self.failed.append(name)
        if self._fault == "kill":
            os._exit(KILLED)
        number = errno.EIO if self._fault == "EIO" else errno.ENOSPC
        raise OSError(number, os.strerror(number), None if path is None else str(path))

    def _after(self) -> None:
        if self.calls in self._failing and self._fault == "kill_after":
            os._exit(KILLED)

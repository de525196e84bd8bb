"""The calls by which a store of files changes something, and the lock between processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_BINARY: Final[int] = getattr(os, "O_BINARY", 0)
"""Windows alone has text files at this level."""


class Locked(Exception):
    """Another one has the lock right now."""


class Files:
    """The calls to the system that change something; each raises OSError.

    A test hands in a subclass that fails or dies at one of them (``testing.faults``): the methods
    from ``open`` to ``utime`` are one call to the system each, the ones after them are made of
    these.
    """

    def open(self, path: Path, flags: int) -> int:
        """A descriptor; what it creates is private to the user."""
        return os.open(path, flags | _BINARY, _FILE_MODE)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        """How many bytes of ``data`` were written."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def truncate(self, fd: int, size_bytes: int) -> None:
        os.ftruncate(fd, size_bytes)

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def mkdir(self, path: Path) -> None:
        path.mkdir(_FOLDER_MODE)

    def utime(self, path: Path, time_s: float) -> None:
        os.utime(path, (time_s, time_s))

    def write_all(self, fd: int, data: bytes) -> None:
        """Write ``data`` to its end, in one call if the system takes it."""
        rest = memoryview(data)
        while rest:
            rest = rest[self.write(fd, rest) :]

    def sync_folder(self, path: Path) -> None:
        """Make the names in the folder as lasting as the files; Windows does so by itself."""
        if os.name != "nt":
            with self.opened(path, os.O_RDONLY) as fd:
                self.fsync(fd)

    def make_folder(self, path: Path) -> None:
        """Make the folder and those above it; harmless when it is there."""
        if path.is_dir():
            return
        if path.parent != path:
            self.make_folder(path.parent)
        try:
            self.mkdir(path)
        except FileExistsError:
            return  # someone else was faster; a file of that name fails the next call
        self.sync_folder(path.parent)

    def write_beside(self, path: Path, data: bytes) -> Path:
        """Write ``data`` to a new file, to be put in the place of ``path``; safe from power loss.

        The caller holds the lock of the folder: there is one such name.
        """
        beside = path.with_name(f"{path.name}.new")
        with self.opened(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) as fd:
            self.write_all(fd, data)
            self.fsync(fd)
        return beside

    @contextmanager
    def opened(self, path: Path, flags: int) -> Iterator[int]:
        fd = self.open(path, flags)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextmanager
    def locked(self, path: Path) -> Iterator[None]:
        """Hold the lock at ``path``, in a folder that is there. Raises Locked, without waiting.

        The system gives it back when the process ends in whatever way.
        """
        with self.opened(path, os.O_RDWR | os.O_CREAT) as fd:
            _lock(fd)
            try:
                yield
            finally:
                _unlock(fd)  # a forked child may have the descriptor too


if sys.platform == "win32":

    def _lock(fd: int) -> None:
        import msvcrt

        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise Locked from error

    def _unlock(fd: int) -> None:
        import msvcrt

        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:

    def _lock(fd: int) -> None:
        import fcntl

        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Locked from error

    def _unlock(fd: int) -> None:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_UN)

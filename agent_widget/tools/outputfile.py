"""Output that is too long for a card: all of it in a file that the user and the model can read.

=====================  ==================================================================
``FILE_BYTES``         of one output are kept; what comes later is counted only
``FILES``              are kept, whatever tools they are of; the oldest goes for a new one
=====================  ==================================================================

The files are in one folder for this process, among the system's temporary files; only the user can
read it. It is removed when the process ends: a stored conversation still names its files then, and
has their heads and tails.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
import weakref
from collections import deque
from pathlib import Path
from typing import IO, Final

FILE_BYTES: Final = 50_000_000
FILES: Final = 20
THRESHOLD_BYTES: Final = 16_000
"""Smaller outputs need no file: a card and a model get all of them."""


class OutputFolder:
    """A folder with long outputs; made when the first one comes, and removed with this object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._files: deque[Path] = deque()

    def new_file(self) -> tuple[Path, IO[bytes]]:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="agent-widget-"))
                weakref.finalize(self, _remove, self._folder, os.getpid())
            descriptor, name = tempfile.mkstemp(".txt", "output-", self._folder)
            self._files.append(Path(name))
            if len(self._files) > FILES:
                _unlink(self._files.popleft())
            return Path(name), open(descriptor, "wb")  # noqa: PTH123

    def remove(self, path: Path) -> None:
        """Remove a file that nobody was told of."""
        with self._lock:
            if path in self._files:
                self._files.remove(path)
                _unlink(path)


def _remove(folder: Path, process_id: int) -> None:
    if os.getpid() == process_id:  # a fork that ends leaves it to its parent
        shutil.rmtree(folder, ignore_errors=True)


def _unlink(path: Path) -> None:
    with contextlib.suppress(OSError):  # gone already or, on Windows, still open
        path.unlink()


OUTPUTS: Final = OutputFolder()
"""The folder of this process."""


class OutputFile:
    """Writes one output to a file once it is long. ``size_bytes`` counts all of it.

    Without room on the disk the file ends early, and the output goes on.
    """

    def __init__(self, folder: OutputFolder = OUTPUTS) -> None:
        self._folder = folder
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._file: IO[bytes] | None = None
        self._is_full = False
        self.path: Path | None = None
        self.kept_bytes = 0
        self.size_bytes = 0

    def write(self, data: bytes) -> None:
        self.size_bytes += len(data)
        if self._is_full:
            return
        self._waiting.append(data)
        self._waiting_bytes += len(data)
        if self._waiting_bytes > THRESHOLD_BYTES:
            self._flush()

    def close(self) -> None:
        """Take nothing more. Harmless twice."""
        if self._file is not None:
            self._flush()
            with contextlib.suppress(OSError):
                self._file.close()
        self._file, self._is_full = None, True

    def keep(self) -> None:
        """Close it, with a file however short it is."""
        if self._waiting and not self._is_full:
            self._flush()
        self.close()

    def discard(self) -> None:
        """Close and remove it: nothing of the output is missing where it is shown."""
        self.close()
        if self.path is not None:
            self._folder.remove(self.path)
            self.path = None

    @property
    def note(self) -> str | None:
        """Its size and where it is; None where nothing of it is in a file."""
        if self.path is None or not self.kept_bytes:
            return None
        is_whole = self.kept_bytes == self.size_bytes
        part = "all of it is" if is_whole else f"its first {self.kept_bytes:,} bytes are"
        return f"[The output has {self.size_bytes:,} bytes; {part} in {self.path}]"

    def _flush(self) -> None:
        data = b"".join(self._waiting)[: FILE_BYTES - self.kept_bytes]
        self._waiting.clear()
        self._waiting_bytes = 0
        try:
            if self._file is None:
                self.path, self._file = self._folder.new_file()
            self._file.write(data)
            self._file.flush()
        except OSError:
            self._is_full = True
            return
        self.kept_bytes += len(data)
        self._is_full = self.kept_bytes >= FILE_BYTES

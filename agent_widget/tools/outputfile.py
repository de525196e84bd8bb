"""Output that is too long for a card: its beginning in a file that the user and the model can read.

=====================  ==================================================================
``FILE_BYTES``         of one output are kept; what comes later is counted only
``FILES``              of one tool are kept; the oldest is removed for a new one
=====================  ==================================================================

The files are in a folder of the system's folder for temporary files that only the user can read;
it is removed when the tool is, or when the program ends.
"""

from __future__ import annotations

import contextlib
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
    """The folder with the long outputs of one tool; made when the first one comes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._files: deque[Path] = deque()

    def new_file(self) -> tuple[Path, IO[bytes]]:
        with self._lock:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="agent-widget-"))
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            descriptor, name = tempfile.mkstemp(".txt", "output-", self._folder)
            self._files.append(Path(name))
            if len(self._files) > FILES:
                self._files.popleft().unlink(missing_ok=True)
            return Path(name), open(descriptor, "wb")  # noqa: PTH123


class OutputFile:
    """Writes one output to a file once it is long. ``size_bytes`` counts all of it.

    Without room on the disk the file ends early, and the output goes on.
    """

    def __init__(self, folder: OutputFolder) -> None:
        self._folder = folder
        self._waiting: list[bytes] = []
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
        if self.size_bytes <= THRESHOLD_BYTES:
            return
        try:
            self._flush()
        except OSError:
            self._is_full = True
        self._waiting.clear()

    def close(self) -> None:
        self._is_full = True
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()

    def _flush(self) -> None:
        if self._file is None:
            self.path, self._file = self._folder.new_file()
        data = b"".join(self._waiting)[: FILE_BYTES - self.kept_bytes]
        self._file.write(data)
        self._file.flush()
        self.kept_bytes += len(data)
        self._is_full = self.kept_bytes >= FILE_BYTES

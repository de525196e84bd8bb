"""A folder in memory, for tests that write the same few files a thousand times."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder that need not be on a disk: only a power cut would show what `fsync` is for."""
    if not _MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=_MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)

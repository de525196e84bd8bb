"""The file system of this machine, as the permission policy looks at it."""

from __future__ import annotations

import os
from pathlib import Path


class DiskPaths:
    """Implements ``policy.paths.Paths``; ``cwd`` is where relative paths begin."""

    def __init__(self, cwd: Path | None = None) -> None:
        self._cwd = (cwd or Path.cwd()).absolute().as_posix()

    @property
    def cwd(self) -> str:
        return self._cwd

    @property
    def home(self) -> str:
        return Path.home().as_posix()

    def resolve(self, path: str) -> str | None:
        """The real path; None for a loop of links or what may not be looked at."""
        try:
            return Path(os.path.realpath(path, strict=False)).as_posix()
        except (OSError, ValueError, RuntimeError):
            return None

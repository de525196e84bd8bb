"""Who this process is, and whether another one still lives."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from uuid import uuid4

from .base import Owner


def this_process() -> Owner:
    """A new owner that stands for this process."""
    pid = os.getpid()
    return Owner(pid, socket.gethostname(), uuid4().hex, started_at(pid))


def is_gone(owner: Owner) -> bool:
    """True when ``owner`` was a process of this host and certainly runs no more.

    False for another host and whenever it cannot be told: then only time decides.
    """
    if owner.host != socket.gethostname():
        return False
    if os.name != "posix":
        return False
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    state, started = _stat(owner.pid)
    if state in ("Z", "X"):  # it has ended, and its parent has not looked yet
        return True
    return None not in (started, owner.started) and started != owner.started


def started_at(pid: int) -> float | None:
    """When the process was started, in clock ticks since boot; None where the system hides it."""
    return _stat(pid)[1]


def _stat(pid: int) -> tuple[str | None, float | None]:
    """State and start of a process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None, None
    fields = stat.rpartition(")")[2].split()
    return fields[0], float(fields[19])

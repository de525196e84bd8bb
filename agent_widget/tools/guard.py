"""Process groups that end with this program, however it ends: also by SIGKILL.

A shell waits at the other end of a pipe, for the lines that bind a group and let it go. The pipe
ends with this program, and then the shell kills what is still bound. Where there is no ``/bin/sh``
(Windows) nothing is bound.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from typing import Final

_SHELL: Final = "/bin/sh"
_SCRIPT: Final = """
bound=
while read -r word group; do
  case $word in
    bind) bound="$bound $group" ;;
    free) left=; for each in $bound; do [ "$each" = "$group" ] || left="$left $each"; done
      bound=$left ;;
  esac
done
for group in $bound; do kill -s KILL -- "-$group"; done
"""


class Guard:
    """Its shell starts with the first group that is bound. For any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None

    def bind(self, group: int) -> None:
        """Kill ``group`` when this program is gone."""
        with self._lock:
            self._groups.add(group)
            self._say(f"bind {group}\n")

    def free(self, group: int) -> None:
        """Bind ``group`` no more: it has ended, and its number may become another one's."""
        with self._lock:
            self._groups.discard(group)
            self._say(f"free {group}\n")

    def close(self) -> None:
        """End the shell, which kills what is bound."""
        with self._lock:
            shell, self._shell = self._shell, None
            if shell is not None:
                _close(shell)
                shell.wait()

    def leave(self) -> None:
        """In a fork of this program: what its parent has bound is none of its own."""
        self._lock = threading.Lock()  # that of the parent may be held by a thread it alone has
        if self._shell is not None:
            _close(self._shell)
        self._groups, self._shell = set(), None

    def _say(self, line: str) -> None:
        if self._shell is not None:
            try:
                _write(self._shell, line)
            except OSError:  # somebody killed it
                _close(self._shell)
                self._shell.wait()
                self._shell = None
        if self._shell is None and self._groups and sys.platform != "win32":
            self._start()

    def _start(self) -> None:
        """Start the shell and tell it of all groups."""
        with contextlib.suppress(OSError):
            self._shell = subprocess.Popen(
                [_SHELL, "-c", _SCRIPT],
                cwd="/",
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                start_new_session=True,
            )
            _write(self._shell, "".join(f"bind {each}\n" for each in self._groups))


def _write(shell: subprocess.Popen[bytes], lines: str) -> None:
    assert shell.stdin is not None
    shell.stdin.write(lines.encode("ascii"))


def _close(shell: subprocess.Popen[bytes]) -> None:
    assert shell.stdin is not None
    with contextlib.suppress(OSError):
        shell.stdin.close()


GUARD: Final = Guard()
atexit.register(GUARD.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=GUARD.leave)

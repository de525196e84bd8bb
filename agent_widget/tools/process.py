"""A program in a process group of its own: its output as it comes, and an end that is one.

The output is read on a thread; no event loop takes part, so it works under any. When the time is
up, when the call is stopped, and when the program ended but left something running, the whole
group gets TERM, and KILL a second later. A process that left the group (``setsid``) is out of
reach; the output is not waited for then.
"""

from __future__ import annotations

import atexit
import codecs
import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..core.errors import ToolFailure
from .guard import GUARD

KILL_AFTER_S: Final = 1.0
"""Between TERM and KILL."""
GRACE_S: Final = 1.0
"""How long what a program left running may go on after its end."""

_POLL_S: Final = 0.03
_GONE_S: Final = 0.5
_CHUNK_BYTES: Final = 1 << 16

Reason: TypeAlias = Literal["exited", "timeout", "stopped"]


class Ended(Struct, frozen=True):
    """How a program ended.

    ``code`` is its exit code, negative for the signal that killed it, None when it could not be
    ended; ``left_running`` says that its group went on after it and was killed.
    """

    reason: Reason
    code: int | None
    left_running: bool = False


def run_in_group(
    command: Sequence[str],
    *,
    folder: str,
    environment: Mapping[str, str],
    timeout_s: float,
    cancelled: threading.Event,
    on_output: Callable[[bytes, str], None],
) -> Ended:
    """Run ``command`` in ``folder`` and wait for its end, ``timeout_s`` at most, and a few seconds.

    ``on_output`` gets pieces of standard output and error, in the order they were written: the
    bytes, and the text of those characters that are complete. Standard input is empty. Raises
    ToolFailure when the program cannot be started.
    """
    try:
        process = _started(command, folder, environment)
    except (OSError, ValueError) as error:
        raise ToolFailure(f"{command[0]} could not be started: {error}") from None
    group = ProcessGroup(process)
    group.bind()
    reader = _Reader(process, on_output)  # whoever hears of the process may end this program
    try:
        reason = _awaited(process, timeout_s, cancelled)
        if reason == "exited":
            patience = time.monotonic() + min(GRACE_S, timeout_s)
            _wait_until(lambda: not group.is_alive() or cancelled.is_set(), patience)
        left_running = group.is_alive()
        if left_running:
            group.end()
        reader.end()
        return Ended(reason, process.poll(), left_running and reason == "exited")
    finally:
        if group.is_alive():
            group.kill()
        reader.abandon()
        group.free()


def _started(
    command: Sequence[str], folder: str, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP
    return subprocess.Popen(
        list(command),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
        creationflags=flags,
    )


def _awaited(
    process: subprocess.Popen[bytes], timeout_s: float, cancelled: threading.Event
) -> Reason:
    ends = time.monotonic() + timeout_s
    wait_s = 0.001
    while process.poll() is None:
        if time.monotonic() >= ends:
            return "timeout"
        if cancelled.wait(wait_s):
            return "stopped"
        wait_s = min(2 * wait_s, _POLL_S)
    return "exited"


def _wait_until(holds: Callable[[], bool], ends: float) -> bool:
    pause = threading.Event()
    while not holds():
        if time.monotonic() >= ends:
            return False
        pause.wait(_POLL_S)
    return True


class ProcessGroup:
    """The processes of a program: its process group, or on Windows its tree."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def bind(self) -> None:
        """Kill it when this program ends: a kernel that is shut down leaves nothing behind."""
        atexit.register(self.kill)
        GUARD.bind(self._process.pid)

    def free(self) -> None:
        """Bind it no more; it has ended."""
        atexit.unregister(self.kill)
        GUARD.free(self._process.pid)

    def is_alive(self) -> bool:
        if self._process.poll() is None:
            return True
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:  # one that became another user's
            return True
        return _has_live_members(self._process.pid)

    def end(self) -> None:
        """TERM, then KILL to what is still there; waits until the group is gone."""
        self._signal(signal.SIGTERM)
        if not _wait_until(lambda: not self.is_alive(), time.monotonic() + KILL_AFTER_S):
            self.kill()
            _wait_until(lambda: not self.is_alive(), time.monotonic() + _GONE_S)

    def kill(self) -> None:
        self._signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if sys.platform == "win32":
            tree = ["taskkill", "/T", "/F", "/PID", str(self._process.pid)]
            subprocess.run(tree, capture_output=True, check=False, timeout=KILL_AFTER_S)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _has_live_members(group: int) -> bool:
    """False when all that is left of ``group`` is dead and waits to be collected by init.

    Some containers have an init that never does.
    """
    try:
        with os.scandir("/proc") as entries:
            processes = [entry.path for entry in entries if entry.name.isdecimal()]
    except OSError:  # no such system: what answers to a signal counts as alive
        return True
    return not processes or any(_is_live_member(path, group) for path in processes)


def _is_live_member(process: str, group: int) -> bool:
    try:
        stat = Path(process, "stat").read_bytes()
        # The name before it may hold blanks and parentheses: "7 (my prog) S 1 7 …".
        state, _, its_group = stat.rpartition(b")")[2].split()[:3]
    except (OSError, ValueError):  # gone meanwhile
        return False
    return int(its_group) == group and state not in (b"Z", b"X")


class _Reader:
    """Reads the output on a thread of its own until it ends or nobody wants more."""

    def __init__(
        self, process: subprocess.Popen[bytes], on_output: Callable[[bytes, str], None]
    ) -> None:
        assert process.stdout is not None
        self._pipe = process.stdout
        self._on_output = on_output
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._read, name="command output", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Wait until all was read, or for a second where someone out of reach keeps it open."""
        self._thread.join(GRACE_S)

    def abandon(self) -> None:
        self._abandoned.set()

    def _read(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        descriptor = self._pipe.fileno()
        with self._pipe:
            while not self._abandoned.is_set():
                if not _is_readable(descriptor):
                    continue
                chunk = os.read(descriptor, _CHUNK_BYTES)
                self._on_output(chunk, decoder.decode(chunk, final=not chunk))
                if not chunk:
                    return


def _is_readable(descriptor: int) -> bool:
    """True when reading returns at once; where a pipe cannot be asked (Windows), always."""
    if not hasattr(select, "poll"):
        return True
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(100))

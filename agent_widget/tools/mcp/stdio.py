"""A server's process, and its two pipes as streams of messages.

The pipes are read and written on threads, so it works under any event loop and whatever
``sys.stderr`` is. What is no message is noise: skipped, its first lines kept for the person. What
never ends is cut: a line that is too long ends the server, notifications that come too fast are
dropped, of standard error the last lines are kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

import anyio

from ...core.errors import ToolFailure
from ..environment import command_environment
from ..process import ProcessGroup
from ..text import plain_text
from .config import ServerConfig

MAX_LINE_BYTES: Final = 8 * 1024 * 1024
"""A longer line ends the server: no message is that long."""
MAX_STDERR_BYTES: Final = 8 * 1024
EXIT_S: Final = 1.0
"""How long a server may take to exit by itself once its input is closed."""
BURST: Final = 200
"""So many notifications and requests of a server may come at once, then ``RATE`` a second."""
RATE: Final = 100.0

_CHUNK_BYTES: Final = 1 << 16
_MAX_OUTGOING: Final = 256
_PAUSE_S: Final = 0.001
_NOISE_LINES: Final = 5
_NOISE_CHARS: Final = 200
_TAIL_LINES: Final = 6


class StdioTransport:
    """Starts the server on entering, ends it and all below it on leaving (a transport of the SDK).

    ``on_end`` is called on the loop once the server says nothing more.
    """

    def __init__(self, config: ServerConfig, folder: str, on_end: Callable[[], None]) -> None:
        self._config = config
        self._folder = folder
        self._on_end = on_end
        self._process: subprocess.Popen[bytes] | None = None
        self._outgoing: queue.Queue[bytes | None] = queue.Queue(_MAX_OUTGOING)
        self._stderr: deque[bytes] = deque()
        self._stderr_bytes = 0
        self._noise: list[str] = []
        self._fault: str | None = None
        self._bucket = Bucket(BURST, RATE)
        self._threads: list[threading.Thread] = []

    @property
    def said(self) -> str:
        """What there is to say of its end: fault, exit code, noise and the end of its stderr."""
        parts = [] if self._fault is None else [self._fault]
        code = None if self._process is None else self._process.poll()
        if code is not None and self._fault is None:
            parts.append(f"It ended with exit code {code}.")
        tail = plain_text(b"".join(self._stderr).decode("utf-8", "replace")).strip()
        if tail:
            parts.append("Its error output: " + " / ".join(tail.splitlines()[-_TAIL_LINES:]))
        elif self._noise:
            parts.append("It wrote what is no message: " + " / ".join(self._noise))
        return " ".join(parts)

    async def __aenter__(self) -> tuple[Any, Any]:
        process = self._process = self._started()
        self._group = ProcessGroup(process)
        self._group.bind()
        self._loop = asyncio.get_running_loop()
        self._incoming, read = anyio.create_memory_object_stream[Any](0)
        write, self._leaving = anyio.create_memory_object_stream[Any](0)
        self._pump = asyncio.create_task(self._pumped())
        self._errors = self._thread(self._drain)
        self._threads = [self._errors, self._thread(self._read), self._thread(self._write)]
        for thread in self._threads:
            thread.start()
        self._streams = (read, write)
        return self._streams

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            for stream in (*self._streams, self._incoming):
                stream.close()
            with contextlib.suppress(queue.Full):
                self._outgoing.put_nowait(None)
            ended: Future[None] = Future()
            threading.Thread(target=self._end, args=(ended,), name="mcp end", daemon=True).start()
            await asyncio.shield(asyncio.wrap_future(ended))
            self._pump.cancel()
            self._leaving.close()

    def _started(self) -> subprocess.Popen[bytes]:
        config = self._config
        environment = command_environment(os.environ, config.env)
        command = config.command or ""
        program = shutil.which(command, path=environment.get("PATH"))
        if program is None and os.sep not in command:
            raise ToolFailure(f"There is no program {command!r}. Install it, or write its path.")
        flags = 0
        if sys.platform == "win32":
            flags = subprocess.CREATE_NEW_PROCESS_GROUP
        try:
            return subprocess.Popen(
                [program or command, *config.args],
                cwd=config.cwd or self._folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                creationflags=flags,
            )
        except (OSError, ValueError) as error:
            raise ToolFailure(f"{command} could not be started: {error}") from None

    def _thread(self, work: Callable[[], None]) -> threading.Thread:
        return threading.Thread(target=work, name=f"mcp {self._config.name}", daemon=True)

    # --- on the loop ---------------------------------------------------------------------------

    async def _pumped(self) -> None:
        """Hand what is to be written to the thread that may have to wait for the server."""
        with contextlib.suppress(anyio.ClosedResourceError):
            async for message in self._leaving:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    self._outgoing.put_nowait(line.encode("utf-8", "replace") + b"\n")
                except queue.Full:
                    self._fail("It does not read what it is sent.")
                    return

    def _fail(self, why: str) -> None:
        self._fault = self._fault or why
        self._group.kill()

    # --- on threads ----------------------------------------------------------------------------

    def _end(self, ended: Future[None]) -> None:
        try:
            assert self._process is not None
            deadline = time.monotonic() + EXIT_S
            pause = threading.Event()
            while self._process.poll() is None and time.monotonic() < deadline:
                pause.wait(0.01)
            if self._group.is_alive():
                self._group.end()
            for pipe in (self._process.stdout, self._process.stderr, self._process.stdin):
                # A descendant that left the group may hold the other end: readers are daemons.
                if pipe is not None and not any(each.is_alive() for each in self._threads):
                    pipe.close()
            self._group.free()
        finally:
            ended.set_result(None)

    def _write(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        pipe = self._process.stdin
        with contextlib.suppress(OSError, ValueError), pipe:
            while (line := self._outgoing.get()) is not None:
                view = memoryview(line)
                while view:
                    view = view[pipe.write(view) or 0 :]

    def _drain(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        seen = 0
        with contextlib.suppress(OSError, ValueError), self._process.stderr as pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK_BYTES):
                seen += len(chunk)
                if seen > MAX_LINE_BYTES:
                    time.sleep(_PAUSE_S)
                self._stderr.append(chunk[-MAX_STDERR_BYTES:])
                self._stderr_bytes += len(self._stderr[-1])
                while self._stderr_bytes - len(self._stderr[0]) > MAX_STDERR_BYTES:
                    self._stderr_bytes -= len(self._stderr.popleft())

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        pending: list[bytes] = []
        size = 0
        over = (OSError, ValueError, RuntimeError, _Gone)  # RuntimeError: the loop is closed
        with contextlib.suppress(*over), self._process.stdout as pipe:
            while chunk := os.read(pipe.fileno(), _CHUNK_BYTES):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    whole = b"".join((*pending, line))
                    pending, size = [], 0
                    self._take(whole)
                pending.append(rest)
                size += len(rest)
                if size > MAX_LINE_BYTES:
                    self._fail(f"It wrote a line of more than {MAX_LINE_BYTES:,} bytes.")
                    break
        self._errors.join(0.2)  # what it wrote last is the reason most worth reading
        self._on_loop(self._ended)

    def _take(self, line: bytes) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCNotification, JSONRPCRequest, jsonrpc_message_adapter

        line = line.strip()
        if not line:
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except (ValueError, RecursionError):
            self._slow_down()
            if len(self._noise) < _NOISE_LINES:
                text = plain_text(line[:_NOISE_CHARS].decode("utf-8", "replace"))
                self._noise.append(text)
            return
        is_unasked = isinstance(message, JSONRPCNotification | JSONRPCRequest)
        if is_unasked and not self._slow_down():
            return
        sending = asyncio.run_coroutine_threadsafe(self._sent(SessionMessage(message)), self._loop)
        if not sending.result():
            raise _Gone

    def _slow_down(self) -> bool:
        """False for what comes too fast. Then the server waits: reading on would take our time."""
        is_fine = self._bucket.take()
        if not is_fine:
            time.sleep(_PAUSE_S)
        return is_fine

    async def _sent(self, message: Any) -> bool:
        try:
            await self._incoming.send(message)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            return False
        return True

    def _ended(self) -> None:
        self._incoming.close()
        self._on_end()

    def _on_loop(self, work: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            self._loop.call_soon_threadsafe(work)


class _Gone(Exception):  # nobody reads any more
    pass


class Bucket:
    """Lets ``burst`` through at once, and ``rate`` a second after that."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst = burst
        self._rate = rate
        self._left = float(burst)
        self._at_s = time.monotonic()

    def take(self) -> bool:
        now_s = time.monotonic()
        self._left = min(self._burst, self._left + (now_s - self._at_s) * self._rate)
        self._at_s = now_s
        if self._left < 1:
            return False
        self._left -= 1
        return True

"""Bodies of tools that run on an executor: in another process, or on a cluster.

A call opens a line for its body on the engine's loop. What the body reports comes back over it, one
JSON object a line, after a secret of that call; a Stop goes the other way. Where no connection is
possible the body runs all the same, and only its progress is not seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import secrets
import select
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from importlib import import_module
from typing import Any, Final

from msgspec import Struct

from .base import ToolContext, ToolOutput
from .results import result_output

LOOPBACK: Final = "127.0.0.1"
_CONNECT_S: Final = 5.0
_LINE_BYTES: Final = 1_000_000
_LAST_WORDS_S: Final = 2.0
"""How long what a body reported may take to arrive after its result."""
_LAST_WORDS_OF_A_FAILURE_S: Final = 0.25
"""The same after an error, of which nobody knows whether its body ever had a line."""


class RemoteSign:
    """Whether the call should end: set, and true, once the Stop has arrived."""

    def __bool__(self) -> bool:
        return self.is_set()

    def __init__(self, line: BodyLine) -> None:
        self._line = line

    def is_set(self) -> bool:
        return self._line.is_stopped(0)

    def wait(self, timeout: float | None = None) -> bool:
        return self._line.is_stopped(timeout)


class RemoteContext:
    """What a body on an executor has for a ``ToolContext``: no main thread, else the same."""

    def __init__(self, call_id: str, tool_name: str, line: BodyLine) -> None:
        self.call_id = call_id
        self.tool_name = tool_name
        self.cancelled = RemoteSign(line)
        self._line = line

    def progress(self, message: str | None) -> None:
        self._line.tell({"progress": message})

    def output(self, text: str) -> None:
        self._line.tell({"output": text})


class BodyLine:
    """The body's end of a line; usable from any thread."""

    def __init__(self, address: tuple[str, int], secret: str) -> None:
        self._lock = threading.Lock()
        self._is_stopped = False
        self._socket: socket.socket | None = None
        with contextlib.suppress(OSError):
            self._socket = socket.create_connection(address, _CONNECT_S)
            self._socket.settimeout(None)
            self.tell({"secret": secret})

    @property
    def is_connected(self) -> bool:
        return self._socket is not None

    def tell(self, told: Mapping[str, Any]) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._socket is not None:
                self._socket.sendall(json.dumps(told).encode() + b"\n")

    def is_stopped(self, timeout_s: float | None) -> bool:
        """Whether a Stop came, within that time; the line's end is one, too."""
        own = self._socket
        if not self._is_stopped and own is not None:
            readable, _, _ = select.select([own], [], [], timeout_s)
            self._is_stopped = bool(readable)
        return self._is_stopped

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()


class NamedFunction(Struct, frozen=True):
    """A function by its name: what pickle can send where the name is that of its tool."""

    module: str
    name: str

    def __call__(self, **args: Any) -> Any:
        return getattr(import_module(self.module), self.name)(**args)


def _by_name(function: Callable[..., Any]) -> Callable[..., Any]:
    module = getattr(function, "__module__", "__main__")
    name = getattr(function, "__name__", "")
    found = getattr(sys.modules.get(module), name, None)
    is_tool = found is not None and getattr(found, "__wrapped__", None) is function
    return NamedFunction(module, name) if is_tool else function


class Job(Struct, frozen=True):
    """A call as it travels; ``context_names`` are the parameters that get a ``RemoteContext``."""

    function: Callable[..., Any]
    args: dict[str, Any]
    context_names: tuple[str, ...]
    call_id: str
    tool_name: str
    address: tuple[str, int]
    secret: str


def run_job(packed: tuple[Any, ...]) -> tuple[ToolOutput, bool]:
    """Run the body, in the process where this is called: its output, and whether it had a line.

    What it raises comes back as it is.
    """
    job = Job(*packed)
    line = BodyLine(job.address, job.secret)
    try:
        context = RemoteContext(job.call_id, job.tool_name, line)
        value = job.function(**job.args, **dict.fromkeys(job.context_names, context))
        output = value if isinstance(value, ToolOutput) else result_output(value)
        return output, line.is_connected
    finally:
        line.close()


async def run_on(
    executor: Executor,
    function: Callable[..., Any],
    args: Mapping[str, Any],
    context_names: tuple[str, ...],
    context: ToolContext,
) -> ToolOutput:
    """The output of ``function(**args)`` on ``executor``; cancellation cancels its future."""
    line = _EngineLine(context)
    host = _address_of(executor)
    server = await asyncio.start_server(line.serve, host, 0, limit=_LINE_BYTES)
    async with server:
        address = server.sockets[0].getsockname()[:2]
        body = _by_name(function) if isinstance(executor, ProcessPoolExecutor) else function
        job = (body, dict(args), context_names, context.call_id, context.tool_name)
        future = asyncio.wrap_future(executor.submit(run_job, (*job, address, line.secret)))
        try:
            output, had_line = await future
            if had_line:
                await line.drained(_LAST_WORDS_S)
            return output
        except asyncio.CancelledError:
            future.cancel()  # wrap_future hands it on to the executor's own
            await line.stop()
            raise
        except Exception:
            await line.drained(_LAST_WORDS_OF_A_FAILURE_S)
            raise
        finally:
            line.close()


class _EngineLine:
    """The engine's end of a line."""

    def __init__(self, context: ToolContext) -> None:
        self.secret: Final = secrets.token_hex(16)
        self._context = context
        self._writer: asyncio.StreamWriter | None = None
        self._is_over = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = json.loads(await reader.readline())
            if not hmac.compare_digest(str(first.get("secret")), self.secret):
                return
            if self._writer is not None:  # the executor runs it again: the last one counts
                self._writer.close()
            self._writer = writer
            while line := await reader.readline():
                self._hear(json.loads(line))
            if self._writer is writer:
                self._is_over.set()
        except (ValueError, AttributeError, OSError):
            return  # no body of ours, or one that was killed
        finally:
            writer.close()

    def _hear(self, told: Mapping[str, Any]) -> None:
        if "progress" in told:
            self._context.progress(told["progress"])
        elif "output" in told:
            self._context.output(told["output"])

    async def drained(self, most_s: float) -> None:
        """Return once all that was reported is here, or after so long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._is_over.wait(), most_s)

    async def stop(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.write(b"stop\n")
                await self._writer.drain()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _address_of(executor: Executor) -> str:
    """The address of this machine that workers of ``executor`` can reach.

    Of a Dask cluster on other machines, the one by which its scheduler is reached from here.
    """
    client = getattr(executor, "_client", None)
    scheduler = getattr(getattr(client, "scheduler", None), "address", "")
    host, _, port = str(scheduler).rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        return LOOPBACK
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((host, int(port)))  # of datagrams: nothing is sent
        return str(probe.getsockname()[0])
    return LOOPBACK

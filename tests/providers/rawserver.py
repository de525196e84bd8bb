"""An HTTP server in the test's own loop that writes exactly the bytes it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Received:
    """A request as it came in; header names are lower case."""

    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Drop:
    """Close the connection at once."""


class Hang:
    """Send nothing more until the client goes away."""


Step = bytes | Drop | Hang | asyncio.Event
Reply = Iterable[Step]


def head(status: int = 200, *headers: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status} Whatever", *headers, "", "")).encode()


def stream(*pieces: bytes, content_type: str = "text/event-stream") -> list[Step]:
    """A chunked stream that ends properly; each piece reaches the client as a piece."""
    return [*open_stream(*pieces, content_type=content_type), b"0\r\n\r\n"]


def open_stream(*pieces: Step, content_type: str = "text/event-stream") -> list[Step]:
    """A chunked stream that does not end by itself."""
    top = head(200, f"content-type: {content_type}", "transfer-encoding: chunked")
    return [top, *(chunk(p) if isinstance(p, bytes) else p for p in pieces)]


def until_close(*pieces: Step) -> list[Step]:
    """A stream without a length: closing the connection ends it."""
    return [head(200, "content-type: text/event-stream", "connection: close"), *pieces]


def whole(status: int, body: bytes | Any, *headers: str) -> list[Step]:
    """A reply with a length."""
    if not isinstance(body, bytes):
        body, headers = json.dumps(body).encode(), ("content-type: application/json", *headers)
    return [head(status, f"content-length: {len(body)}", *headers), body]


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""


@dataclass
class RawServer:
    """Answers request number n with ``replies[n]``, the last one again and again."""

    replies: list[Reply] = field(default_factory=list)
    requests: list[Received] = field(default_factory=list)
    port: int = 0
    connections: int = 0
    """Connections ever opened."""
    open_connections: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once ``holds()`` is true; fails after 10 s."""
        async with asyncio.timeout(10), self.changed:
            await self.changed.wait_for(holds)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._count(+1)
        try:
            while (request := await _read_request(reader)) is not None:
                index = min(len(self.requests), len(self.replies) - 1)
                self.requests.append(request)
                await self._count(0)
                if not await self._write(self.replies[index], reader, writer):
                    break
        except ConnectionError:
            pass
        finally:
            writer.close()
            await self._count(-1)

    async def _write(
        self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """Whether the connection can take another request."""
        top = b""
        for step in reply:
            if isinstance(step, Drop):
                writer.transport.abort()
                return False
            if isinstance(step, Hang):
                await reader.read()
                return False
            if isinstance(step, asyncio.Event):
                await step.wait()
            else:
                top = top or step
                writer.write(step)
                await writer.drain()
        return b"connection: close" not in top

    async def _count(self, change: int) -> None:
        self.connections += change > 0
        self.open_connections += change
        async with self.changed:
            self.changed.notify_all()


async def _read_request(reader: asyncio.StreamReader) -> Received | None:
    try:
        top = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = top.split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(first.split(" ")[1], headers, body)


@asynccontextmanager
async def serving(*replies: Reply) -> AsyncIterator[RawServer]:
    server = RawServer([*replies])
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()

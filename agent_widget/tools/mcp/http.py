"""Streamable HTTP with bounds: one address, its headers, and no answer without end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final

from ...core.errors import ToolFailure
from .config import ServerConfig

MAX_BODY_BYTES: Final = 16 * 1024 * 1024
"""Of one answer that is no event stream."""
MAX_EVENT_BYTES: Final = 8 * 1024 * 1024
_CONNECT_S: Final = 10.0
_REFUSED: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class HttpTransport:
    """The streams of the SDK for the address of ``config``. Redirects stay on its origin."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._status: int | None = None
        self._stack = AsyncExitStack()

    @property
    def said(self) -> str:
        """The status of an answer that was none of the protocol."""
        if self._status is None:
            return ""
        hint = " Check its headers." if self._status in _REFUSED else ""
        return f"It answered with HTTP status {self._status}.{hint}"

    async def __aenter__(self) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(_CONNECT_S, read=None)  # each call has a deadline of its own
        try:
            client = httpx2.AsyncClient(
                headers=dict(self._config.headers),
                timeout=timeout,
                event_hooks={"response": [self._answered]},
            )
        except (ValueError, TypeError) as error:
            raise ToolFailure(f"Its headers cannot be sent: {type(error).__name__}.") from None
        await self._stack.enter_async_context(client)
        streams = streamable_http_client(
            self._config.url or "", http_client=client, max_sse_event_size=MAX_EVENT_BYTES
        )
        return await self._stack.enter_async_context(streams)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)

    async def _answered(self, response: Any) -> None:
        # An address that has no stream of its own says so with 405.
        if response.request.method == "POST":
            self._status = response.status_code if response.is_error else None
        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = _bounded(response.stream)


def _bounded(stream: Any) -> Any:
    """``stream``, which ends in an error once it is longer than any answer."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > MAX_BODY_BYTES:
                    raise httpx2.ReadError(f"The answer has more than {MAX_BODY_BYTES:,} bytes.")
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()

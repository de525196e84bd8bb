"""The client of the SDK, connected, and its errors in words."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from ...core.errors import InvalidOptions, SessionError

_QUIET: Final = logging.NullHandler()
_GONE: Final = frozenset({"Connection closed", "Session not found", "Session terminated"})
"""How an address says that it knows nothing of what was agreed on before."""


NEEDS_SDK: Final = "need the package mcp: pip install 'agent_widget[mcp]'."


def has_sdk() -> bool:
    """Whether the SDK is installed. Imports nothing."""
    return find_spec("mcp") is not None


def require_sdk() -> None:
    """Raises InvalidOptions when the SDK is not installed."""
    if not has_sdk():
        raise InvalidOptions(f"MCP servers {NEEDS_SDK}")


async def connected_client(
    stack: AsyncExitStack,
    transport: Callable[[], Any],
    *,
    root: str,
    on_message: Any,
    on_question: Callable[[Any], Awaitable[Mapping[str, Any] | None]],
) -> Any:
    """A client that ``stack`` closes; ``on_message`` gets what a server says by itself.

    The handshake of before 2026 comes first, in which a server can ask the person and tell of
    changes; a server that refuses it is asked in the later way. No model of this session answers a
    server (sampling): that is not offered, and refused.
    """
    for name in ("mcp", "client"):  # else what it logs of a bad server is printed below some cell
        logging.getLogger(name).addHandler(_QUIET)
    from mcp import Client, MCPError
    from mcp_types import (
        INVALID_PARAMS,
        INVALID_REQUEST,
        UNSUPPORTED_PROTOCOL_VERSION,
        ElicitResult,
        ErrorData,
        Implementation,
        ListRootsResult,
        Root,
    )

    async def elicit(context: Any, params: Any) -> Any:  # noqa: ARG001  # the SDK's names
        try:
            answer = await on_question(params)
        except (ValueError, AttributeError, TypeError) as error:
            return ErrorData(code=INVALID_PARAMS, message=f"This is no form: {error}")
        if answer is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content=dict(answer) or None)

    async def roots(context: Any) -> Any:  # noqa: ARG001
        folder = Path(root)
        return ListRootsResult(roots=[Root(uri=folder.as_uri(), name=folder.name)])  # type: ignore[arg-type]

    async def connected(mode: Any) -> Any:
        client = Client(
            transport(),
            mode=mode,
            cache=None,
            message_handler=on_message,
            elicitation_callback=elicit,
            list_roots_callback=roots,
            client_info=Implementation(name="agent_widget", version="1"),
        )
        await stack.enter_async_context(client)
        # The SDK would check results by the server's own schema, whose patterns can take for ever.
        session: Any = client.session
        session.validate_tool_result = _taken_as_it_is
        return client

    try:
        return await connected("legacy")
    except MCPError as error:
        if error.code not in (UNSUPPORTED_PROTOCOL_VERSION, INVALID_REQUEST):
            raise
        return await connected("auto")


async def _taken_as_it_is(_name: str, _result: Any) -> None:
    return None


def is_closed(error: BaseException) -> bool:
    """True when the connection is gone, and not only one request has failed."""
    from httpx2 import TransportError
    from mcp import MCPError
    from mcp_types import CONNECTION_CLOSED

    error = _leaf(error)
    if isinstance(error, MCPError):
        return error.code == CONNECTION_CLOSED or error.message in _GONE
    return isinstance(error, TransportError | BrokenPipeError | ConnectionError)


def error_in_words(error: BaseException) -> str:
    """What went wrong, as a person reads it; an error without a text is named."""
    error = _leaf(error)
    if isinstance(error, SessionError):
        return str(error)
    if type(error).__name__ == "ValidationError":
        return "It sent what is no valid answer."
    text = str(error).strip() or type(error).__name__
    return text if text[-1] in ".!?" else f"{text}."


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error

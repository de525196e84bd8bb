"""The client of the SDK, connected, and its errors in words."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from ...core.errors import InvalidOptions, SessionError

LISTEN_AGAIN_S: Final = 1.0
MAX_LISTEN_AGAIN_S: Final = 60.0
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
        METHOD_NOT_FOUND,
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
    except Exception as error:
        refusal = _leaf(error)  # of a task group of the SDK
        refused = (UNSUPPORTED_PROTOCOL_VERSION, INVALID_REQUEST, METHOD_NOT_FOUND)
        if not isinstance(refusal, MCPError) or refusal.code not in refused:
            raise
    return await connected("auto")


async def hear_changes(client: Any, on_change: Callable[[], None]) -> None:
    """Call ``on_change`` when a server has other tools, prompts or resources, as long as it can.

    Servers of the protocol of 2026 tell it to who listens; older ones tell it unasked, and a
    server may not tell it at all: then this returns.
    """
    from mcp.client.subscriptions import ListenNotSupportedError

    wait_s = LISTEN_AGAIN_S
    is_first = True
    while True:
        try:
            async with client.listen(
                tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
            ) as changes:
                if not is_first:  # nobody listened for a while
                    on_change()
                async for _ in changes:
                    wait_s = LISTEN_AGAIN_S
                    on_change()
        except ListenNotSupportedError:
            return
        except Exception as error:  # noqa: BLE001  # whatever the SDK makes of what it was sent
            if is_first and not is_closed(error):
                return
        is_first = False
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, MAX_LISTEN_AGAIN_S)


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

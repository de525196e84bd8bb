"""What a person sees of MCP servers: their states, and what can be typed for what they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ..core.envelope import Event
from ..core.mcpevents import (
    McpClosed,
    McpConnected,
    McpConnectFailed,
    McpConnecting,
    McpDiscovered,
)
from .model import MAX_NOTICES, Notice, ServerView, SessionView


def _connecting(view: SessionView, event: McpConnecting) -> SessionView:
    return _with(view, event.server, state="starting", message=None)


def _connected(view: SessionView, event: McpConnected) -> SessionView:
    return _with(view, event.server, state="connected", message=None)


def _failed(view: SessionView, event: McpConnectFailed) -> SessionView:
    text = f"The MCP server {event.server} is not there: {event.message}"
    view = _with_notice(view, event, "mcp_connect_failed", text)
    return _with(view, event.server, state="failed", message=event.message, commands=())


def _closed(view: SessionView, event: McpClosed) -> SessionView:
    if event.message is not None:
        text = f"The MCP server {event.server} has ended: {event.message}"
        view = _with_notice(view, event, "mcp_closed", text)
    return _with(view, event.server, state="closed", message=event.message)


def _discovered(view: SessionView, event: McpDiscovered) -> SessionView:
    if event.message is not None:
        text = f"Tools of the MCP server {event.server} that are left out: {event.message}"
        view = _with_notice(view, event, "mcp_tools_left_out", text)
    tools = len(event.tools)
    return _with(view, event.server, tool_count=tools, commands=event.commands)


def _with(view: SessionView, name: str, **changes: Any) -> SessionView:
    server = view.servers.get(name, ServerView(name))
    return replace(view, servers={**view.servers, name: replace(server, **changes)})


def _with_notice(view: SessionView, event: Event, code: str, text: str) -> SessionView:
    notice = Notice(f"n-{event.seq}", code, text)
    return replace(view, notices=(*view.notices, notice)[-MAX_NOTICES:])


SERVER_ROWS: Final[Mapping[type[Event], Callable[[SessionView, Any], SessionView]]] = {
    McpConnecting: _connecting,
    McpConnected: _connected,
    McpConnectFailed: _failed,
    McpClosed: _closed,
    McpDiscovered: _discovered,
}

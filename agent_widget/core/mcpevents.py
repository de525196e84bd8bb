"""Events of MCP servers. They tell what holds now; nothing of them is stored."""

from __future__ import annotations

from msgspec import Struct

from .envelope import Event


class McpCommand(Struct, frozen=True):
    """What a person can type for a prompt or resource of a server, and what it stands for."""

    text: str
    hint: str = ""


class McpConnecting(Event, frozen=True, kw_only=True):
    """A server is being started, or called."""

    type = "mcp.connecting"
    server: str


class McpConnected(Event, frozen=True, kw_only=True):
    """A server has answered; what it has is told next."""

    type = "mcp.connected"
    server: str


class McpConnectFailed(Event, frozen=True, kw_only=True):
    """A server could not be started, or did not answer in time; the session goes on without it."""

    type = "mcp.connect_failed"
    server: str
    message: str


class McpClosed(Event, frozen=True, kw_only=True):
    """A server has ended. The next call of one of its tools starts it once more."""

    type = "mcp.closed"
    server: str
    message: str | None = None


class McpDiscovered(Event, frozen=True, kw_only=True):
    """What a server has now, whole: names of tools as the model calls them, and commands.

    ``message`` says which tools are left out and why, ``size_bytes`` what the others add to each
    request.
    """

    type = "mcp.discovered"
    server: str
    tools: tuple[str, ...] = ()
    commands: tuple[McpCommand, ...] = ()
    size_bytes: int = 0
    message: str | None = None

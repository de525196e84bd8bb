"""The MCP servers of a session: started beside it, their tools in its registry, their prompts and
resources in what a person types.

    /mcp__server__prompt first "second one" rest
    What does @server:file:///notes.md say?

Servers come from code, from the user's settings, and from a project that is trusted
(``.mcp.json``, or ``mcp_servers`` in its settings).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import re
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..core.errors import InvalidOptions, SessionError, ToolFailure
from ..core.events import (
    Event,
    McpClosed,
    McpConnected,
    McpConnectFailed,
    McpConnecting,
    McpDiscovered,
    SessionEnded,
)
from ..core.mcpevents import McpCommand
from ..engine.context import Expanded
from ..engine.hookrun import digest_of_file
from ..engine.session import Session
from ..policy.rules import Problem, settings_object
from ..tools.base import Tool
from ..tools.mcp.client import require_sdk
from ..tools.mcp.config import ServerConfig, server_config
from ..tools.mcp.content import one_line
from ..tools.mcp.names import server_names, tool_names
from ..tools.mcp.server import Happening, McpServer
from .hooks import Project
from .trust import FILES, SERVER_KEYS, settings_bytes

START_WAIT_S: Final = 5.0
"""So long the first run waits for servers that are still starting; the rest comes when it does."""
MAX_COMMANDS: Final = 100
"""Of one server, in the list that a person chooses from."""
_COMMAND: Final = re.compile(r"/(mcp__\S+)(?:\s+(.*))?", re.DOTALL)
_RESOURCE: Final = re.compile(r"(?<!\S)@([A-Za-z0-9_.-]+):(\S+)")
_SDK: Final = ("mcp", "mcp.client.streamable_http")


# --- what there is -----------------------------------------------------------------------------


class Found(Struct, frozen=True):
    """Servers that files name, and what is wrong with others."""

    configs: tuple[ServerConfig, ...] = ()
    problems: tuple[Problem, ...] = ()


def given_servers(option: object) -> tuple[ServerConfig, ...]:
    """The servers of code. Raises InvalidOptions naming the key that is wrong."""
    if option is None or option is False:
        return ()
    if not isinstance(option, Mapping):
        advice = "Write mcp_servers={'name': {'command': …, 'args': […]}}."
        raise InvalidOptions(f"mcp_servers={option!r} is no mapping.", advice=advice)
    if option:
        require_sdk()
    configs = tuple(server_config(str(name), each) for name, each in option.items())
    server_names(config.name for config in configs)
    return configs


def user_servers(user: Path) -> Found:
    """The servers of the user's own settings; a file that cannot be read is told of elsewhere."""
    file = user / "settings.json"
    try:
        content = settings_bytes(file)
        settings = {} if content is None else settings_object(content)
    except (OSError, ValueError, RecursionError):
        return Found()
    sections = [settings.get(key) for key in SERVER_KEYS]
    return _found(
        (name, each, str(file), ())
        for section in sections
        if isinstance(section, Mapping)
        for name, each in section.items()
    )


def project_servers(project: Project) -> Found:
    """The servers of a project, if it is trusted: just as they were when it was."""
    return _found(
        (thing.place, json.loads(thing.content), FILES[thing.source].as_posix(), thing.files)
        for thing in project.active
        if thing.kind == "MCP server"
    )


def _found(listed: Iterable[tuple[str, Any, str, tuple[tuple[str, str], ...]]]) -> Found:
    configs: list[ServerConfig] = []
    problems: list[Problem] = []
    for name, data, origin, files in listed:
        try:
            server_names([*(config.name for config in configs), name])
            config = server_config(name, data, origin=origin, from_code=False, files=files)
        except InvalidOptions as error:
            problems.append(Problem(origin, str(error), "This server is not started."))
        else:
            configs.append(config)
    return Found(tuple(configs), tuple(problems))


def all_servers(*sources: Iterable[ServerConfig]) -> tuple[ServerConfig, ...]:
    """Those of all ``sources``; of one name the first counts. Disabled ones are left out."""
    found: dict[str, ServerConfig] = {}
    for config in (each for source in sources for each in source):
        found.setdefault(next(iter(server_names([config.name]).values())), config)
    return tuple(config for config in found.values() if not config.disabled)


def _require_pinned(config: ServerConfig) -> None:
    """Raises ToolFailure when a file that the server names is not the one that was trusted."""
    for path, digest in config.files:
        if digest_of_file(Path(path)) != digest:
            raise ToolFailure(f"{path} is not the file that was trusted: make the session again.")


# --- while a session is there ------------------------------------------------------------------


class McpServers:
    """Lives on the engine's loop. ``folder`` is where servers work, and their only root."""

    def __init__(
        self,
        configs: Iterable[ServerConfig],
        *,
        folder: Path,
        start_wait_s: float = START_WAIT_S,
    ) -> None:
        configs = tuple(configs)
        forms = server_names(config.name for config in configs)
        self._servers = {
            config.name: McpServer(
                config,
                forms[config.name],
                folder=str(folder.resolve()),
                tell=self._tell,
                check=_require_pinned,
            )
            for config in configs
        }
        self._start_wait_s = start_wait_s
        self._session: Session | None = None
        self._refresh: Callable[[], Awaitable[None]] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._started = asyncio.Event()
        self._has_waited = False
        self._is_stale = False
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Those of all servers that have ever answered: one that died is started on its use."""
        return tuple(tool for server in self._servers.values() for tool in server.listing.tools)

    async def attach(self, session: Session, refresh: Callable[[], Awaitable[None]]) -> None:
        """Start all servers beside the session, and return at once.

        ``refresh`` puts ``tools`` in the place of those they had.
        """
        self._session, self._refresh = session, refresh
        session.context.expand = self.expanded
        session.context.stop_starting = self.stop_starting
        session.extensions.discover = self.discover
        session.subscribe(self._on_event)
        self._go(self._start())

    async def ready(self) -> None:
        """Return once no server is starting any more and their tools are there, or soon."""
        if not self._has_waited:
            self._has_waited = True  # later runs do not wait again
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._start_wait_s):
                    await self._started.wait()
        if self._refreshing is not None:
            await asyncio.wait({self._refreshing}, timeout=self._start_wait_s)

    async def discover(self) -> None:
        """Ask the servers that are there again what they have, and return at once."""
        for server in self._servers.values():
            if server.state == "connected":
                server.list_anew()

    def stop_starting(self) -> None:
        """Wait no more for the servers that are still starting."""
        for server in self._servers.values():
            server.stop_starting()

    async def aclose(self) -> None:
        """End all servers at once. Harmless twice."""
        self._refresh = None
        await asyncio.gather(*(server.aclose() for server in self._servers.values()))

    async def _start(self) -> None:
        try:
            for name in _SDK:  # a second of imports would hold up everything else here
                await asyncio.to_thread(importlib.import_module, name)
            await asyncio.gather(*(server.start() for server in self._servers.values()))
        except Exception as error:  # noqa: BLE001  # an SDK that is broken, or of another version
            for server in self._servers.values():
                self._tell(server, "connect_failed", f"The package mcp cannot be used: {error}")
        finally:
            self._started.set()

    def _on_event(self, event: Event, _view: object) -> None:
        if isinstance(event, SessionEnded):
            self._go(self.aclose())

    def _go(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- what servers do -----------------------------------------------------------------------

    def _tell(self, server: McpServer, happening: Happening, message: str | None) -> None:
        if self._session is None or self._refresh is None:
            return
        self._session.context.tell(self._event(server, happening, message))
        if happening == "discovered":
            self._is_stale = True
            if self._refreshing is None:
                self._refreshing = asyncio.get_running_loop().create_task(self._refreshed())

    def _event(self, server: McpServer, happening: Happening, message: str | None) -> Event:
        name = server.config.name
        match happening:
            case "starting":
                return McpConnecting(server=name)
            case "connected":
                return McpConnected(server=name)
            case "connect_failed":
                return McpConnectFailed(server=name, message=message or "")
            case "closed":
                return McpClosed(server=name, message=message)
            case "discovered":
                tools = server.listing.tools
                return McpDiscovered(
                    server=name,
                    tools=tuple(tool.name for tool in tools),
                    commands=tuple(_commands(server)),
                    size_bytes=sum(len(json.dumps(tool.parameters)) for tool in tools),
                    message=message,
                )

    async def _refreshed(self) -> None:
        try:
            while self._is_stale and self._refresh is not None:
                self._is_stale = False
                with contextlib.suppress(SessionError):  # closed, or held by another process
                    await self._refresh()
        finally:
            self._refreshing = None

    # --- what a person types -------------------------------------------------------------------

    async def expanded(self, text: str) -> Expanded:
        """``text`` with its command, if it is one, made into what it stands for.

        Raises SessionError ``unknown_command``, ``invalid_command``, ``mcp_failed``.
        """
        if (found := _COMMAND.fullmatch(text.strip())) is not None:
            await self.ready()
            text = await self._prompt(found[1], found[2] or "")
            return Expanded(text)
        attached: dict[str, str] = {}
        for match in _RESOURCE.finditer(text):
            server = self._named(match[1])
            if server is not None:
                uri = _meant_uri(server, match[2])
                attached[f"@{match[1]}:{uri}"] = await server.read(uri)
        return Expanded(text, tuple(f"{name}\n\n{read}" for name, read in attached.items()))

    async def _prompt(self, command: str, rest: str) -> str:
        for server in self._servers.values():
            for prompt, name in _prompts(server):
                if name == command:
                    args = _prompt_args(f"/{name}", prompt.arguments or [], rest)
                    return await server.prompt(prompt.name, args)
        raise SessionError("unknown_command", f"There is no command /{one_line(command, 80)}.")

    def _named(self, name: str) -> McpServer | None:
        by_form = {server.form: server for server in self._servers.values()}
        return self._servers.get(name) or by_form.get(name)


def _prompts(server: McpServer) -> Iterable[tuple[Any, str]]:
    """The prompts of a server, each with the name of its command."""
    names, _ = tool_names(server.form, [prompt.name for prompt in server.listing.prompts])
    by_name = {prompt.name: prompt for prompt in reversed(server.listing.prompts)}
    return [(by_name[original], name) for original, name in names.items()]


def _commands(server: McpServer) -> Iterable[McpCommand]:
    for prompt, name in [*_prompts(server)][:MAX_COMMANDS]:
        hint = f"{_usage(prompt.arguments or [])} {one_line(prompt.description, 100)}".strip()
        yield McpCommand(f"/{name}", hint)
    for resource in server.listing.resources[:MAX_COMMANDS]:
        uri = _address(resource)
        if uri.isprintable() and not re.search(r"\s", uri):
            told = resource.title or resource.name or resource.description
            yield McpCommand(f"@{server.form}:{uri}", one_line(told, 100))


def _usage(arguments: Iterable[Any]) -> str:
    return " ".join(
        f"<{one_line(each.name, 40)}>" if each.required else f"[{one_line(each.name, 40)}]"
        for each in arguments
    )


def _prompt_args(command: str, arguments: list[Any], rest: str) -> dict[str, str]:
    """Words for the arguments in their order, ``name=value`` for one; the last gets what is left.

    Raises SessionError ``invalid_command`` when one lacks, or there is none.
    """
    try:
        words = shlex.split(rest)
    except ValueError:  # a quote of an ordinary text
        words = rest.split()
    names = [argument.name for argument in arguments]
    given: dict[str, str] = {}
    plain: list[str] = []
    for word in words:
        name, is_named, value = word.partition("=")
        if is_named and name in names:
            given[name] = value
        else:
            plain.append(word)
    left = [name for name in names if name not in given]
    if plain and not left:
        raise SessionError("invalid_command", f"{command} takes no more words.")
    for at, name in enumerate(left[: len(plain)]):
        is_last = at + 1 == len(left)
        given[name] = " ".join(plain[at:]) if is_last else plain[at]
    lacking = [each.name for each in arguments if each.required and each.name not in given]
    if lacking:
        usage = f"{command} {_usage(arguments)}"
        text = f"{command} needs {', '.join(one_line(name, 40) for name in lacking)}."
        raise SessionError("invalid_command", text, advice=f"Write {usage}")
    return given


def _address(resource: Any) -> str:
    """The address of a resource or, with ``{names}`` for a person to fill in, of many."""
    return str(getattr(resource, "uri", None) or resource.uri_template)


def _meant_uri(server: McpServer, typed: str) -> str:
    """The address in ``typed``, without what only ends the sentence."""
    known = {_address(resource) for resource in server.listing.resources}
    return typed if typed in known else typed.rstrip(".,;:!?)\"'")

"""One MCP server: started, listed, called, started again after a death, ended.

A task of its own lives as long as the connection does, so that nothing a server does reaches
another one. Every wait has a deadline. Lives on the engine's loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from ...core.errors import InvalidArgs, SessionError, ToolFailure
from ..base import ToolContext
from .client import connected_client, error_in_words, hear_changes, is_closed
from .config import ServerConfig, expanded
from .content import one_line, prompt_text, resource_blocks, text_of
from .forms import elicitation_of
from .http import HttpTransport
from .names import shown_name
from .stdio import StdioTransport
from .tool import CHANGED, McpTool, fingerprint_of, tools_of

State: TypeAlias = Literal["starting", "connected", "failed", "closed"]
Happening: TypeAlias = Literal["starting", "connected", "connect_failed", "closed", "discovered"]

BACK_OFF_S: Final = 0.5
MAX_BACK_OFF_S: Final = 60.0
CLOSE_S: Final = 4.0
DEBOUNCE_S: Final = 0.1
MAX_DEBOUNCE_S: Final = 10.0
MAX_PAGES: Final = 20
_LEAST_SECRET: Final = 6
MAX_ITEMS: Final = 1_000
MAX_QUESTIONS: Final = 10
"""So many questions may be asked in one call."""


class Listing(Struct, frozen=True):
    """What a server has: tools, and its prompts and resources as the SDK reads them.

    ``left_out`` has a sentence for each tool that is not used; ``size_bytes`` is what the tools'
    definitions add to a request.
    """

    tools: tuple[McpTool, ...] = ()
    left_out: tuple[str, ...] = ()
    prompts: tuple[Any, ...] = ()
    resources: tuple[Any, ...] = ()
    fingerprints: Mapping[str, str] = {}

    @property
    def outline(self) -> tuple[Any, ...]:
        """What two listings that mean the same share."""
        prompts = tuple(each.model_dump_json() for each in self.prompts)
        resources = tuple(each.model_dump_json() for each in self.resources)
        return (self.fingerprints, self.left_out, prompts, resources)


class _Running:
    """A call under way, and its deadline, which rests while a person is asked."""

    def __init__(self, context: ToolContext, timeout_s: float) -> None:
        self.context = context
        self.questions = 0
        self._open_questions = 0
        self.limit = asyncio.timeout(timeout_s)
        self._timeout_s = timeout_s

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        done = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        self.context.progress(one_line(f"{done}: {message}" if message else done, 200))

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        self._open_questions += 1
        self.limit.reschedule(None)
        try:
            yield
        finally:
            self._open_questions -= 1
            if not self._open_questions:
                with contextlib.suppress(RuntimeError):  # the call has ended meanwhile
                    self.limit.reschedule(asyncio.get_running_loop().time() + self._timeout_s)


class McpServer:
    """The server of ``config``; ``form`` is its name in those of its tools.

    ``tell(server, happening, message)`` is called for each change. ``check`` raises ToolFailure
    when the server may not be started now. ``folder`` is where it works and its only root.
    """

    def __init__(
        self,
        config: ServerConfig,
        form: str,
        *,
        folder: str,
        tell: Callable[[McpServer, Happening, str | None], None],
        check: Callable[[ServerConfig], None] = lambda _config: None,
    ) -> None:
        self.config = config
        self.form = form
        self.folder = folder
        self.state: State = "closed"
        self.listing = Listing()
        self._tell = tell
        self._check = check
        self._given = config
        self._client: Any = None
        self._transport: StdioTransport | HttpTransport | None = None
        self._actor: asyncio.Task[None] | None = None
        self._starting: asyncio.Task[None] | None = None
        self._end = asyncio.Event()
        self._stale = asyncio.Event()
        self._calls: list[_Running] = []
        self._failures = 0
        self._retry_s = 0.0
        self._why = "It was not started."
        self._is_closing = False

    # --- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect and list; tells how that went. Never raises but cancellation."""
        if self._starting is None or self._starting.done():
            self._starting = asyncio.create_task(self._start())
        await asyncio.wait({self._starting})

    def stop_starting(self) -> None:
        """Wait no more for a server that is starting: it is not there then. Its use starts it."""
        if self.state == "starting" and self._starting is not None:
            self._starting.cancel()
            self._failed("failed", "connect_failed", "It was ended.")

    async def aclose(self) -> None:
        """End the connection, and the process with all below it."""
        self._is_closing = True
        self._end.set()
        if self._starting is not None:
            self._starting.cancel()
        await self._actor_ended()
        self.state = "closed"

    async def _actor_ended(self) -> None:
        if self._actor is None:
            return
        _, waiting = await asyncio.wait({self._actor}, timeout=CLOSE_S)
        if waiting:
            self._actor.cancel()
            await asyncio.wait({self._actor}, timeout=CLOSE_S)

    async def _start(self) -> None:
        await self._actor_ended()
        if self._is_closing:
            return
        self.state = "starting"
        self._tell(self, "starting", None)
        self._end, self._stale = asyncio.Event(), asyncio.Event()
        ready: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._actor = asyncio.create_task(self._live(ready), name=f"mcp {self.config.name}")
        limit_s = self.config.connect_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                why = await asyncio.shield(ready)
        except TimeoutError:
            why = f"It was not ready within {limit_s:g} s.{self._said()}"
            self._actor.cancel()
        except asyncio.CancelledError:
            self._actor.cancel()
            raise
        if why is None:
            self._failures = 0
        else:
            self._failed("failed", "connect_failed", why)

    def _failed(self, state: State, happening: Happening, why: str) -> None:
        self._failures += 1
        delay_s = min(BACK_OFF_S * 2 ** (self._failures - 1), MAX_BACK_OFF_S)
        self._retry_s = asyncio.get_running_loop().time() + delay_s
        self._why = self._hidden(why)
        self.state = state
        if not self._is_closing:
            self._tell(self, happening, self._why)

    async def _live(self, ready: asyncio.Future[str | None]) -> None:
        """The connection from its start to its end, in one task as the SDK wants it."""
        why = None
        try:
            async with AsyncExitStack() as stack:
                await self._connect(stack)
                ready.set_result(None)
                hearing = asyncio.create_task(hear_changes(self._client, self._stale.set))
                try:
                    await self._watch()
                finally:
                    hearing.cancel()
                    await asyncio.wait({hearing})
        except (asyncio.CancelledError, KeyboardInterrupt):
            why = "It was ended."
            raise
        except BaseException as error:  # noqa: BLE001  # whatever the SDK or a server does
            why = error_in_words(error)
        finally:
            self._client = None
            if not ready.done():
                ready.set_result(f"{why or 'It ended.'}{self._said()}")
            elif self.state == "connected":
                text = f"The connection ended.{self._said()}" if why is None else why
                self._failed("closed", "closed", text)

    async def _connect(self, stack: AsyncExitStack) -> None:
        self._check(self.config)
        config = self._given = expanded(self.config, os.environ)

        def transport() -> StdioTransport | HttpTransport:
            if config.command is None:
                self._transport = HttpTransport(config)
                return self._transport
            if not self._is_closing:
                self._end.clear()  # of one that refused how it was spoken to
            made: StdioTransport = StdioTransport(config, self.folder, lambda: self._ended(made))
            self._transport = made
            return made

        client = await connected_client(
            stack,
            transport,
            root=self.folder,
            on_message=self._on_message,
            on_question=self._on_question,
        )
        listing = await self._listed(client)
        self._client = client
        self.state = "connected"
        self._tell(self, "connected", None)
        self._take(listing, is_first=True)

    def _ended(self, transport: StdioTransport) -> None:
        if transport is self._transport:
            self._end.set()

    def _said(self) -> str:
        text = "" if self._transport is None else self._transport.said
        return f" {text}" if text else ""

    def _hidden(self, text: str) -> str:
        """``text`` on one line, without the values that the server was given."""
        given = self._given
        filled = (new for new, old in zip(given.args, self.config.args, strict=True) if new != old)
        for value in sorted((*given.secrets, *filled), key=len, reverse=True):
            if len(value) >= _LEAST_SECRET:
                text = text.replace(value, "***")
        if given.url is not None:
            text = text.replace(given.url, given.shown)
        return one_line(text, 1_000)

    # --- what it has ---------------------------------------------------------------------------

    async def _watch(self) -> None:
        """List anew when the server says so, more and more rarely if it says so all the time."""
        delay_s = DEBOUNCE_S
        loop = asyncio.get_running_loop()
        listed_s = loop.time()
        while await _first_of(self._end, self._stale) is not self._end:
            quiet_s = loop.time() - listed_s
            delay_s = DEBOUNCE_S if quiet_s > MAX_DEBOUNCE_S else min(2 * delay_s, MAX_DEBOUNCE_S)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._end.wait(), delay_s)
                return
            self._stale.clear()
            listed_s = loop.time()
            try:
                async with asyncio.timeout(self.config.connect_timeout_s):
                    listing = await self._listed(self._client)
            except TimeoutError:
                continue  # what was there stays
            self._take(listing)

    def _take(self, listing: Listing, *, is_first: bool = False) -> None:
        if is_first or listing.outline != self.listing.outline:
            self.listing = listing
            self._tell(self, "discovered", "; ".join(listing.left_out) or None)

    async def _listed(self, client: Any) -> Listing:
        able = client.server_capabilities
        tools = await _pages(client.list_tools, "tools") if able.tools else []
        prompts = await _optional(client.list_prompts, "prompts") if able.prompts else []
        resources: list[Any] = []
        if able.resources:
            resources += await _optional(client.list_resources, "resources")
            resources += await _optional(client.list_resource_templates, "resource_templates")
        known = {(tool.name, tool.fingerprint): tool for tool in self.listing.tools}
        used, left_out = tools_of(self, self.form, tools, lambda *key: known.get(key))
        fingerprints = {tool.original: tool.fingerprint for tool in used}
        for each in tools:  # of those that became unfit, too: a call must not reach them
            fingerprints.setdefault(each.name, fingerprint_of(self.config, each))
        return Listing(tuple(used), tuple(left_out), tuple(prompts), tuple(resources), fingerprints)

    def list_anew(self) -> None:
        """Ask it again what it has, soon, if it is there."""
        self._stale.set()

    async def _on_message(self, message: Any) -> None:
        if type(message).__name__.endswith("ListChangedNotification"):
            self.list_anew()

    # --- use -----------------------------------------------------------------------------------

    async def call(
        self, name: str, args: Mapping[str, Any], context: ToolContext, fingerprint: str
    ) -> Any:
        """The result of a call. Raises ToolFailure, code timeout when it took too long.

        Only the definition with that ``fingerprint`` is called, also after another start.

        A call that is cancelled is cancelled at the server, too.
        """
        running = _Running(context, self.config.timeout_s)
        client = await self._client_now(context.progress)
        context.progress(None)
        found = self.listing.fingerprints.get(name)
        if found is None:
            raise ToolFailure(f"{self.config.name} has no tool {shown_name(name)} any more.")
        if found != fingerprint:
            raise ToolFailure(CHANGED)
        self._calls.append(running)
        try:
            async with running.limit:
                return await client.call_tool(name, dict(args), progress_callback=running.progress)
        except TimeoutError:
            raise ToolFailure(
                f"The MCP server {self.config.name} did not answer within"
                f" {self.config.timeout_s:g} s. It was told to stop; what it did is not known.",
                code="timeout",
            ) from None
        except Exception as error:  # noqa: BLE001  # whatever the SDK makes of what it was sent
            raise await self._failure(error) from None
        finally:
            self._calls.remove(running)

    async def prompt(self, name: str, args: Mapping[str, str]) -> str:
        """The text of a prompt. Raises SessionError mcp_failed."""
        return await self._asked(
            lambda client: client.get_prompt(name, dict(args)),
            lambda result: prompt_text(result.messages),
        )

    async def read(self, uri: str) -> str:
        """The text of a resource. Raises SessionError mcp_failed."""
        return await self._asked(
            lambda client: client.read_resource(uri),
            lambda result: text_of(
                block for each in result.contents for block in resource_blocks(each)
            ),
        )

    async def _asked(self, ask: Callable[[Any], Awaitable[Any]], text: Callable[[Any], str]) -> str:
        try:
            client = await self._client_now(lambda _text: None)
            async with asyncio.timeout(self.config.connect_timeout_s):
                return text(await ask(client))
        except TimeoutError:
            why = f"{self.config.name} did not answer in time."
        except ToolFailure as failure:
            why = failure.message
        except Exception as error:  # noqa: BLE001  # whatever the SDK makes of what it was sent
            why = (await self._failure(error)).message
        raise SessionError("mcp_failed", why, advice="Nothing was sent.")

    async def _failure(self, error: Exception) -> ToolFailure:
        if is_closed(error):
            self._end.set()  # over HTTP nothing else tells it
            await self._actor_ended()
            return ToolFailure(f"The MCP server {self.config.name} ended: {self._why}")
        said = self._hidden(error_in_words(error))
        return ToolFailure(f"The MCP server {self.config.name} refused: {said}")

    async def _client_now(self, progress: Callable[[str | None], None]) -> Any:
        """The connected client. A server that died is started once more, after a pause."""
        if self._client is None and not self._is_closing:
            starting = self.state == "starting"
            left_s = self._retry_s - asyncio.get_running_loop().time()
            if not starting and left_s > BACK_OFF_S:
                raise ToolFailure(
                    f"The MCP server {self.config.name} is down: {self._why} It is tried again in"
                    f" {left_s:.0f} s at the earliest."
                )
            progress(f"Starting the MCP server {self.config.name}")
            if not starting:
                await asyncio.sleep(max(0.0, left_s))
            await self.start()
        if self._client is None:
            raise ToolFailure(f"The MCP server {self.config.name} is down: {self._why}")
        return self._client

    async def _on_question(self, params: Any) -> Mapping[str, Any] | None:
        """The person's answer to a question of the server; None: none.

        A server says not which call it asks for: it is the newest. Raises ValueError for a form
        that is none.
        """
        if not self._calls:
            return None
        running = self._calls[-1]
        running.questions += 1
        if running.questions > MAX_QUESTIONS:
            return None
        question = elicitation_of(self.config.name, params)
        with running.resting():
            answer = (await running.context.elicit(question)).fields
        try:
            return None if answer is None else question.check(answer)
        except InvalidArgs:
            return None


async def _first_of(*events: asyncio.Event) -> asyncio.Event:
    """The first of ``events`` that is set."""
    waits = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
    return next(event for event in events if event.is_set())


async def _pages(listing: Callable[..., Awaitable[Any]], name: str) -> list[Any]:
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await listing(cursor=cursor)
        found += getattr(page, name)
        cursor = page.next_cursor
        if cursor is None or len(found) >= MAX_ITEMS:
            break
    return found[:MAX_ITEMS]


async def _optional(listing: Callable[..., Awaitable[Any]], name: str) -> Sequence[Any]:
    """What a server has beside its tools: without it, it is still of use."""
    try:
        return await _pages(listing, name)
    except Exception as error:
        if is_closed(error):
            raise
        return []

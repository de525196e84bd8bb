"""Sessions from code: one question, many runs, or the bare loop.

    async for event in query("describe df"):
        ...

    async with await create_session("openai:gpt-5", store="chats.db") as chat:
        print((await chat.ask("what is there?")).text)

``query`` is one run and its events. ``create_session`` gives a session for many. ``run_agent``
assembles nothing: it uses the model and the tools it is given, and no others. All of them run on
the engine's thread and may be awaited from any event loop. Source: SDK document, three tiers.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final, Self, TypeVar, Unpack

from msgspec import Struct, field

from ..core.errors import InvalidOptions, SessionError
from ..core.events import (
    CompactionResult,
    Event,
    InputApplied,
    InputReceived,
    QueueName,
    ToolStarted,
    TurnAborted,
    TurnCompleted,
)
from ..core.state import SessionState
from ..core.wire import messages_to_wire
from ..engine.bus import EventStream
from ..engine.recording import ReplayMismatch
from ..engine.run import ActiveRun, RunResult
from ..engine.session import Session
from ..providers.base import Model
from ..view.model import ErrorView, SessionView, UsageView
from .assembly import Assembly, ChatOptions, GivenTool
from .driver import Driver
from .images import prompt_of
from .modelchoice import GivenModel, GivenModels
from .run import Run

T = TypeVar("T")

SESSION_ONLY: Final = ("plan.todo.", "hook.")
"""How the types of events begin that are made beside a run: a query does not tell them."""


class ChatSession:
    """A session that code drives; make one with ``create_session``.

    ``AgentWidget(session=chat)`` shows it: page, code and tests then drive the same one. What is
    not here is reached by ``call``: ``await chat.call(lambda s: s.tree.checkpoint("before"))``.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.assembly = assembly
        self.driver: Driver = assembly.driver
        self._watch: asyncio.Future[None] | None = None

    # --- what is -------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        return self.driver.session_id

    @property
    def view(self) -> SessionView:
        """What a person would see now: an immutable value."""
        return self.driver.session.view

    @property
    def state(self) -> SessionState:
        """Messages, status and error now: an immutable value."""
        return self.driver.session.state

    def messages(self) -> list[dict[str, Any]]:
        """The conversation now, as JSON data of its own: changing it changes nothing here."""
        return messages_to_wire(self.state.messages)

    def events(self) -> EventStream:
        """A reader of its own for all events from now on; the first one gets those before too."""
        return self.driver.session.events()

    def subscribe(self, listener: Callable[[Event, SessionView], None]) -> Callable[[], None]:
        """Call ``listener(event, view)`` on the engine's thread; returns the way to end that."""
        return self.driver.session.subscribe(listener)

    # --- commands ------------------------------------------------------------------------------

    async def send(self, text: str = "", *, images: object = ()) -> Run:
        """Say something: a new run, or input of the one under way if its policy is ``steer``.

        ``images`` are those of ``AgentWidget.send``.
        Raises SessionError INPUT_BLOCKED, INVALID_INPUT, STORAGE_ERROR, ``session_closed``.
        """
        said = prompt_of(text, images)
        return await self._started(lambda session, context: session.send(said, context))

    async def ask(self, text: str = "", *, images: object = ()) -> RunResult:
        """Say something and wait for the end of the run."""
        return await (await self.send(text, images=images))

    async def enqueue(
        self, text: str = "", queue: QueueName = "steering", *, images: object = ()
    ) -> str:
        """Put a message into a queue, whatever the input policy says; returns its id."""
        said = prompt_of(text, images)
        return await self.call(lambda session: session.enqueue(said, queue))

    async def retry(self) -> Run:
        """Run again from what is usable of the conversation."""
        return await self._started(lambda session, context: session.retry(context))

    async def set_model(self, model: GivenModel) -> None:
        """Make ``model`` that of the next run. Raises SessionError ``assembly_failed`` for what is
        no model, ``no_credentials`` where its key is missing; then nothing has changed.
        """
        await self.call(lambda session: session.models.set_model(model))

    async def set_thinking(self, level: str | int) -> bool:
        """Let the model think so much from the next run on, or as near to that as it can.

        A number is a budget of tokens.
        """
        return await self.call(lambda session: session.models.set_thinking_level(level))

    async def interrupt(self) -> None:
        """End the run under way, if there is one; text stays, the session is usable."""
        await self.call(lambda session: session.interrupt())

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Stop what runs and summarise what was said earlier, as ``Session.compact`` does."""
        return await self.call(lambda session: session.compact(instructions))

    async def idle(self) -> None:
        """Return once nothing runs and nothing follows from what ran."""
        await self.call(lambda session: session.wait_for_idle())

    def close_on(self, signal: asyncio.Event) -> None:
        """Close it once ``signal`` is set; call it on the loop of the signal."""
        self._watch = asyncio.ensure_future(self._close_on(signal))

    async def _close_on(self, signal: asyncio.Event) -> None:
        await signal.wait()
        await asyncio.to_thread(self.driver.close)

    async def close(self) -> None:
        """End what runs, then the session: ``session.ended`` is its last event. Harmless twice.

        Raises ReplayMismatch when this was a replay and not all of the recording was used.
        """
        if self._watch is not None:
            self._watch.cancel()
        await asyncio.to_thread(self.driver.close)

    async def call(self, work: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
        """Await ``work(session)`` on the engine's loop, where all of a session's methods run."""
        return await self.driver.call(lambda: work(self.driver.session))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        with suppress(*(() if kind is None else (ReplayMismatch,))):  # what went wrong goes on
            await self.close()

    async def _started(
        self, admit: Callable[[Session, contextvars.Context], Coroutine[Any, Any, ActiveRun]]
    ) -> Run:
        context = contextvars.copy_context()
        active = await self.call(lambda session: admit(session, context))
        return Run(active.run_id, active.future, self.driver)


async def create_session(
    model: GivenModels = None,
    *,
    signal: asyncio.Event | None = None,
    **options: Unpack[ChatOptions],
) -> ChatSession:
    """A session for many runs. Options are those of ``AgentWidget``.

    Once ``signal`` is set, it is closed: what runs ends first. ``messages`` (as
    ``ChatSession.messages()`` gives them) are what a new one begins with. Raises
    InvalidOptions for what cannot work, ``session_not_found`` for an unknown ``resume``.
    """
    if signal is not None and not inspect.iscoroutinefunction(getattr(signal, "wait", None)):
        raise InvalidOptions(f"signal={signal!r}.", advice="Pass an asyncio.Event.")
    chat = ChatSession(await asyncio.to_thread(_assembly, model, options))
    if signal is not None:
        chat.close_on(signal)
    return chat


async def open_or_resume(session_id: str, model: GivenModels = None, **options: Any) -> ChatSession:
    """The session of that name: the stored one goes on, or a new one begins.

    To go on is cheaper than to begin: the server may still have the conversation in its cache.
    """
    return await create_session(model, session_id=session_id, **options)


# --- one run -----------------------------------------------------------------------------------


class Counters(Struct, frozen=True):
    """How much a run did, its helpers included; ``inputs_consumed`` are messages it was given."""

    model_calls: int = 0
    tool_calls: int = 0
    inputs_consumed: int = 0


class QueryResult(Struct, frozen=True):
    """How a query ended: ``reason``, ``text`` and ``output`` as in ``RunResult``.

    ``messages`` is the conversation as JSON data.
    """

    reason: str
    text: str
    messages: list[dict[str, Any]]
    usage: UsageView
    output: Any = None
    error: ErrorView | None = None
    counters: Counters = field(default_factory=Counters)


class Query:
    """One run: iterate over its events, once, or only await ``result()``.

    Leaving the loop early ends the run. An option that cannot work raises at the first event, as
    SessionError ``assembly_failed``.
    """

    def __init__(
        self, prompt: str, model: GivenModels, options: ChatOptions, images: object = ()
    ) -> None:
        self._prompt = prompt
        self._images = images
        self._model = model
        self._options = options
        self._result: QueryResult | None = None
        self._is_begun = False

    async def __aiter__(self) -> AsyncIterator[Event]:
        if self._is_begun:
            raise SessionError("invalid_options", "A query is iterated once. Ask again for more.")
        self._is_begun = True
        chat = await self._assembled()
        tool_calls = inputs = 0
        try:
            stream = chat.events()
            run = await chat.send(self._prompt, images=self._images)
            async for event in stream:
                if event.run_id != run.run_id or event.type.startswith(SESSION_ONLY):
                    continue
                inputs += isinstance(event, InputReceived)
                inputs += len(event.message_ids) if isinstance(event, InputApplied) else 0
                tool_calls += isinstance(event, ToolStarted)
                yield event
                if isinstance(event, TurnCompleted | TurnAborted):
                    break
            ended = await run
            self._result = QueryResult(
                ended.reason,
                ended.text,
                chat.messages(),
                chat.view.usage,
                ended.output,
                ended.error,
                Counters(chat.driver.session.spending.ledger.total.calls, tool_calls, inputs),
            )
        finally:
            await asyncio.shield(chat.close())

    async def result(self) -> QueryResult:
        """How it ended; runs to the end whatever was not iterated."""
        if not self._is_begun:
            async for _event in self:
                pass
        if self._result is None:
            advice = "Iterate over all of its events, or only await result()."
            raise SessionError("query_not_ended", "The query was left early.", advice=advice)
        return self._result

    async def _assembled(self) -> ChatSession:
        options: ChatOptions = {**self._options, "trust_project_hooks": False}
        try:
            return await create_session(self._model, **options)
        except SessionError as error:
            message = f"The query could not be set up: {error.message}"
            raise SessionError("assembly_failed", message, advice=error.advice) from error


def query(
    prompt: str = "",
    model: GivenModels = None,
    *,
    images: object = (),
    **options: Unpack[ChatOptions],
) -> Query:
    """One run with its tool loop. ``prompt`` is what the user says, never the system text;
    ``images`` are those of ``AgentWidget.send``.

    With ``output_type`` (a pydantic model, another type, or a JSON Schema) the answer is one of
    that shape, as ``(await query(...).result()).output``: the model is told what does not fit and
    mends it, a few times; the reason is then ``structured_output``. Hooks and servers of a project
    never act in it, whatever ``trust_project_hooks`` says.
    """
    return Query(prompt, model, options, images)


# --- the bare loop -----------------------------------------------------------------------------


async def run_agent(
    prompt: str = "",
    *,
    model: Model,
    images: object = (),
    tools: Iterable[GivenTool] = (),
    system: str | None = None,
    permission: Mapping[str, Any] | None = None,
    max_steps: int | None = None,
    max_seconds: float | None = None,
    on_event: Callable[[Event], None] | None = None,
) -> RunResult:
    """Run ``model`` with ``tools`` on ``prompt`` until it asks for nothing more; ``images`` are
    those of ``AgentWidget.send``.

    Nothing is added: no tools of the notebook, no helpers, no default text. ``permission`` decides
    about calls as everywhere; without ``ask_user`` in it, a call that would ask is denied.
    """
    options: ChatOptions = {
        "tools": tools,
        "agents": (),
        "notebook": False,
        "workspace": None,
        "system": system,
        "permission": permission,
        "adjudicator": False,
        "bare": True,
        "max_seconds": max_seconds,
    }
    if max_steps is not None:
        options["max_steps"] = max_steps
    async with await create_session(model, **options) as chat:
        if on_event is not None:
            told = on_event
            chat.subscribe(lambda event, _view: told(event))
        return await chat.ask(prompt, images=images)


def _assembly(model: GivenModels, options: ChatOptions) -> Assembly:
    return Assembly(model, options)

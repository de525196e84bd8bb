"""A session: takes input, drives one run at a time, stops it, is kept, and ends.

All methods but the properties run on the engine's loop, in the order store, memory, event, reply
(K11). Its parts: ``inputs`` (what waits), ``tree``, ``runs``, ``compaction``.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
from collections.abc import Callable, Sequence
from typing import Any, Final

from ..core.errors import InvalidOptions, SessionError
from ..core.events import (
    CompactionResult,
    LocaleChanged,
    NoticeDismissed,
    QueueName,
    SessionInfoChanged,
    Todo,
    TodoUpdated,
    TurnError,
    WhileRunning,
    notice,
)
from ..core.ids import Clock, IdSource
from ..core.messages import Conversation, Prompt
from ..core.state import SessionState
from ..core.transcript import session_name
from ..policy.budget import Budget
from ..policy.compaction import Compaction
from ..policy.events import EventOptions
from ..policy.permission import Decision
from ..providers.base import Model
from ..providers.prices import PriceList
from ..store.base import Owner, SessionStore
from ..tools.base import MainThread, Tool
from ..tools.final import FinalResult
from ..tools.registry import Registry, register
from ..view.locale.words import locale_of
from ..view.model import SessionView
from .accessors import Accessors
from .approvals import Approvals, AskUser, Attendant, decision_in_words
from .bus import HOOK_TIMEOUT_S, EventStream, Hook, Listener
from .commands import Commands
from .commits import HistoryCommits, OnHistoryCommit
from .compaction import Compactor
from .context import Context, appended
from .crew import crew_of
from .ending import CLOSE_S, Ending, Receipt
from .extensions import Extensions
from .hooks import Hooks
from .inputcontrol import InputControl
from .inputs import AtRest, Inputs, Sent, as_said, clean_prompt
from .models import ModelOptions, Models
from .opening import Opening
from .permissions import Permissions
from .prompt import System
from .recorder import GRACE_S
from .recovery import Resumption
from .room import ByHand
from .run import ABANDON_S, STOP_GRACE_S, ActiveRun
from .runs import DEFAULT_MAX_STEPS, NotRunning, Runs, Surroundings
from .settings import SessionSettings, SettingsDocument
from .spending import Spending
from .staff import Staff
from .subagents import MAIN, Agent
from .summaries import Summaries
from .tree import SessionTree
from .writer import Writer

__all__ = ["DEFAULT_MAX_STEPS", "STOP_GRACE_S", "Sent", "Session"]

READ_ONLY_ADVICE: Final = "Take it over, or fork it, to go on."


class Session(Accessors):
    """One conversation with one model, its tools and its person.

    ``view`` and what is read from it may be used from any thread. ``open`` it before anything
    else: with the id of a stored session it goes on where that one stopped.
    """

    def __init__(  # noqa: PLR0913  # each is one thing a session needs, all by name
        self,
        *,
        model: Model,
        tools: Registry,
        system: System,
        store: SessionStore,
        main: MainThread,
        clock_ms: Clock,
        new_id: IdSource,
        permissions: Permissions,
        session_id: str | None = None,
        agents: Sequence[Agent] = (),
        ask_user: AskUser | None = None,
        attendant: Attendant | None = None,
        while_running: WhileRunning | None = None,
        input_control: bool = False,
        on_history_commit: OnHistoryCommit | None = None,
        max_steps: int = DEFAULT_MAX_STEPS,
        max_seconds: float | None = None,
        abandon_s: float = ABANDON_S,
        output_type: object = None,
        budget: Budget | None = None,
        prices: PriceList | None = None,
        events: EventOptions | None = None,
        store_grace_s: float = GRACE_S,
        warnings: tuple[str | TurnError, ...] = (),
        hooks: Hooks | None = None,
        models: ModelOptions | None = None,
        compaction: Compaction | None = None,
        settings: SettingsDocument | None = None,
    ) -> None:
        given: object = model
        if not isinstance(given, Model):
            advice = "Pass a model object, or make the session with create_session(…)."
            raise InvalidOptions(f"A session needs a model, and got {given!r}.", advice=advice)
        self.session_id = session_id or new_id("s")
        self.permissions = permissions
        self._hooks = Hooks() if hooks is None else hooks
        self._hooks.session_id = self.session_id
        self._approvals = Approvals(ask_user, attendant, clock_ms)
        self._writer = Writer(self.session_id, store, clock_ms, new_id, events, store_grace_s)
        self.inputs = Inputs(self._writer, clock_ms, new_id)
        final = None if output_type is None else FinalResult(output_type)
        self._control: tuple[Tool, ...] = () if final is None else (final,)

        def control_of(name: str) -> Tool:
            return InputControl(self.inputs, name, lambda: self.agent)

        if input_control:
            self._control = (*self._control, control_of(MAIN))
        chosen, own = models or ModelOptions(), register([*tools, *self._control])
        crew = crew_of(model, system, own, agents, while_running, control_of)
        self._staff = Staff(crew, self._writer, chosen.retries())
        self.models = Models(self._staff, self._writer, chosen, prices or PriceList())
        self._commits = HistoryCommits(on_history_commit, self._tell_commit_failure)
        self._writer.when_lost = self._lost
        self._sending = asyncio.Lock()
        short = compaction or Compaction()
        self.spending = Spending(budget, prices, clock_ms, short.context_window)
        retry = self.models.retries
        compactor = Compactor(self._writer, self.spending, self._hooks, new_id, short, retry)
        self.settings = SessionSettings(compactor, retry, settings)
        self.extensions = Extensions(self._hooks, self._approvals, self._writer)
        self.runs = Runs(
            Surroundings(
                writer=self._writer,
                inputs=self.inputs,
                staff=self._staff,
                approvals=self._approvals,
                permissions=permissions,
                main=main,
                clock_ms=clock_ms,
                new_id=new_id,
                commits=self._commits,
                spending=self.spending,
                final=final,
                compactor=compactor,
                max_steps=max_steps,
                max_seconds=max_seconds,
                abandon_s=abandon_s,
                hooks=self._hooks,
            )
        )
        summaries = Summaries(self._writer, self.inputs, self.spending, lambda: self.model, retry)
        parts = self.runs, self.inputs, lambda: self.model, self._sending
        self.compaction = ByHand(compactor, *parts)
        rest = self.runs, self.compaction
        self.commands = Commands(self._writer, *rest, new_id, lambda: self.cwd)
        self.context = Context(self._writer, self.inputs, self.runs, new_id)
        self.tree = SessionTree(self._writer, self.runs, summaries, new_id, self._hooks)
        resumption = Resumption(
            self._writer, self.inputs, self._staff, self.models, self.runs, self.tree, self._commits
        )
        self._opening = Opening(
            resumption, permissions, self._hooks, warnings=warnings, when_lost=self._lost
        )
        ends = self._writer, self.runs, self._commits, summaries, self._staff
        self._ending = Ending(*ends, compaction=self.compaction, commands=self.commands)
        self._new_id = new_id

    # --- what is, readable from any thread ---------------------------------------------------

    @property
    def view(self) -> SessionView:
        return self._writer.view

    @property
    def state(self) -> SessionState:
        return self._writer.view.chat

    @property
    def messages(self) -> Conversation:
        return self._writer.view.chat.messages

    @property
    def run_id(self) -> str | None:
        """Id of the run under way, None at rest."""
        return None if self.runs.active is None else self.runs.active.run_id

    @property
    def agent(self) -> str:
        """The name of the agent that answers the next message; ``main`` is the session's own."""
        return self._staff.crew.name

    @property
    def model(self) -> Model:
        """The model of that agent."""
        return self._staff.crew.current.model

    @property
    def tools(self) -> Registry:
        """All tools of that agent, active or not."""
        return self._staff.crew.current.toolbox.tools

    @property
    def active_tool_names(self) -> tuple[str, ...]:
        """The tools its model has now, in their order."""
        return self._staff.crew.current.toolbox.names

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(event, view)`` on the engine's thread for each later event."""
        self._require_open()
        return self._writer.bus.subscribe(listener)

    def events(self) -> EventStream:
        """A reader of its own, for any loop; the first one gets what happened before it, too."""
        return self._writer.bus.events()

    def register_event_backpressure_hook(
        self, hook: Hook, timeout_s: float = HOOK_TIMEOUT_S
    ) -> Callable[[], bool]:
        """Await ``hook(event)`` after the listeners, before the session goes on.

        Returns the way to end that. One that takes longer than ``timeout_s`` with an event is asked
        no more, and a notice says so.
        """
        return functools.partial(
            self._writer.bus.remove_hook, self._writer.bus.add_hook(hook, timeout_s)
        )

    def attend(self, attendant: Attendant) -> None:
        """Let a widget show the questions that no ``ask_user`` answers."""
        self._approvals.attendant = attendant

    # --- life ----------------------------------------------------------------------------------

    async def open(self, owner: Owner | None = None) -> None:
        """Take the session and tell that it is there: a new one, or a stored one that goes on.

        A stored one starts nothing: a run that was cut off is closed, what waits still waits. One
        that another process holds can only be read (``view.storage.read_only``). Raises StoreError
        when it cannot be read.
        """
        await self._opening.open(owner)

    async def take_over(self, owner: Owner | None = None) -> None:
        """Go on here with a session that could only be read, once its owner is gone.

        Harmless when it can be written. Raises SessionInUse, which says who has it, and
        SessionError ``unsaved`` when something of this view was never stored.
        """
        async with self._sending:
            self._require_open()
            await self._opening.take_over(owner)

    async def close(self, timeout_s: float = CLOSE_S) -> Receipt:
        """Stop what runs, store what waits, tell the end, give all back.

        The session is closed when it returns, and ``drain`` tells how far the rest is where that
        took longer than ``timeout_s``. A second call is answered like the first.
        """
        return await self._ending.close(timeout_s)

    async def drain(self, timeout_s: float = CLOSE_S) -> Receipt:
        """Wait until nothing runs and all is stored, at most so long; also after ``close``."""
        return await self._ending.drain(timeout_s)

    async def wait_for_idle(self) -> None:
        """Return once nothing runs, and nothing follows by itself from what ran."""
        self._require_open()
        await self.runs.wait_for_idle()

    # --- commands ------------------------------------------------------------------------------

    async def send(self, text: Any, context: contextvars.Context | None = None) -> ActiveRun:
        """Say something as the user: ``submit(text).run``."""
        return (await self.submit(text, context=context)).run

    async def submit(
        self,
        text: Any,
        queue: QueueName = "steering",
        context: contextvars.Context | None = None,
    ) -> Sent:
        """Admit a user message, a text or a ``Prompt``: it starts a run or, while one is under
        way, waits in ``queue``.

        Raises SessionError INVALID_INPUT for blank text, INPUT_BLOCKED while a run is under way
        and the input policy is block, or after a Stop, STORAGE_ERROR when it could not be stored;
        then nothing has changed. Tools of a new run see ``context``.
        """
        async with self._sending:
            self._require_open()
            said = clean_prompt(text)
            said = Prompt(await self.context.expanded(said.text), said.images)
            run = self.runs.active
            if run is not None:
                try:
                    message_id = await self.inputs.queue(said, queue)
                    return Sent(run, message_id, queue)
                except AtRest:  # it ended meanwhile, so the message starts the next one
                    await self.runs.wait_for_idle()
            message_id = self._new_id("m")
            received, message = as_said(message_id, said)
            place = await self.tree.place_of_next(message_id)
            added = self.context.taken()
            told = (received, *map(appended, added))
            try:
                whole = {"message": message, **({"context": added} if added else {})}
                run = await self.runs.admit("send", whole, context, *told, place=place)
            except SessionError:
                self.context.put_back(added)
                raise
            return Sent(run, message_id)

    async def prompt(self, text: Any, while_running: QueueName | None = None) -> ActiveRun:
        """Say something from code, and say what shall happen while a run is under way.

        Raises SessionError ``prompt.message`` when one is and ``while_running`` is None.
        """
        self._require_open()
        run = self.runs.active
        if run is None:
            return await self.send(text)
        if while_running is None:
            advice = "Pass while_running='steering' or 'follow_up', or wait for it."
            raise SessionError("prompt.message", "A run is under way.", advice=advice)
        await self.enqueue(text, while_running)
        return run

    async def enqueue(self, text: Any, queue: QueueName) -> str:
        """Put a message of code into a queue, whatever the input policy says; returns its id.

        ``steering`` enters before the next step, ``follow_up`` where the run would end. At rest it
        waits for the next run. Raises INPUT_BLOCKED after a Stop.
        """
        self._require_open()
        await self.compaction.wait_for_rest()
        run = self.runs.active
        message_id = await self.inputs.queue(text, queue, "program")
        if run is not None:
            await self.runs.follow_on(run)
        return message_id

    async def retry(self, context: contextvars.Context | None = None) -> ActiveRun:
        """Run again from what ``resumable`` keeps of the conversation.

        Raises SessionError INVALID_INPUT when there is no user message, INPUT_BLOCKED while a run
        is under way.
        """
        async with self._sending:
            self._require_open()
            if not any(message.role == "user" for message in self.messages):
                raise SessionError("INVALID_INPUT", "There is no message to run again.")
            return await self.runs.admit("retry", {"resumed_from": self.messages[-1].id}, context)

    async def stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """End the run under way: nothing new starts, text stays, what waits waits.

        The request or tool in flight may end by itself within ``grace_s`` and is then cancelled.
        Returns once the Stop is stored, not when the run has ended. A second Stop is answered like
        the first, and ends a summary, too. Raises SESSION_NOT_RUNNING when nothing runs.
        """
        self._require_open()
        if self.runs.active is not None or not self.compaction.abort():
            await self.runs.stop(grace_s)

    async def interrupt(self) -> None:
        """Stop without grace; harmless when nothing runs."""
        self._require_open()
        self.compaction.abort()
        if self.runs.active is not None:
            with contextlib.suppress(NotRunning):  # it has just ended
                await self.runs.stop(0.0)

    async def abort(self) -> None:
        """End a summary, commands of the person and the run, and wait until nothing runs."""
        self._require_open()
        await self._ending.abort()

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Stop what runs and put a summary in the place of the earlier part of the conversation.

        The model reads the summary, which attends to ``instructions``; people still see all of it.
        Raises what ``ByHand.make`` names: then nothing has changed but the run.
        """
        return await self.compaction.make(instructions)

    async def reset(self) -> None:
        """Start over with an empty conversation. Raises SESSION_BUSY while a run is under way.

        What was said stays in the store, on a branch of its own; what waits is taken back.
        """
        async with self._sending:
            self._require_open()
            await self.tree.start_over(self.inputs, self._staff)
            self.permissions.forget_session_rules()

    async def rename(self, name: str) -> None:
        """Give the session a display name, on one line; an empty one takes it away."""
        self._require_open()
        stored = session_name(name) or None
        await self._writer.commit("session_info", {"name": stored}, SessionInfoChanged(name=stored))

    def decide(
        self,
        permission_id: str,
        answer: Any,
        reason: str | None = None,
        *,
        args: Any = None,
        rules: Any = (),
    ) -> None:
        """Answer as a page does, in words. Raises INVALID_INPUT for a word it was not offered,
        QUESTION_TOO_EARLY within the first 500 ms.

        ``args`` go with ``edit``, ``rules`` with ``allow_session`` and ``allow_project``.
        """
        decision = decision_in_words(answer, reason, args, rules)
        self.answer(permission_id, decision, is_click=True)

    def answer(self, permission_id: str, decision: Decision, *, is_click: bool = False) -> None:
        """Answer the open question. Raises SessionError QUESTION_CLOSED for any other id."""
        self._require_open()
        if not self._approvals.answer(permission_id, decision, is_click=is_click):
            message = "This question is no longer open; nothing was changed."
            raise SessionError("QUESTION_CLOSED", message)

    async def set_active_tools_by_name(self, names: Sequence[str]) -> None:
        """Give the model these of the agent's tools, in this order, from its next step on.

        Unknown names are ignored. What the model sees and what can run change together.
        """
        self._require_open()
        await self._staff.change("tools_change", lambda crew: crew.choosing(names))

    async def refresh_tools(self, tools: Registry) -> None:
        """Make ``tools`` all that the session has, from the model's next step on.

        New ones are active, what was switched off stays off.
        """
        own = register([*tools, *self._control])
        self._require_open()
        await self._staff.change("tools_change", lambda crew: crew.refreshed(own))
        for text in tools.warnings:
            self._writer.emit(notice("setup", "setup", text))

    async def show_todos(self, items: tuple[Todo, ...]) -> None:
        """Replace the plan that the view shows."""
        self._require_open()
        stored = [{"content": item.content, "status": item.status} for item in items]
        data = {"custom_type": "todos", "data": stored}
        await self._writer.commit("custom", data, TodoUpdated(items=items))

    def dismiss(self, nid: str) -> None:
        """Put a notice away; unknown ids change nothing."""
        self._require_open()
        self._writer.emit(NoticeDismissed(nid=nid))

    def set_locale(self, locale: str) -> None:
        """Show the chat in another language. Raises InvalidOptions where there is none."""
        self._require_open()
        if (found := locale_of(locale)) != self.view.locale:
            self._writer.emit(LocaleChanged(locale=found))

    # --- inside --------------------------------------------------------------------------------

    def _require_open(self) -> None:
        self._writer.require_open()

    def _lost(self) -> None:
        """Another process has the session: end what runs, say that nobody can send here."""
        self._writer.tell(self.inputs.transition(self.inputs.standing)[1])
        reason = self._writer.recorder.read_only or ""
        self.runs.fail(SessionError("session_in_use", reason, advice=READ_ONLY_ADVICE))

    def _tell_commit_failure(self, text: str) -> None:
        self._writer.emit(notice("persistence", "on_history_commit", text))

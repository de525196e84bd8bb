"""A session: admits input, drives one run at a time, stops it, and ends.

All methods but the properties run on the engine's loop. Order of effects: store, memory, event,
reply (unified model, K11).
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, get_args

from msgspec.structs import replace

from ..core.errors import ModelError, SessionClosed, SessionError
from ..core.events import (
    Event,
    InputReceived,
    InteractionChanged,
    ModelChanged,
    NoticeDismissed,
    PermissionModeChanged,
    RunSettled,
    SessionCreated,
    SessionEnded,
    SessionReset,
    SessionStopping,
    Todo,
    TodoUpdated,
    TurnAborted,
    TurnCompleted,
    TurnError,
    TurnStarted,
)
from ..core.ids import Clock, IdSource
from ..core.messages import Conversation
from ..core.state import SessionState
from ..policy.permission import Answer, Decision
from ..providers.base import Model
from ..store.base import SessionStore
from ..tools.base import MainThread
from ..tools.registry import Registry
from ..view.model import SessionView
from .approvals import Approvals, Asking, AskUser, Attendant
from .loop import run_loop
from .permissions import Permissions
from .ports import Ports, toolset_of
from .run import ActiveRun, RunResult
from .toolrun import cancellation, open_calls
from .writer import Listener, Writer, uncancelled

STOP_GRACE_S: Final = 10.0
"""A stopped run that has not ended after this long is abandoned, with a notice."""

DEFAULT_MAX_STEPS: Final = 50


class Session:
    """One conversation with one model, its tools and its person.

    ``view`` and what is read from it may be used from any thread. Build it with ``open``.
    """

    def __init__(  # noqa: PLR0913  # each is one thing a session needs, all by name
        self,
        *,
        model: Model,
        tools: Registry,
        system: str | None,
        store: SessionStore,
        main: MainThread,
        clock_ms: Clock,
        new_id: IdSource,
        permissions: Permissions,
        ask_user: AskUser | None = None,
        attendant: Attendant | None = None,
        max_steps: int = DEFAULT_MAX_STEPS,
        stop_grace_s: float = STOP_GRACE_S,
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.session_id = new_id("s")
        self.model = model
        self.tools = tools
        self._toolset = toolset_of(tools)
        self.system = system
        self._main = main
        self._clock_ms = clock_ms
        self._new_id = new_id
        self._max_steps = max_steps
        self._stop_grace_s = stop_grace_s
        self._warnings = warnings
        self._approvals = Approvals(ask_user, attendant)
        self.permissions = permissions
        self._writer = Writer(self.session_id, store, clock_ms, new_id)
        self._call_ids: set[str] = set()
        self._run: ActiveRun | None = None
        self._supervisor: asyncio.Future[None] | None = None  # held: loose tasks may be collected
        self._is_closed = False
        self._admission = asyncio.Lock()

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
        return None if self._run is None else self._run.run_id

    @property
    def active_tool_names(self) -> tuple[str, ...]:
        """The tools the model has now, in their order."""
        return self._toolset.tools.names

    def set_active_tools_by_name(self, names: Sequence[str]) -> None:
        """Give the model these of the session's tools, in this order, from its next step on.

        Unknown names are ignored. What the model sees and what can run change together.
        """
        self._toolset = toolset_of(self.tools.only(names))

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(event, view)`` on the engine's thread for each later event."""
        return self._writer.subscribe(listener)

    # --- life ----------------------------------------------------------------------------------

    async def open(self) -> None:
        """Write the header and tell that the session is there."""
        info = self.model.info
        cwd = str(Path.cwd())
        await self._writer.commit(
            "header",
            {"version": 1, "session_id": self.session_id, "cwd": cwd},
            SessionCreated(cwd=cwd),
            ModelChanged(label=info.label, offline=info.offline, notice=info.notice),
            PermissionModeChanged(mode=self.permissions.mode, warning=self.permissions.warning),
            *(_warning(text) for text in self._warnings),
        )

    async def close(self) -> None:
        """Stop what runs, tell the end, release the model. Harmless twice."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._run is not None:
            await self._stop_run(self._run, "closed")
        self._writer.emit(SessionEnded())
        await self.model.aclose()

    # --- commands ------------------------------------------------------------------------------

    async def send(self, text: Any, context: contextvars.Context | None = None) -> ActiveRun:
        """Admit a user message and start its run.

        Raises SessionError INVALID_INPUT for blank text, INPUT_BLOCKED while a run is under way,
        STORAGE_ERROR when it could not be stored; then nothing has changed. Tools of the run see
        ``context``.
        """
        async with self._admission:
            if not isinstance(text, str) or not text.strip():
                message = f"A message must be text that is not blank, got {text!r}."
                raise SessionError("INVALID_INPUT", message)
            message_id = self._new_id("m")
            text = text.encode("utf-8", "replace").decode("utf-8")  # no lone surrogates in history
            received = InputReceived(message_id=message_id, text=text)
            data = {"message": {"id": message_id, "role": "user", "text": text}}
            return await self._admit("send", data, context, received)

    async def retry(self, context: contextvars.Context | None = None) -> ActiveRun:
        """Run again from what ``resumable`` keeps of the conversation.

        Raises SessionError INVALID_INPUT when there is no user message, INPUT_BLOCKED while a run
        is under way.
        """
        async with self._admission:
            if not any(message.role == "user" for message in self.messages):
                raise SessionError("INVALID_INPUT", "There is no message to run again.")
            return await self._admit("retry", {"resumed_from": self.messages[-1].id}, context)

    async def stop(self) -> None:
        """End the run under way: nothing new starts, what runs is cancelled, text stays.

        Returns once the Stop is stored, not when the run has ended. A second Stop is answered like
        the first. Raises SessionError SESSION_NOT_RUNNING when nothing runs.
        """
        run = self._run
        if run is None:
            raise SessionError("SESSION_NOT_RUNNING", "Nothing is running.")
        if run.is_stopping:
            return
        run.is_stopping = True
        try:
            await self._writer.commit("stop_committed", {"run_id": run.run_id}, SessionStopping())
        except SessionError:
            run.is_stopping = False
            raise
        self._cancel(run)

    async def reset(self) -> None:
        """Start over with an empty conversation. Raises SESSION_BUSY while a run is under way."""
        async with self._admission:
            self._require_open()
            if self._run is not None:
                raise SessionError("SESSION_BUSY", "A run is under way.", advice="Stop it first.")
            self.permissions.forget_session_rules()
            await self._writer.commit("leaf", {"entry_id": None}, SessionReset())

    def decide(
        self,
        permission_id: str,
        answer: Any,
        reason: str | None = None,
        *,
        args: Any = None,
        rules: Any = (),
    ) -> None:
        """Answer as a page does, in words. Raises INVALID_INPUT for a word it was not offered.

        ``args`` go with ``edit``, ``rules`` with ``allow_session`` and ``allow_project``.
        """
        if answer not in get_args(Answer):
            raise SessionError("INVALID_INPUT", f"{answer!r} is no answer to a question.")
        rules = [] if rules is None else rules
        if not isinstance(rules, list | tuple) or not all(isinstance(r, str) for r in rules):
            raise SessionError("INVALID_RULE", f"{rules!r} is no list of rules.")
        self.answer(permission_id, Decision(answer, reason or None, args, tuple(rules)))

    def answer(self, permission_id: str, decision: Decision) -> None:
        """Answer the open question. Raises SessionError QUESTION_CLOSED for any other id."""
        if not self._approvals.answer(permission_id, decision):
            message = "This question is no longer open; nothing was changed."
            raise SessionError("QUESTION_CLOSED", message)

    def show_todos(self, items: tuple[Todo, ...]) -> None:
        """Replace the plan that the view shows."""
        self._writer.emit(TodoUpdated(items=items))

    def dismiss(self, nid: str) -> None:
        """Put a notice away; unknown ids change nothing."""
        self._writer.emit(NoticeDismissed(nid=nid))

    # --- a run ---------------------------------------------------------------------------------

    def _require_open(self) -> None:
        if self._is_closed:
            raise SessionClosed

    async def _admit(
        self,
        trigger: Literal["send", "retry"],
        data: dict[str, Any],
        context: contextvars.Context | None,
        *events: Event,
    ) -> ActiveRun:
        self._require_open()
        if self._run is not None:
            message = "A run is under way and this session takes no input meanwhile."
            raise SessionError("INPUT_BLOCKED", message, advice="Wait for it, or stop it.")
        run = ActiveRun(self._new_id("r"))
        await self._writer.commit(
            "run_admitted",
            {"run_id": run.run_id, "trigger": trigger, **data},
            *(replace(event, run_id=run.run_id) for event in events),
            TurnStarted(run_id=run.run_id, trigger=trigger),
            self._interaction(can_send=False),
        )
        self._run = run
        run.first_message = len(self.messages)
        loop = asyncio.get_running_loop()
        run.task = loop.create_task(self._drive(run, self._ports(run, loop)), context=context)
        return run

    def _interaction(self, *, can_send: bool) -> InteractionChanged:
        return InteractionChanged(can_send=can_send, revision=self.view.revision + 1)

    def _ports(self, run: ActiveRun, loop: asyncio.AbstractEventLoop) -> Ports:
        def emit(event: Event) -> None:
            if run.is_live:  # what a run sends after its end is dropped here
                self._writer.emit(replace(event, run_id=run.run_id))

        async def commit(kind: Any, data: dict[str, Any], *events: Event) -> None:
            if run.is_live:
                marked = (replace(event, run_id=run.run_id) for event in events)
                await self._writer.commit(kind, {"run_id": run.run_id, **data}, *marked)

        async def ask(asking: Asking) -> Decision:
            return await self._approvals.ask(asking, emit)

        return Ports(
            model=self.model,
            toolset=lambda: self._toolset,
            system=self.system,
            conversation=lambda: self.messages,
            emit=emit,
            commit=commit,
            permissions=self.permissions,
            ask=ask,
            unique_call_id=self._unique_call_id,
            is_stopped=lambda: run.is_stopping,
            new_id=self._new_id,
            clock_ms=self._clock_ms,
            main=self._main,
            loop=loop,
            max_steps=self._max_steps,
        )

    def _unique_call_id(self, vendor_id: str) -> str:
        call_id, count = vendor_id, 1
        while call_id in self._call_ids:
            count += 1
            call_id = f"{vendor_id}-{count}"
        self._call_ids.add(call_id)
        return call_id

    async def _drive(self, run: ActiveRun, ports: Ports) -> None:
        """Run to the end and tell how it ended, whatever happens."""
        try:
            reason = await run_loop(ports)
            error = None
        except asyncio.CancelledError:
            reason, error = "interrupted", None
        except (ModelError, SessionError) as failure:
            reason, error = "error", failure
        except Exception as failure:  # noqa: BLE001  # a bug ends the run, never the session
            message = f"The run failed: {type(failure).__name__}: {failure}"
            reason, error = "error", SessionError("internal", message)
        if run.is_live:
            reason = "interrupted" if run.is_stopping else reason
            await uncancelled(self._end(run, reason, None if run.is_stopping else error))

    async def _end(self, run: ActiveRun, reason: str, error: SessionError | None) -> None:
        found_open = open_calls(self.state)
        events: list[Event] = [cancellation(*found) for found in found_open]
        if error is not None:
            events.append(
                TurnError(
                    scope="model" if isinstance(error, ModelError) else "run",
                    message=error.message,
                    recoverable=False,
                    error_kind=error.code,
                    advice=error.advice,
                )
            )
        natural = reason not in ("interrupted", "error", "abandoned", "closed")
        events.append(TurnCompleted(reason=reason) if natural else TurnAborted(reason=reason))
        events.append(self._interaction(can_send=not self._is_closed))
        events.append(RunSettled(aborted=not natural))
        data = {
            "run_id": run.run_id,
            "reason": reason,
            "error": None if error is None else {"code": error.code, "message": error.message},
            "cancelled_calls": [call.id for call, _agent in found_open],
        }
        marked = [replace(event, run_id=run.run_id) for event in events]
        try:
            await self._writer.commit("run_ended", data, *marked)
        except SessionError:
            # The run is over whether or not this could be written; the person has to see it.
            for event in marked:
                self._writer.emit(event)
        run.is_live = False
        self._run = None
        if not run.future.done():
            run.future.set_result(self._result(run, reason))

    def _result(self, run: ActiveRun, reason: str) -> RunResult:
        answers = [m for m in self.messages[run.first_message :] if m.role == "assistant"]
        text = next((m.text for m in reversed(answers) if m.text), "")
        return RunResult(run.run_id, reason, text, self.view.error if reason == "error" else None)

    # --- stopping ------------------------------------------------------------------------------

    def _cancel(self, run: ActiveRun) -> None:
        assert run.task is not None
        run.task.cancel()
        self._supervisor = asyncio.ensure_future(self._supervise(run, "abandoned"))

    async def _stop_run(self, run: ActiveRun, reason: str) -> None:
        run.is_stopping = True
        assert run.task is not None
        run.task.cancel()
        await self._supervise(run, reason)

    async def _supervise(self, run: ActiveRun, reason: str) -> None:
        """Abandon a run that does not end: the session becomes usable, late work is dropped."""
        assert run.task is not None
        await asyncio.wait({run.task}, timeout=self._stop_grace_s)
        if not run.is_live:
            return
        message = (
            f"The run did not end within {self._stop_grace_s:g} s of Stop and was abandoned."
            " What it started may still be going on."
        )
        self._writer.emit(
            TurnError(
                run_id=run.run_id,
                scope="stop",
                message=message,
                recoverable=True,
                error_kind="abandoned",
            )
        )
        await self._end(run, reason, None)


def _warning(text: str) -> TurnError:
    return TurnError(scope="setup", message=text, recoverable=True, error_kind="setup")

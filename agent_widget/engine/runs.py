"""The life of runs: admitted one at a time, driven to an end, stopped, and told, whatever happens.

Order of effects: store, memory, event, reply (unified model, K11). Everything here runs on the
engine's loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Iterable
from itertools import takewhile
from typing import Any, Final

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from ..core.errors import ModelError, SessionError
from ..core.events import (
    Event,
    RunSettled,
    SessionStopping,
    TreeNavigated,
    TurnStarted,
    notice,
)
from ..core.ids import Clock, IdSource
from ..core.replay import BUDGET_END, HARD_ENDS, call_failure, end_events
from ..policy.input import Standing, policy_after_run
from ..policy.permission import Decision
from ..policy.stop import stop_step
from ..tools.base import MainThread
from ..tools.final import MAX_REPAIRS, REMINDER, FinalResult
from ..view.context import in_context
from ..view.model import SessionView
from .approvals import STOPPED, Approvals, Asking
from .commits import HistoryCommits
from .compaction import Compactor
from .handoff import Handover
from .hooks import HOOK_BLOCKED, Blocked, Hooks
from .inputs import Inputs
from .late import LateResults, Leavings
from .loop import run_loop
from .permissions import Permissions
from .ports import Ports
from .prompt import settled
from .recorder import HERE
from .room import Room
from .run import ABANDON_S, ActiveRun, RunResult, Trigger
from .spending import BudgetExceeded, RunPurse, Spending
from .staff import Staff
from .subagents import MAIN
from .tapes import ChatTapes
from .toolrun import left_open
from .watching import Watching
from .writer import Fact, Writer, uncancelled

DEFAULT_MAX_STEPS: Final = 50
RESTING: Final = Standing()
NATURAL_ENDS: Final = ("completed", "structured_output")
"""Ends after which input that came in meanwhile starts the next run (K05)."""


class Surroundings(Struct, frozen=True):
    """What all runs of a session share."""

    writer: Writer
    inputs: Inputs
    staff: Staff
    approvals: Approvals
    permissions: Permissions
    main: MainThread
    clock_ms: Clock
    new_id: IdSource
    commits: HistoryCommits
    spending: Spending
    final: FinalResult | None
    compactor: Compactor
    max_steps: int = DEFAULT_MAX_STEPS
    max_seconds: float | None = None
    abandon_s: float = ABANDON_S
    hooks: Hooks = field(default_factory=Hooks)


class NotRunning(SessionError):
    def __init__(self) -> None:
        super().__init__("SESSION_NOT_RUNNING", "Nothing is running.")


class _Over(Exception):  # not an error: it comes too late
    """The end of the run is written, and nothing more of it."""


class Place(Struct, frozen=True):
    """Another place of the tree than the leaf: the entry to go on after, and its view."""

    after: str | None
    event: TreeNavigated
    view: SessionView


class Runs:
    """At most one run under way, and those that follow from it."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._around = surroundings
        self._writer = surroundings.writer
        self._inputs = surroundings.inputs
        self.active: ActiveRun | None = None
        self.late = LateResults(surroundings.writer, surroundings.clock_ms)
        self.watching = Watching(surroundings.writer)
        self.call_ids: set[str] = set()
        self._tapes = ChatTapes(self._writer.bus.subscribe, surroundings.staff.crew.current.model)
        self.when_ended: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)
        """Awaited behind the end of each run, before another may begin."""
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    # --- admission -----------------------------------------------------------------------------

    async def admit(
        self,
        trigger: Trigger,
        data: dict[str, Any],
        context: contextvars.Context | None,
        *events: Event,
        place: Place | None = None,
    ) -> ActiveRun:
        """Store a run and start it, at the leaf or at another place of the tree.

        Raises INPUT_BLOCKED while another one is under way, SessionClosed, STORAGE_ERROR.
        """
        run = ActiveRun(self._around.new_id("r"), trigger, context)

        def make() -> Fact:
            self._writer.require_open()
            if self.active is not None:
                message = "A run is under way and this session takes no input meanwhile."
                raise SessionError("INPUT_BLOCKED", message, advice="Wait for it, or stop it.")
            if (refusal := self._inputs.refusal()) is not None:
                raise refusal
            interaction, told = self._inputs.transition(Standing(status="running", run_active=True))
            record = {"run_id": run.run_id, "trigger": trigger, **data, "interaction": interaction}
            started = TurnStarted(run_id=run.run_id, trigger=trigger)
            marked = (replace(event, run_id=run.run_id) for event in events)
            if trigger == "send":
                run.retained = frozenset(r.message_id for r in self._inputs.waiting_in("steering"))
            self.active = run
            self._is_idle.clear()
            moved = () if place is None else ((place.event, self.late.applied_to(place.view)),)
            return record, (*moved, *marked, started, *told)

        after = HERE if place is None else place.after
        try:
            await self._writer.commit_made("run_admitted", make, after=after)
        except SessionError:
            if self.active is run:
                run.is_live = False
                self._rest()
            raise
        run.after_message = getattr(self._writer.view.chat.messages.last, "id", None)
        loop = asyncio.get_running_loop()
        run.task = loop.create_task(self._drive(run, self._ports(run, loop)), context=context)
        if (seconds := self._around.max_seconds) is not None:
            run.deadline = loop.call_later(seconds, self._time_is_up, run, seconds)
        return run

    async def wait_for_idle(self) -> None:
        """Return once nothing runs and nothing follows from what ran."""
        await self._is_idle.wait()

    async def follow_on(self, ended: ActiveRun) -> None:
        """Start a run for input that came in while ``ended`` was ending by itself.

        Where that cannot be stored, a notice says so and the input waits.
        """
        if self.active is not None or not ended.carries_over or not self._inputs.waiting:
            return
        try:
            await self.admit("carry_over", {}, ended.context)
        except SessionError as refused:
            if self.active is None:  # else a person was faster: it goes into their run
                message = f"What waits could not be sent: {refused.message}"
                self._writer.emit(notice("input", refused.code, message))

    def require_rest(self) -> None:
        """Raises SESSION_BUSY while a run is under way or the conversation is being summed up,
        SessionClosed after the end.
        """
        self._writer.require_open()
        if self.active is not None:
            raise SessionError("SESSION_BUSY", "A run is under way.", advice="Stop it first.")
        if self._writer.view.phase in ("summarizing", "compacting"):
            raise SessionError("SESSION_BUSY", "A summary is being written.")

    # --- stopping ------------------------------------------------------------------------------

    async def stop(self, grace_s: float) -> None:
        """Store a Stop, then answer: nothing new starts, what runs is cancelled after the grace.

        A second Stop is answered like the first, and shortens the grace. Raises SessionError
        SESSION_NOT_RUNNING when nothing runs, STORAGE_ERROR when it could not be stored: then the
        run goes on.
        """
        run = self.active
        if run is None:
            raise NotRunning
        async with run.dispatching:
            match stop_step(run_active=run.is_live, stop_committed=run.is_stopping):
                case "commit":
                    await self._commit_stop(run)
                case "refuse":
                    raise NotRunning
        self._around.approvals.withdraw()
        self._around.staff.retries.abort_retry()
        self._around.compactor.abort()
        self._supervise(run, grace_s)

    async def close(self) -> None:
        """End what runs at once; returns when it has ended."""
        if self.active is not None:
            self.active.end_reason = "closed"
            self._break_off(self.active)
        await self._is_idle.wait()
        if self._writer.recorder.read_only is None:
            await self._around.hooks.session_end(self._writer.emit)

    def fail(self, error: SessionError) -> None:
        """End what runs at once, because of ``error``; nothing is stored of that."""
        if self.active is not None:
            self.active.failure = error
            self._break_off(self.active)

    def _break_off(self, run: ActiveRun) -> None:
        run.is_stopping = True
        self._around.approvals.withdraw()
        self._supervise(run, 0.0)

    def _time_is_up(self, run: ActiveRun, seconds: float) -> None:
        if run.is_live and not run.is_stopping:
            run.end_reason = "max_seconds"
            message = f"The run took all of its {seconds:g} seconds. Send a message to go on."
            self._writer.emit(replace(notice("run", "max_seconds", message), run_id=run.run_id))
            self._break_off(run)

    async def _commit_stop(self, run: ActiveRun) -> None:
        def make() -> Fact:
            if not run.is_live:
                raise NotRunning
            stopping = Standing(status="running", run_active=True, stop_committed=True)
            policy = replace(self._inputs.policy, run=None)
            interaction, events = self._inputs.transition(stopping, policy)
            data = {"run_id": run.run_id, "interaction": interaction}
            return data, (SessionStopping(run_id=run.run_id), *events)

        run.is_stopping = True
        try:
            await self._writer.commit_made("stop_committed", make)
        except SessionError:
            run.is_stopping = False
            raise

    def _supervise(self, run: ActiveRun, grace_s: float) -> None:
        """See that ``run`` is cancelled after the grace; the shortest one counts."""
        cancel_at_s = asyncio.get_running_loop().time() + grace_s
        if run.task is None or not run.is_live or cancel_at_s >= run.cancel_at_s:
            return
        run.cancel_at_s = cancel_at_s
        if run.supervisor is not None:
            run.supervisor.cancel()
        if grace_s <= 0:
            run.task.cancel()
        run.supervisor = asyncio.ensure_future(self._see_to_the_end(run, grace_s))

    async def _see_to_the_end(self, run: ActiveRun, grace_s: float) -> None:
        """Cancel after the grace; abandon a run that does not end: its late work is dropped."""
        assert run.task is not None
        if grace_s > 0:
            await asyncio.wait({run.task}, timeout=grace_s)
            run.task.cancel()
        await asyncio.wait({run.task}, timeout=self._around.abandon_s)
        if not run.is_live:
            return
        if run.task.done():  # it was cancelled before it began
            await self._settle(run, "interrupted", None)
            return
        message = (
            f"The run did not end within {grace_s + self._around.abandon_s:g} s of Stop and was"
            " abandoned. What it started may still be going on."
        )
        self._writer.emit(replace(notice("stop", "abandoned", message), run_id=run.run_id))
        await self._end(run, run.end_reason or "abandoned", None)

    # --- a run ---------------------------------------------------------------------------------

    def _ports(self, run: ActiveRun, loop: asyncio.AbstractEventLoop) -> Ports:
        around, writer = self._around, self._writer
        tape = self._tapes.of(around.staff.crew.current.model)

        def emit(event: Event) -> None:
            if run.is_live:  # what a run sends after its end is dropped here
                writer.emit(replace(event, run_id=run.run_id))

        async def commit(kind: Any, data: dict[str, Any], *events: Event) -> None:
            def make() -> Fact:
                if not run.is_live:
                    raise _Over
                marked = (replace(event, run_id=run.run_id) for event in events)
                return {"run_id": run.run_id, **data}, marked

            with contextlib.suppress(_Over):
                await writer.commit_made(kind, make)

        async def ask(asking: Asking) -> Decision:
            if run.is_stopping:
                return Decision("deny", STOPPED)
            return await tape.decision(
                asking.question, lambda known: around.approvals.ask(asking, emit, known)
            )

        crew = around.staff.crew
        return Ports(
            lineup=crew.lineup,
            retries=around.staff.retries,
            toolset=lambda: around.staff.crew.current.toolbox.active,
            system=settled(crew.current.system),
            conversation=lambda: in_context(writer.view),
            emit=emit,
            commit=commit,
            permissions=around.permissions,
            ask=ask,
            unique_call_id=self._unique_call_id,
            is_stopped=lambda: run.is_stopping,
            why_stopped=lambda: run.end_reason or "interrupted",
            dispatching=run.dispatching,
            before_request=lambda step: self._inputs.apply_steering(run, step),
            goes_on=lambda: self._goes_on(run),
            new_id=around.new_id,
            clock_ms=around.clock_ms,
            main=around.main,
            loop=loop,
            max_steps=around.max_steps,
            handover=Handover(crew.others),
            purse=RunPurse(around.spending),
            final=around.final,
            left=Leavings(self.late, run.run_id),
            requested=self.watching.requested,
            room=Room(around.compactor),
            hooks=around.hooks,
            relieved=writer.bus.relieved,
            agent=None if crew.name == MAIN else crew.name,
            run_tool=tape.run_tool,
        )

    async def take_back(self, run: ActiveRun) -> None:
        """Withdraw what was meant for ``run`` alone and was not used by it."""
        rows = [row.message_id for row in self._inputs.waiting if row.message_id in run.strict]
        with contextlib.suppress(SessionError):  # not stored: it waits on, which is no loss
            await self._inputs.withdraw(rows)

    async def _goes_on(self, run: ActiveRun) -> bool:
        if run.is_stopping:
            return False
        if self._inputs.waiting_in("steering"):
            return True
        final = self._around.final
        if final is not None and final.value is UNSET:
            final.failures += 1
            if final.failures <= MAX_REPAIRS:
                await self._inputs.queue(REMINDER, "steering", "program")
                return True
        return await self._inputs.use_follow_up(run)

    def _unique_call_id(self, vendor_id: str) -> str:
        call_id, count = vendor_id, 1
        while call_id in self.call_ids:
            count += 1
            call_id = f"{vendor_id}-{count}"
        self.call_ids.add(call_id)
        return call_id

    async def _drive(self, run: ActiveRun, ports: Ports) -> None:
        """Run to the end and tell how it ended, whatever happens."""
        error: SessionError | None = None
        try:
            if self._around.final is not None:
                self._around.final.reset()
            if run.trigger == "carry_over" and not self._inputs.waiting_in("steering"):
                await self._inputs.use_follow_up(run)
            await self._require_hooks(run, ports)
            reason = await run_loop(ports)
            final = self._around.final
            if reason == "completed" and final is not None and final.value is UNSET:
                reason = "no_structured_output"
            name = ports.handover.wanted
            if reason == "handoff" and name is not None:
                await self._around.staff.change("agent_change", lambda crew: crew.handed_to(name))
        except asyncio.CancelledError:
            reason = "interrupted"
        except BudgetExceeded as reached:
            reason, error = reached.code, reached
        except (ModelError, SessionError) as failure:
            reason, error = "error", failure
        except Exception as failure:  # noqa: BLE001  # a bug ends the run, never the session
            message = f"The run failed: {type(failure).__name__}: {failure}"
            reason, error = "error", SessionError("internal", message)
        if ports.hooks.has("after_run") and not run.is_stopping:
            with contextlib.suppress(asyncio.CancelledError):  # a Stop ends what they do, too
                text = self._result(run, reason).text
                await ports.hooks.after_run(ports.emit, reason=reason, text=text)
        await self._settle(run, reason, error)

    async def _require_hooks(self, run: ActiveRun, ports: Ports) -> None:
        """Ask the hooks; raises SessionError with the reason of a guard that objects."""
        last = ports.conversation().last
        said = last.text if last is not None and last.role == "user" else ""
        heard = await ports.hooks.before_run(ports.emit, said, trigger=run.trigger)
        if isinstance(heard, Blocked):
            raise SessionError(HOOK_BLOCKED, heard.reason)

    async def _settle(self, run: ActiveRun, reason: str, error: SessionError | None) -> None:
        if run.failure is not None:
            reason, error = "error", run.failure
        elif run.is_stopping:
            reason, error = run.end_reason or "interrupted", None
        await uncancelled(self._end(run, reason, error))

    async def _end(self, run: ActiveRun, reason: str, error: SessionError | None) -> None:
        def fact() -> Fact:
            calls = left_open(self._writer.view.chat, reason)
            data = ended_data(run.run_id, reason, error, self.late.told(calls))
            default = self._around.staff.crew.current.while_running
            policy = policy_after_run(self._inputs.policy, default)
            data["interaction"], told = self._inputs.transition(RESTING, policy)
            if self._writer.is_closing:  # the next to open it may send, nobody here
                _, told = self._inputs.transition(replace(RESTING, is_closed=True), policy)
            settled = RunSettled(aborted=reason in HARD_ENDS)
            events = (*ended_events(data), *told, settled)
            return data, [replace(event, run_id=run.run_id) for event in events]

        def make() -> Fact:
            if not run.is_live:
                raise _Over
            run.is_live = False
            return fact()

        try:
            await self._writer.commit_made("run_ended", make)
        except _Over:
            return
        except SessionError:
            # The run is over whether or not this could be written; the person has to see it.
            self._writer.tell(fact()[1])
        if run.deadline is not None:
            run.deadline.cancel()
        run.carries_over = reason in NATURAL_ENDS and not self._writer.is_closing
        await self.when_ended()
        self.active = None
        if not run.future.done():
            run.future.set_result(self._result(run, reason))
        self._around.commits.commit(self._writer.view.chat.messages)
        await self.take_back(run)
        await self.follow_on(run)
        if self.active is None:
            self._rest()

    def _rest(self) -> None:
        self.active = None
        self._is_idle.set()

    def _result(self, run: ActiveRun, reason: str) -> RunResult:
        view = self._writer.view
        added = takewhile(lambda m: m.id != run.after_message, reversed(view.chat.messages))
        text = next((m.text for m in added if m.role == "assistant" and m.text), "")
        error = view.error if reason in ("error", BUDGET_END) else None
        final = self._around.final
        output = None if final is None or final.value is UNSET else final.value
        return RunResult(run.run_id, reason, text, error, output, view.run_usage)


def ended_data(
    run_id: str, reason: str, error: SessionError | None, calls: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    """The record of a run's end, but for the interaction."""
    told = None
    if error is not None:
        told = {
            "scope": "model" if isinstance(error, ModelError) else "run",
            "code": error.code,
            "message": error.message,
            "advice": error.advice,
        }
    return {"run_id": run_id, "reason": reason, "error": told, "open_calls": [*calls]}


def ended_events(data: dict[str, Any]) -> tuple[Event, ...]:
    """How that record is told."""
    return end_events(data["reason"], data["error"], map(call_failure, data["open_calls"]))

"""Calls that go on after a Stop: a thread cannot be ended from outside.

Where one has ended by the time its run does, the run's end tells how. Else it says that the call
still runs, and a record of its own tells the rest whenever that comes: whatever is under way then
goes on, nothing is started by it, and after the session's end it is dropped. A call of which
nothing was heard when a session is opened again is told as unknown.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import SessionError
from ..core.events import CallStop, ToolEndedLate
from ..core.ids import Clock
from ..core.journal import Journal
from ..core.replay import LATE_RESULT, late_end
from ..tools.base import StopSign, ToolOutput
from ..view.model import SessionView
from ..view.project import project
from .outcome import STOPPED, Outcome, failed, output_to_wire
from .writer import Fact, Writer

STILL_RUNNING: Final = "it was still running when the run ended."
NOT_HEARD_OF: Final = (
    "The kernel or the chat was closed before it ended. Whether it did its work is not known; it"
    " was not run again."
)
_HOW: Final[dict[CallStop, str]] = {
    "finished": "It finished anyway, after the Stop",
    "stopped": "It ended because of the Stop",
}


class LateCall(Struct):
    """A call whose run was told to end; ``said`` is what the run's end said of it."""

    call_id: str
    run_id: str
    agent_id: str | None
    work: asyncio.Future[ToolOutput]
    sign: threading.Event
    started_ms: int
    said: dict[str, Any] | None = None


class LateResults:
    """The late calls of a session; lives on the engine's loop."""

    def __init__(self, writer: Writer, clock_ms: Clock) -> None:
        self._writer = writer
        self._clock_ms = clock_ms
        self._calls: dict[str, LateCall] = {}
        self._ends: list[ToolEndedLate] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, call: LateCall) -> None:
        """Keep an eye on ``call``."""
        of_now = {
            call_id: each
            for call_id, each in self._calls.items()
            if each.run_id == call.run_id or not each.work.done()
        }
        self._calls = {**of_now, call.call_id: call}
        call.work.add_done_callback(lambda _: self._arrived(call))

    def told(self, calls: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """``calls`` that the end of a run leaves open, with what is known of those by now."""
        return [self._told(call) for call in calls]

    def applied_to(self, view: SessionView) -> SessionView:
        """``view`` of records that were read before, with what ended since."""
        for event in self._ends:
            view = project(view, event)
        return view

    async def give_up(self, journal: Journal) -> None:
        """Say of stored calls of which nothing was heard that nobody knows."""
        if self._writer.recorder.read_only is not None:  # who holds the session may know
            return
        for call in journal.left_running.values():
            message = f"{call['message']} {NOT_HEARD_OF}"
            await self._store({**_record(call), "stop": "unknown", "message": message})

    # --- inside --------------------------------------------------------------------------------

    def _told(self, call: dict[str, Any]) -> dict[str, Any]:
        late = self._calls.get(call["tool_call_id"])
        if late is None:
            return call
        if late.work.done():
            return {**call, **self._end(late, call["message"])}
        message = f"{call['message'].removesuffix('.')}; {STILL_RUNNING}"
        late.said = {**call, "stop": "running_on", "message": message}
        return late.said

    def _arrived(self, late: LateCall) -> None:
        if late.said is None or self._writer.is_closing:  # its run's end tells, or nothing does
            return
        record = _record({**late.said, "run_id": late.run_id})
        end = self._end(late, late.said["message"])
        task = asyncio.get_running_loop().create_task(self._store({**record, **end}))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end(self, late: LateCall, said: str) -> dict[str, Any]:
        outcome = _outcome(late.work)
        stop: CallStop = "finished"
        if outcome.error_type == "cancelled" or _was_seen(late.sign):
            stop = "stopped"
        if outcome == STOPPED:
            message = said if late.said is None else f"{said} {_HOW[stop]}."
        elif outcome.output is None:
            message = f"{said} {_HOW[stop]}: {outcome.message}"
        else:
            message = f"{said} {_HOW[stop]}. Its output:"
        output = None if outcome.output is None else output_to_wire(outcome.output)
        ms = max(0, self._clock_ms() - late.started_ms)
        return {"stop": stop, "message": message, "output": output, "duration_ms": ms}

    async def _store(self, data: dict[str, Any]) -> None:
        def make() -> Fact:
            self._writer.require_open()
            event = late_end(data)
            self._ends.append(event)
            return data, (event,)

        try:
            await self._writer.commit_made("custom", make)
        except SessionError:  # the session is closed, or another process has it
            return


def _outcome(work: asyncio.Future[ToolOutput]) -> Outcome:
    if work.cancelled():
        return STOPPED
    error = work.exception()
    return Outcome(output=work.result()) if error is None else failed(error)


def _was_seen(sign: threading.Event) -> bool:
    return isinstance(sign, StopSign) and sign.was_seen


def _record(call: Any) -> dict[str, Any]:
    """The data of the record that says what became of ``call``, but for how it ended."""
    same = {name: call[name] for name in ("tool_call_id", "agent_id", "run_id", "error_type")}
    return {"custom_type": LATE_RESULT, **same, "output": None, "duration_ms": None}


class Leavings(Struct, frozen=True):
    """What calls of one run, or of a sub-agent in it, leave behind."""

    results: LateResults
    run_id: str
    agent_id: str | None = None

    def take(
        self,
        call_id: str,
        work: asyncio.Future[ToolOutput],
        sign: threading.Event,
        started_ms: int,
    ) -> None:
        """Keep an eye on what a cancelled call is still at."""
        late = LateCall(call_id, self.run_id, self.agent_id, work, sign, started_ms)
        self.results.take(late)

    def within(self, call_id: str) -> Leavings:
        """Those of the sub-agent that the call is."""
        return replace(self, agent_id=call_id)

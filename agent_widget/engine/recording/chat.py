"""One chat of a recording: what was said in it and when, how its calls were decided and run.

While it is recorded, it writes that down; in a replay it gives calls what they gave, with what they
told meanwhile and what they did after a Stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core.events import Event, RunSettled, SessionEnded, TurnStarted
from ...policy.permission import Decision, Question
from ...tools.base import Tool, ToolContext, ToolOutput
from ...tools.final import FinalResult
from ...view.model import SessionView
from ..inputcontrol import InputControl
from ..livecall import LiveCall
from ..outcome import failed
from . import wire
from .diary import BEATS, Diary
from .difference import differences
from .file import Fact

if TYPE_CHECKING:
    from .tape import Recording

STOPPED_S: Final = 30.0
"""What was stopped in the recording waits so long for a Stop."""
Subscribe = Callable[[Callable[[Event, SessionView], None]], Callable[[], None]]


class Place(Struct, frozen=True, order=True):
    """When something happened: in which run, whether after its end, after how many beats."""

    run: int = 0
    is_over: bool = True
    beats: int = 0


class _Late(Struct):
    """What a stopped call of the recording gave later, until it does so here."""

    run: int
    place: Place
    work: asyncio.Future[ToolOutput]
    told: wire.Wire


class TapedChat:
    """The chat ``number`` (from 1) of ``tape``; lives on the engine's loop.

    ``place`` is where it stands, ``late_count`` how many calls have ended after their run's end.
    """

    def __init__(self, tape: Recording, number: int, subscribe: Subscribe) -> None:
        self.tape = tape
        self.number = number
        self.place = Place()
        self.late_count = 0
        self._diary = Diary(tape.note, number)
        self._late: list[_Late] = []
        self._is_ended = False
        subscribe(self._heard)

    # --- calls ---------------------------------------------------------------------------------

    async def run_tool(
        self, tool: Tool, args: dict[str, Any], context: ToolContext, live: LiveCall
    ) -> ToolOutput:
        """The output of a call, run or recorded. Raises what the tool raised, as ToolFailure."""
        tape = self.tape
        asked = {"call": context.call_id, "tool": tool.name, "args": tape.plain(args)}
        known = tape.known("result", asked) if tape.plays else None
        is_own = isinstance(tool, FinalResult | InputControl) or tape.is_always_run(tool)
        if known is None or tape.runs_tools or is_own:
            return await self._run(tool, args, context, live, asked, known)
        await self._tell_again(known.wire.get("told", ()), context)
        if "stopped" in known.wire:
            await self._stopped_again(asked, known, context)
        if "error" in known.wire:
            raise wire.failure_of(known.wire["error"])
        return wire.output_of(known.wire["output"])

    async def _run(
        self,
        tool: Tool,
        args: dict[str, Any],
        context: ToolContext,
        live: LiveCall,
        asked: wire.Wire,
        known: Fact | None,
    ) -> ToolOutput:
        def leave(work: asyncio.Future[ToolOutput]) -> None:
            context.left_behind(work)
            work.add_done_callback(lambda _: self._came_late(asked, work, context))

        told: list[tuple[str, str | None]] = []
        live.heard = lambda kind, text: told.append((kind, text))

        def gave(**how: Any) -> None:
            live.close()
            self._gave({**asked, **how}, self._told(told), known)

        watched = replace(context, left_behind=leave) if known is None else context
        try:
            output = await tool.execute(args, watched)
        except asyncio.CancelledError:
            gave(stopped=True)
            raise
        except Exception as error:
            gave(error=self.tape.plain(_fault(error)))
            raise
        gave(output=self.tape.plain(wire.output_wire(output)))
        return output

    def _told(self, told: list[tuple[str, str | None]]) -> list[wire.Wire]:
        """What a call told, as it is written; output in one piece where only that shows a key."""
        masks = self.tape.masks
        whole = "".join(text for kind, text in told if kind == "output" and text)
        if masks.masked(whole) != whole:
            told = [*((kind, text) for kind, text in told if kind != "output"), ("output", whole)]
        written: list[wire.Wire] = []
        for kind, text in told:
            if kind == "output" and written and "output" in written[-1]:
                written[-1]["output"].append(text)
            else:
                written.append({kind: [text] if kind == "output" else text})
        plain: list[wire.Wire] = self.tape.plain(written)
        return plain

    def _gave(self, gave: wire.Wire, told: list[wire.Wire], known: Fact | None) -> None:
        tape = self.tape
        whole = {**gave, "told": told} if told else gave
        if known is None:
            if tape.records:
                tape.write(Fact("result", whole))
            return
        # What it told meanwhile depends on the machine.
        before = {name: value for name, value in known.wire.items() if name != "told"}
        found = differences(before, gave, "")
        if not found:
            return
        if tape.accept:
            tape.change(known, whole)
            return
        where = f"{gave['tool']} did not give what was recorded in {tape.path}:"
        tape.failed(where, tape.lines_of(known, found))

    async def _tell_again(self, told: Any, context: ToolContext) -> None:
        await self.tape.pause()
        for piece in told:
            for chunk in piece.get("output", ()):
                context.output(chunk)
                await asyncio.sleep(0)  # so that it is told in the same pieces
                await self.tape.pause()
            if "progress" in piece:
                context.progress(piece["progress"])
                await asyncio.sleep(0)
                await self.tape.pause()

    async def _stopped_again(self, asked: wire.Wire, known: Fact, context: ToolContext) -> None:
        """Wait for the Stop that came then, and leave behind what went on."""
        tape = self.tape
        tape.at_stop()
        try:
            await asyncio.sleep(STOPPED_S)
        except asyncio.CancelledError:
            if (late := tape.take_late(asked)) is not None:
                self._leave(late, context)
            raise
        text = f"{tape.path.name}:{known.line}: call {asked['call']} was stopped there."
        raise tape.failed(f"A Stop of {tape.path} did not come:", [text])

    # --- calls that outlive a Stop -------------------------------------------------------------

    def _came_late(
        self, asked: wire.Wire, work: asyncio.Future[ToolOutput], context: ToolContext
    ) -> None:
        """Write down what a call gave after its Stop; what comes after the chat is nobody's."""
        if self._is_ended or not self.tape.records:
            return
        place = self.place
        when: wire.Wire = {"run": place.run}
        if not place.is_over:
            when["after"] = place.beats
        if getattr(context.cancelled, "was_seen", False):
            when["obeyed"] = True
        self.tape.write(Fact("late", {**asked, **when, **self.tape.plain(_ended(work))}))

    def _leave(self, late: wire.Wire, context: ToolContext) -> None:
        place = Place(late["run"], "after" not in late, late.get("after", 0))
        work: asyncio.Future[ToolOutput] = asyncio.get_running_loop().create_future()
        context.cancelled.set()
        if late.get("obeyed"):
            context.cancelled.is_set()  # whoever looks has seen it
        context.left_behind(work)
        self._late.append(_Late(self.place.run, place, work, late))
        self._end_late()

    def _end_late(self) -> None:
        due = [late for late in self._late if late.place <= self.place]
        self._late = [late for late in self._late if late not in due]
        for late in due:
            if late.work.done():
                continue
            self.late_count += late.place >= Place(late.run, is_over=True)
            if "error" in late.told:
                late.work.set_exception(wire.failure_of(late.told["error"]))
            elif "output" in late.told:
                late.work.set_result(wire.output_of(late.told["output"]))
            else:
                late.work.cancel()

    # --- decisions -----------------------------------------------------------------------------

    async def decision(
        self, question: Question, ask: Callable[[Decision | None], Awaitable[Decision]]
    ) -> Decision:
        """The answer to a question: ``ask(known)`` has it, ``known`` is what was recorded.

        Raises ReplayMismatch for another answer than that.
        """
        tape = self.tape
        asked = {"call": question.tool_call_id, "tool": question.tool}
        whole = {**asked, "text": tape.plain(question.text)}
        known = tape.known("decision", asked) if tape.plays else None
        answer = await ask(None if known is None else wire.decision_of(known.wire["decision"]))
        told = {**whole, "decision": tape.plain(wire.decision_wire(answer))}
        await tape.pause()
        if known is None:
            if tape.records:
                tape.write(Fact("decision", told))
            return answer
        found = differences(known.wire, told, "")
        if found and tape.accept:
            tape.change(known, told)
        elif found:
            text = f"A decision is not what was recorded in {tape.path}:"
            raise tape.failed(text, tape.lines_of(known, found))
        return answer

    # --- what happens --------------------------------------------------------------------------

    def _heard(self, event: Event, _view: SessionView) -> None:
        before = self.place
        if isinstance(event, TurnStarted):
            is_same = event.trigger == "carry_over"
            self.place = replace(before, is_over=False) if is_same else Place(before.run + 1, False)
        elif isinstance(event, RunSettled):
            self.place = replace(before, is_over=True)
        elif isinstance(event, BEATS) and not before.is_over:
            self.place = replace(before, beats=before.beats + 1)
        self._is_ended = self._is_ended or isinstance(event, SessionEnded)
        self._diary.heard(event, None if before.is_over else before.beats)
        if self.place != before:
            self._end_late()


def _fault(error: BaseException) -> wire.Wire:
    ended = failed(error)
    return {"code": ended.error_type, "message": ended.message}


def _ended(work: asyncio.Future[ToolOutput]) -> wire.Wire:
    if work.cancelled():
        return {"stopped": True}
    error = work.exception()
    if error is not None:
        return {"error": _fault(error)}
    return {"output": wire.output_wire(work.result())}

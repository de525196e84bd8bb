"""One chat of a recording: what was said in it and when, how its calls were decided and run.

While it is recorded, it writes that down; in a replay it gives calls what they gave, with what they
told meanwhile and what they did after a Stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core.errors import InvalidArgs
from ...core.events import Event, RunSettled, SessionEnded, TurnStarted
from ...policy.permission import Decision, Question
from ...tools.base import Elicitation, Elicited, Tool, ToolContext, ToolOutput
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
TOGETHER_S: Final = 2.0
"""So long a call waits for what happened before it in calls at the same time."""
Subscribe = Callable[[Callable[[Event, SessionView], None]], Callable[[], None]]


class Place(Struct, frozen=True, order=True):
    """When something happened: in which run, whether after its end, after how many beats."""

    run: int = 0
    is_over: bool = True
    beats: int = 0


class _Told(Struct, frozen=True):
    """What a call told, a text or a form, and when."""

    kind: str
    text: Any
    at: tuple[int, int]


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
        self._running: set[str] = set()
        self._together: set[str] = set()
        self._forms: set[str] = set()
        self._moved = asyncio.Event()
        self._given = 0
        self._is_ordered = True
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
        await self._reached(known.wire.get("at"))
        self._turn()
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

        told: list[_Told] = []
        live.heard = lambda kind, text: told.append(_Told(kind, text, self._turn()))
        call_id = context.call_id
        self._running.add(call_id)
        self._together |= self._running if len(self._running) > 1 else set()

        def gave(**how: Any) -> None:
            live.close()
            self._running.discard(call_id)
            at = self._turn()
            when: wire.Wire = {"at": [*at]} if call_id in self._together else {}
            if pieces := self._pieces(told, is_timed=bool(when)):
                when["told"] = pieces
            self._gave({**asked, **how}, when, known)

        async def elicit(form: Elicitation) -> Elicited:
            told.append(_Told("form", _form_wire(form), self._turn()))
            return await self._asking(call_id, form, context)

        watched = replace(context, elicit=elicit)
        if known is None:
            watched = replace(watched, left_behind=leave)
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

    def _pieces(self, told: list[_Told], *, is_timed: bool) -> list[wire.Wire]:
        """What a call told, as it is written; output in one piece where only that shows a key."""
        masks = self.tape.masks
        whole = "".join(each.text for each in told if each.kind == "output" and each.text)
        if masks.masked(whole) != whole:
            kept = [each for each in told if each.kind != "output"]
            told = [*kept, _Told("output", whole, told[-1].at)]
        written: list[wire.Wire] = []
        for each in told:
            last = written[-1] if written else {}
            at = {"at": [*each.at]} if is_timed else {}
            if each.kind == "output" and "output" in last and not is_timed:
                last["output"].append(each.text)
            else:
                is_output = each.kind == "output"
                written.append({each.kind: [each.text] if is_output else each.text, **at})
        plain: list[wire.Wire] = self.tape.plain(written)
        return plain

    def _gave(self, gave: wire.Wire, when: wire.Wire, known: Fact | None) -> None:
        tape = self.tape
        whole = {**gave, **when}
        if known is None:
            if tape.records:
                tape.write(Fact("result", whole))
            return
        # What it told meanwhile, and when it ended, depends on the machine.
        before = {name: each for name, each in known.wire.items() if name not in ("told", "at")}
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
            await self._reached(piece.get("at"))
            for chunk in piece.get("output", ()):
                self._turn()
                context.output(chunk)
                await asyncio.sleep(0)  # so that it is told in the same pieces
                await self.tape.pause()
            if "form" in piece:
                self._turn()
                await self._asking(context.call_id, _form_of(piece["form"]), context)
            if "progress" in piece:
                self._turn()
                context.progress(piece["progress"])
                await asyncio.sleep(0)
                await self.tape.pause()

    def _turn(self) -> tuple[int, int]:
        """When something comes of a call: after so many beats of its run, and of such things."""
        self._given += 1
        self._moved.set()
        return self.place.beats, self._given - 1

    async def _asking(self, call_id: str, form: Elicitation, context: ToolContext) -> Elicited:
        self._forms.add(call_id)
        try:
            return await context.elicit(form)
        finally:
            self._forms.discard(call_id)

    async def _reached(self, at: Sequence[int] | None) -> None:
        """Return once the run is as far as it was then: calls at the same time keep their order."""
        while self._is_ordered and at and (self.place.beats < at[0] or self._given < at[1]):
            self._moved.clear()
            try:
                async with asyncio.timeout(TOGETHER_S):  # waits at once, not in a task of its own
                    await self._moved.wait()
            except TimeoutError:  # it is not what it was: order is the least of that
                self._is_ordered = False

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
        asked: wire.Wire = {"call": question.tool_call_id, "tool": question.tool}
        if question.tool_call_id in self._forms:
            asked["form"] = True
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

    def _heard(self, event: Event, view: SessionView) -> None:
        before = self.place
        if isinstance(event, TurnStarted):
            is_same = event.trigger == "carry_over"
            self.place = replace(before, is_over=False) if is_same else Place(before.run + 1, False)
        elif isinstance(event, RunSettled):
            self.place = replace(before, is_over=True)
        elif isinstance(event, BEATS) and not before.is_over:
            self.place = replace(before, beats=before.beats + 1)
        self._is_ended = self._is_ended or isinstance(event, SessionEnded)
        self._diary.heard(event, view, None if before.is_over else before.beats)
        if self.place != before:
            self._moved.set()
            self._end_late()


def _form_wire(form: Elicitation) -> wire.Wire:
    """A question of a running call; ``stands``: its fields may be sent as they are."""
    try:
        form.check(form.defaults)
        stands = True
    except InvalidArgs:
        stands = False
    about = {"asker": form.asker, "text": form.text, "defaults": dict(form.defaults)}
    return {**about, "stands": stands}


def _form_of(told: wire.Wire) -> Elicitation:
    def check(fields: Mapping[str, Any]) -> Mapping[str, Any]:
        if fields == told["defaults"] and not told["stands"]:
            raise InvalidArgs(told["asker"], ("It was not sent like that.",))
        return fields

    return Elicitation(told["asker"], told["text"], told["defaults"], check)


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

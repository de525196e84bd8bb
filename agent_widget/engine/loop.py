"""The run loop: model step, tool batch, next step, until the model asks for nothing more."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from typing import Any, Final, Literal

from msgspec import UNSET, Struct

from ..core.errors import ModelError, SessionError
from ..core.events import (
    BlockEnd,
    BlockStart,
    BlockType,
    Event,
    MsgRetracted,
    MsgTextDelta,
    MsgThinkingDelta,
    ToolDrafted,
    notice,
)
from ..core.messages import Conversation, user_message
from ..policy.loops import NUDGE, CallOutcome, LoopLimits, Progress
from ..providers.base import (
    CallProgress,
    CallReady,
    Model,
    ModelEvent,
    ModelRequest,
    ReasoningChunk,
    ReasoningData,
    ServerCall,
    StepEnd,
    TextChunk,
)
from .hooks import HOOK_BLOCKED, Blocked
from .ports import Ports, Toolset, system_text
from .retry import AttemptFailed, answered
from .served import served_call, store_served
from .spending import CountedCall, usage_event
from .toolrun import ProposedCall, propose, tool_batch

LIMITS: Final = LoopLimits()


Again = Literal["nudged", "paused"]
"""Why the model is asked again without news: its answer was empty, or its server paused."""


class Answer(Struct, frozen=True):
    """One model answer: its message, the calls it asks for, and how it ended.

    An empty one has neither text nor a call.
    """

    message_id: str
    calls: tuple[ProposedCall, ...]
    end: StepEnd
    is_empty: bool = False


async def run_loop(ports: Ports) -> str:
    """Run to the end; returns the reason as ``RunResult`` has it.

    Raises ModelError when a model call fails. Cancellation ends it between or inside steps; text
    received so far is stored either way.
    """
    progress = Progress()
    again: Again | None = None
    for step in range(ports.max_steps):
        answer = await fitting_step(ports, step, again)
        if answer is None:
            return "interrupted" if ports.is_stopped() else "completed"
        progress = progress.after_answer(is_empty=answer.is_empty)
        is_paused = answer.end.reason == "pause"
        again = "nudged" if progress.empty_answers else "paused" if is_paused else None
        if not answer.calls:
            is_last = step + 1 == ports.max_steps
            if (reason := await _end_without_calls(ports, answer, progress, is_last)) is not None:
                return reason
            continue
        await tool_batch(ports, answer.calls)
        if ports.final is not None and ports.final.value is not UNSET:
            return "interrupted" if ports.is_stopped() else "structured_output"
        if ports.handover.wanted is not None:
            return "interrupted" if ports.is_stopped() else "handoff"
        progress = progress.after_calls(_outcomes(ports.conversation()))
        if (ended := _stuck(ports, progress)) is not None:
            return ended
    message = f"The run used all of its {ports.max_steps} steps."
    _notice(ports, "max_steps", f"{message} Send a message to go on.")
    return "max_steps"


async def _end_without_calls(
    ports: Ports, answer: Answer, progress: Progress, is_last: bool
) -> str | None:
    """Why a run ends with an answer that asks for nothing; None when it goes on."""
    if answer.end.reason == "pause":
        return None
    reason = _reason_without_calls(ports, answer.end)
    if is_last or reason != "completed":
        return reason
    if await ports.goes_on():
        return None
    if answer.is_empty and ports.final is None:  # one of a shape is reminded of in its own way
        return _stuck(ports, progress)
    return reason


def _stuck(ports: Ports, progress: Progress) -> str | None:
    """The reason for which a run that gets nowhere ends, which a notice tells in words."""
    stuck = progress.stuck(LIMITS)
    if stuck is None:
        return None
    _notice(ports, stuck.reason, f"{stuck.message} {stuck.advice}")
    return stuck.reason


def _outcomes(conversation: Conversation) -> Iterable[CallOutcome]:
    """How the calls of the last answer ended."""
    last = conversation.last
    for call in () if last is None else last.tool_calls:
        yield CallOutcome(call.name, call.input, call.state != "done")


async def fitting_step(ports: Ports, step: int, again: Again | None = None) -> Answer | None:
    """``model_step``, after room was made for its request; once more where that was too long."""
    room = ports.room
    if room is None:
        return await model_step(ports, step, again)
    await room.make(ports)
    while True:
        try:
            answer = await model_step(ports, step, again)
        except ModelError as error:
            await room.after_too_long(ports, error)
        else:
            room.answered()
            return answer


async def model_step(ports: Ports, step: int, again: Again | None = None) -> Answer | None:
    """Ask the model once: stream its answer, store it, propose its calls.

    ``again``: the request says so where the answer before was empty. None: stopped before, or
    what was to be asked was taken back.
    """
    message_id = ports.new_id("a")
    answer = await answered(ports, lambda model: _attempt(ports, model, step, message_id, again))
    if answer is not None and ports.hooks.has("after_model") and not ports.is_stopped():
        await _tell_hooks(ports, step)
    return answer


async def _attempt(
    ports: Ports, model: Model, step: int, message_id: str, again: Again | None
) -> Answer | None:
    """Ask ``model`` once. Raises AttemptFailed."""
    await _require_hooks(ports, model, step)
    async with ports.purse.call(model, ports.agent_id, ports.emit) as counted:
        attempt = _Attempt(ports, model, step, message_id, counted, again)
        return await _counted_step(attempt)


async def _require_hooks(ports: Ports, model: Model, step: int) -> None:
    """Ask the hooks; raises SessionError with the reason of a guard that objects.

    ``dispatching`` is free meanwhile: no Stop waits for a hook.
    """
    if ports.is_stopped():
        return
    await ports.hooks.ready()
    label = model.info.label
    heard = await ports.hooks.before_model(ports.emit, model=label, step=step, agent=ports.agent)
    if isinstance(heard, Blocked):
        raise SessionError(HOOK_BLOCKED, heard.reason)


async def _tell_hooks(ports: Ports, step: int) -> None:
    last, label = ports.conversation().last, ports.model.info.label
    text = "" if last is None else last.text
    await ports.hooks.after_model(ports.emit, model=label, step=step, text=text, agent=ports.agent)


async def _counted_step(attempt: _Attempt) -> Answer | None:
    ports, counted = attempt.ports, attempt.counted
    toolset = ports.toolset()
    async with ports.dispatching:
        request = await _next_request(ports, attempt.step, toolset, attempt.again)
        if request is None:
            return None
        ports.requested(ports.agent_id, request)
        dispatched = attempt.model.stream(request)
    incoming = _Incoming(ports, attempt)
    blocks = attempt.blocks
    try:
        async with aclosing(dispatched) as stream:
            async for event in stream:
                incoming.take(event)
                await ports.relieved()
        end = incoming.end
        if end is None:
            raise ModelError("network", "The model's answer ended without its end mark.")
        counted.is_answered, counted.usage = True, end.usage
        await ports.purse.spending.weigh(counted, attempt.model.info)
    except ModelError as error:
        blocks.close()
        raise AttemptFailed(error, attempt) from None
    except BaseException:
        blocks.close()
        await attempt.keep()
        raise
    blocks.close()
    calls = incoming.calls
    is_empty = not (calls or incoming.served) and blocks.is_blank
    is_retracted = is_empty and blocks.retract()
    proposed = tuple(propose(ports, toolset.tools, blocks.message_id, call) for call in calls)
    served = tuple(served_call(ports, blocks.message_id, call) for call in incoming.served)
    await attempt.store((*served, *proposed), end.reason, is_retracted=is_retracted)
    for call, own in zip(served, incoming.served, strict=True):
        await store_served(ports, call, own)
    return Answer(blocks.message_id, proposed, end, is_empty)


class _Attempt:
    """One call of a model, and what came of it so far."""

    def __init__(
        self,
        ports: Ports,
        model: Model,
        step: int,
        message_id: str,
        counted: CountedCall,
        again: Again | None,
    ) -> None:
        self.ports = ports
        self.model = model
        self.step = step
        self.counted = counted
        self.again = again
        self.blocks = _Blocks(ports, message_id)

    @property
    def message_id(self) -> str:
        return self.blocks.message_id

    def record(self) -> dict[str, Any]:
        """What came of it, for the journal."""
        return {"step": self.step, "parts": self.blocks.parts, **self.counted.record()}

    def withdrawal(self) -> list[Event]:
        """The events that take it back, and tell what it cost all the same."""
        told = usage_event(self.model, self.counted)
        return [*(() if told is None else (told,)), *self.blocks.retractions()]

    async def keep(self) -> None:
        """Store what came of it as an answer that was cut short."""
        if self.blocks.parts:
            await self.store((), "interrupted")

    async def store(
        self, calls: tuple[ProposedCall, ...], stop_reason: str, *, is_retracted: bool = False
    ) -> None:
        """Store it as the answer."""
        blocks, ports = self.blocks, self.ports
        content = [*blocks.parts, *(call.to_wire() for call in calls)]
        data: dict[str, Any] = {
            "message": {"id": blocks.message_id, "role": "assistant", "parts": content},
            "stop_reason": stop_reason,
            "step": self.step,
            "model": self.model.info.label,
            **({"retracted": True} if is_retracted else {}),
            **self.counted.record(),
        }
        told = usage_event(self.model, self.counted)
        events: list[Event] = [] if told is None else [told]
        for index, call in enumerate(calls, start=blocks.count):
            events += [_call_block(blocks.message_id, index), call.event]
        await ports.commit("message", data, *events)


class _Incoming:
    """An answer as it arrives."""

    def __init__(self, ports: Ports, attempt: _Attempt) -> None:
        self.blocks = attempt.blocks
        self.calls: list[CallReady] = []
        self.served: list[ServerCall] = []
        self.end: StepEnd | None = None
        self._drafts = _Drafts(ports)
        self._counted = attempt.counted

    def take(self, event: ModelEvent) -> None:
        if isinstance(event, TextChunk):
            self._counted.size_chars += len(event.text)
            self.blocks.text(event.text)
        elif isinstance(event, ReasoningChunk):
            self._counted.size_chars += len(event.text)
            self.blocks.thinking(event.text)
        elif isinstance(event, ReasoningData):
            self.blocks.thought(event.data)
        elif isinstance(event, ServerCall):
            self.served.append(event)
        elif isinstance(event, CallProgress):
            self._drafts.show(event)
        elif isinstance(event, CallReady):
            self.calls.append(event)
        else:
            self.end = event


async def _next_request(
    ports: Ports, step: int, toolset: Toolset, again: Again | None
) -> ModelRequest | None:
    """What to ask the model; None after a Stop, and when the last word is its own already."""
    if ports.is_stopped():
        return None
    await ports.before_request(step)
    conversation = ports.conversation()
    last = conversation.last
    if again == "nudged":
        conversation = conversation.appended(user_message(ports.new_id("m"), NUDGE))
    elif not (again or last is None or last.role != "assistant" or last.tool_calls):
        return None
    system = system_text(ports.system, toolset.tools)
    return ModelRequest(conversation, system, toolset.specs, ports.lineup.thinking)


def _call_block(message_id: str, index: int) -> BlockStart:
    return BlockStart(message_id=message_id, index=index, block_type="tool_call")


def _reason_without_calls(ports: Ports, end: StepEnd) -> str:
    """Why a run ends with an answer that asks for nothing; unusual ends become a notice."""
    match end.reason:
        case "stop" | "tool_calls" | "pause":
            return "completed"
        case "length":
            text = "The answer was cut by the model's output limit; a half call was not run."
            _notice(ports, "max_output", text)
            return "max_output"
        case "content_filter" | "refusal":
            _notice(ports, "refusal", "The model declined to answer.")
            return "refusal"
        case "other":
            _notice(ports, "stop_reason", f"The model stopped for the reason {end.detail!r}.")
            return "completed"


def _notice(ports: Ports, code: str, message: str) -> None:
    ports.emit(notice("model", code, message))


class _Blocks:
    """The text and thinking blocks of one answer, published as they grow."""

    def __init__(self, ports: Ports, message_id: str) -> None:
        self.message_id = message_id
        self.parts: list[dict[str, Any]] = []
        self.count = 0
        self._emit = ports.emit
        self._open: BlockType | None = None
        self._chunks: list[str] = []

    def text(self, text: str) -> None:
        if not text:
            return
        if self._open != "text":
            self._begin("text")
        self._chunks.append(text)
        self._emit(MsgTextDelta(message_id=self.message_id, index=self.count, text=text))

    def thinking(self, text: str) -> None:
        if not text:
            return
        if self._open != "thinking":
            self._begin("thinking")
        self._chunks.append(text)
        self._emit(MsgThinkingDelta(message_id=self.message_id, index=self.count, text=text))

    @property
    def is_blank(self) -> bool:
        """Whether nothing of it is text that a person could read; thinking is none."""
        return not any(part["type"] == "text" and part["text"].strip() for part in self.parts)

    def retractions(self) -> list[Event]:
        """What takes back all that was shown, the last block first."""
        places = reversed(range(self.count))
        return [MsgRetracted(message_id=self.message_id, index=index) for index in places]

    def retract(self) -> bool:
        """Take back all that was shown of the answer, the last block first; none of it is stored.

        Whether there was anything.
        """
        self.close()
        for event in self.retractions():
            self._emit(event)
        self.parts = []
        return self.count > 0

    def thought(self, data: dict[str, Any]) -> None:
        """End a block of thinking with what its vendor wants back."""
        if self._open != "thinking":
            self._begin("thinking")
        self.close(data)

    def close(self, data: dict[str, Any] | None = None) -> None:
        """End the open block, if there is one."""
        if self._open is None:
            return
        text = "".join(self._chunks)
        kind = "reasoning" if self._open == "thinking" else "text"
        part = {"type": kind, "text": text}
        self.parts.append(part if data is None else {**part, "data": data})
        self._emit(
            BlockEnd(
                message_id=self.message_id,
                index=self.count,
                block_type=self._open,
                text=text if self._open == "thinking" else None,
                data=data,
            )
        )
        self.count += 1
        self._open = None
        self._chunks = []

    def _begin(self, block_type: BlockType) -> None:
        self.close()
        self._open = block_type
        self._emit(BlockStart(message_id=self.message_id, index=self.count, block_type=block_type))


class _Drafts:
    """Calls whose arguments are arriving: each event carries only what is new."""

    def __init__(self, ports: Ports) -> None:
        self._emit = ports.emit
        self._shown: dict[int, int] = {}

    def show(self, progress: CallProgress) -> None:
        shown = self._shown.get(progress.index, 0)
        added = progress.arguments[shown:]
        if added or progress.index not in self._shown:
            self._shown[progress.index] = len(progress.arguments)
            self._emit(ToolDrafted(index=progress.index, name=progress.name, arguments=added))

"""Which reducer actions an event stands for (unified model, section 9)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from .actions import (
    Action,
    ApplyPart,
    Finish,
    MessageStart,
    Reasoning,
    Reset,
    Retry,
    Send,
    Stop,
    StreamError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolPhase,
    ToolResult,
)
from .errors import CANCELLED
from .events import (
    AgentCompleted,
    BlockEnd,
    BlockStart,
    Event,
    InputReceived,
    MsgTextDelta,
    PermissionDecided,
    PermissionRequested,
    SessionReset,
    ToolAnswered,
    ToolCompleted,
    ToolEndedLate,
    ToolFailed,
    ToolProposed,
    TurnAborted,
    TurnCompleted,
    TurnError,
    TurnStarted,
)

NOTHING: Final[tuple[Action, ...]] = ()


def actions_of(event: Event) -> tuple[Action, ...]:
    """The actions to fold for ``event``, in order; empty for events the chat does not show."""
    make = _MAKERS.get(type(event))
    return NOTHING if make is None else make(event)


def _input(event: InputReceived) -> tuple[Action, ...]:
    return NOTHING if event.queue else (Send(event.message_id, event.text, event.images),)


def _started(event: TurnStarted) -> tuple[Action, ...]:
    return (Retry(),) if event.trigger == "retry" else NOTHING


def _block_start(event: BlockStart) -> tuple[Action, ...]:
    return (ApplyPart(MessageStart(event.message_id), event.agent_id),)


def _text(event: MsgTextDelta) -> tuple[Action, ...]:
    return (ApplyPart(TextDelta(event.message_id, event.text), event.agent_id),)


def _block_end(event: BlockEnd) -> tuple[Action, ...]:
    data = event.data if isinstance(event.data, dict) else None
    if event.block_type != "thinking" or not (event.text or data):
        return NOTHING
    thought = Reasoning(event.message_id, event.text or "", data)
    return (ApplyPart(thought, event.agent_id),)


def _proposed(event: ToolProposed) -> tuple[Action, ...]:
    call = ToolCall(event.message_id, event.tool_call_id, event.name, event.args)
    return (ApplyPart(call, event.agent_id),)


def _requested(event: PermissionRequested) -> tuple[Action, ...]:
    return (ToolPhase(event.name, "awaiting-confirmation", event.prompt, event.tool_call_id),)


def _decided(event: PermissionDecided) -> tuple[Action, ...]:
    return (ToolPhase(event.name, "running", None, event.tool_call_id),)


def _answered(event: ToolAnswered) -> tuple[Action, ...]:
    return (ToolPhase(event.name, "running", None, event.tool_call_id),)


def _completed(event: ToolCompleted) -> tuple[Action, ...]:
    if event.is_error:
        # A provider failure surfaces as completed with isError; the card shows an error.
        part = ToolError(event.tool_call_id, event.output)
        return (ApplyPart(part, event.agent_id),)
    return (ApplyPart(ToolResult(event.tool_call_id, event.output), event.agent_id),)


def _failed(event: ToolFailed | ToolEndedLate) -> tuple[Action, ...]:
    code = CANCELLED if event.error_type == "cancelled" else event.error_type
    shown = event.output if isinstance(event.output, Mapping) else {}
    error = {**shown, "code": code, "message": event.message}
    return (ApplyPart(ToolError(event.tool_call_id, error), event.agent_id),)


def _agent_completed(event: AgentCompleted) -> tuple[Action, ...]:
    if event.outcome == "error":
        return (ApplyPart(StreamError(event.message or "failed"), event.tool_call_id),)
    reason = "aborted" if event.outcome == "aborted" else None
    return (ApplyPart(Finish(reason), event.tool_call_id),)


def _turn_error(event: TurnError) -> tuple[Action, ...]:
    if event.recoverable:
        return NOTHING
    return (ApplyPart(StreamError(event.message, event.error_kind)),)


def _turn_completed(event: TurnCompleted) -> tuple[Action, ...]:
    return (ApplyPart(Finish(event.reason)),)


def _turn_aborted(event: TurnAborted) -> tuple[Action, ...]:
    return NOTHING if event.reason == "error" else (Stop(),)  # turn.error came before it


def _reset(_event: SessionReset) -> tuple[Action, ...]:
    return (Reset(),)


_MAKERS: Final[dict[type[Event], Callable[[Any], tuple[Action, ...]]]] = {
    InputReceived: _input,
    TurnStarted: _started,
    BlockStart: _block_start,
    MsgTextDelta: _text,
    BlockEnd: _block_end,
    ToolProposed: _proposed,
    PermissionRequested: _requested,
    PermissionDecided: _decided,
    ToolAnswered: _answered,
    ToolCompleted: _completed,
    ToolFailed: _failed,
    ToolEndedLate: _failed,
    AgentCompleted: _agent_completed,
    TurnError: _turn_error,
    TurnCompleted: _turn_completed,
    TurnAborted: _turn_aborted,
    SessionReset: _reset,
}

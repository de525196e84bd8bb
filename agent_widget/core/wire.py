"""Wire form of session states and messages: one explicit table per object.

Shapes and names are those of the session reducer document: ``{"messages": [...], "status": ...,
"error"?: {...}}``; absent values are absent keys, never null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from msgspec import UNSET

from .errors import SessionError
from .messages import (
    Conversation,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolPart,
    ToolState,
)
from .state import ErrorInfo, SessionState, Status

WireObject = dict[str, Any]


def state_to_wire(state: SessionState) -> WireObject:
    """``state`` as JSON data."""
    wire: WireObject = {"messages": messages_to_wire(state.messages), "status": state.status}
    if state.error is not None:
        wire["error"] = {"message": state.error.message}
        if state.error.code is not None:
            wire["error"]["code"] = state.error.code
    return wire


def messages_to_wire(messages: Iterable[Message]) -> list[WireObject]:
    return [message_to_wire(message) for message in messages]


def message_to_wire(message: Message) -> WireObject:
    parts = [part_to_wire(part) for part in message.parts]
    return {"id": message.id, "role": message.role, "parts": parts}


def part_to_wire(part: Part) -> WireObject:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ReasoningPart):
        wire: WireObject = {"type": "reasoning", "text": part.text}
        if part.data is not None:
            wire["data"] = part.data
        return wire
    if isinstance(part, ImagePart):
        return part.block
    wire = {"type": "tool", "id": part.id, "name": part.name, "input": part.input}
    wire["state"] = part.state
    if part.prompt is not None:
        wire["prompt"] = part.prompt
    if part.output is not UNSET:
        wire["output"] = part.output
    if part.error is not UNSET:
        wire["error"] = part.error
    if part.agent is not None:
        wire["agent"] = state_to_wire(part.agent)
    return wire


def state_from_wire(wire: object) -> SessionState:
    """The state that JSON data stands for. Raises SessionError naming the bad value."""
    data = _object(wire, "session state")
    status: Status = _one_of(data.get("status", "idle"), get_args(Status), "status")
    error = data.get("error")
    info = None
    if error is not None:
        fields = _object(error, "error")
        info = ErrorInfo(_text(fields.get("message", ""), "error.message"), fields.get("code"))
    return SessionState.of(messages_from_wire(data.get("messages", ())), status, info)


def messages_from_wire(wire: object) -> Conversation:
    if not isinstance(wire, Sequence) or isinstance(wire, str):
        raise _bad("messages", wire, "a list of messages")
    return Conversation.of(message_from_wire(message) for message in wire)


def message_from_wire(wire: object) -> Message:
    data = _object(wire, "message")
    role: Role = _one_of(data.get("role"), get_args(Role), "role")
    parts = data.get("parts", ())
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        raise _bad("parts", parts, "a list of parts")
    return Message(
        _text(data.get("id"), "id"), role, tuple(_part_from_wire(part) for part in parts)
    )


def _part_from_wire(wire: object) -> Part:
    data = _object(wire, "part")
    match data.get("type"):
        case "text":
            return TextPart.of(_text(data.get("text"), "text"))
        case "reasoning":
            return ReasoningPart(_text(data.get("text"), "text"), data.get("data"))
        case "tool":
            return _tool_part_from_wire(data)
        case "image":
            return ImagePart(_text(data.get("mime"), "mime"), _text(data.get("data"), "data"))
        case "unavailable":
            return ImagePart(_text(data.get("mime"), "mime"))
        case other:
            raise _bad("part type", other, "'text', 'reasoning', 'tool' or 'image'")


def _tool_part_from_wire(data: Mapping[str, Any]) -> ToolPart:
    state: ToolState = _one_of(data.get("state"), get_args(ToolState), "state")
    agent = data.get("agent")
    return ToolPart(
        id=_text(data.get("id"), "id"),
        name=_text(data.get("name"), "name"),
        input=data.get("input"),
        state=state,
        prompt=data.get("prompt"),
        output=data.get("output", UNSET),
        error=data.get("error", UNSET),
        agent=None if agent is None else state_from_wire(agent),
    )


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _bad(what, value, "an object")
    return value


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise _bad(what, value, "a string")
    return value


def _one_of(value: Any, choices: tuple[str, ...], what: str) -> Any:
    if value not in choices:
        raise _bad(what, value, "one of " + ", ".join(choices))
    return value


def _bad(what: str, value: object, wanted: str) -> SessionError:
    message = f"Cannot read a stored session: {what} is {value!r}, expected {wanted}."
    return SessionError("session_store_corrupted", message)

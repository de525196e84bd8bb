"""A view as JSON data of its own: whole, for any process, and free of objects of this package."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from msgspec import UNSET, Struct

from ..core.messages import (
    Conversation,
    ImagePart,
    Json,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
)
from .model import NO_FACTS, NOT_LIVE, Notice, SessionView, UsageView

CardState = Literal["running", "awaiting_permission", "completed", "failed", "denied", "cancelled"]

_STATES: Final[Mapping[str, CardState]] = {
    "running": "running",
    "awaiting-confirmation": "awaiting_permission",
    "done": "completed",
    "error": "failed",
    "cancelled": "cancelled",
}


def snapshot_of(
    view: SessionView, open_thinking: Mapping[str, str] | None = None
) -> dict[str, Json]:
    """``view`` as JSON data that shares nothing with it.

    Keys: ``session_id``, ``name``, ``connection``, ``phase``, ``status``, ``interaction``,
    ``messages`` (each with ``parts``, whose calls name a card), ``tools`` (cards by call id, those
    of sub-agents too), ``agents`` (by the id of their call, with their messages), ``todos``,
    ``usage`` and ``run_usage`` (of the run under way, or the last), ``notices`` (20 at most),
    ``last_error`` (or None), ``pending_input``, ``question``, ``model``, ``mode`` and ``storage``.
    ``open_thinking`` is thinking under way, by message id.
    """
    thinking = open_thinking or {}
    return {
        "session_id": view.session_id,
        "name": view.name,
        "connection": view.connection,
        "phase": view.phase,
        "status": view.chat.status,
        "interaction": {"can_send": view.can_send, "revision": view.revision},
        "messages": [_message(message, view, thinking) for message in view.chat.messages],
        "tools": {call.id: _card(call, view) for call in _calls(view.chat.messages)},
        "agents": _agents(view),
        "todos": [_without_none(_data(todo)) for todo in view.todos],
        "usage": _usage(view.usage),
        "run_usage": _usage(view.run_usage),
        "notices": [_notice(notice) for notice in view.notices],
        "last_error": None if view.error is None else _without_none(_data(view.error)),
        "pending_input": [_data(row) for row in view.input.waiting],
        "question": None if view.question is None else _data(view.question),
        "model": _data(view.model),
        "mode": view.mode,
        "storage": _data(view.storage),
    }


def _usage(usage: UsageView) -> dict[str, Json]:
    return {**_data(usage), "total_tokens": usage.total_tokens}


def _message(message: Message, view: SessionView, thinking: Mapping[str, str]) -> dict[str, Json]:
    parts = [_part(part) for part in message.parts]
    if thinking.get(message.id):
        parts.append({"type": "reasoning", "text": thinking[message.id]})
    data: dict[str, Json] = {"id": message.id, "role": message.role, "parts": parts}
    if message.id in view.marks:
        data["mark"] = view.marks[message.id]
    if message.id in view.notes:
        data["note"] = _data(view.notes[message.id])
    if message.id in view.branches:
        data["branch"] = _data(view.branches[message.id])
    return data


def _part(part: Part) -> dict[str, Json]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ReasoningPart():
            return {"type": "reasoning", "text": part.text}
        case ToolPart():
            return {"type": "tool", "id": part.id, "name": part.name}
        case ImagePart():
            return part.block


def _calls(messages: Conversation) -> Iterator[ToolPart]:
    """All calls, those of sub-agents after the one that started them."""
    for message in messages:
        for call in message.tool_calls:
            yield call
            if call.agent is not None:
                yield from _calls(call.agent.messages)


def _card(call: ToolPart, view: SessionView) -> dict[str, Json]:
    facts, live = view.facts.get(call.id, NO_FACTS), view.live.get(call.id, NOT_LIVE)
    card: dict[str, Json] = {
        "name": call.name,
        "state": "denied" if facts.is_denied else _STATES[call.state],
        "input": _data(call.input),
        "prompt": call.prompt,
        "text": facts.text,
        "language": facts.language,
        "is_edited": facts.is_edited,
        "duration_ms": facts.duration_ms,
        "progress": live.progress,
        "partial_output": None if live.output is None else live.output.text,
    }
    card = _without_none(card)
    if call.output is not UNSET:
        card["output"] = _data(call.output)
    if call.error is not UNSET:
        card["error"] = _data(call.error)
    return card


def _agents(view: SessionView) -> dict[str, Json]:
    runs = {call.id: call.agent for call in _calls(view.chat.messages) if call.agent is not None}
    found: dict[str, Json] = {}
    for call_id, agent in view.agents.items():
        run = runs.get(call_id)
        messages = [] if run is None else [_message(each, view, {}) for each in run.messages]
        found[call_id] = {**_without_none(_data(agent)), "messages": messages}
    return found


def _notice(notice: Notice) -> dict[str, Json]:
    data: dict[str, Json] = {"nid": notice.nid, "code": notice.code}
    if notice.message:
        data["message"] = notice.message
    if notice.detail is not None:
        data["detail"] = _data(notice.detail)
    return data


def _data(value: Json) -> Json:
    """``value`` as JSON data of its own."""
    if isinstance(value, Struct):
        return {name: _data(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        return {name: _data(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_data(item) for item in value]
    return value


def _without_none(data: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in data.items() if value is not None}

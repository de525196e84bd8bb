"""Blocks of an answer, as far as the chat state does not know them: where they begin.

The text of a message is one part whatever number of blocks it came in, so that a block can only be
taken back by where it lies.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from ..core.events import BlockStart, MsgRetracted
from ..core.messages import Message, Part, TextPart, ToolPart
from ..core.state import SessionState
from .model import BlockPlace, SessionView


def with_block(view: SessionView, event: BlockStart) -> SessionView:
    """``view`` with the place where a block begins; its message is there already."""
    run = _run(view.chat, event.agent_id)
    at = None if run is None else _message_index(run, event.message_id)
    if run is None or at is None:
        return view
    parts = run.messages[at].parts
    chars = sum(part.size_chars for part in parts if isinstance(part, TextPart))
    others = sum(not isinstance(part, TextPart) for part in parts)
    place = BlockPlace(event.message_id, event.index, chars, others)
    known = view.blocks.get(event.agent_id, ())
    same = tuple(each for each in known if each.message_id == event.message_id)
    return replace(view, blocks={**view.blocks, event.agent_id: (*same, place)})


def without_block(view: SessionView, event: MsgRetracted) -> SessionView:
    """``view`` without what came in a block of the newest answer; the message stays, even empty.

    Unknown blocks change nothing.
    """
    places = view.blocks.get(event.agent_id, ())
    found = [
        at
        for at, place in enumerate(places)
        if place.index == event.index and place.message_id == event.message_id
    ]
    if not found:
        return view
    place, later = places[found[-1]], places[found[-1] + 1 :]
    end = later[0] if later else None

    def edit(run: SessionState) -> SessionState:
        at = _message_index(run, place.message_id)
        if at is None:
            return run
        message = _cut(run.messages[at], place, end)
        return SessionState.of(run.messages.replaced(at, message), run.status, run.error)

    chat = edited_run(view.chat, event.agent_id, edit)
    moved = later
    if end is not None:
        chars, others = end.text_chars - place.text_chars, end.other_parts - place.other_parts
        moved = tuple(
            replace(each, text_chars=each.text_chars - chars, other_parts=each.other_parts - others)
            for each in later
        )
    left = {**view.blocks, event.agent_id: (*places[: found[-1]], *moved)}
    return replace(view, chat=chat, blocks=left)


def _cut(message: Message, start: BlockPlace, end: BlockPlace | None) -> Message:
    """``message`` without the text and the parts that came from ``start`` to ``end``."""
    parts: list[Part] = []
    others = chars = 0
    for part in message.parts:
        if isinstance(part, TextPart):
            text = part.text
            first = max(0, start.text_chars - chars)
            last = len(text) if end is None else max(0, end.text_chars - chars)
            chars += len(text)
            if kept := text[:first] + text[last:]:
                parts.append(TextPart.of(kept))
        else:
            if others < start.other_parts or (end is not None and others >= end.other_parts):
                parts.append(part)
            others += 1
    return replace(message, parts=tuple(parts))


def _message_index(run: SessionState, message_id: str) -> int | None:
    messages = run.messages
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].id == message_id and messages[at].role == "assistant":
            return at
    return None


def _run(chat: SessionState, agent_id: str | None) -> SessionState | None:
    """The run of the main agent or, by the id of its call, of a sub-agent."""
    if agent_id is None:
        return chat
    for message in reversed(chat.messages):
        for call in reversed(message.tool_calls):
            if call.id == agent_id:
                return call.agent
            nested = None if call.agent is None else _run(call.agent, agent_id)
            if nested is not None:
                return nested
    return None


def edited_run(
    chat: SessionState, agent_id: str | None, edit: Callable[[SessionState], SessionState]
) -> SessionState:
    """``chat`` with its own run edited or, by the id of its call, that of a sub-agent."""
    return edit(chat) if agent_id is None else _edited(chat, agent_id, edit)


def _edited(
    chat: SessionState, agent_id: str, edit: Callable[[SessionState], SessionState]
) -> SessionState:
    """``chat`` with the run of a sub-agent edited; the same object when there is none."""
    messages = chat.messages
    for at in range(len(messages) - 1, -1, -1):
        parts = messages[at].parts
        for place in range(len(parts) - 1, -1, -1):
            call = parts[place]
            if not isinstance(call, ToolPart) or call.agent is None:
                continue
            is_it = call.id == agent_id
            run = edit(call.agent) if is_it else _edited(call.agent, agent_id, edit)
            if run is call.agent:
                continue
            changed = (*parts[:place], replace(call, agent=run), *parts[place + 1 :])
            message = replace(messages[at], parts=changed)
            return SessionState.of(messages.replaced(at, message), chat.status, chat.error)
    return chat

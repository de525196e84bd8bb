"""The chat session as a pure state machine. Source: session reducer document.

``session_reducer`` is total: what it does not know, and what names a message or call that does
not exist, changes nothing. It never mutates its input and reads no clock and no ids of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from .actions import (
    Action,
    ApplyPart,
    Finish,
    MessageStart,
    Reasoning,
    Reset,
    Retry,
    Send,
    StepFinish,
    Stop,
    StreamError,
    StreamPart,
    TextDelta,
    ToolCall,
    ToolError,
    ToolPhase,
    ToolResult,
    read_action,
)
from .errors import is_cancelled
from .machine import CALL_BEGINS, CALL_CUT, CALL_ENDS, STATUS_AFTER
from .messages import Conversation, Message, Part, ReasoningPart, TextPart, ToolPart, user_message
from .resumable import resumable
from .state import ErrorInfo, SessionState, Status, empty_state

_Path: TypeAlias = tuple[int, int]
"""Where a part is: index of its message, index in the message."""


def session_reducer(state: SessionState, action: Action | Mapping[str, Any]) -> SessionState:
    """The state after ``action``; the same object when a ``ToolPhase`` changes nothing.

    ``action`` is one of ``core.actions`` or its wire form (a mapping). A text delta for the text
    that is growing costs O(len(delta)).
    """
    if type(action) is ApplyPart and action.within is None:
        part = action.part
        if type(part) is TextDelta:  # the one that comes for every token
            return state.grown(part.message_id, part.text) or _text_begins(state, part)
        handler = _PARTS.get(type(part))
        return state if handler is None else handler(state, part)
    reduce = _ACTIONS.get(type(action))
    if reduce is not None:
        return reduce(state, action)
    known = read_action(action) if isinstance(action, Mapping) else None
    return state if known is None else session_reducer(state, known)


def _settled(
    state: SessionState,
    messages: Conversation,
    status: Status | None = None,
    error: ErrorInfo | None = None,
) -> SessionState:
    return SessionState(messages, None, status or state.status, error)


# --- actions ---------------------------------------------------------------------------------


def _send(state: SessionState, action: Send) -> SessionState:
    message = user_message(action.id, action.text, action.images)
    return _settled(state, state.messages.appended(message), STATUS_AFTER[Send])


def _nested_part(state: SessionState, action: ApplyPart) -> SessionState:
    assert action.within is not None
    handler = _PARTS.get(type(action.part))
    if handler is None:
        return state

    def apply(call: ToolPart) -> ToolPart:
        run = call.agent or empty_state()
        after = handler(run, action.part)
        return call if after is run else replace(call, agent=after)

    return _edit_call_by_id(state, action.within, apply) or state


def _tool_phase(state: SessionState, action: ToolPhase) -> SessionState:
    def is_meant(call: ToolPart) -> bool:
        return call.is_open and call.name == action.name and action.id in (None, call.id)

    def set_phase(call: ToolPart) -> ToolPart:
        if call.state == action.state and call.prompt == action.prompt:
            return call
        return replace(call, state=action.state, prompt=action.prompt)

    return _edit_newest_call(state, is_meant, set_phase) or state


def _stop(state: SessionState, _action: Stop) -> SessionState:
    return _settled(state, _with_calls_cancelled(state.messages), STATUS_AFTER[Stop], state.error)


def _retry(state: SessionState, _action: Retry) -> SessionState:
    messages = state.messages
    if not any(message.role == "user" for message in reversed(messages)):
        return state
    return _settled(state, resumable(messages), STATUS_AFTER[Retry])


def _reset(_state: SessionState, _action: Reset) -> SessionState:
    return empty_state()


# --- stream parts ----------------------------------------------------------------------------


def _message_start(state: SessionState, part: MessageStart) -> SessionState:
    messages = state.messages
    if _assistant_index(messages, part.message_id) is not None:
        return state
    started = Message(part.message_id, "assistant")
    return _settled(state, messages.appended(started), None, state.error)


def _text_delta(state: SessionState, part: TextDelta) -> SessionState:
    return state.grown(part.message_id, part.text) or _text_begins(state, part)


def _text_begins(state: SessionState, part: TextDelta) -> SessionState:
    """A delta that no text is growing for: find its message, make it the growing text."""
    messages = state.messages
    index = _assistant_index(messages, part.message_id)
    if index is None or not part.text:
        return state
    message = messages[index]
    texts = [at for at, own in enumerate(message.parts) if isinstance(own, TextPart)]
    if texts:
        at = texts[-1]
        text = message.parts[at]
        assert isinstance(text, TextPart)
        grown = text.grow(part.text)
        parts: tuple[Part, ...] = (*message.parts[:at], grown, *message.parts[at + 1 :])
    else:
        grown = TextPart.of(part.text)
        parts = (*message.parts, grown)
    after = messages.replaced(index, replace(message, parts=parts))
    tail = grown if index == len(messages) - 1 else None
    return state.with_tail(after, tail)


def _reasoning(state: SessionState, part: Reasoning) -> SessionState:
    return _with_part(state, part.message_id, ReasoningPart(part.text, part.data))


def _tool_call(state: SessionState, part: ToolCall) -> SessionState:
    messages = state.messages
    index = _assistant_index(messages, part.message_id)
    if index is None or any(call.id == part.id for call in messages[index].tool_calls):
        return state
    return _with_part(state, part.message_id, ToolPart(part.id, part.name, part.input, CALL_BEGINS))


def _tool_result(state: SessionState, part: ToolResult) -> SessionState:
    (end,) = CALL_ENDS[ToolResult]

    def closed(call: ToolPart) -> ToolPart:
        return replace(call, state=end, prompt=None, output=part.output)

    return _close_call(state, part.id, closed)


def _tool_error(state: SessionState, part: ToolError) -> SessionState:
    failed, cancelled = CALL_ENDS[ToolError]
    end = cancelled if is_cancelled(part.error) else failed

    def closed(call: ToolPart) -> ToolPart:
        return replace(call, state=end, prompt=None, error=part.error)

    return _close_call(state, part.id, closed)


def _step_finish(state: SessionState, _part: StepFinish) -> SessionState:
    return state


def _finish(state: SessionState, part: Finish) -> SessionState:
    messages = state.messages
    if part.reason == "aborted":
        messages = _with_calls_cancelled(messages)
    return _settled(state, messages, STATUS_AFTER[Finish], state.error)


def _error(state: SessionState, part: StreamError) -> SessionState:
    messages = _with_calls_cancelled(state.messages)
    return _settled(state, messages, STATUS_AFTER[StreamError], ErrorInfo(part.error, part.code))


# --- finding and editing ---------------------------------------------------------------------


def _assistant_index(messages: Conversation, message_id: str) -> int | None:
    index = len(messages)
    for message in reversed(messages):
        index -= 1
        if message.id == message_id and message.role == "assistant":
            return index
    return None


def _with_part(state: SessionState, message_id: str, part: Part) -> SessionState:
    messages = state.messages
    index = _assistant_index(messages, message_id)
    if index is None:
        return state
    message = messages[index]
    after = replace(message, parts=(*message.parts, part))
    return _settled(state, messages.replaced(index, after), None, state.error)


def _calls_newest_first(messages: Conversation) -> Iterator[tuple[_Path, ToolPart]]:
    """Calls of this conversation, last in reading order first."""
    for index in range(len(messages) - 1, -1, -1):
        parts = messages[index].parts
        for at in range(len(parts) - 1, -1, -1):
            part = parts[at]
            if isinstance(part, ToolPart):
                yield (index, at), part


def _replace_call(state: SessionState, path: _Path, call: ToolPart) -> SessionState:
    index, at = path
    messages = state.messages
    message = messages[index]
    parts = (*message.parts[:at], call, *message.parts[at + 1 :])
    after = messages.replaced(index, replace(message, parts=parts))
    return _settled(state, after, None, state.error)


def _close_call(
    state: SessionState, call_id: str, close: Callable[[ToolPart], ToolPart]
) -> SessionState:
    """Close the newest open call of that id, or else the newest one of that id."""
    newest: tuple[_Path, ToolPart] | None = None
    for path, call in _calls_newest_first(state.messages):
        if call.id != call_id:
            continue
        if call.is_open:
            return _replace_call(state, path, close(call))
        newest = newest or (path, call)
    return state if newest is None else _replace_call(state, newest[0], close(newest[1]))


def _edit_call_by_id(
    state: SessionState, call_id: str, edit: Callable[[ToolPart], ToolPart]
) -> SessionState | None:
    """Edit the call with that id here or in a nested run; None when there is none."""
    return _edit_newest_call(state, lambda call: call.id == call_id, edit)


def _edit_newest_call(
    state: SessionState, is_meant: Callable[[ToolPart], bool], edit: Callable[[ToolPart], ToolPart]
) -> SessionState | None:
    """Edit the last matching call in reading order, nested runs counted at their call.

    Calls of a nested run come after the call that started it. None when nothing matches; the same
    state when ``edit`` returns the same call.
    """
    for path, call in _calls_newest_first(state.messages):
        if call.agent is not None:
            nested = _edit_newest_call(call.agent, is_meant, edit)
            if nested is not None:
                if nested is call.agent:
                    return state
                return _replace_call(state, path, replace(call, agent=nested))
        if is_meant(call):
            after = edit(call)
            return state if after is call else _replace_call(state, path, after)
    return None


def _with_calls_cancelled(messages: Conversation) -> Conversation:
    """``messages`` with every open call, nested ones included, cancelled."""
    for index, message in enumerate(messages):
        if any(isinstance(part, ToolPart) for part in message.parts):
            parts = tuple(_cancelled(part) for part in message.parts)
            if any(new is not old for new, old in zip(parts, message.parts, strict=True)):
                messages = messages.replaced(index, replace(message, parts=parts))
    return messages


def _cancelled(part: Part) -> Part:
    if not isinstance(part, ToolPart):
        return part
    agent = part.agent
    if agent is not None:
        messages = _with_calls_cancelled(agent.messages)
        if messages is not agent.messages:
            agent = SessionState(messages, None, STATUS_AFTER[Stop], agent.error)
    if part.is_open:
        return replace(part, state=CALL_CUT, prompt=None, agent=agent)
    return part if agent is part.agent else replace(part, agent=agent)


_ACTIONS: Final[Mapping[type, Callable[[SessionState, Any], SessionState]]] = {
    Send: _send,
    ApplyPart: _nested_part,
    ToolPhase: _tool_phase,
    Stop: _stop,
    Retry: _retry,
    Reset: _reset,
}

_PARTS: Final[Mapping[type[StreamPart], Callable[[SessionState, Any], SessionState]]] = {
    MessageStart: _message_start,
    TextDelta: _text_delta,
    Reasoning: _reasoning,
    ToolCall: _tool_call,
    ToolResult: _tool_result,
    ToolError: _tool_error,
    StepFinish: _step_finish,
    Finish: _finish,
    StreamError: _error,
}

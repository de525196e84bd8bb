"""A conversation as text: the same text at every run, so that tests can compare it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import UNSET

from ..core.messages import Message, TextPart, ToolPart
from ..core.state import SessionState

_INDENT: Final = "    "
_STATES: Final = {"running": "runs", "awaiting-confirmation": "waits for permission"}


def transcript(chat: Any) -> str:
    """The conversation of ``chat`` (anything with a ``state``, or a state) without ids and times.

    A call is one line with its arguments and how it ended; its result, and the conversation of a
    helper, follow indented.
    """
    state: SessionState = chat if isinstance(chat, SessionState) else chat.state
    return "\n".join(_lines(state)) + "\n"


def _lines(state: SessionState) -> Iterator[str]:
    for message in state.messages:
        yield from _message(message)
    if state.error is not None:
        yield f"Error: {getattr(state.error, 'message', None) or _json(state.error)}"


def _message(message: Message) -> Iterator[str]:
    who = "User" if message.role == "user" else "Agent"
    for part in message.parts:
        if isinstance(part, TextPart):
            yield from _labelled(who, part.text)
        elif isinstance(part, ToolPart):
            yield from _call(part)


def _labelled(who: str, text: str) -> Iterator[str]:
    first, *rest = text.split("\n")
    yield f"{who}: {first}"
    yield from (f"{_INDENT}{line}".rstrip() for line in rest)


def _call(call: ToolPart) -> Iterator[str]:
    args = call.input if isinstance(call.input, Mapping) else {"": call.input}
    told = ", ".join(f"{name}={_json(value)}" for name, value in args.items())
    yield f"Agent: {call.name}({told}) → {_STATES.get(call.state, call.state)}"
    if call.agent is not None:
        yield from (f"{_INDENT}{line}" for line in _lines(call.agent))
    for text in _result(call):
        yield from (f"{_INDENT}{line}".rstrip() for line in text.split("\n"))


def _result(call: ToolPart) -> Iterator[str]:
    if call.error is not UNSET:
        error = call.error
        yield (
            error["message"] if isinstance(error, Mapping) and "message" in error else _json(error)
        )
    output = None if call.output is UNSET else call.output
    content = output.get("content") if isinstance(output, Mapping) else None
    for block in content or ():
        if block.get("type") == "text":
            yield block["text"]
        else:
            yield f"[{block.get('mime') or block.get('type')}]"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=repr)

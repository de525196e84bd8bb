"""What the tests of the chat wire share: requests to make, chunks to send, events to expect."""

from __future__ import annotations

import json
from typing import Any

from agent_widget.core.errors import ModelError
from agent_widget.core.messages import Conversation, Message, user_message
from agent_widget.providers.base import (
    CallProgress,
    CallReady,
    Model,
    ModelEvent,
    ModelRequest,
    ReasoningChunk,
    StepEnd,
    TextChunk,
    ToolSpec,
)

DONE = b"data: [DONE]\n\n"
TOOL = ToolSpec("ls", "List.", {"type": "object", "properties": {}})


def asking(text: str = "hi", *more: Message, tools: tuple[ToolSpec, ...] = ()) -> ModelRequest:
    return ModelRequest(Conversation.of([user_message("u-1", text), *more]), tools=tools)


def data(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(finish: str | None = None, /, **fields: Any) -> bytes:
    """A chunk of the stream."""
    return data({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def calling(*fragments: Any, finish: str | None = None) -> bytes:
    """A chunk with fragments of tool calls."""
    return delta(finish, tool_calls=list(fragments))


async def events_of(model: Model, request: ModelRequest | None = None) -> list[ModelEvent]:
    return [event async for event in model.stream(request or asking())]


async def broken_answer(
    model: Model, request: ModelRequest | None = None
) -> tuple[ModelError, list[ModelEvent]]:
    """The error of a request, and the events before it."""
    events: list[ModelEvent] = []
    answer = model.stream(request or asking())
    while True:
        try:
            events.append(await anext(answer))
        except ModelError as error:
            return error, events


async def failure_of(model: Model, request: ModelRequest | None = None) -> ModelError:
    """The error of a request."""
    return (await broken_answer(model, request))[0]


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextChunk))


def reasoning_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ReasoningChunk))


def calls_of(events: list[ModelEvent]) -> list[CallReady]:
    return [event for event in events if isinstance(event, CallReady)]


def end_of(events: list[ModelEvent]) -> StepEnd:
    """The one end, which is the last event."""
    ends = [event for event in events if isinstance(event, StepEnd)]
    assert len(ends) == 1
    assert events[-1] is ends[0]
    return ends[0]


def drafts_of(events: list[ModelEvent]) -> list[CallProgress]:
    return [event for event in events if isinstance(event, CallProgress)]

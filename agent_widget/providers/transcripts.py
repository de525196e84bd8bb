"""What a recorded stream says, for people who debug a gateway."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import to_builtins

from ._answer import Answer, AnswerTooLong, ReportedError
from ._anthropic_stream import AnthropicAnswer
from ._chat_stream import ChatAnswer
from ._responses_stream import ResponsesAnswer
from ._sse import EventReader, EventTooLarge
from .base import (
    CallReady,
    ModelEvent,
    ReasoningChunk,
    ReasoningData,
    ServerCall,
    StepEnd,
    TextChunk,
)

MAKER: Final = "transcript"


def answer_of(wire: str) -> Answer:
    """A new answer of the wire ``openai-chat``, ``openai-responses`` or ``anthropic``."""
    if wire == "openai-chat":
        return ChatAnswer(MAKER)
    return ResponsesAnswer(MAKER) if wire == "openai-responses" else AnthropicAnswer(MAKER)


def transcript_report(wire: str, pieces: Iterable[bytes]) -> dict[str, Any]:
    """The parts, calls, usage and end of the stream whose bytes are ``pieces``, as JSON data.

    ``error`` is there when it is no whole answer; then there are no calls.
    """
    answer = answer_of(wire)
    reader = EventReader()
    events: list[ModelEvent] = []
    error: dict[str, Any] | None = None
    try:
        for piece in pieces:
            for event in reader.feed(piece):
                events += answer.read(event)
        for event in reader.end():
            events += answer.read(event)
    except ReportedError as reported:
        error = {"kind": "reported", "message": reported.words, "code": reported.code}
    except EventTooLarge:
        error = {"kind": "too_large", "message": "An event is too large."}
    except AnswerTooLong:
        error = {"kind": "too_large", "message": "The answer is too long."}
    if error is None and not answer.is_over:
        words = "No event could be read." if answer.is_unreadable else "The stream has no end."
        error = {"kind": "incomplete", "message": words}
    if error is None:
        numbers = iter(range(1, 10_000))
        events += answer.end(lambda: f"made-up-{next(numbers)}")
    return _report(events, error)


def _report(events: list[ModelEvent], error: dict[str, Any] | None) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    end: StepEnd | None = None
    for event in events:
        match event:
            case TextChunk():
                _grow(parts, "text", event.text)
            case ReasoningChunk():
                _grow(parts, "reasoning", event.text)
            case ReasoningData():
                if not parts or parts[-1]["type"] != "reasoning" or "data" in parts[-1]:
                    parts.append({"type": "reasoning", "text": ""})
                parts[-1]["data"] = event.data["block"]
            case ServerCall():
                parts.append({"type": "server_call", **to_builtins(event)})
            case CallReady():
                calls.append(to_builtins(event))
            case StepEnd():
                end = event
            case _:  # calls that grow
                pass
    report: dict[str, Any] = {"parts": parts, "calls": calls, "usage": None, "end": None}
    if end is not None:
        report["usage"] = None if end.usage is None else to_builtins(end.usage)
        report["end"] = {"reason": end.reason, "detail": end.detail}
    return report if error is None else {**report, "error": error}


def _grow(parts: list[dict[str, Any]], kind: str, text: str) -> None:
    if parts and parts[-1]["type"] == kind and "data" not in parts[-1]:
        parts[-1]["text"] += text
    else:
        parts.append({"type": kind, "text": text})

"""What a recorded stream says, for people who debug a gateway."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
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
_BEFORE: Final = b"\xef\xbb\xbf \t\r\n"
"""What may stand around an object: a byte order mark, blanks."""
_SHOWN_BYTES: Final = 60


def answer_of(wire: str) -> Answer:
    """A new answer of the wire ``openai-chat``, ``openai-responses`` or ``anthropic``."""
    if wire == "openai-chat":
        return ChatAnswer(MAKER)
    return ResponsesAnswer(MAKER) if wire == "openai-responses" else AnthropicAnswer(MAKER)


def transcript_report(wire: str, pieces: Iterable[bytes]) -> dict[str, Any]:
    """The parts, calls, usage and end of the stream whose bytes are ``pieces``, as JSON data.

    An answer that was not streamed is one JSON object. ``error`` is there when it is no whole
    answer; then there are no calls.
    """
    answer = answer_of(wire)
    events: list[ModelEvent] = []
    error: dict[str, Any] | None = None
    try:
        for news in _news(answer, iter(pieces)):
            events += news
    except ReportedError as reported:
        error = {"kind": "reported", "message": reported.words, "code": reported.code}
    except EventTooLarge:
        error = {"kind": "too_large", "message": "An event is too large."}
    except AnswerTooLong:
        error = {"kind": "too_large", "message": "The answer is too long."}
    except _NoStream as no_stream:
        error = {"kind": "unreadable", "message": f"There are no events in it: {no_stream}"}
    if error is None and answer.is_unreadable:
        error = {"kind": "unreadable", "message": f"Nothing in it is of the wire {wire}."}
    if error is None and not answer.is_over:
        error = {"kind": "incomplete", "message": "The stream has no end."}
    if error is None:
        numbers = iter(range(1, 10_000))
        events += answer.end(lambda: f"made-up-{next(numbers)}")
    return _report(events, error)


class _NoStream(Exception):
    """Bytes that are neither a stream nor an object: how they begin."""


def _news(answer: Answer, pieces: Iterator[bytes]) -> Iterator[list[ModelEvent]]:
    """What the bytes add to ``answer``. Raises what its ``read`` does, EventTooLarge, _NoStream."""
    first = next(pieces, b"")
    if first.lstrip(_BEFORE).startswith(b"{"):  # no line of a stream begins like this
        body = b"".join((first, *pieces))
        yield answer.read_whole(body.strip(_BEFORE))
        return
    reader, has_events = EventReader(), False
    for piece in chain((first,), pieces):
        for event in reader.feed(piece):
            has_events = True
            yield answer.read(event)
    for event in reader.end():
        has_events = True
        yield answer.read(event)
    if not has_events and first.strip(_BEFORE) and not first.lstrip(_BEFORE).startswith(b":"):
        raise _NoStream(f"it begins with {first[:_SHOWN_BYTES]!r}.")


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

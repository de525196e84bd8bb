"""Reading a Chat Completions answer: data values in, model events out. No I/O.

Reads what the API documents and what servers that call themselves compatible really send: chunks
without choices, usage on any chunk, errors inside a successful stream, arguments as objects, and
whole completions where a stream was asked for.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..core.usagereport import UsageReport, read_report
from ._calls import CallCollector
from ._http import json_error_words
from ._parts import sendable
from ._sse import ServerEvent
from .base import ModelEvent, ReasoningChunk, StepEnd, StopReason, TextChunk

MAX_ANSWER_CHARS: Final = 64 * 1024 * 1024
"""Text, reasoning and arguments of one answer together."""

DONE: Final = b"[DONE]"

_log: Final = logging.getLogger(__name__)


class Delta(Struct):
    """A piece of the answer; a whole message has the same fields. Values are not trusted."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: Any = None


class Choice(Struct):
    """One of the answers; only number 0 is read."""

    index: Any = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: Any = None
    usage: Any = None


class Chunk(Struct):
    """A data value of the stream, or a whole completion.

    ``x_groq`` and ``timings`` hold the usage of servers that do not send it as all others do.
    """

    choices: list[Choice] | None = None
    usage: Any = None
    x_groq: Any = None
    timings: Any = None
    error: Any = None
    object: Any = None


_CHUNKS: Final = msgspec.json.Decoder(Chunk)


class ReportedError(Exception):
    """The server reported an error in place of more text: its words, and its code and type."""

    def __init__(self, data: object) -> None:
        self.words, self.code = json_error_words(data)
        super().__init__(self.words)


class AnswerTooLong(Exception):
    """An answer of more than ``MAX_ANSWER_CHARS``."""


def parse_event(event: ServerEvent) -> Chunk | None:
    """The chunk that ``event`` carries, or None when it cannot be read.

    Raises ReportedError when the event is an error.
    """
    try:
        chunk: Chunk | None = _CHUNKS.decode(event.data)
    except (msgspec.DecodeError, RecursionError):
        chunk = _read_loosely(event.data)
    if event.type == b"error" or (chunk is not None and (chunk.error or chunk.object == "error")):
        raise ReportedError(_loose_json(event.data))
    return chunk


def _read_loosely(data: bytes) -> Chunk | None:
    """The chunk in ``data`` with half surrogate pairs, stray bytes and control characters."""
    try:
        return msgspec.convert(_loose_json(data), Chunk)
    except (ValueError, RecursionError):
        return None


def _loose_json(data: bytes) -> Any:
    """What ``data`` says as JSON, else the text it is."""
    text = data.decode(errors="replace")
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


class Answer:
    """One answer as it arrives: ``read`` each event in turn, then ask for its ``end``."""

    def __init__(self) -> None:
        self.is_done = False
        self._reason: str | None = None
        self._calls = CallCollector()
        self._report = UsageReport()
        self._is_refusal = False
        self._text_chars = 0
        self._half_pair = ""  # a high surrogate whose low one comes with the next piece
        self._readable = 0
        self._unreadable = 0

    @property
    def is_over(self) -> bool:
        """True when the server said that the answer is whole."""
        return self.is_done or self._reason is not None

    @property
    def is_unreadable(self) -> bool:
        """True when data came and none of it could be read."""
        return self._unreadable > 0 and self._readable == 0

    def read(self, event: ServerEvent) -> list[ModelEvent]:
        """What ``event`` adds to the answer. Raises ReportedError and AnswerTooLong."""
        news: list[ModelEvent] = []
        if event.data == DONE:
            self.is_done = True
            return news
        chunk = parse_event(event)
        if chunk is None:
            self._unreadable += 1
            if self._unreadable == 1:
                _log.debug("Skipped %d bytes of the stream: no chunk.", len(event.data))
            return news
        self._readable += 1
        self._count(chunk)
        for choice in chunk.choices or ():
            if choice.index in {0, None}:
                self._take_choice(choice, news)
        return news

    def read_whole(self, body: bytes) -> list[ModelEvent]:
        """What ``body`` adds, a completion that was not streamed. Raises as ``read`` does."""
        chunk = parse_event(ServerEvent(body))
        if chunk is None or not chunk.choices:
            self._unreadable += 1
            return []
        news = self.read(ServerEvent(body))
        self.is_done = True
        return news

    def end(self, new_id: Callable[[], str]) -> list[ModelEvent]:
        """The last events of an answer that ``is_over``: its calls, if whole, and a StepEnd.

        ``new_id`` makes the ids that the server left out.
        """
        news: list[ModelEvent] = []
        if self._half_pair:
            news.append(TextChunk(sendable(self._half_pair)))
        reason = self._stop_reason()
        if reason in _RUNS_CALLS and len(self._calls):
            news += self._calls.ready(new_id)
            reason = "tool_calls"
        elif reason == "tool_calls":
            reason = "stop"
        detail = self._reason if reason == "other" else None
        news.append(StepEnd(reason, self._report.usage, detail))
        return news

    def _stop_reason(self) -> StopReason:
        reason = _REASONS.get(self._reason or "stop", "other")
        return "refusal" if self._is_refusal and reason in _RUNS_CALLS else reason

    def _count(self, chunk: Chunk) -> None:
        places = [chunk.usage, chunk.x_groq, chunk.timings]
        places += [choice.usage for choice in chunk.choices or ()]
        for said in filter(None, places):
            report = read_report(said)
            if report is not None:
                self._report = self._report.then(report)
                return

    def _take_choice(self, choice: Choice, news: list[ModelEvent]) -> None:
        if choice.finish_reason:
            self._reason = str(choice.finish_reason)
        delta = choice.delta or choice.message
        if delta is None:
            return
        # Servers that send both fields send the same text in both.
        thought = delta.reasoning_content or delta.reasoning
        if isinstance(thought, str) and thought:
            self._think(thought, news)
        if delta.content:
            self._take_content(delta.content, news)
        if isinstance(delta.refusal, str) and delta.refusal:
            self._is_refusal = True
            self._say(delta.refusal, news)
        if isinstance(delta.tool_calls, list):
            for fragment in delta.tool_calls:
                progress = self._calls.add(fragment)
                if progress is not None:
                    news.append(progress)
            self._check_size()

    def _take_content(self, content: object, news: list[ModelEvent]) -> None:
        if isinstance(content, str):
            self._say(content, news)
        elif isinstance(content, list):  # parts, as in requests
            for part in content:
                if isinstance(part, Mapping) and isinstance(part.get("text"), str):
                    self._say(part["text"], news)
                elif isinstance(part, Mapping) and part.get("type") == "thinking":
                    self._think(_thinking_text(part.get("thinking")), news)

    def _say(self, text: str, news: list[ModelEvent]) -> None:
        text = self._half_pair + text
        self._half_pair = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = text.removesuffix(self._half_pair)
        if text:
            self._text_chars += len(text)
            self._check_size()
            news.append(TextChunk(sendable(text)))

    def _think(self, text: str, news: list[ModelEvent]) -> None:
        if text:
            self._text_chars += len(text)
            self._check_size()
            news.append(ReasoningChunk(sendable(text)))

    def _check_size(self) -> None:
        if self._text_chars + self._calls.size_chars > MAX_ANSWER_CHARS:
            raise AnswerTooLong


_REASONS: Final[Mapping[str, StopReason]] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "refusal": "refusal",
}
_RUNS_CALLS: Final = frozenset({"stop", "tool_calls", "other"})
"""Reasons with which calls are whole: servers do not agree on the one for an answer with calls."""


def _thinking_text(thinking: object) -> str:
    if isinstance(thinking, str):
        return thinking
    parts = thinking if isinstance(thinking, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return "".join(text for text in texts if isinstance(text, str))

"""One answer as it arrives, whatever the wire: text, reasoning, calls, in the order they came."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from ._calls import CallCollector
from ._http import json_error_words
from ._parts import link, sendable, sendable_json
from ._sse import ServerEvent
from .base import (
    ModelEvent,
    ReasoningChunk,
    ReasoningData,
    ServerCall,
    StepEnd,
    StopReason,
    TextChunk,
    Usage,
)

_log: Final = logging.getLogger(__name__)

MAX_ANSWER_CHARS: Final = 8 * 1024 * 1024
"""Text, reasoning and arguments of one answer together."""
MAX_PARTS: Final = 1_000
"""Calls, and as many blocks of reasoning, in one answer."""

RUNS_CALLS: Final = frozenset({"stop", "tool_calls", "pause", "other"})
"""Reasons with which calls are whole: servers do not agree on the one for an answer with calls."""


class ReportedError(Exception):
    """The server reported an error in place of more text: its words, and its code and type."""

    def __init__(self, data: object) -> None:
        self.words, self.code = json_error_words(data)
        super().__init__(self.words)


class AnswerTooLong(Exception):
    """An answer of more than ``MAX_ANSWER_CHARS`` or ``MAX_PARTS``."""


class Tally:
    """How many pieces of an answer could be read, and how many could not."""

    def __init__(self) -> None:
        self._readable = 0
        self._unreadable = 0

    @property
    def is_unreadable(self) -> bool:
        """True when data came and none of it could be read."""
        return self._unreadable > 0 and self._readable == 0

    def _skipped(self, event: ServerEvent, piece: str) -> list[ModelEvent]:
        """What an ``event`` adds that is no ``piece``: nothing. The first one is logged."""
        self._unreadable += 1
        if self._unreadable == 1:
            _log.debug("Skipped %d bytes of the stream: no %s.", len(event.data), piece)
        return []


class Answer(Protocol):
    """What a driver reads: ``read`` each event in turn, then, when it ``is_over``, its ``end``.

    ``is_done`` is true when nothing more will come, ``is_over`` when the server said that the
    answer is whole, ``is_unreadable`` when data came and none of it could be read.
    """

    @property
    def is_done(self) -> bool: ...

    @property
    def is_over(self) -> bool: ...

    @property
    def is_unreadable(self) -> bool: ...

    def read(self, event: ServerEvent) -> list[ModelEvent]:
        """What ``event`` adds. Raises ReportedError and AnswerTooLong."""
        ...

    def read_whole(self, body: bytes) -> list[ModelEvent]:
        """What ``body`` adds, an answer that was not streamed. Raises as ``read`` does."""
        ...

    def end(self, new_id: Callable[[], str]) -> list[ModelEvent]:
        """Its last events: the calls, if whole, and a StepEnd; ``new_id`` makes missing ids."""
        ...


class AnswerParts:
    """Turns the pieces that a wire reads into events, and knows where in the answer each belongs.

    ``maker`` says whose reasoning it is (see ``_history``). With ``separates``, text after
    something else begins a new paragraph.
    """

    def __init__(self, maker: str, *, separates: bool = True) -> None:
        self.calls = CallCollector()
        self._maker = maker
        self._separates = separates
        self._news: list[ModelEvent] = []
        self._half_pair = ""  # a high surrogate whose low one comes with the next piece
        self._breaks = False
        self._said_chars = 0
        self._thought_chars = 0
        self._opaque_parts = 0
        self._held_bytes = 0

    def taken(self) -> list[ModelEvent]:
        """The events since the last call. Raises AnswerTooLong."""
        size = self._said_chars + self._thought_chars + self._held_bytes + self.calls.size_chars
        if size > MAX_ANSWER_CHARS or max(self._opaque_parts, len(self.calls)) > MAX_PARTS:
            raise AnswerTooLong
        news, self._news = self._news, []
        return news

    def say(self, text: object) -> None:
        """More answer text."""
        if not isinstance(text, str) or not text:
            return
        if self._breaks and text.strip():
            text, self._breaks = f"\n\n{text}", False
        text = self._half_pair + text
        self._half_pair = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._put_text(text.removesuffix(self._half_pair))

    def think(self, text: object) -> None:
        """More reasoning text."""
        if isinstance(text, str) and text:
            self._thought_chars += len(text)
            self._news.append(ReasoningChunk(sendable(text)))
            self.separate()

    def hold(self, size_bytes: int) -> None:
        """That much is kept of what is not text."""
        self._held_bytes += size_bytes

    def seal(self, block: dict[str, Any]) -> None:
        """The reasoning so far ends with ``block``, which the server wants back."""
        self._opaque_parts += 1
        data = {"from": self._maker, "calls": len(self.calls), "chars": self._said_chars}
        self._news.append(ReasoningData({**data, "block": _encodable(block)}))
        self.separate()

    def call(self, fragment: object) -> None:
        """More of a call, in the form of ``delta.tool_calls``."""
        progress = self.calls.add(fragment)
        if progress is not None:
            self._news.append(progress)
        self.separate()

    def serve(self, call: ServerCall) -> None:
        """A call that the server has run."""
        self._opaque_parts += 1
        self._news.append(call)
        self.separate()

    def cite(self, sources: Iterable[tuple[str, str]]) -> None:
        """Links to ``(title, url)`` behind what was said."""
        links = [text for title, url in sources if (text := link(title, url))]
        if links:
            self._put_text(" " + " ".join(links))

    def separate(self) -> None:
        """Text that follows begins a new paragraph."""
        self._breaks = self._separates and self._said_chars > 0

    def end(
        self,
        reason: StopReason,
        usage: Usage | None,
        detail: str | None,
        new_id: Callable[[], str],
    ) -> list[ModelEvent]:
        """The last events of an answer that is over, for the reason that its server gave."""
        self._put_text(self._half_pair)
        self._half_pair = ""
        news = self.taken()
        if reason in RUNS_CALLS and len(self.calls):
            news += self.calls.ready(new_id)
            reason = "tool_calls"
        elif reason == "tool_calls":
            reason = "stop"
        news.append(StepEnd(reason, usage, detail if reason == "other" else None))
        return news

    def _put_text(self, text: str) -> None:
        if text:
            text = sendable(text)
            self._said_chars += len(text)
            self._news.append(TextChunk(text))


def _encodable(block: dict[str, Any]) -> dict[str, Any]:
    """``block`` byte-exact, but for halves of surrogate pairs, which nothing can carry."""
    try:
        msgspec.json.encode(block)
    except UnicodeEncodeError:
        return {sendable(key): sendable_json(value) for key, value in block.items()}
    return block


def loose_json(data: bytes) -> Any:
    """What ``data`` says as JSON, half surrogate pairs, stray bytes and control characters let
    through; else the text it is.
    """
    text = data.decode(errors="replace")
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


def object_in(data: Any, key: str) -> Mapping[str, Any]:
    """``data[key]`` where that is an object, else an empty one."""
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def list_in(data: Any, key: str) -> list[Any]:
    """``data[key]`` where that is a list, else an empty one."""
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, list) else []


def text_in(data: Any, key: str) -> str:
    """``data[key]`` where that is text, else empty."""
    value = data.get(key) if isinstance(data, Mapping) else None
    return value if isinstance(value, str) else ""

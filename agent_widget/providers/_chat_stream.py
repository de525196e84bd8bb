"""Reading a Chat Completions answer: data values in, model events out. No I/O.

Reads what the API documents and what servers that call themselves compatible really send: chunks
without choices, usage on any chunk, errors inside a successful stream, arguments as objects, and
whole completions where a stream was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..core.usagereport import UsageReport, read_report
from ._answer import RUNS_CALLS, AnswerParts, ReportedError, Tally, loose_json, text_in
from ._chat_request import DETAILS, EXTRA
from ._sse import ServerEvent
from .base import ModelEvent, ServerCall, StopReason

DONE: Final = b"[DONE]"

_GROWING: Final = ("text", "summary", "data")
"""What comes in pieces of a block of reasoning."""
_DATA_URL: Final = re.compile(r"data:(image/[a-z.+-]+);base64,(.+)", re.DOTALL)


class Delta(Struct):
    """A piece of the answer; a whole message has the same fields. Values are not trusted."""

    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    refusal: Any = None
    tool_calls: Any = None
    annotations: Any = None
    images: Any = None


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


def parse_event(event: ServerEvent) -> Chunk | None:
    """The chunk that ``event`` carries, or None when it cannot be read.

    Raises ReportedError when the event is an error.
    """
    try:
        chunk: Chunk | None = _CHUNKS.decode(event.data)
    except (msgspec.DecodeError, RecursionError):
        chunk = _read_loosely(event.data)
    if event.type == b"error" or (chunk is not None and (chunk.error or chunk.object == "error")):
        raise ReportedError(loose_json(event.data))
    return chunk


def _read_loosely(data: bytes) -> Chunk | None:
    """The chunk in ``data`` with half surrogate pairs, stray bytes and control characters."""
    try:
        return msgspec.convert(loose_json(data), Chunk)
    except (ValueError, RecursionError):
        return None


class ChatAnswer(Tally):
    """One answer as it arrives (see ``_answer.Answer``)."""

    def __init__(self, maker: str = "") -> None:
        super().__init__()
        self.is_done = False
        self._parts = AnswerParts(maker, separates=False)
        self._reason: str | None = None
        self._report = UsageReport()
        self._is_refusal = False
        self._details: list[dict[str, Any]] = []
        self._extras: dict[int, Any] = {}
        self._cited: dict[str, str] = {}
        self._images = 0

    @property
    def is_over(self) -> bool:
        """True when the server said that the answer is whole."""
        return self.is_done or self._reason is not None

    def read(self, event: ServerEvent) -> list[ModelEvent]:
        """What ``event`` adds to the answer. Raises ReportedError and AnswerTooLong."""
        if event.data == DONE:
            self.is_done = True
            return []
        chunk = parse_event(event)
        if chunk is None:
            return self._skipped(event, "chunk")
        self._readable += 1
        self._count(chunk)
        for choice in chunk.choices or ():
            if choice.index in (0, None):
                self._take_choice(choice, len(event.data))
        return self._parts.taken()

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
        """The last events of an answer that ``is_over``."""
        self._parts.cite((title, url) for url, title in self._cited.items())
        block: dict[str, Any] = {}
        if self._details:
            block[DETAILS] = [
                {k: "".join(v) if k in _GROWING else v for k, v in detail.items()}
                for detail in self._details
            ]
        if self._extras:
            block[EXTRA] = [[at, extra] for at, extra in self._extras.items()]
        if block:
            self._parts.seal(block)
        return self._parts.end(self._stop_reason(), self._report.usage, self._reason, new_id)

    def _stop_reason(self) -> StopReason:
        reason = _REASONS.get(self._reason or "stop", "other")
        return "refusal" if self._is_refusal and reason in RUNS_CALLS else reason

    def _count(self, chunk: Chunk) -> None:
        places = [chunk.usage, chunk.x_groq, chunk.timings]
        places += [choice.usage for choice in chunk.choices or ()]
        for said in filter(None, places):
            report = read_report(said)
            if report is not None:
                self._report = self._report.then(report)
                return

    def _take_choice(self, choice: Choice, size_bytes: int) -> None:
        if choice.finish_reason:
            self._reason = str(choice.finish_reason)
        delta = choice.delta or choice.message
        if delta is None:
            return
        # Servers that send both fields send the same text in both.
        self._parts.think(delta.reasoning_content or delta.reasoning)
        self._take_content(delta.content)
        if isinstance(delta.refusal, str) and delta.refusal:
            self._is_refusal = True
            self._parts.say(delta.refusal)
        for fragment in _list(delta.tool_calls):
            self._parts.call(fragment)
            if isinstance(fragment, Mapping) and EXTRA in fragment and len(self._parts.calls):
                self._extras[len(self._parts.calls) - 1] = fragment[EXTRA]
        if delta.reasoning_details or delta.annotations or delta.images:
            self._parts.hold(size_bytes)
        for detail in _list(delta.reasoning_details):
            self._take_detail(detail)
        for note in _list(delta.annotations):
            source = note.get("url_citation") if isinstance(note, Mapping) else None
            self._cited.setdefault(text_in(source, "url"), text_in(source, "title"))
        for image in _list(delta.images):
            self._take_image(image)

    def _take_content(self, content: object) -> None:
        if isinstance(content, str):
            self._parts.say(content)
        elif isinstance(content, list):  # parts, as in requests
            for part in content:
                if isinstance(part, Mapping) and part.get("type") == "thinking":
                    self._parts.think(_thinking_text(part.get("thinking")))
                else:
                    self._parts.say(text_in(part, "text"))

    def _take_detail(self, detail: object) -> None:
        """Keep what the server wants back: pieces of one block become that block again."""
        if not isinstance(detail, Mapping):
            return
        last = self._details[-1] if self._details else {}
        own = ("type", "index", "id")
        new = [key for key in own if detail.get(key) is not None and detail[key] != last.get(key)]
        if not self._details or new:
            self._details.append(last := {})
        for key, value in detail.items():
            if key in _GROWING and isinstance(value, str):
                last.setdefault(key, []).append(value)
            elif value is not None and key not in _GROWING:
                last[key] = value

    def _take_image(self, image: object) -> None:
        url = text_in(image.get("image_url") if isinstance(image, Mapping) else None, "url")
        found = _DATA_URL.fullmatch(url)
        if found is None:
            self._cited.setdefault(url, "image")
            return
        self._images += 1
        block = {"type": "image", "mime": found[1], "data": found[2], "audience": "user"}
        output = {"content": [block], "isError": False}
        self._parts.serve(ServerCall(f"image_{self._images}", "image_generation", {}, output))


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


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _thinking_text(thinking: object) -> str:
    if isinstance(thinking, str):
        return thinking
    parts = thinking if isinstance(thinking, list) else []
    return "".join(text_in(part, "text") for part in parts)

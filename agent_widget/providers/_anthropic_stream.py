"""Reading an Anthropic Messages answer: events in, model events out. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..core.usagereport import UsageReport, read_report
from ._answer import AnswerParts, ReportedError, Tally, list_in, loose_json, object_in, text_in
from ._calls import read_arguments
from ._parts import json_text
from ._sse import ServerEvent
from .base import ModelEvent, ServerCall, StopReason

_OPAQUE: Final = ("thinking", "redacted_thinking")


def parse_event(event: ServerEvent) -> Mapping[str, Any] | None:
    """The event as an object with a ``type``, or None when it cannot be read.

    Raises ReportedError when it is an error.
    """
    try:
        data = msgspec.json.decode(event.data)
    except (msgspec.DecodeError, RecursionError):
        data = loose_json(event.data)
    kind = text_in(data, "type") or event.type.decode(errors="replace")
    if kind == "error" or (isinstance(data, Mapping) and data.get("error")):
        raise ReportedError(data)
    if not isinstance(data, Mapping) or not kind:
        return None
    return data if data.get("type") == kind else {**data, "type": kind}


class _Block(Struct):
    """A block that has begun; ``start`` is how it began."""

    kind: str
    start: Mapping[str, Any]
    texts: list[str] = []
    signature: str = ""
    arguments: list[str] = []
    cited: dict[str, str] = {}


class AnthropicAnswer(Tally):
    """One answer as it arrives (see ``_answer.Answer``)."""

    def __init__(self, maker: str = "") -> None:
        super().__init__()
        self.is_done = False
        self._parts = AnswerParts(maker)
        self._open: dict[int, _Block] = {}
        self._served: dict[str, ServerCall] = {}
        self._reason: str | None = None
        self._report = UsageReport()

    @property
    def is_over(self) -> bool:
        """True when the server said that the answer is whole."""
        return self.is_done or self._reason is not None

    def read(self, event: ServerEvent) -> list[ModelEvent]:
        """What ``event`` adds to the answer. Raises ReportedError and AnswerTooLong."""
        data = parse_event(event)
        if data is None:
            return self._skipped(event, "event")
        self._readable += 1
        self._take(data["type"], data, len(event.data))
        return self._parts.taken()

    def read_whole(self, body: bytes) -> list[ModelEvent]:
        """What ``body`` adds, a message that was not streamed. Raises as ``read`` does."""
        message = parse_event(ServerEvent(body))
        if message is None or not isinstance(message.get("content"), list):
            self._unreadable += 1
            return []
        self._readable += 1
        self._count(message)
        for at, block in enumerate(message["content"]):
            if isinstance(block, Mapping):
                self._begin(at, block, len(body))
                self._finish(at)
        self._reason, self.is_done = text_in(message, "stop_reason") or None, True
        return self._parts.taken()

    def end(self, new_id: Callable[[], str]) -> list[ModelEvent]:
        """The last events of an answer that ``is_over``."""
        for call in self._served.values():  # of which no result came
            self._parts.serve(call)
        reason = _REASONS.get(self._reason or "end_turn", "other")
        return self._parts.end(reason, self._report.usage, self._reason, new_id)

    def _take(self, kind: str, data: Mapping[str, Any], size_bytes: int) -> None:
        at = data.get("index")
        at = at if isinstance(at, int) else max(self._open, default=0)
        if kind == "message_start":
            self._count(data)
        elif kind == "content_block_start":
            self._begin(at, object_in(data, "content_block"), size_bytes)
        elif kind == "content_block_delta":
            self._grow(at, object_in(data, "delta"), size_bytes)
        elif kind == "content_block_stop":
            self._finish(at)
        elif kind == "message_delta":
            self._count(data)
            self._reason = text_in(object_in(data, "delta"), "stop_reason") or self._reason
        elif kind == "message_stop":
            self.is_done = True

    def _count(self, data: Mapping[str, Any]) -> None:
        report = read_report(data)
        if report is not None:
            self._report = self._report.then(report)

    def _begin(self, at: int, start: Mapping[str, Any], size_bytes: int) -> None:
        kind = text_in(start, "type")
        self._open[at] = _Block(kind, start)
        self._parts.hold(size_bytes)
        if kind == "text":
            self._parts.say(start.get("text"))
            self._cite(self._open[at], list_in(start, "citations"))
        elif kind == "thinking":
            self._think(self._open[at], text_in(start, "thinking"))
        elif kind == "tool_use":
            given = start.get("input") or None
            call = {"name": start.get("name"), "arguments": given}
            self._parts.call({"index": at, "id": start.get("id"), "function": call})

    def _grow(self, at: int, delta: Mapping[str, Any], size_bytes: int) -> None:
        kind = text_in(delta, "type")
        block = self._open.get(at)
        if kind == "text_delta":
            self._parts.say(delta.get("text"))
        elif block is None:
            if kind == "input_json_delta":  # before or after its block: its call lacks it else
                text = text_in(delta, "partial_json")
                self._parts.call({"index": at, "function": {"arguments": text}})
        elif kind == "thinking_delta":
            self._think(block, text_in(delta, "thinking"))
        elif kind == "signature_delta":
            self._parts.hold(size_bytes)
            block.signature = text_in(delta, "signature")  # the whole of it
        elif kind == "citations_delta":
            self._parts.hold(size_bytes)
            self._cite(block, [delta.get("citation")])
        elif kind == "input_json_delta" and block.kind == "tool_use":
            text = text_in(delta, "partial_json")
            self._parts.call({"index": at, "function": {"arguments": text}})
        elif kind == "input_json_delta":
            self._parts.hold(size_bytes)
            block.arguments.append(text_in(delta, "partial_json"))

    def _think(self, block: _Block, text: str) -> None:
        block.texts.append(text)
        self._parts.think(text)

    def _cite(self, block: _Block, notes: list[Any]) -> None:
        for note in notes:
            block.cited.setdefault(text_in(note, "url"), text_in(note, "title"))

    def _finish(self, at: int) -> None:
        block = self._open.pop(at, None)
        if block is None:
            return
        self._parts.calls.marks_whole = True
        if block.kind == "tool_use":
            self._parts.calls.settle(at)
        elif block.kind == "text":
            self._parts.cite((title, url) for url, title in block.cited.items())
        elif block.kind in _OPAQUE:
            self._seal(block)
        elif block.kind.endswith("_tool_result"):
            self._parts.serve(self._answered(block.start))
        elif block.kind in ("server_tool_use", "mcp_tool_use"):
            args = read_arguments("".join(block.arguments))[0] or block.start.get("input")
            known, name = text_in(block.start, "id"), text_in(block.start, "name")
            output: dict[str, Any] = {"content": [], "isError": False}
            self._served[known] = ServerCall(known, name, args, output)

    def _seal(self, block: _Block) -> None:
        """Keep a block as it was; thinking without a signature is nothing that goes back."""
        whole = dict(block.start)
        if block.kind == "thinking":
            signature = block.signature or text_in(block.start, "signature")
            if not signature:
                return
            whole |= {"thinking": "".join(block.texts), "signature": signature}
        self._parts.seal(whole)

    def _answered(self, result: Mapping[str, Any]) -> ServerCall:
        """The call of a tool of the server's, with what it came to."""
        known = text_in(result, "tool_use_id")
        call = self._served.pop(known, None)
        name = text_in(result, "type").removesuffix("_tool_result")
        content = result.get("content")
        kind = text_in(content, "type")
        is_error = kind.endswith("error") or result.get("is_error") is True
        text = _shown(content)
        blocks = [{"type": "text", "text": text, "audience": "all"}] if text else []
        return ServerCall(
            known,
            name if call is None else call.name,
            {} if call is None else call.args,
            {"content": blocks, "isError": is_error},
        )


def _shown(content: object) -> str:
    """What a person reads of a result: found pages as links, else its fields in clear."""
    if isinstance(content, list):
        pages = [f"{text_in(each, 'title')} {text_in(each, 'url')}".strip() for each in content]
        texts = [text_in(each, "text") for each in content]
        return "\n".join(filter(None, (*pages, *texts)))
    if not isinstance(content, Mapping):
        return content if isinstance(content, str) else ""
    clear = {k: v for k, v in content.items() if k != "type" and not k.startswith("encrypted")}
    return json_text(clear)


_REASONS: Final[Mapping[str, StopReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}

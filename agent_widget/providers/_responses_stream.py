"""Reading an OpenAI Responses answer: events in, model events out. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ..core.usagereport import UsageReport, read_report
from ._answer import (
    RUNS_CALLS,
    AnswerParts,
    ReportedError,
    Tally,
    list_in,
    loose_json,
    object_in,
    text_in,
)
from ._parts import json_text
from ._sse import ServerEvent
from .base import ModelEvent, ServerCall, StopReason

DONE: Final = b"[DONE]"
ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.cancelled"})

_THINKS: Final = ("response.reasoning_summary_text.delta", "response.reasoning_text.delta")
_MIMES: Final = {"png": "image/png", "webp": "image/webp", "jpeg": "image/jpeg", "gif": "image/gif"}
_INDEX_BYTES: Final = 100
"""About what it costs to remember an item."""
_UNFINISHED: Final = ("in_progress", "incomplete")


def parse_event(event: ServerEvent) -> Mapping[str, Any] | None:
    """The event as an object with a ``type``, or None when it cannot be read.

    Raises ReportedError when it is an error.
    """
    try:
        data = msgspec.json.decode(event.data)
    except (msgspec.DecodeError, RecursionError):
        data = loose_json(event.data)
    is_object = isinstance(data, Mapping)
    kind = text_in(data, "type") or event.type.decode(errors="replace")
    if kind == "error" or (is_object and data.get("error") and not kind.startswith("response.")):
        raise ReportedError(data)
    if kind == "response.failed":
        response = object_in(data, "response")
        raise ReportedError(response if response.get("error") else {"message": "It failed."})
    if not is_object or not kind:
        return None
    return data if data.get("type") == kind else {**data, "type": kind}


class ResponsesAnswer(Tally):
    """One answer as it arrives (see ``_answer.Answer``)."""

    def __init__(self, maker: str = "") -> None:
        super().__init__()
        self._parts = AnswerParts(maker)
        self._parts.calls.marks_whole = True
        self._end: Mapping[str, Any] | None = None
        self._report = UsageReport()
        self._is_refusal = False
        self._texts: set[int] = set()
        self._finished: set[int] = set()
        self._thought = False

    @property
    def is_done(self) -> bool:
        return self._end is not None

    @property
    def is_over(self) -> bool:
        """True when the server said that the answer is whole, or why it is not."""
        return self._end is not None

    def read(self, event: ServerEvent) -> list[ModelEvent]:
        """What ``event`` adds to the answer. Raises ReportedError and AnswerTooLong."""
        if event.data == DONE or self._end is not None:
            return []
        data = parse_event(event)
        if data is None:
            return self._skipped(event, "event")
        self._readable += 1
        self._take(data["type"], data, len(event.data))
        return self._parts.taken()

    def read_whole(self, body: bytes) -> list[ModelEvent]:
        """What ``body`` adds, a response that was not streamed. Raises as ``read`` does."""
        response = parse_event(ServerEvent(body, b"response"))
        if response is None or not isinstance(response.get("output"), list):
            self._unreadable += 1
            return []
        self._readable += 1
        if response.get("status") == "failed":
            raise ReportedError(response)
        self._take_end(response, len(body))
        return self._parts.taken()

    def end(self, new_id: Callable[[], str]) -> list[ModelEvent]:
        """The last events of an answer that ``is_over``."""
        reason, detail = self._stop_reason()
        return self._parts.end(reason, self._report.usage, detail, new_id)

    def _stop_reason(self) -> tuple[StopReason, str | None]:
        status = text_in(self._end, "status")
        why = text_in(object_in(self._end, "incomplete_details"), "reason")
        if status in ("incomplete", "cancelled"):
            reason = _REASONS.get(why)
            # Calls of an answer that is not whole must not run, whatever the reason is called.
            return reason or "length", why or status
        return ("refusal" if self._is_refusal else "stop"), None

    def _take(self, kind: str, data: Mapping[str, Any], size_bytes: int) -> None:
        at = data.get("output_index")
        at = at if isinstance(at, int) else 0
        if kind == "response.output_text.delta":
            self._say(at, data.get("delta"))
        elif kind == "response.refusal.delta":
            self._is_refusal = True
            self._say(at, data.get("delta"))
        elif kind in _THINKS:
            self._thought = True
            self._parts.think(data.get("delta"))
        elif kind == "response.reasoning_summary_part.added" and self._thought:
            self._parts.think("\n\n")
        elif kind == "response.function_call_arguments.delta":
            self._parts.call({"index": at, "function": {"arguments": data.get("delta")}})
        elif kind == "response.function_call_arguments.done":
            self._parts.calls.settle(at, text_in(data, "arguments"))
        elif kind == "response.output_item.added":
            self._begin(at, object_in(data, "item"))
        elif kind == "response.output_item.done":
            self._finish(at, object_in(data, "item"), size_bytes)
        elif kind in ENDS:
            self._take_end(object_in(data, "response"), size_bytes, kind.rpartition(".")[2])

    def _say(self, at: int, text: object) -> None:
        if isinstance(text, str) and text:
            if at not in self._texts:
                self._texts.add(at)
                self._parts.hold(_INDEX_BYTES)
            self._parts.say(text)

    def _begin(self, at: int, item: Mapping[str, Any]) -> None:
        kind = item.get("type")
        if kind == "function_call":
            call = {"name": item.get("name"), "arguments": item.get("arguments")}
            self._parts.call({"index": at, "id": item.get("call_id"), "function": call})
        elif kind == "message":
            self._parts.separate()

    def _finish(self, at: int, item: Mapping[str, Any], size_bytes: int) -> None:
        """Take in an item that is whole; what was streamed of it is not told again."""
        if at in self._finished or item.get("status") in _UNFINISHED:
            return
        self._finished.add(at)
        self._parts.hold(_INDEX_BYTES)
        kind = text_in(item, "type")
        if kind == "message":
            self._finish_message(at, item)
        elif kind == "reasoning":
            if not self._thought:
                shown = [*list_in(item, "summary"), *list_in(item, "content")]
                self._parts.think("\n\n".join(text_in(part, "text") for part in shown))
            self._thought = False
            self._parts.hold(size_bytes)
            self._parts.seal(dict(item))
        elif kind == "function_call":
            self._begin(at, {**item, "arguments": None})
            self._parts.calls.settle(at, text_in(item, "arguments"))
        elif kind.endswith("_call"):
            self._parts.hold(size_bytes)
            self._parts.serve(_served(item))

    def _finish_message(self, at: int, item: Mapping[str, Any]) -> None:
        contents = list_in(item, "content")
        if at not in self._texts:
            self._parts.separate()
            for part in contents:
                self._is_refusal = self._is_refusal or text_in(part, "type") == "refusal"
                self._say(at, text_in(part, "text") or text_in(part, "refusal"))
        for part in contents:
            text, cited = text_in(part, "text"), dict[str, str]()
            for note in list_in(part, "annotations"):
                if text_in(note, "type") == "url_citation" and text_in(note, "url") not in text:
                    cited.setdefault(text_in(note, "url"), text_in(note, "title"))
            self._parts.cite((title, url) for url, title in cited.items())

    def _take_end(
        self, response: Mapping[str, Any], size_bytes: int, status: str = "completed"
    ) -> None:
        self._end = response if response.get("status") else {**response, "status": status}
        if self._end["status"] == "completed":
            for at, item in enumerate(list_in(response, "output")):
                if isinstance(item, Mapping):
                    self._finish(at, item, size_bytes)
        self._report = read_report(response) or self._report


_REASONS: Final[Mapping[str, StopReason]] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
assert RUNS_CALLS.isdisjoint(_REASONS.values())


def _served(item: Mapping[str, Any]) -> ServerCall:
    """A call of a tool of the server's, with what it came to."""
    kind = text_in(item, "type").removesuffix("_call")
    name = text_in(item, "name") or kind
    args = {key: item[key] for key in _ARGUMENTS if item.get(key) is not None}
    blocks: list[dict[str, Any]] = []
    picture = text_in(item, "result") if kind == "image_generation" else ""
    mime = _MIMES.get(text_in(item, "output_format") or "png")
    if picture and mime:
        blocks.append({"type": "image", "mime": mime, "data": picture, "audience": "user"})
    told = {key: item[key] for key in _RESULTS if item.get(key) is not None}
    if told:
        blocks.append({"type": "text", "text": json_text(told), "audience": "all"})
    is_error = item.get("status") == "failed" or bool(item.get("error"))
    output = {"content": blocks, "isError": is_error}
    return ServerCall(text_in(item, "id"), name, args, output)


_ARGUMENTS: Final = ("action", "queries", "code", "arguments", "server_label", "revised_prompt")
_RESULTS: Final = ("results", "outputs", "output", "error")

"""Requests, answers, results and decisions as JSON data, the way a recording has them.

A request is what the model sees, without ids of messages and without what only a person sees. What
this version has no short form for is written by the names of its class and fields.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, get_args

import msgspec
from msgspec import UNSET, Struct

from ...core.errors import ModelError, ToolFailure
from ...core.messages import ImagePart, Message, ReasoningPart, TextPart, ToolPart
from ...policy.permission import Decision
from ...providers.base import (
    CallProgress,
    CallReady,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    ReasoningChunk,
    StepEnd,
    TextChunk,
    ToolSpec,
)
from ...tools.base import ToolOutput

Json = Any
Wire = dict[str, Json]

_EVENTS: Final[Mapping[str, type[Struct]]] = {kind.__name__: kind for kind in get_args(ModelEvent)}
_PLAIN: Final = ("text",)
PIECES: Final = ("text", "reasoning", "arguments")
"""Fields that hold a text in pieces, as it arrived."""


# --- requests ----------------------------------------------------------------------------------


def spec_wire(spec: ToolSpec) -> Wire:
    return {
        "name": spec.name,
        "description": spec.description,
        "parameters": msgspec.to_builtins(spec.parameters),
    }


def model_wire(info: ModelInfo) -> Wire:
    empty = (None, False, ())
    wire = {name: value for name, value in _built(info).items() if value not in empty}
    wire.pop("notice", None)
    if info.base_url is not None:
        wire["base_url"] = info.base_url.partition("?")[0]
    return wire


def info_of(wire: Wire, notice: str) -> ModelInfo:
    """The model that was recorded; ``notice`` says that it is a recording."""
    return msgspec.convert({**wire, "notice": notice}, ModelInfo)


def options_wire(request: ModelRequest) -> Wire:
    """What a request asks for beside its system text, tools and messages."""
    names = set(request.__struct_fields__) - {"messages", "system", "tools"}
    options = {name: getattr(request, name) for name in sorted(names)}
    return {name: _built(value) for name, value in options.items() if value is not None}


def message_wire(message: Message) -> Wire:
    """``{"user": "text"}``, or ``{"assistant": [parts]}``."""
    parts = [_part_wire(part) for part in message.parts]
    is_plain = message.role == "user" and len(parts) == 1 and set(parts[0]) == {"text"}
    return {message.role: parts[0]["text"] if is_plain else parts}


def _part_wire(part: Any) -> Wire:
    if isinstance(part, TextPart):
        return {"text": part.text}
    if isinstance(part, ReasoningPart):
        wire: Wire = {"reasoning": part.text}
        return wire if part.data is None else {**wire, "data": part.data}
    if isinstance(part, ToolPart):
        return _call_wire(part)
    if isinstance(part, ImagePart):
        return digested(part.block)
    return {"part": type(part).__name__, **_built(part)}


def _call_wire(part: ToolPart) -> Wire:
    wire: Wire = {"call": part.name, "id": part.id, "args": part.input, "state": part.state}
    if part.output is not UNSET:
        wire["result"] = _seen(part.output)
    if part.error is not UNSET:
        wire["error"] = _seen(part.error)
    return wire


def _seen(output: Json) -> Json:
    """What a model may see of an output: texts; of pictures a digest stands for the bytes."""
    content = output.get("content") if isinstance(output, Mapping) else None
    if not isinstance(content, list | tuple):
        return output
    seen: list[Json] = []
    for block in content:
        if block.get("audience") == "user":
            continue
        is_text = block.get("type") == "text" and isinstance(block.get("text"), str)
        seen.append(block["text"] if is_text else digested(block))
    return seen[0] if len(seen) == 1 else seen


def digested(block: Mapping[str, Json]) -> Wire:
    """A block with a digest in the place of the bytes of its picture, unless those are few."""
    data = block.get("data")
    if not isinstance(data, str) or len(data) < 200:
        return dict(block)
    return {**block, "data": f"sha256:{hashlib.sha256(data.encode()).hexdigest()[:16]}"}


# --- answers -----------------------------------------------------------------------------------


def events_wire(events: Iterable[ModelEvent]) -> list[Wire]:
    """The events of an answer; neighbours of one kind are joined, piece by piece."""
    wires: list[Wire] = []
    drafted: dict[int, str] = {}
    for event in events:
        last = wires[-1] if wires else {}
        match event:
            case TextChunk() | ReasoningChunk() if event.__struct_fields__ == _PLAIN:
                key = "text" if isinstance(event, TextChunk) else "reasoning"
                if key in last:
                    last[key].append(event.text)
                else:
                    wires.append({key: [event.text]})
            case CallProgress() if event.arguments.startswith(drafted.get(event.index, "")):
                added = event.arguments[len(drafted.get(event.index, "")) :]
                drafted[event.index] = event.arguments
                if last.get("draft") == event.name and last["index"] == event.index:
                    last["arguments"].append(added)
                else:
                    draft = {"draft": event.name, "index": event.index, "arguments": [added]}
                    wires.append(draft)
            case CallReady():
                rest = {k: v for k, v in _built(event).items() if k != "name" and v is not None}
                wires.append({"call": event.name, **rest})
            case StepEnd():
                rest = {k: v for k, v in _built(event).items() if k != "reason" and v is not None}
                wires.append({"end": event.reason, **rest})
            case _:
                wires.append({"event": type(event).__name__, **_built(event)})
    return wires


def events_of(wires: Iterable[Wire]) -> Iterator[ModelEvent]:
    """The events that ``events_wire`` wrote. Raises ValueError for what is none."""
    drafted: dict[int, str] = {}
    for wire in wires:
        fields = dict(wire)
        if "event" in wire:
            yield _converted(fields, _EVENTS[fields.pop("event")])
        elif "text" in wire:
            yield from map(TextChunk, wire["text"])
        elif "reasoning" in wire:
            yield from map(ReasoningChunk, wire["reasoning"])
        elif "draft" in wire:
            for added in wire["arguments"]:
                index = wire["index"]
                drafted[index] = drafted.get(index, "") + added
                yield CallProgress(index, wire["draft"], drafted[index])
        elif "call" in wire:
            yield _converted({"args": None, **fields, "name": fields.pop("call")}, CallReady)
        elif "end" in wire:
            yield _converted({**fields, "reason": fields.pop("end")}, StepEnd)
        else:
            raise ValueError(f"an answer holds {wire!r}, which is no event")


def error_wire(error: ModelError) -> Wire:
    fields = {
        "code": error.code,
        "message": error.message,
        "advice": error.advice,
        "status": error.status,
        "retryable": error.retryable or None,
        "retry_after_s": error.retry_after_s,
    }
    return {name: value for name, value in fields.items() if value is not None}


def error_of(wire: Wire) -> ModelError:
    fields = dict(wire)
    return ModelError(fields.pop("code"), fields.pop("message"), **fields)


# --- results and decisions ---------------------------------------------------------------------


def output_wire(output: ToolOutput) -> Wire:
    return {name: value for name, value in _built(output).items() if value or name == "content"}


def output_of(wire: Wire) -> ToolOutput:
    return msgspec.convert(wire, ToolOutput)


def failure_of(wire: Wire) -> ToolFailure:
    return ToolFailure(wire["message"], code=wire.get("code", "exception"))


def decision_wire(decision: Decision) -> Wire:
    fields = _built(decision).items()
    return {name: value for name, value in fields if value not in (None, [], (), "user")}


def decision_of(wire: Wire) -> Decision:
    return msgspec.convert(wire, Decision)


def _built(value: Any) -> Wire:
    built: Wire = msgspec.to_builtins(value, enc_hook=repr)
    return built


def _converted(fields: Wire, kind: type[Any]) -> Any:
    return msgspec.convert(fields, kind)

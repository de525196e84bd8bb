"""The body of a Chat Completions request, built from cached pieces.

A conversation is always sendable: whatever was stored, each call is answered exactly once and right
after the message that made it, no text is blank, and the last word is not the assistant's. What is
stored is never changed.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ..core.messages import Message, Part, ReasoningPart, TextPart, ToolPart
from ._parts import arguments_text, call_id, json_text, result_text, sendable, tool_name
from .base import ModelRequest, ToolSpec

GO_ON: Final = "Continue."
"""Said for the user when the assistant has the last word: many servers refuse to go on from it."""
EMPTY_MESSAGE: Final = "(empty message)"

WireMessage = dict[str, Any]


class ChatOptions(Struct, frozen=True):
    """What a model object adds to each request.

    ``includes_usage`` asks for token counts (a few servers refuse the field); ``sends_reasoning``
    sends stored reasoning back as ``reasoning_content``; ``extra`` is merged into the body.
    """

    model: str
    includes_usage: bool = True
    sends_reasoning: bool = False
    extra: Mapping[str, Any] = {}


class EncodedMessage(Struct, frozen=True):
    """Wire messages of one stored message, ready to be copied into a body."""

    pieces: tuple[Raw, ...]
    call_ids: frozenset[str]
    is_last_word: bool
    """True when a request must not end with it."""


class EncodedMessages:
    """Encoded messages by identity, kept exactly as long as the messages live.

    Messages are immutable, so an entry never goes stale; ``hits`` and ``misses`` count look-ups.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Message], EncodedMessage]] = {}
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._entries)

    def of(self, message: Message, options: ChatOptions) -> EncodedMessage:
        key = id(message)
        entry = self._entries.get(key)
        if entry is not None and entry[0]() is message:
            self.hits += 1
            return entry[1]
        self.misses += 1
        encoded = encode_message(message, options)
        entries = self._entries
        forget = weakref.ref(message, lambda _gone: entries.pop(key, None))
        entries[key] = (forget, encoded)
        return encoded


def build_request(request: ModelRequest, options: ChatOptions, cache: EncodedMessages) -> bytes:
    """The JSON body of ``request``."""
    pieces: list[Raw] = []
    if request.system is not None and request.system.strip():
        pieces.append(_encoded({"role": "system", "content": sendable(request.system)}))
    taken: set[str] = set()
    ends_well = False
    for index, message in enumerate(request.messages):
        encoded = cache.of(message, options)
        if encoded.call_ids:
            if not taken.isdisjoint(encoded.call_ids):
                # The same id again, as servers that count from zero in each answer make them.
                encoded = encode_message(message, options, id_suffix=f"/{index}")
            taken |= encoded.call_ids
        if encoded.pieces:
            pieces += encoded.pieces
            ends_well = not encoded.is_last_word
    if not ends_well:
        pieces.append(_encoded({"role": "user", "content": GO_ON}))
    body: dict[str, Any] = {"model": options.model, "messages": pieces, "stream": True}
    if options.includes_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_wire_tool(tool) for tool in request.tools]
    body.update(options.extra)
    return msgspec.json.encode(body)


def encode_message(message: Message, options: ChatOptions, id_suffix: str = "") -> EncodedMessage:
    """``message`` for the wire; ``id_suffix`` keeps its call ids apart from those of others."""
    if message.role == "user":
        texts = [part for part in message.parts if isinstance(part, TextPart)]
        text = _joined_text(texts) or EMPTY_MESSAGE
        return EncodedMessage((_encoded({"role": "user", "content": text}),), frozenset(), False)
    wire: list[WireMessage] = []
    ids: set[str] = set()
    for segment in _segments(message.parts):
        wire += _wire_segment(segment, options, id_suffix, ids)
    is_last_word = bool(wire) and wire[-1]["role"] == "assistant"
    return EncodedMessage(tuple(map(_encoded, wire)), frozenset(ids), is_last_word)


def _segments(parts: tuple[Part, ...]) -> Iterator[list[Part]]:
    """``parts`` cut where text follows calls: each piece is one answer with its calls."""
    segment: list[Part] = []
    for part in parts:
        if isinstance(part, TextPart) and any(isinstance(own, ToolPart) for own in segment):
            yield segment
            segment = []
        segment.append(part)
    if segment:
        yield segment


def _wire_segment(
    segment: list[Part], options: ChatOptions, id_suffix: str, taken: set[str]
) -> Iterator[WireMessage]:
    """One assistant message and the results of its calls; nothing when it would be empty."""
    text = _joined_text([part for part in segment if isinstance(part, TextPart)]).rstrip()
    calls = [part for part in segment if isinstance(part, ToolPart)]
    if not (text or calls):
        return
    answer: WireMessage = {"role": "assistant", "content": text or None}
    if options.sends_reasoning:
        thoughts = [sendable(part.text) for part in segment if isinstance(part, ReasoningPart)]
        if any(thought.strip() for thought in thoughts):
            answer["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        ids = [_free_id(call, id_suffix, taken) for call in calls]
        answer["tool_calls"] = [_wire_call(*pair) for pair in zip(ids, calls, strict=True)]
        yield answer
        for known, call in zip(ids, calls, strict=True):
            yield {"role": "tool", "tool_call_id": known, "content": result_text(call)}
    else:
        yield answer


def _free_id(call: ToolPart, suffix: str, taken: set[str]) -> str:
    """The id of ``call`` on the wire, which is added to ``taken``."""
    known = call_id(call.id + suffix)
    while known in taken:
        suffix += "+"
        known = call_id(call.id + suffix)
    taken.add(known)
    return known


def _wire_call(known_id: str, call: ToolPart) -> WireMessage:
    function = {"name": tool_name(call.name), "arguments": arguments_text(call)}
    return {"id": known_id, "type": "function", "function": function}


def _wire_tool(tool: ToolSpec) -> WireMessage:
    function = {
        "name": sendable(tool.name),
        "description": sendable(tool.description),
        "parameters": Raw(json_text(tool.parameters).encode()),
    }
    return {"type": "function", "function": function}


def _joined_text(parts: list[TextPart]) -> str:
    texts = (sendable(part.text) for part in parts)
    return "\n\n".join(text for text in texts if text.strip())


def _encoded(wire: WireMessage) -> Raw:
    return Raw(msgspec.json.encode(wire))

"""The body of a Chat Completions request, built from cached pieces of a repaired conversation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw

from ..core.messages import Message, Part, ReasoningPart, TextPart, ToolPart
from ._history import (
    GO_ON,
    EncodedMessage,
    EncodedMessages,
    WireOptions,
    free_id,
    joined_text,
    own_blocks,
    result_of,
    said_by_user,
    segments,
    wire_pieces,
)
from ._images import Image
from ._parts import arguments_text, encoded, encoded_schema, sendable, tool_name
from ._thinking import Field, chat_fields
from .base import ModelRequest, ToolSpec

WireMessage = dict[str, Any]

DETAILS: Final = "reasoning_details"
"""What OpenRouter wants back of an answer."""
EXTRA: Final = "extra_content"
"""What Gemini wants back of a call: a signature."""


class ChatOptions(WireOptions, frozen=True, kw_only=True):
    """What a model object adds to each request.

    ``includes_usage`` asks for token counts (a few servers refuse the field); ``sends_reasoning``
    sends stored reasoning back as ``reasoning_content``; ``thinking`` is how it is asked for.
    """

    includes_usage: bool = True
    sends_reasoning: bool = False
    thinking: Field = "effort"


def build_request(request: ModelRequest, options: ChatOptions, cache: EncodedMessages) -> bytes:
    """The JSON body of ``request``."""
    pieces: list[Raw] = []
    if request.system is not None and request.system.strip():
        pieces.append(encoded({"role": "system", "content": sendable(request.system)}))
    said, ends_well = wire_pieces(request.messages, cache, partial(encode_message, options=options))
    pieces += said
    if not ends_well:
        pieces.append(encoded({"role": "user", "content": GO_ON}))
    body: dict[str, Any] = {"model": options.model, "messages": pieces, "stream": True}
    if options.includes_usage:
        body["stream_options"] = {"include_usage": True}
    if request.tools:
        body["tools"] = [_wire_tool(tool) for tool in request.tools]
    body.update(chat_fields(options.thinking, request.thinking, options.model))
    body.update(options.extra)
    return msgspec.json.encode(body)


def encode_message(message: Message, id_suffix: str, options: ChatOptions) -> EncodedMessage:
    """``message`` for the wire; ``id_suffix`` keeps its call ids apart from those of others."""
    if message.role == "user":
        text, images = said_by_user(message, options.style.refused)
        said = [{"type": "text", "text": text}] if text else []
        content = [*map(_wire_image, images), *said] if images else text
        piece = encoded({"role": "user", "content": content})
        return EncodedMessage((piece,), frozenset(), False)
    wire: list[WireMessage] = []
    ids: set[str] = set()
    for segment in segments(message.parts):
        wire += _wire_segment(segment, options, id_suffix, ids)
    is_last_word = bool(wire) and wire[-1]["role"] == "assistant"
    return EncodedMessage(tuple(map(encoded, wire)), frozenset(ids), is_last_word)


def _wire_segment(
    segment: list[Part], options: ChatOptions, id_suffix: str, taken: set[str]
) -> Iterator[WireMessage]:
    """One assistant message and the results of its calls; nothing when it would be empty."""
    text = joined_text(part for part in segment if isinstance(part, TextPart)).rstrip()
    calls = [part for part in segment if isinstance(part, ToolPart)]
    if not (text or calls):
        return
    answer: WireMessage = {"role": "assistant", "content": text or None}
    if options.sends_reasoning:
        thoughts = [sendable(part.text) for part in segment if isinstance(part, ReasoningPart)]
        thoughts = [thought for thought in thoughts if thought.strip()]
        if thoughts:
            answer["reasoning_content"] = "\n\n".join(thoughts)
    blocks = [(part.data or {})["block"] for part in own_blocks(segment, options.style)]
    details = [each for block in blocks for each in block.get(DETAILS, ())]
    if details:
        answer[DETAILS] = details
    if not calls:
        yield answer
        return
    ids = [free_id(call.id, options.style, id_suffix, taken) for call in calls]
    answer["tool_calls"] = [_wire_call(*pair) for pair in zip(ids, calls, strict=True)]
    for block in blocks:
        for at, extra in block.get(EXTRA, ()):
            if 0 <= at < len(calls):
                answer["tool_calls"][at][EXTRA] = extra
    yield answer
    yield from _wire_results(ids, calls, options)


def _wire_results(
    ids: list[str], calls: list[ToolPart], options: ChatOptions
) -> Iterator[WireMessage]:
    """What the calls came to; images follow as the user's, since results hold text alone."""
    shown: list[dict[str, Any]] = []
    for known, call in zip(ids, calls, strict=True):
        text, images = result_of(call, options.style.refused)
        yield {"role": "tool", "tool_call_id": known, "content": text}
        if images:
            shown.append({"type": "text", "text": f"Images that {tool_name(call.name)} returned:"})
            shown += map(_wire_image, images)
    if shown:
        yield {"role": "user", "content": shown}


def _wire_image(image: Image) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": image.url}}


def _wire_call(known_id: str, call: ToolPart) -> WireMessage:
    function = {"name": tool_name(call.name), "arguments": arguments_text(call)}
    return {"id": known_id, "type": "function", "function": function}


def _wire_tool(tool: ToolSpec) -> WireMessage:
    function = {
        "name": sendable(tool.name),
        "description": sendable(tool.description),
        "parameters": encoded_schema(tool.parameters),
    }
    return {"type": "function", "function": function}

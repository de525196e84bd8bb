"""The body of an OpenAI Responses request, built from cached items of a repaired conversation.

Nothing is kept at the server: the whole conversation goes along, reasoning in its encrypted form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from ..core.messages import Message
from ._history import (
    GO_ON,
    Called,
    EncodedMessage,
    EncodedMessages,
    Said,
    Thought,
    WireOptions,
    answers_in,
    said_by_user,
    wire_pieces,
)
from ._images import Image
from ._parts import encoded, encoded_schema, sendable
from ._thinking import responses_fields
from .base import ModelRequest, ToolSpec

ENCRYPTED: Final = "encrypted_content"
_REASONING_FIELDS: Final = ("type", "id", "summary", "content", ENCRYPTED)

Item = dict[str, Any]


class ResponsesOptions(WireOptions, frozen=True, kw_only=True):
    """What a model object adds to each request.

    ``reasons`` asks for reasoning in its encrypted form (models that do not reason refuse it);
    ``caches`` names the conversation, so that its requests find the same cache; ``server_tools``
    run at the server.
    """

    reasons: bool = True
    caches: bool = True
    server_tools: tuple[Mapping[str, Any], ...] = ()


def build_request(
    request: ModelRequest, options: ResponsesOptions, cache: EncodedMessages
) -> bytes:
    """The JSON body of ``request``."""
    items, ends_well = wire_pieces(
        request.messages, cache, partial(encode_message, options=options)
    )
    if not ends_well:
        items = [*items, encoded(_user(GO_ON))]
    body: dict[str, Any] = {"model": options.model, "input": items, "stream": True, "store": False}
    if request.system is not None and request.system.strip():
        body["instructions"] = sendable(request.system)
    tools = [*map(_wire_tool, request.tools), *options.server_tools]
    if tools:
        body["tools"] = tools
    if options.reasons:
        body["include"] = [f"reasoning.{ENCRYPTED}"]
        body.update(responses_fields(request.thinking, options.model))
    if options.caches:
        body["prompt_cache_key"] = _cache_key(request, options)
    body.update(options.extra)
    return msgspec.json.encode(body)


def encode_message(message: Message, id_suffix: str, options: ResponsesOptions) -> EncodedMessage:
    """``message`` for the wire; ``id_suffix`` keeps its call ids apart from those of others."""
    if message.role == "user":
        item = _user(*said_by_user(message, options.style.refused))
        return EncodedMessage((encoded(item),), frozenset(), False)
    items: list[Item] = []
    ids: set[str] = set()
    for answer in answers_in(message, options.style, id_suffix, ids):
        results: list[Item] = []
        for piece in answer:
            match piece:
                case Said():
                    items.append({"role": "assistant", "content": piece.text})
                case Thought():
                    items += _reasoning(piece.block)
                case Called():
                    items.append(_call(piece))
                    results.append(_result(piece))
        items += results
    is_last_word = bool(items) and items[-1].get("role") == "assistant"
    return EncodedMessage(tuple(map(encoded, items)), frozenset(ids), is_last_word)


def _user(text: str, images: Iterable[Image] = ()) -> Item:
    said = [{"type": "input_text", "text": text}] if text else []
    return {"role": "user", "content": [*map(_image, images), *said]}


def _image(image: Image) -> Item:
    return {"type": "input_image", "image_url": image.url, "detail": "auto"}


def _reasoning(block: Mapping[str, Any]) -> list[Item]:
    """The item as it came; none when the server kept what is in it."""
    if block.get("type") != "reasoning" or not block.get(ENCRYPTED):
        return []
    return [{key: block[key] for key in _REASONING_FIELDS if block.get(key) is not None}]


def _call(call: Called) -> Item:
    named = {"call_id": call.id, "name": call.name}
    return {"type": "function_call", **named, "arguments": call.arguments}


def _result(call: Called) -> Item:
    output: str | list[Item] = call.result
    if call.images:
        output = [{"type": "input_text", "text": call.result}, *map(_image, call.images)]
    return {"type": "function_call_output", "call_id": call.id, "output": output}


def _wire_tool(tool: ToolSpec) -> Item:
    return {
        "type": "function",
        "name": sendable(tool.name),
        "description": sendable(tool.description),
        "parameters": encoded_schema(tool.parameters),
        "strict": False,  # else the server rewrites the schema: each field becomes a must
    }


def _cache_key(request: ModelRequest, options: ResponsesOptions) -> str:
    """The same for all requests of a conversation: what they have in common is how they begin."""
    first = request.messages[0].id if len(request.messages) else ""
    begin = "\n".join((options.model, request.system or "", first))
    digest = hashlib.blake2b(begin.encode("utf-8", "surrogatepass"), digest_size=16)
    return f"aw-{digest.hexdigest()}"

"""The body of an Anthropic Messages request, of cached blocks of a repaired conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from ..core.messages import Message
from ._history import (
    GO_ON,
    NO_LONGER_THERE,
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
from ._parts import encoded, encoded_schema, sendable, tool_name
from ._thinking import anthropic_fields, takes_budget
from .base import ModelRequest, ToolSpec

Role: TypeAlias = Literal["user", "assistant"]
Block = dict[str, Any]

MARK: Final = {"type": "ephemeral"}
_MARKED: Final = b',"cache_control":{"type":"ephemeral"}}'
MARKED_MESSAGES: Final = 2
"""How many of the user's last messages end a prefix to cache; with tools and system four in all,
which is what the API takes. A prefix is looked for at most 20 blocks back, so one is too few.
"""


class AnthropicOptions(WireOptions, frozen=True, kw_only=True):
    """What a model object adds to each request.

    ``server_tools`` run at the server; ``caches`` marks what stays the same.
    """

    max_tokens: int
    caches: bool = True
    server_tools: tuple[Mapping[str, Any], ...] = ()


class Turn(Struct, frozen=True):
    """Blocks of one side, as JSON; ``begins_with_thinking`` where the first one is thinking."""

    role: Role
    blocks: tuple[Raw, ...]
    begins_with_thinking: bool = False
    has_calls: bool = False


def build_request(
    request: ModelRequest, options: AnthropicOptions, cache: EncodedMessages
) -> bytes:
    """The JSON body of ``request``."""
    pieces, ends_well = wire_pieces(
        request.messages, cache, partial(encode_message, options=options)
    )
    turns = _alternating(pieces, ends_well=ends_well)
    mark: Block = {"cache_control": MARK} if options.caches else {}
    body: dict[str, Any] = {"model": options.model, "max_tokens": options.max_tokens}
    body["messages"] = _messages(turns, caches=options.caches)
    body["stream"] = True
    if request.system is not None and request.system.strip():
        body["system"] = [{"type": "text", "text": sendable(request.system), **mark}]
    tools: list[Mapping[str, Any]] = [_wire_tool(tool) for tool in request.tools]
    if not tools and any(turn.has_calls for turn in turns):
        tools = [*_tools_once_there(request.messages)]
        body["tool_choice"] = {"type": "none"}
    tools += options.server_tools
    if tools:
        body["tools"] = [*tools[:-1], {**tools[-1], **mark}]
    if _can_think(turns, options.model):
        body.update(anthropic_fields(options.model, request.thinking, options.max_tokens))
    body.update(options.extra)
    return msgspec.json.encode(body)


def encode_message(message: Message, id_suffix: str, options: AnthropicOptions) -> EncodedMessage:
    """``message`` for the wire; ``id_suffix`` keeps its call ids apart from those of others."""
    if message.role == "user":
        text, images = said_by_user(message, options.style.refused)
        said = [_text(text)] if text else []
        turn = Turn("user", _all_encoded([*map(_image, images), *said]))
        return EncodedMessage((turn,), frozenset(), False)
    turns: list[Turn] = []
    ids: set[str] = set()
    for answer in answers_in(message, options.style, id_suffix, ids):
        blocks: list[Block] = []
        results: list[Block] = []
        pieces = [p for p in answer if not isinstance(p, Thought) or _is_signed(p.block)]
        for piece in pieces:
            match piece:
                case Said():
                    blocks.append(_text(piece.text))
                case Thought():
                    blocks.append(dict(piece.block))
                case Called():
                    blocks.append(_call(piece))
                    results.append(_result(piece))
        thinks = isinstance(pieces[0], Thought)
        turns.append(Turn("assistant", _all_encoded(blocks), thinks, bool(results)))
        if results:
            turns.append(Turn("user", _all_encoded(results)))
    is_last_word = bool(turns) and turns[-1].role == "assistant"
    return EncodedMessage(tuple(turns), frozenset(ids), is_last_word)


def _alternating(pieces: Iterable[Turn], *, ends_well: bool) -> list[Turn]:
    """The turns of both sides in alternation, the user's first and last."""
    turns: list[Turn] = []
    for piece in pieces:
        if turns and turns[-1].role == piece.role == "user":
            turns[-1] = Turn("user", turns[-1].blocks + piece.blocks)
            continue
        if piece.role == "assistant" and (not turns or turns[-1].role == "assistant"):
            turns.append(_GO_ON)
        turns.append(piece)
    if not ends_well:
        turns.append(_GO_ON)
    return turns


def _messages(turns: list[Turn], *, caches: bool) -> list[Block]:
    marked = [at for at, turn in enumerate(turns) if turn.role == "user"][-MARKED_MESSAGES:]
    messages: list[Block] = []
    for at, turn in enumerate(turns):
        blocks = list(turn.blocks)
        if caches and at in marked:
            blocks[-1] = Raw(bytes(blocks[-1])[:-1] + _MARKED)
        messages.append({"role": turn.role, "content": blocks})
    return messages


def _can_think(turns: list[Turn], model: str) -> bool:
    """Whether thinking may be asked for: with a budget, the calls whose results are sent must
    have been thought about by this very model.
    """
    if not takes_budget(model) or len(turns) < 2 or not turns[-2].has_calls:
        return True
    return turns[-2].begins_with_thinking


def _is_signed(block: Mapping[str, Any]) -> bool:
    """Whether the API takes a block of thinking back."""
    if block.get("type") == "redacted_thinking":
        return bool(block.get("data"))
    is_thinking = block.get("type") == "thinking" and isinstance(block.get("thinking"), str)
    return is_thinking and bool(block.get("signature"))


def _text(text: str) -> Block:
    return {"type": "text", "text": text}


def _image(image: Image) -> Block:
    source = {"type": "base64", "media_type": image.mime, "data": image.data}
    return {"type": "image", "source": source}


def _call(call: Called) -> Block:
    arguments = Raw(call.arguments.encode())
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _result(call: Called) -> Block:
    content: str | list[Block] = call.result
    if call.images:
        content = [_text(call.result), *map(_image, call.images)]
    result: Block = {"type": "tool_result", "tool_use_id": call.id, "content": content}
    return {**result, "is_error": True} if call.is_error else result


def _wire_tool(tool: ToolSpec) -> Block:
    return {
        "name": sendable(tool.name),
        "description": sendable(tool.description),
        "input_schema": encoded_schema(tool.parameters),
    }


def _tools_once_there(messages: Iterable[Message]) -> Iterable[Block]:
    """Tools by the names that were called: the API wants each request with calls to have some."""
    names = {tool_name(call.name): None for message in messages for call in message.tool_calls}
    for name in names:
        yield {"name": name, "description": NO_LONGER_THERE, "input_schema": {"type": "object"}}


def _all_encoded(blocks: list[Block]) -> tuple[Raw, ...]:
    return tuple(map(encoded, blocks))


_GO_ON: Final = Turn("user", (encoded(_text(GO_ON)),))

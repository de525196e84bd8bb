"""A stored conversation as every wire sends it: in order, paired, without blanks.

Whatever was stored, each call is answered exactly once and right after the answer that made it, no
text is blank, ids are those that servers take, reasoning goes back only to the model that it came
from, and the last word is not the assistant's. What is stored is never changed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..core.messages import Message, Part, ReasoningPart, TextPart, ToolPart
from ._images import Image, images_for_model, images_of_message
from ._parts import arguments_text, call_id, result_text, sendable, short_id, tool_name

GO_ON: Final = "Continue."
"""Said for the user when the assistant has the last word: many servers refuse to go on from it."""
EMPTY_MESSAGE: Final = "(empty message)"
IMAGE_LEFT_OUT: Final = "[image that cannot be sent]"
NO_LONGER_THERE: Final = "No longer available."
"""Describes a tool that was called once and that the model does not have now."""


class Said(Struct, frozen=True):
    """Text of an answer: not blank, without space behind it."""

    text: str


class Thought(Struct, frozen=True):
    """Reasoning that came from this very model; ``block`` is what it wants back."""

    block: Mapping[str, Any]


class Called(Struct, frozen=True):
    """A call with what became of it; ``arguments`` is the text of a JSON object."""

    id: str
    name: str
    arguments: str
    result: str
    is_error: bool
    images: tuple[Image, ...] = ()


Piece: TypeAlias = Said | Thought | Called


class Style(Struct, frozen=True):
    """How a server wants a conversation: ``maker`` says whose reasoning it takes back,
    ``refused`` holds digests of images that it did not take, ``short_ids`` is for those that want
    nine letters and digits.
    """

    maker: str
    refused: frozenset[str] = frozenset()
    short_ids: bool = False

    def id_of(self, stored: str) -> str:
        return short_id(stored) if self.short_ids else call_id(stored)


class WireOptions(Struct, frozen=True):
    """What every wire knows of its model; ``extra`` is merged into the body."""

    model: str
    style: Style = Style("")
    extra: Mapping[str, Any] = {}


def maker_of(wire: str, model: str, host: str) -> str:
    """Whose reasoning it is: no other can read it."""
    return f"{wire}:{model}@{host}"


def said_by_user(message: Message, refused: Collection[str] = ()) -> tuple[str, tuple[Image, ...]]:
    """What a user message says, and the images before it; blank only where there are some."""
    images, left_out = images_of_message(message, refused)
    text = joined_text(message.parts)
    if left_out:
        text = "\n".join([*[IMAGE_LEFT_OUT] * left_out, text]).rstrip("\n")
    return text or ("" if images else EMPTY_MESSAGE), tuple(images)


def joined_text(parts: Iterable[Part]) -> str:
    """The texts of ``parts`` that are not blank, as paragraphs."""
    texts = (sendable(part.text) for part in parts if isinstance(part, TextPart))
    return "\n\n".join(text for text in texts if text.strip())


def answers_in(
    message: Message, style: Style, id_suffix: str, taken: set[str]
) -> Iterator[list[Piece]]:
    """The answers that an assistant message holds, each with its own calls; none is empty.

    ``id_suffix`` keeps the ids of its calls apart from those of others; those used are added to
    ``taken``.
    """
    calls, chars = 0, 0
    for segment in segments(message.parts):
        pieces = _in_order(segment, style, calls, chars)
        calls += sum(isinstance(part, ToolPart) for part in segment)
        chars += sum(part.size_chars for part in segment if isinstance(part, TextPart))
        said = [each for part in pieces if (each := _piece(part, style, id_suffix, taken))]
        while said and isinstance(said[-1], Thought):  # it must be followed by what it led to
            said.pop()
        if said:
            yield _without_space_at_the_end(said)


def segments(parts: tuple[Part, ...]) -> Iterator[list[Part]]:
    """``parts`` cut where text follows calls: each piece is one answer with its calls."""
    segment: list[Part] = []
    for part in parts:
        if isinstance(part, TextPart) and any(isinstance(own, ToolPart) for own in segment):
            yield segment
            segment = []
        segment.append(part)
    if segment:
        yield segment


def own_blocks(parts: Iterable[Part], style: Style) -> Iterator[ReasoningPart]:
    """The reasoning of ``parts`` that came from the model it goes to."""
    for part in parts:
        if isinstance(part, ReasoningPart) and _is_own(part, style):
            yield part


def free_id(stored: str, style: Style, suffix: str, taken: set[str]) -> str:
    """The id of a call on the wire, which is added to ``taken``."""
    known = style.id_of(stored + suffix)
    while known in taken:
        suffix += "+"
        known = style.id_of(stored + suffix)
    taken.add(known)
    return known


def result_of(call: ToolPart, refused: Collection[str]) -> tuple[str, tuple[Image, ...]]:
    """What the model is told of a call, and the images it sees."""
    images, left_out = images_for_model(call.output, refused) if call.state == "done" else ([], 0)
    text = result_text(call)
    if left_out:
        text = "\n".join([text, *[IMAGE_LEFT_OUT] * left_out])
    return text, tuple(images)


# --- inside ------------------------------------------------------------------------------------


def _is_own(part: ReasoningPart, style: Style) -> bool:
    data = part.data
    if not isinstance(data, Mapping) or data.get("from") != style.maker:
        return False
    return isinstance(data.get("block"), Mapping)


def _in_order(segment: list[Part], style: Style, calls_before: int, chars_before: int) -> list[Any]:
    """Texts, own reasoning and calls of an answer in the order in which the model made them.

    The texts of an answer are stored as one, and its calls behind them; reasoning knows its place.
    """
    texts = [part.text for part in segment if isinstance(part, TextPart)]
    text = texts[0] if len(texts) == 1 else "\n\n".join(each for each in texts if each.strip())
    calls = [part for part in segment if isinstance(part, ToolPart)]
    found: list[Any] = []
    at, done = 0, 0
    for thought in own_blocks(segment, style):
        data = thought.data or {}
        end = max(at, _count(data.get("chars")) - chars_before)
        until = max(done, _count(data.get("calls")) - calls_before)
        if calls[done:until]:  # no text may stand behind a call
            end = len(text)
        found += [text[at:end], *calls[done:until], thought]
        at, done = min(end, len(text)), min(until, len(calls))
    return [*found, text[at:], *calls[done:]]


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _piece(part: Any, style: Style, suffix: str, taken: set[str]) -> Piece | None:
    if isinstance(part, str):
        text = sendable(part)
        return Said(text) if text.strip() else None
    if isinstance(part, ReasoningPart):
        return Thought((part.data or {})["block"])
    assert isinstance(part, ToolPart)
    known = free_id(part.id, style, suffix, taken)
    text, images = result_of(part, style.refused)
    is_error = part.state in ("error", "cancelled")
    return Called(known, tool_name(part.name), arguments_text(part), text, is_error, images)


def _without_space_at_the_end(pieces: list[Piece]) -> list[Piece]:
    """Servers refuse an answer whose last text ends in space."""
    return [replace(p, text=p.text.strip()) if isinstance(p, Said) else p for p in pieces]


# --- encoded once ------------------------------------------------------------------------------


class EncodedMessage(Struct, frozen=True):
    """What one stored message is on the wire, ready to be copied into a body."""

    pieces: tuple[Any, ...]
    call_ids: frozenset[str]
    is_last_word: bool
    """True when a request must not end with it."""


Encode: TypeAlias = Callable[[Message, str], EncodedMessage]
"""A message for the wire; the text keeps its call ids apart from those of others."""


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

    def of(self, message: Message, encode: Encode) -> EncodedMessage:
        key = id(message)
        entry = self._entries.get(key)
        if entry is not None and entry[0]() is message:
            self.hits += 1
            return entry[1]
        self.misses += 1
        encoded = encode(message, "")
        entries = self._entries
        forget = weakref.ref(message, lambda _gone: entries.pop(key, None))
        entries[key] = (forget, encoded)
        return encoded


def wire_pieces(
    messages: Iterable[Message], cache: EncodedMessages, encode: Encode
) -> tuple[list[Any], bool]:
    """All that a request says, and whether it may end there."""
    pieces: list[Any] = []
    taken: set[str] = set()
    ends_well = False
    for index, message in enumerate(messages):
        encoded = cache.of(message, encode)
        suffix = f"/{index}"
        while not taken.isdisjoint(encoded.call_ids):
            # The same id again, as servers that count from zero in each answer make them.
            encoded, suffix = encode(message, suffix), suffix + "/"
        taken |= encoded.call_ids
        if encoded.pieces:
            pieces += encoded.pieces
            ends_well = not encoded.is_last_word
    return pieces, ends_well

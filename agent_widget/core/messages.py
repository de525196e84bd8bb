"""Messages of a conversation and their parts.

All values are immutable. Text grows without copying: a ``TextPart`` is a view of the first
``count`` chunks of a list that its successors share, so ``grow`` costs O(new text) and every
earlier part stays valid. Source of the shapes: session reducer document.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

if TYPE_CHECKING:
    from .state import SessionState  # a tool part nests the state of its agent run

Json: TypeAlias = Any
"""JSON data. The one Any of this layer: msgspec passes such a field through untouched."""

Role = Literal["user", "assistant"]
ToolState = Literal["running", "awaiting-confirmation", "done", "error", "cancelled"]
OPEN_STATES: Final = frozenset({"running", "awaiting-confirmation"})
FINISHED_STATES: Final = frozenset({"done", "error"})


def differs(value: object, other: object) -> bool:
    """``!=`` for structs with an ``__eq__`` of their own; msgspec's compares identity there."""
    return not value == other  # noqa: SIM201  # that would be this function


class TextPart(Struct, frozen=True, eq=False, gc=False, repr_omit_defaults=True):
    """Text of a message. Make one with ``TextPart.of``; read it with ``text``."""

    _chunks: list[str]
    _count: int
    size_chars: int

    @classmethod
    def of(cls, text: str) -> TextPart:
        return cls([text], 1, len(text))

    @property
    def text(self) -> str:
        """The whole text. Costs O(length)."""
        return "".join(self._chunks[: self._count])

    def grow(self, delta: str) -> TextPart:
        """This text followed by ``delta``; O(len(delta)), ``self`` stays as it is."""
        chunks, count = self._chunks, self._count
        if len(chunks) != count:  # another successor grew the shared list: branch off
            chunks = chunks[:count]
        chunks.append(delta)
        if chunks[count] is not delta:  # lost a race between two threads: branch off
            chunks = [*chunks[:count], delta]
        return TextPart(chunks, count + 1, self.size_chars + len(delta))

    def since(self, older: TextPart) -> str | None:
        """What was added after ``older``, or None when this text does not continue it."""
        if older._chunks is self._chunks and older._count <= self._count:
            return "".join(self._chunks[older._count : self._count])
        text, start = self.text, older.text
        return text[len(start) :] if text.startswith(start) else None

    def joined(self) -> TextPart:
        """The same text in one chunk: what settled messages keep."""
        return self if self._count == 1 == len(self._chunks) else TextPart.of(self.text)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextPart):
            return NotImplemented
        return self is other or (self.size_chars == other.size_chars and self.text == other.text)

    __ne__ = differs

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"TextPart({self.text!r})"


class ReasoningPart(Struct, frozen=True):
    """What the model thought: kept for the next request, never rendered.

    ``data`` holds what the vendor wants back byte-exact (a signature, encrypted content).
    """

    text: str
    data: dict[str, Json] | None = None


class ToolPart(Struct, frozen=True):
    """A tool call with its state; ``output`` is UNSET until there is one (null is one)."""

    id: str
    name: str
    input: Json
    state: ToolState = "running"
    prompt: str | None = None
    output: Json | UnsetType = UNSET
    error: Json | UnsetType = UNSET
    agent: SessionState | None = None

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def is_finished(self) -> bool:
        return self.state in FINISHED_STATES


class ImagePart(Struct, frozen=True):
    """A picture that a person sent; ``data`` is base64, None when its file is lost or damaged."""

    mime: str
    data: str | None = None

    @property
    def size_bytes(self) -> int:
        return len(self.data or "") * 3 // 4

    @property
    def block(self) -> dict[str, Json]:
        """The picture in the form that outputs of tools have for theirs."""
        if self.data is None:
            return {"type": "unavailable", "mime": self.mime, "artifact_unavailable": True}
        return {"type": "image", "mime": self.mime, "data": self.data}

    def __str__(self) -> str:
        return f"[{self.mime}, {self.size_bytes / 1000:,.0f} kB]"


MAX_IMAGES: Final = 10
"""How many pictures come with one message: servers refuse or shrink more."""
MAX_IMAGE_CHARS: Final = 5 * 1024 * 1024
"""The least that large vendors take of one, counted as they do: in characters of base64."""

Images: TypeAlias = tuple[ImagePart, ...] | None
"""The pictures of a message; None where there are none, so that nothing is written of them."""

Part: TypeAlias = TextPart | ReasoningPart | ToolPart | ImagePart


class Prompt(Struct, frozen=True):
    """What a person says: a text, and the pictures it is about."""

    text: str
    images: Images = None


class Message(Struct, frozen=True, weakref=True):
    """One message; ``id`` is unique in its conversation for assistant messages."""

    id: str
    role: Role
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """All text parts joined with blank lines."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def tool_calls(self) -> tuple[ToolPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolPart))


def user_message(message_id: str, text: str, images: Images = None) -> Message:
    """A user message with exactly one text part, behind its pictures."""
    return Message(message_id, "user", (*(images or ()), TextPart.of(text)))


def images_in(blocks: Iterable[Mapping[str, Json]] | None) -> Images:
    """The pictures that were stored as ``blocks``."""
    return tuple(ImagePart(each["mime"], each.get("data")) for each in blocks or ()) or None


class Conversation(Struct, frozen=True, eq=False):
    """An immutable sequence of messages whose last one is cheap to replace.

    Messages before the last live in a list shared with later versions, so ``appended`` and
    ``with_last`` cost O(1) whatever the length; ``replaced`` of an older one costs O(n).
    """

    _settled: list[Message]
    _count: int
    last: Message | None = None

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Conversation:
        settled = [*messages]
        last = settled.pop() if settled else None
        return cls(settled, len(settled), last)

    def appended(self, message: Message) -> Conversation:
        if self.last is None:
            return Conversation(self._settled, self._count, message)
        settled, count, last = self._settled, self._count, _joined(self.last)
        if len(settled) != count:
            settled = settled[:count]
        settled.append(last)
        if settled[count] is not last:  # see TextPart.grow
            settled = [*settled[:count], last]
        return Conversation(settled, count + 1, message)

    def without_last(self) -> Conversation:
        """This conversation but its last message (it must have one); O(1)."""
        if self._count == 0:
            return EMPTY
        return Conversation(self._settled, self._count - 1, self._settled[self._count - 1])

    def with_last(self, message: Message) -> Conversation:
        return Conversation(self._settled, self._count, message)

    def replaced(self, index: int, message: Message) -> Conversation:
        """This conversation with ``message`` at ``index`` (0 ≤ index < len)."""
        if index == self._count:
            return self.with_last(message)
        settled = self._settled[: self._count]
        settled[index] = message
        return Conversation(settled, self._count, self.last)

    def shared_with(self, older: Conversation) -> int:
        """How many leading messages are known to be the very same objects in ``older``.

        O(1) when both come from one line of ``appended``/``with_last``; a lower bound otherwise.
        """
        if self._settled is older._settled:
            return min(self._count, older._count)
        return 0

    def __len__(self) -> int:
        return self._count + (self.last is not None)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple(self._at(i) for i in range(*index.indices(len(self))))
        if not -len(self) <= index < len(self):
            raise IndexError(f"message {index} of {len(self)}")
        return self._at(index % len(self))

    def _at(self, index: int) -> Message:
        if index < self._count:
            return self._settled[index]
        assert self.last is not None
        return self.last

    def __iter__(self) -> Iterator[Message]:
        yield from self._settled[: self._count]
        if self.last is not None:
            yield self.last

    def __reversed__(self) -> Iterator[Message]:
        if self.last is not None:
            yield self.last
        for index in range(self._count - 1, -1, -1):
            yield self._settled[index]

    def __contains__(self, message: object) -> bool:
        return any(message == own for own in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Conversation | tuple | list):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __ne__ = differs

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Conversation({[*self]!r})"


EMPTY: Final = Conversation([], 0)


def _joined(message: Message) -> Message:
    """``message`` with each text in one chunk; the same object when it already is."""
    parts = tuple(part.joined() if isinstance(part, TextPart) else part for part in message.parts)
    if all(new is old for new, old in zip(parts, message.parts, strict=True)):
        return message
    return replace(message, parts=parts)

"""State of a chat session. Source: session reducer document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .messages import EMPTY, Conversation, Message, TextPart, differs

Status = Literal["idle", "streaming", "error"]


class ErrorInfo(Struct, frozen=True):
    """Why the last run failed: ``message`` and, where known, a code the view explains."""

    message: str
    code: str | None = None


class SessionState(Struct, frozen=True, eq=False, gc=False):
    """Messages, whether a run is streaming, and the last error.

    While text streams, the growing text part is held apart (``_tail``, it stands for the last
    text part of the last message): a delta then replaces two small objects, whatever the length
    of the answer, of the message or of the session. ``messages`` puts it back in its place.
    """

    _conversation: Conversation
    _tail: TextPart | None
    status: Status = "idle"
    error: ErrorInfo | None = None

    @classmethod
    def of(
        cls,
        messages: Iterable[Message] = (),
        status: Status = "idle",
        error: ErrorInfo | None = None,
    ) -> SessionState:
        conversation = messages if isinstance(messages, Conversation) else None
        return cls(conversation or Conversation.of(messages), None, status, error)

    @property
    def messages(self) -> Conversation:
        """The conversation so far. Costs O(parts of the last message)."""
        tail = self._tail
        if tail is None:
            return self._conversation
        last = self._conversation.last
        assert last is not None
        at = max(i for i, part in enumerate(last.parts) if isinstance(part, TextPart))
        parts = (*last.parts[:at], tail, *last.parts[at + 1 :])
        return self._conversation.with_last(replace(last, parts=parts))

    def grown(self, message_id: str, delta: str) -> SessionState | None:
        """This state with ``delta`` added to the growing text, or None if none grows there.

        Costs O(len(delta)): this runs once a token.
        """
        tail, conversation = self._tail, self._conversation
        last = conversation.last
        if tail is None or last is None or last.id != message_id:
            return None
        if not delta:
            return self
        return SessionState(conversation, tail.grow(delta), self.status, self.error)

    def with_tail(self, conversation: Conversation, tail: TextPart | None) -> SessionState:
        """This state with ``conversation``, whose last text part is ``tail`` and will grow."""
        return SessionState(conversation, tail, self.status, self.error)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SessionState):
            return NotImplemented
        return self is other or (
            self.status == other.status
            and self.error == other.error
            and self.messages == other.messages
        )

    __ne__ = differs

    def __hash__(self) -> int:
        return hash((self.messages, self.status, self.error))

    def __repr__(self) -> str:
        error = "" if self.error is None else f", error={self.error!r}"
        return f"SessionState({[*self.messages]!r}, status={self.status!r}{error})"


def empty_state() -> SessionState:
    """A new conversation: no messages, idle, no error."""
    return SessionState(EMPTY, None)

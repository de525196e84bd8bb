"""What the model reads of a conversation that a person sees whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from ..core.events import SessionCompacted
from ..core.messages import Conversation, Message, user_message
from ..core.state import SessionState
from .model import NoteView, SessionView

COMPACTION: Final = "compaction"
"""The kind of the note that a summary of what is before it is."""
PREAMBLE: Final = "This summary stands for the earlier part of this conversation:\n\n"


def context_start(view: SessionView) -> int | None:
    """The index of the summary that the model's context begins with; None: it has all of it."""
    summaries = {mid for mid, note in view.notes.items() if note.kind == COMPACTION}
    if not summaries:
        return None
    messages = view.chat.messages
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].id in summaries:
            return index
    return None


def in_context(view: SessionView) -> Conversation:
    """The messages that the model reads: the newest summary and what is after it, or all.

    Without those that no model shall read.
    """
    start, messages = context_start(view), view.chat.messages
    if not start and not view.unread:
        return messages
    return Conversation.of(readable(view, messages[start or 0 :]))


def readable(view: SessionView, messages: Iterable[Message]) -> tuple[Message, ...]:
    """``messages`` without those of the view that no model reads."""
    return tuple(message for message in messages if message.id not in view.unread)


def with_compaction(view: SessionView, event: SessionCompacted) -> SessionView:
    """``view`` with the summary before the first message that is kept."""
    chat, messages = view.chat, [*view.chat.messages]
    kept = [at for at, each in enumerate(messages) if each.id == event.first_kept_message_id]
    at = kept[-1] if kept else len(messages)
    summary = user_message(event.compaction_id, PREAMBLE + event.summary)
    conversation = Conversation.of((*messages[:at], summary, *messages[at:]))
    usage = replace(view.usage, context_tokens=None)  # not known until a next answer is counted
    return replace(
        view,
        chat=SessionState.of(conversation, chat.status, chat.error),
        notes={**view.notes, event.compaction_id: NoteView(COMPACTION)},
        usage=usage,
    )

"""Events of what the model is told beside the talk: context added to it, and taken out of it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .envelope import Event
from .messages import Json

CompactReason = Literal["manual", "threshold", "overflow"]
"""Why a conversation is summarised: a person asked; it came near the window; it did not fit."""


class HistoryLoaded(Event, frozen=True, kw_only=True):
    """The conversation begins with messages of elsewhere, which ``history`` holds whole."""

    type = "session.history.loaded"
    history: Json


class EntryAppended(Event, frozen=True, kw_only=True):
    """Context that nobody typed entered the conversation, at its end.

    ``kind`` is ``branch_summary`` or the type that an extension gave it; the model reads it as a
    user message unless ``excluded``, a person sees it if ``display``.
    """

    type = "entry.appended"
    message_id: str
    kind: str
    text: str
    display: bool = True
    excluded: bool | None = None


class CompactionUsage(Struct, frozen=True):
    """Tokens of the model call that wrote a summary; the four kinds do not overlap."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class CompactionResult(Struct, frozen=True, kw_only=True):
    """What a compaction came to.

    ``summary`` stands for all before ``first_kept_entry_id``, the first entry that the model still
    reads itself. ``tokens_before`` were in its context, as counted or else estimated;
    ``tokens_after`` is an estimate. ``usage`` is None when nobody counted; ``checkpoint_id`` names
    the place from which the whole conversation can be restored.
    """

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    tokens_after: int
    usage: CompactionUsage | None = None
    checkpoint_id: str | None = None


class CompactionStarted(Event, frozen=True, kw_only=True):
    """The conversation is being summarised, because of ``reason``."""

    type = "compaction.started"
    reason: CompactReason


class CompactionEnded(Event, frozen=True, kw_only=True):
    """It has ended: with a ``result``, ``aborted``, or for the reason in ``error_message``.

    Without a result nothing has changed. ``will_retry``: the request that was too long is made
    again.
    """

    type = "compaction.ended"
    reason: CompactReason
    result: CompactionResult | None = None
    aborted: bool = False
    will_retry: bool = False
    error_message: str | None = None


class SessionCompacted(Event, frozen=True, kw_only=True):
    """From here on the model reads ``summary`` in place of the messages ``removed_range``.

    The range holds the first and the last index. The summary is a message of its own before
    ``first_kept_message_id``; what it stands for stays in the conversation for people to read.
    ``compaction_id`` is the id of that message, ``checkpoint_id`` names the place before.
    """

    type = "session.compacted"
    compaction_id: str
    removed_range: tuple[int, ...]
    first_kept_message_id: str
    summary: str
    checkpoint_id: str | None = None

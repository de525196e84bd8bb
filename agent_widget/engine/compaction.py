"""Summaries that stand for the earlier part of a conversation, so that it fits its model.

What a summary stands for stays stored and shown; the model reads the summary in its place. A
conversation is summarised when a person asks, by itself before its context is full, and once when
a server refused it as too long. Source: AgentSession document, ``compact``.
"""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import Struct

from ..core.contextevents import CompactionUsage
from ..core.errors import SessionError
from ..core.events import (
    CompactionEnded,
    CompactionResult,
    CompactionStarted,
    CompactReason,
    SessionCheckpointed,
    SessionCompacted,
    notice,
)
from ..core.ids import IdSource
from ..core.journal import Journal, message_ids_in
from ..core.messages import Conversation, Message
from ..core.replay import PRELOAD
from ..core.usage import estimated_tokens
from ..policy.compaction import (
    Compaction,
    already_compacted,
    compaction_cancelled,
    context_tokens,
    cut_of,
    nothing_to_compact,
    tokens_of,
)
from ..view.context import PREAMBLE, context_start, readable
from .hooks import Blocked, Hooks
from .retry import Retries
from .spending import CountedCall, Spending, usage_event
from .summarising import PURPOSE, Job, Matter, Summariser
from .writer import Writer


class Plan(Struct, frozen=True):
    """What goes and what stays: ``gone`` are the messages ``first`` to ``cut``, this excluded."""

    first: int
    cut: int
    gone: tuple[Message, ...]
    kept: tuple[Message, ...]
    earlier: str | None
    kept_entry_id: str
    tokens_before: int


class Compactor:
    """At most one compaction under way; lives on the engine's loop."""

    def __init__(
        self,
        writer: Writer,
        spending: Spending,
        hooks: Hooks,
        new_id: IdSource,
        options: Compaction,
        retries: Retries,
    ) -> None:
        self.options = options
        self.writer = writer
        self.spending = spending
        self.hooks = hooks
        self.new_id = new_id
        self.summariser = Summariser(spending, retries)
        self._is_making = False
        self._is_aborted = False

    def abort(self) -> bool:
        """End the compaction under way, by hand or in a run; False when there is none."""
        self._is_aborted = True
        self.summariser.abort()
        return self._is_making

    @property
    def window_tokens(self) -> int | None:
        """The context window of the model, where it is known."""
        return self.options.context_window or self.writer.view.usage.context_window

    def tokens_now(self, messages: Conversation) -> int:
        """How many tokens the context has: as counted and estimated since, else estimated."""
        counted = context_tokens(self.writer.view.usage.context_tokens, messages[:])
        return tokens_of(messages[:]) if counted is None else counted

    def has_something(self) -> bool:
        """Whether there is enough that a summary could stand for."""
        return self._cut(context_start(self.writer.view)) is not None

    async def make(self, job: Job) -> CompactionResult:
        """Summarise the conversation, store that, and tell it; the end is told in any case.

        Raises SessionError ``compaction.already_compacted``, ``compaction.nothing_to_compact``,
        ``compaction.cancelled`` and ``compaction.summarization_failed``, BudgetExceeded: then the
        history is as it was.
        """
        self._is_making, self._is_aborted = True, False
        try:
            await job.started(CompactionStarted(reason=job.reason))
            result = await self._made(job)
        except BaseException as error:
            await job.ended(_unmade(job.reason, error))
            raise
        finally:
            self._is_making = False
        if job.reason == "manual":  # its line in the transcript may be far above what is in view
            text = f"The model reads about {result.tokens_after} tokens now."
            job.emit(notice("compaction", "compacted", f"Earlier messages were summarised. {text}"))
        return result

    async def _made(self, job: Job) -> CompactionResult:
        plan = self._plan(Journal.of(await self.writer.recorder.records()))
        heard = await self.hooks.before_compaction(job.emit, job.reason)
        if isinstance(heard, Blocked):
            raise compaction_cancelled(heard.reason)
        self._require_wanted(job)
        counted = CountedCall(PURPOSE)
        matter = Matter(plan.gone, plan.earlier, self.options.reading_chars(self.window_tokens))

        def require_wanted() -> None:
            self._require_wanted(job)

        summary = await self.summariser.summary(job, matter, counted, require_wanted)
        require_wanted()
        return await self._stored(job, plan, summary, counted)

    def _require_wanted(self, job: Job) -> None:
        if self._is_aborted or job.is_stopped():
            raise compaction_cancelled()

    def _plan(self, journal: Journal) -> Plan:
        view = self.writer.view
        path = journal.path(self.writer.recorder.leaf)
        said = [record for record in path if message_ids_in(record)]
        if said and said[-1].kind == "compaction":
            raise already_compacted()
        start = context_start(view)
        messages = view.chat.messages[start or 0 :]
        cut = self._cut(start)
        if cut is None:
            raise nothing_to_compact()
        first = 0 if start is None else 1
        earlier = None if start is None else messages[0].text.removeprefix(PREAMBLE)
        kept = messages[cut:]
        return Plan(
            (start or 0) + first,
            (start or 0) + cut,
            readable(view, messages[first:cut]),
            kept,
            earlier,
            _entry_with(journal, kept[0].id),
            self.tokens_now(Conversation.of(messages)),
        )

    def _cut(self, start: int | None) -> int | None:
        messages = self.writer.view.chat.messages[start or 0 :]
        return cut_of(messages, self.options.keep_tokens, has_summary=start is not None)

    async def _stored(
        self, job: Job, plan: Plan, summary: str, counted: CountedCall
    ) -> CompactionResult:
        usage = counted.usage
        after = estimated_tokens(len(PREAMBLE) + len(summary)) + tokens_of(plan.kept)
        result = CompactionResult(
            summary=summary,
            first_kept_entry_id=plan.kept_entry_id,
            tokens_before=plan.tokens_before,
            tokens_after=after,
            usage=None if usage is None else CompactionUsage(*_four(usage)),
            checkpoint_id=await self._checkpoint(),
        )
        message_id = self.new_id("k")
        told = SessionCompacted(
            compaction_id=message_id,
            removed_range=(plan.first, plan.cut - 1),
            first_kept_message_id=plan.kept[0].id,
            summary=summary,
            checkpoint_id=result.checkpoint_id,
        )
        data: dict[str, Any] = {
            "message_id": message_id,
            "summary": summary,
            "first_kept_entry_id": result.first_kept_entry_id,
            "first_kept_message_id": told.first_kept_message_id,
            "removed_range": [*told.removed_range],
            "tokens_before": result.tokens_before,
            "tokens_after": result.tokens_after,
            "checkpoint_id": result.checkpoint_id,
            "details": {"reason": job.reason, "instructions": job.instructions},
            "model": job.model.info.label,
            **counted.record(),
        }
        spent = usage_event(job.model, counted)
        events = () if spent is None else (spent,)
        ended = CompactionEnded(
            reason=job.reason, result=result, will_retry=job.reason == "overflow"
        )
        await job.commit("compaction", data, *events, told, ended)
        return result

    async def _checkpoint(self) -> str | None:
        """Name the place before: ``restore`` goes back to the whole conversation.

        None where that could not be stored: the summary is worth more than its way back.
        """
        checkpoint_id = self.new_id("c")
        count = len(self.writer.view.chat.messages)
        data = {
            "checkpoint_id": checkpoint_id,
            "entry_id": self.writer.recorder.leaf,
            "trigger": "pre_compaction",
            "label": None,
            "message_count": count,
        }
        told = SessionCheckpointed(
            checkpoint_id=checkpoint_id, trigger="pre_compaction", label=None, message_count=count
        )
        try:
            await self.writer.commit("checkpoint", data, told)
        except SessionError:
            return None
        return checkpoint_id


def _unmade(reason: CompactReason, error: BaseException) -> CompactionEnded:
    """How an end is told that changed nothing."""
    is_cancelled = isinstance(error, asyncio.CancelledError)
    if isinstance(error, SessionError):
        is_cancelled = error.code == "compaction.cancelled"
        message = f"{error.message} {error.advice or ''}".strip()
    else:
        message = f"{type(error).__name__}: {error}"
    return CompactionEnded(
        reason=reason,
        aborted=is_cancelled,
        error_message=None if is_cancelled else message,
    )


def _entry_with(journal: Journal, message_id: str) -> str:
    """The entry that brought a message of the conversation."""
    for record in reversed(journal.records):
        if message_id in message_ids_in(record):
            return record.id
        data = record.data
        if record.kind == "run_admitted":
            added = (entry["message_id"] for entry in data.get("context", ()))
        elif record.kind == "custom" and data["custom_type"] == PRELOAD:
            added = (message["id"] for message in data["data"])
        else:
            continue
        if message_id in added:
            return record.id
    raise SessionError("session_store_corrupted", f"No entry has brought message {message_id!r}.")


def _four(usage: Any) -> tuple[int, int, int, int]:
    return (
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    )

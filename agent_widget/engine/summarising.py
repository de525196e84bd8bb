"""A model writes the summary that stands for earlier messages: asked, counted, tried again, ended.

Whose messages they are, and what becomes of the summary, is for the callers to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, Protocol

from msgspec import Struct

from ..core.errors import ModelError
from ..core.events import CompactionEnded, CompactionStarted, CompactReason, Event
from ..core.messages import Conversation, Message, user_message
from ..core.records import RecordKind
from ..policy.compaction import (
    SYSTEM,
    compaction_cancelled,
    summarization_failed,
    summary_request,
)
from ..providers.base import Model, ModelRequest, StepEnd, TextChunk
from .retry import Retries, repeated
from .spending import CountedCall, RunPurse, Spending, usage_event

PURPOSE: Final = "compaction"
SHORTER: Final = 4
"""Where what the summariser reads is too long for it, too, it gets this much less, once."""


class Commit(Protocol):
    """Store a fact, then fold and publish the events that tell it."""

    def __call__(
        self, kind: RecordKind, data: dict[str, Any], *events: Event
    ) -> Awaitable[None]: ...


class Job(Struct, frozen=True, kw_only=True):
    """A compaction to be made: why, by which model, and how its facts are stored and told.

    ``started`` tells the beginning, ``ended`` an end that changed nothing; ``is_stopped`` is asked
    before anything is asked for or stored, and no Stop is stored while ``dispatching`` is held.
    ``agent_id`` is that of the helper whose work is summed up.
    """

    reason: CompactReason
    model: Model
    purse: RunPurse
    emit: Callable[[Event], None]
    commit: Commit
    started: Callable[[CompactionStarted], Awaitable[None]]
    ended: Callable[[CompactionEnded], Awaitable[None]]
    is_stopped: Callable[[], bool]
    dispatching: asyncio.Lock
    instructions: str | None = None
    agent_id: str | None = None


class Matter(Struct, frozen=True):
    """What is summed up: messages, and the summary of those before them (None: there is none).

    About ``max_chars`` of it are given to read.
    """

    gone: tuple[Message, ...]
    earlier: str | None
    max_chars: int


class Summariser:
    """Asks for summaries; lives on the engine's loop."""

    def __init__(self, spending: Spending, retries: Retries) -> None:
        self._spending = spending
        self._retries = retries
        self._tasks: set[asyncio.Task[str]] = set()

    def abort(self) -> None:
        """End the summaries under way, those of helpers included."""
        for task in self._tasks:
            task.cancel()

    async def summary(
        self, job: Job, matter: Matter, counted: CountedCall, require_wanted: Callable[[], None]
    ) -> str:
        """What the model sums up; ``counted`` is what that took.

        ``require_wanted`` raises what ends it before a request is made. Raises SessionError
        ``compaction.cancelled`` or ``.summarization_failed``, BudgetExceeded.
        """
        asking = _Asking(self._spending, self._retries, job, matter, counted, require_wanted)
        task = asyncio.ensure_future(asking.summary())
        self._tasks.add(task)
        try:
            await asyncio.wait({task})
            if task.cancelled():
                raise compaction_cancelled()
            return task.result()
        except asyncio.CancelledError:
            task.cancel()
            raise
        except ModelError as error:
            raise summarization_failed(error.message) from error
        finally:
            self._tasks.discard(task)


class _Asking(Struct, frozen=True):
    """One summary being asked for."""

    spending: Spending
    retries: Retries
    job: Job
    matter: Matter
    counted: CountedCall
    require_wanted: Callable[[], None]

    async def summary(self) -> str:
        """The summary. Raises ModelError, BudgetExceeded."""
        max_chars = self.matter.max_chars
        try:
            return await self._repeated(max_chars)
        except ModelError as error:
            if not error.is_too_long:
                raise
        return await self._repeated(max_chars // SHORTER)

    async def _repeated(self, max_chars: int) -> str:
        return await repeated(self.retries, lambda: self._asked(max_chars), self.job.emit, PURPOSE)

    async def _asked(self, max_chars: int) -> str:
        job, told = self.job, self.counted
        asked = summary_request(
            self.matter.gone,
            earlier=self.matter.earlier,
            instructions=job.instructions,
            max_chars=max_chars,
        )
        request = ModelRequest(Conversation.of([user_message("compaction-request", asked)]), SYSTEM)
        texts: list[str] = []
        end: StepEnd | None = None
        async with job.purse.call(job.model, job.agent_id, job.emit, PURPOSE) as counted:
            async with job.dispatching:
                self.require_wanted()
                dispatched = job.model.stream(request)
            async with aclosing(dispatched) as stream:
                async for event in stream:
                    if isinstance(event, TextChunk):
                        counted.size_chars += len(event.text)
                        texts.append(event.text)
                    elif isinstance(event, StepEnd):
                        counted.is_answered, counted.usage, end = True, event.usage, event
            await self.spending.weigh(counted, job.model.info)
        told.usage, told.cost = counted.usage, counted.cost
        summary = "".join(texts).strip()
        if end is None or end.reason not in ("stop", "other") or not summary:
            why = "length" if end is None else end.reason
            await count(job, told)
            raise ModelError("bad_request", f"The model gave no whole summary ({why}).")
        return summary


async def count(job: Job, counted: CountedCall) -> None:
    """Write down what a call took of which nothing else is stored."""
    spent = usage_event(job.model, counted)
    if spent is not None:
        data = {"code": "usage", "model": job.model.info.label, **counted.record()}
        await job.commit("notice", data, spent)

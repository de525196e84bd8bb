"""Room for the work of a helper: a summary stands for its earlier steps, as long as its run lasts.

Its task stays as it was given. Nothing of this is part of the session's own conversation: what was
summed up stays in the card of the call, and a run of a helper is never taken up again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..core.events import UsageUpdated
from ..core.messages import Conversation, Message, user_message
from ..policy.compaction import (
    Compaction,
    compaction_cancelled,
    context_tokens,
    cut_of,
    nothing_to_compact,
    tokens_of,
)
from ..view.context import PREAMBLE
from .compaction import Compactor
from .hooks import Blocked
from .spending import CountedCall
from .summarising import PURPOSE, Job, Matter, count

DOING: Final = "Sums up its work so far"


class HelperCompactor:
    """Summarises the work of one helper; lives on the engine's loop.

    ``main`` is the one of the session, whose settings hold here too. ``work`` gives all messages
    of the helper but its task, and ``tell`` says in its card what it is at.
    """

    def __init__(
        self, main: Compactor, work: Callable[[], Sequence[Message]], tell: Callable[[str], None]
    ) -> None:
        self.main = main
        self._work = work
        self._tell = tell
        self._start = 0
        self._summary: str | None = None
        self._note: Message | None = None
        self._tokens: int | None = None
        self._window: int | None = None

    def read(self) -> list[Message]:
        """What the helper's model reads of its work: the newest summary and what is after it."""
        rest = [*self._work()][self._start :]
        return rest if self._note is None else [self._note, *rest]

    def counted(self, event: UsageUpdated) -> None:
        """Note what an answer of the helper held, as its server has counted."""
        if event.purpose is None:
            prompt = event.input_tokens + event.cache_read_tokens + event.cache_write_tokens
            self._tokens = prompt + event.output_tokens
            self._window = event.context_window_tokens

    @property
    def options(self) -> Compaction:
        return self.main.options

    @property
    def window_tokens(self) -> int | None:
        """The context window of the helper's model, where it is known."""
        return self._window or self.main.options.context_window

    def tokens_now(self, messages: Conversation) -> int:
        """How many tokens the context has: as counted and estimated since, else estimated."""
        counted = context_tokens(self._tokens, messages[:])
        return tokens_of(messages[:]) if counted is None else counted

    def has_something(self) -> bool:
        """Whether there is enough that a summary could stand for."""
        return self._cut() is not None

    async def make(self, job: Job) -> None:
        """Sum up the earlier steps for the model of the helper.

        Raises SessionError ``compaction.nothing_to_compact``, ``compaction.cancelled`` and
        ``compaction.summarization_failed``, BudgetExceeded: then it reads what it did before.
        """
        cut = self._cut()
        if cut is None:
            raise nothing_to_compact()
        heard = await self.main.hooks.before_compaction(job.emit, job.reason)
        if isinstance(heard, Blocked):
            raise compaction_cancelled(heard.reason)

        def require_wanted() -> None:
            if job.is_stopped():
                raise compaction_cancelled()

        require_wanted()
        self._tell(DOING)
        first = 0 if self._note is None else 1
        gone = tuple(self.read()[first:cut])
        matter = Matter(gone, self._summary, self.options.reading_chars(self.window_tokens))
        counted = CountedCall(PURPOSE)
        summary = await self.main.summariser.summary(job, matter, counted, require_wanted)
        await count(job, counted)
        require_wanted()
        self._summary, self._tokens = summary, None
        self._note = user_message(self.main.new_id("k"), PREAMBLE + summary)
        self._start += len(gone)

    def _cut(self) -> int | None:
        has_summary = self._note is not None
        return cut_of(self.read(), self.options.keep_tokens, has_summary=has_summary)

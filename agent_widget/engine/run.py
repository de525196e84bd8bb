"""A run as its caller sees it: an id, a future, a result."""

from __future__ import annotations

import asyncio
import contextvars
import math
from concurrent.futures import Future
from typing import Any, Final, Literal

from msgspec import Struct

from ..core.errors import SessionError
from ..view.model import ErrorView, UsageView

STOP_GRACE_S: Final = 10.0
"""A Stop lets the work in flight end by itself for so long, then cancels it."""
ABANDON_S: Final = 10.0
"""A cancelled run that has not ended after this long is abandoned, with a notice."""

Trigger = Literal["send", "retry", "carry_over", "program"]


class RunResult(Struct, frozen=True):
    """How a run ended.

    ``reason`` is completed, structured_output, handoff, interrupted, error, max_steps, max_seconds,
    max_output, refusal, failing_call, empty_answers, budget_exceeded, abandoned or closed; ``text``
    the last answer (also when it was cut short); ``error`` is set for error and budget_exceeded,
    ``output`` for structured_output: the answer in the shape that was asked for;
    no_structured_output is the end of a run that was asked for one and gave none. ``usage`` is what
    the run used, its helpers and summaries included.
    """

    run_id: str
    reason: str
    text: str = ""
    error: ErrorView | None = None
    output: Any = None
    usage: UsageView = UsageView()

    @property
    def ok(self) -> bool:
        return self.reason in ("completed", "structured_output")

    def raise_for_error(self) -> RunResult:
        """This result, or SessionError when the run failed."""
        if self.error is not None:
            code = self.error.code or "error"
            raise SessionError(code, self.error.message, advice=self.error.advice)
        return self

    def __repr__(self) -> str:
        # Without the id, so that a notebook's output is the same at every run.
        error = "" if self.error is None else f", error={self.error.message!r}"
        return f"RunResult({self.reason}, {self.text!r}{error})"

    def _repr_markdown_(self) -> str:
        return self.text if self.error is None else f"**{self.error.message}**"


class ActiveRun:
    """A run under way; lives on the engine's loop, ``future`` may be awaited from any thread."""

    def __init__(
        self, run_id: str, trigger: Trigger, context: contextvars.Context | None = None
    ) -> None:
        self.run_id = run_id
        self.trigger = trigger
        self.context = context
        self.after_message: str | None = None  # the last message before those that it adds
        self.future: Future[RunResult] = Future()
        self.task: asyncio.Task[None] | None = None
        self.supervisor: asyncio.Task[None] | None = None
        self.deadline: asyncio.TimerHandle | None = None  # ends it when its seconds are over
        self.cancel_at_s = math.inf  # when it is cancelled, in the loop's time
        self.retained: frozenset[str] = frozenset()  # steering older than the run's own message
        self.dispatching = asyncio.Lock()  # held from the last look at Stop to the request
        self.is_stopping = False
        self.is_live = True  # until its end is written: later, nothing of it is
        self.end_reason: str | None = None  # why it was ended from outside, where that has a name
        self.failure: SessionError | None = None  # what made it impossible to go on
        self.strict: set[str] = set()  # input that may go into this run and into no other
        self.carries_over = False  # it ended by itself: input that came meanwhile starts another

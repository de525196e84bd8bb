"""A run as its caller sees it: an id, a future, a result."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from msgspec import Struct

from ..core.errors import SessionError
from ..view.model import ErrorView


class RunResult(Struct, frozen=True):
    """How a run ended.

    ``reason`` is completed, interrupted, error, max_steps, max_output, refusal, abandoned or
    closed; ``text`` the last answer (also when it was cut short); ``error`` is set for error.
    """

    run_id: str
    reason: str
    text: str = ""
    error: ErrorView | None = None

    @property
    def ok(self) -> bool:
        return self.reason == "completed"

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

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.first_message = 0  # index of the first message that this run adds
        self.future: Future[RunResult] = Future()
        self.task: asyncio.Task[None] | None = None
        self.is_stopping = False
        self.is_live = True

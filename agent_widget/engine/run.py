"""A run as its caller sees it: an id, a future, a result."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from msgspec import Struct

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


class ActiveRun:
    """A run under way; lives on the engine's loop, ``future`` may be awaited from any thread."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.future: Future[RunResult] = Future()
        self.task: asyncio.Task[None] | None = None
        self.is_stopping = False
        self.is_live = True
        self.first_message = 0

"""Whose cell the output of a run belongs to."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DisplayContext:
    """The context of the cell that showed a widget, for work that a click starts later.

    A click's own context belongs to the browser's message: what is printed there appears
    nowhere. Kernels keep the cell that output goes to in context variables (ipykernel 7.1 and
    later for all output, 6.30 and later for prints), so in this context it reaches the cell.
    """

    context: contextvars.Context

    @classmethod
    def capture(cls) -> DisplayContext:
        """The caller's context as it is now; call it where the widget's mime bundle is made."""
        return cls(contextvars.copy_context())

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """``function(...)`` in a copy of the context; from any thread, also at the same time."""
        return self.context.copy().run(function, *args, **kwargs)

    def start(
        self, coroutine: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop
    ) -> Future[T]:
        """Run ``coroutine`` as a task on ``loop`` (of any thread) in a copy of the context."""
        return self.run(asyncio.run_coroutine_threadsafe, coroutine, loop)

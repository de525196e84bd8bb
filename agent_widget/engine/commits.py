"""Tells the host's own persistence what the history is after each run (features C37, C38)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

from msgspec import Struct

from ..core.messages import Conversation
from ..core.wire import WireObject, messages_to_wire


class HistoryMeta(Struct, frozen=True):
    """``rewritten``: what was committed before is not the beginning of this; write all of it."""

    rewritten: bool


OnHistoryCommit = Callable[[list[WireObject], HistoryMeta], Any]
"""Host callable, sync or async; gets a history of its own, in the shapes of ``core.wire``."""


class HistoryCommits:
    """Calls the host after each run, one call after the other; lives on the engine's loop.

    ``tell`` gets what one raised; it reaches neither the run nor later calls.
    """

    def __init__(self, callback: OnHistoryCommit | None, tell: Callable[[str], None]) -> None:
        self._callback = callback
        self._tell = tell
        self._committed: list[WireObject] = []
        self._last: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        return self._last is not None and not self._last.done()

    def start_from(self, conversation: Conversation) -> None:
        """Take what a stored session has as committed before."""
        self._committed = deepcopy(messages_to_wire(conversation))

    def commit(self, conversation: Conversation) -> None:
        """Call the host with the history, after the calls before it."""
        if self._callback is None:
            return
        history = deepcopy(messages_to_wire(conversation))
        before, self._committed = self._committed, history
        meta = HistoryMeta(rewritten=history[: len(before)] != before)
        work = self._call(self._callback, deepcopy(history), meta, self._last)
        self._last = asyncio.get_running_loop().create_task(work)

    async def drain(self) -> None:
        """Return once all calls have ended."""
        while self.is_running:
            assert self._last is not None
            await asyncio.wait({self._last})

    def cancel(self) -> None:
        """Give up the calls that have not ended."""
        if self._last is not None:
            self._last.cancel()

    async def _call(
        self,
        callback: OnHistoryCommit,
        history: list[WireObject],
        meta: HistoryMeta,
        before: Awaitable[None] | None,
    ) -> None:
        if before is not None:
            await before
        try:
            answer = callback(history, meta)
            if inspect.isawaitable(answer):
                await answer
        except Exception as error:  # noqa: BLE001  # the host's own; the run is not touched by it
            self._tell(f"on_history_commit failed: {type(error).__name__}: {error}")

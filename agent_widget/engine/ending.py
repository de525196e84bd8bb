"""The end of a session, and what waiting for one came to: being closed is no proof of being done.

Source: features C26 and C27.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final, Literal

from msgspec import Struct

from .commands import Commands
from .commits import HistoryCommits
from .room import ByHand
from .runs import NotRunning, Runs
from .staff import Staff
from .summaries import Summaries
from .writer import Writer

CLOSE_S: Final = 20.0
"""Closing waits so long: as an abandoned run, and then a store that is busy, may take."""


class Receipt(Struct, frozen=True):
    """``completed``: nothing runs and all is stored. ``failed``: nothing runs, but
    ``unsaved_count`` records are not stored, for the reason in ``problem``. ``timeout``: the time
    was over first; ``is_running`` says whether something of the session still ran.
    """

    status: Literal["completed", "failed", "timeout"]
    unsaved_count: int = 0
    is_running: bool = False
    problem: str | None = None

    @property
    def ok(self) -> bool:
        return self.status == "completed"


class Ending:
    """Closes the parts of one session in their order; lives on the engine's loop."""

    def __init__(
        self,
        writer: Writer,
        runs: Runs,
        commits: HistoryCommits,
        summaries: Summaries,
        staff: Staff,
        *,
        compaction: ByHand,
        commands: Commands,
    ) -> None:
        self._writer = writer
        self._runs = runs
        self._commits = commits
        self._summaries = summaries
        self._staff = staff
        self._compaction = compaction
        self._commands = commands
        self._closing: asyncio.Task[None] | None = None

    async def close(self, timeout_s: float) -> Receipt:
        """End the session, at once for those who look at it; a second call waits on."""
        if self._closing is None:
            self._writer.is_closing = True
            self._closing = asyncio.create_task(self._close())
        receipt = await self.drain(timeout_s)
        self._writer.end()
        return receipt

    async def drain(self, timeout_s: float) -> Receipt:
        """Wait until nothing runs and all is stored, or the session is closed if it is closing."""
        work = self._closing or asyncio.create_task(self._rest())
        await asyncio.wait({work}, timeout=timeout_s)
        pen = self._writer.recorder
        unsaved = pen.waiting_count + self._commands.pending_count
        problem = pen.read_only or pen.trouble
        if work.done():
            work.result()
            return Receipt("failed" if unsaved else "completed", unsaved, problem=problem)
        if work is not self._closing:
            work.cancel()
        is_running = (
            self._runs.active is not None or self._commits.is_running or self._commands.is_running
        )
        return Receipt("timeout", unsaved, is_running, problem)

    async def abort(self) -> None:
        """End what is under way, the run as the last, and wait until nothing runs."""
        self._staff.retries.abort_retry()
        self._summaries.abort()
        self._compaction.abort()
        self._commands.abort()
        if self._runs.active is not None:
            with contextlib.suppress(NotRunning):  # it has just ended
                await self._runs.stop(0.0)
        await self._commands.idle()
        await self._runs.wait_for_idle()

    async def _rest(self) -> None:
        await self._runs.wait_for_idle()
        await self._commits.drain()
        await self._commands.settle()
        await self._writer.recorder.flush()

    async def _close(self) -> None:
        self._summaries.abort()
        await self._compaction.close()
        self._commands.abort()
        await self._runs.close()
        await self._rest()
        self._writer.end()
        await self._writer.recorder.close()
        await self._staff.aclose()

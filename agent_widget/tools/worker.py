"""Runs the body of a tool where it belongs, and tells how it ended.

A thread cannot be ended from outside, and a coroutine may refuse to: what was told to stop may go
on, and its end is told whenever it comes.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec import Struct

GRACE_S: Final = 0.25
"""What was told to stop is waited for so long."""
_MOST_IDLE: Final = 8


class _Worker:
    """A daemon thread that runs one job after the other.

    No pool of the standard library: it fills up with bodies that never end, and the interpreter
    waits for it when it exits. A worker whose body never ends is never idle again, that is all.
    """

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[tuple[Callable[[], None], str]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def begin(self, job: Callable[[], None], name: str) -> None:
        self._jobs.put((job, name))

    def _run(self) -> None:
        while True:
            job, self._thread.name = self._jobs.get()
            job()
            del job
            if len(_idle) >= _MOST_IDLE:
                return
            _idle.append(self)


_idle: Final[deque[_Worker]] = deque()
_left_behind: Final[set[asyncio.Future[Any]]] = set()
if hasattr(os, "register_at_fork"):  # a fork has no threads
    os.register_at_fork(after_in_child=_idle.clear)


def _free_worker() -> _Worker:
    try:
        return _idle.pop()
    except IndexError:
        return _Worker()


class Outcome(Struct, frozen=True):
    """How a body ended: with ``value``, or by raising ``error``."""

    value: Any = None
    error: BaseException | None = None


class Body:
    """What one call runs, piece by piece. Lives on one loop.

    ``stop`` tells it to end; from then on no coroutine is begun.
    """

    def __init__(self, name: str, cancelled: threading.Event) -> None:
        self._name = name
        self._cancelled = cancelled
        self._task: asyncio.Task[Outcome] | None = None
        self.is_stopped = False

    def stop(self) -> None:
        """Set the call's ``cancelled`` and cancel the coroutine under way."""
        self.is_stopped = True
        self._cancelled.set()
        if self._task is not None:
            self._task.cancel()

    async def in_thread(self, piece: Callable[[], Any]) -> Outcome:
        """The outcome of ``piece()`` in a daemon thread, in a copy of this context."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Outcome] = loop.create_future()

        def hand_over(outcome: Outcome) -> None:
            if not ended.done():
                ended.set_result(outcome)

        def run() -> None:
            outcome = _outcome(piece)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(hand_over, outcome)

        context = contextvars.copy_context()
        _free_worker().begin(lambda: context.run(run), self._name)
        return await ended

    async def in_task(self, piece: Callable[[], Awaitable[Any]]) -> Outcome:
        """The outcome of ``await piece()`` in a task of its own."""

        async def run() -> Outcome:
            try:
                return Outcome(await piece())
            except BaseException as error:  # noqa: BLE001  # SystemExit would end the engine's loop
                return Outcome(error=error)

        if self.is_stopped:
            return Outcome(error=asyncio.CancelledError())
        self._task = asyncio.create_task(run(), name=self._name)
        try:
            await asyncio.wait({self._task})
            if self._task.cancelled():  # before it began
                return Outcome(error=asyncio.CancelledError())
            return self._task.result()
        finally:
            self._task = None


async def ends_soon(work: asyncio.Future[Any]) -> None:
    """Wait for ``work`` that was told to stop, ``GRACE_S`` at most; then it is left behind."""
    _left_behind.add(work)
    work.add_done_callback(_leave)
    await asyncio.wait({work}, timeout=GRACE_S)


def _leave(work: asyncio.Future[Any]) -> None:
    _left_behind.discard(work)
    if not work.cancelled():
        work.exception()  # looked at: nobody else has to


def _outcome(piece: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(piece())
    except BaseException as error:  # noqa: BLE001  # sys.exit() in a tool ends the call, no more
        return Outcome(error=error)

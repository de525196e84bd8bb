"""Runs the body of a tool where it belongs and hands back how it ended.

Both functions return at once when they are cancelled, whatever the body does: a thread that goes
on, or a coroutine that refuses to end, is left behind and its outcome dropped.
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

_GRACE_S: Final = 0.25
_left_behind: Final[set[asyncio.Task[Any]]] = set()
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


async def outcome_in_thread(
    body: Callable[[], Any], *, name: str, cancelled: threading.Event
) -> Outcome:
    """The outcome of ``body()`` in a daemon thread, in a copy of this context.

    Sets ``cancelled`` when the caller is cancelled.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[Outcome] = loop.create_future()

    def hand_over(outcome: Outcome) -> None:
        if not ended.done():
            ended.set_result(outcome)

    def run() -> None:
        outcome = _outcome(body)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(hand_over, outcome)

    context = contextvars.copy_context()
    _free_worker().begin(lambda: context.run(run), name)
    try:
        return await ended
    except asyncio.CancelledError:
        cancelled.set()
        raise


def _outcome(body: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(body())
    except BaseException as error:  # noqa: BLE001  # sys.exit() in a tool ends the call, no more
        return Outcome(error=error)


async def outcome_in_task(
    body: Callable[[], Awaitable[Any]], *, name: str, cancelled: threading.Event
) -> Outcome:
    """The outcome of ``await body()`` in a task of its own.

    When the caller is cancelled, sets ``cancelled`` and gives the task a quarter of a second to
    clean up.
    """

    async def run() -> Outcome:
        try:
            return Outcome(await body())
        except BaseException as error:  # noqa: BLE001  # SystemExit would end the engine's loop
            return Outcome(error=error)

    task = asyncio.create_task(run(), name=name)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        cancelled.set()
        task.cancel()
        _left_behind.add(task)
        task.add_done_callback(_left_behind.discard)
        await asyncio.wait({task}, timeout=_GRACE_S)
        raise

"""Work for the main thread of a Jupyter kernel."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final, Protocol, TypeVar

from ...core.errors import WaitRefused
from ...tools.base import MainThread
from .host import Host, in_main_thread
from .jobs import NO_AWAIT_HERE, CoroutineJob, FunctionJob

T = TypeVar("T")

WAITS_FOR_CELL: Final = "Waiting for the running cell to finish"
WAITS_FOR_KERNEL: Final = "Waiting for the kernel to be free"
WAITS_FOR_CALL: Final = "Waiting for another call to finish"

_ATTRIBUTE: Final = "_agent_widget_main"
_BUSY_AFTER_S: Final = 0.25


class HostThread(MainThread, Protocol):
    """A main thread as the waiting functions and tools for notebooks use it."""

    def drain(self) -> None:
        """Run what is queued; for a blocking wait on the main thread."""
        ...

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        """While a blocking wait lasts; ``wake`` is called, on any thread, for every new job.

        Raises WaitRefused when a coroutine of ``submit_coroutine`` would never go on.
        """
        ...

    def attached(self, loop: asyncio.AbstractEventLoop) -> AbstractContextManager[None]:
        """While the main thread awaits on ``loop``, which then runs the jobs."""
        ...


class KernelMainThread:
    """Runs jobs on a kernel's main thread: between cells, and while a cell awaits or waits.

    The kernel's loop runs one job a turn, in order, so a job behind a busy cell runs right
    after it, before the next cell. Every method but ``drain`` and ``waiting`` may be called
    from any thread. Get the kernel's one instance with ``of``.

    While a toolkit's loop (``%gui qt``) holds the main thread, jobs wait for its next pause.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._queue: deque[FunctionJob[Any] | CoroutineJob[Any]] = deque()
        self._live: dict[Future[Any], FunctionJob[Any] | CoroutineJob[Any]] = {}
        self._wakers: list[Callable[[], None]] = []
        self._running = 0
        self._coroutines = 0
        self._cell = in_main_thread()  # made in a cell, nearly always
        self._asked_at: float | None = None  # monotonic; None once the loop has turned

    @classmethod
    def of(cls, host: Host) -> KernelMainThread | None:
        """The kernel's one, made on the first call; None where there is no kernel loop."""
        loop = getattr(getattr(host.kernel, "io_loop", None), "asyncio_loop", None)
        if host.kernel is None or loop is None:
            return None
        fresh = cls(loop)
        main: KernelMainThread = vars(host.kernel).setdefault(_ATTRIBUTE, fresh)
        events = getattr(getattr(host.kernel, "shell", None), "events", None)
        if main is fresh and events is not None:
            events.register("pre_run_cell", main._cell_started)
            events.register("post_run_cell", main._cell_ended)
        return main

    def submit(self, job: Callable[[], T], *, interruptible: bool = True) -> Future[T]:
        """Queue ``job``; it runs in a copy of the caller's context (contextvars).

        The future ends with its result or error; KeyboardInterrupt in it becomes ``Cancelled``.
        """
        made = FunctionJob(job, interruptible=interruptible)
        self._add(made)
        return made.future

    def submit_coroutine(self, factory: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run ``factory()`` as a task on the kernel's loop, in a copy of the caller's context.

        The future raises ToolFailure when a cell blocks that loop by waiting for a run.
        """
        made = CoroutineJob(factory, self._loop)
        self._add(made)
        return made.future

    def interrupt(self, future: Future[Any]) -> None:
        """Raise KeyboardInterrupt in that job; drop it if it has not started, or ended.

        A coroutine that awaits is cancelled. No other code is ever hit.
        """
        if not future.cancel():
            job = self._live.get(future)
            if job is not None:
                job.interrupt()

    def waits_for(self) -> str | None:
        """Why a job would not start now, as a person reads it, or None when main is free.

        Of use while the job's future is not running. Main counts as busy when its loop has not
        turned for 0.25 s since a cell started, a job was submitted or this was asked.
        """
        if self._running:
            return WAITS_FOR_CALL
        asked_at = self._ask()
        if asked_at is None or time.monotonic() - asked_at < _BUSY_AFTER_S:
            return None
        return WAITS_FOR_CELL if self._cell else WAITS_FOR_KERNEL

    def drain(self) -> None:
        """Run what is queued; for a blocking wait on the main thread."""
        self._answer()
        while (job := self._next()) is not None:
            if isinstance(job, CoroutineJob):
                job.refuse(NO_AWAIT_HERE)
            else:
                self._run(job)

    @contextmanager
    def waiting(self, wake: Callable[[], None]) -> Iterator[None]:
        """While a blocking wait lasts; ``wake`` is called, on any thread, for every new job.

        Raises WaitRefused when a running coroutine job would never go on.
        """
        if self._coroutines:
            raise WaitRefused(
                "A tool call awaits on the kernel's event loop, which run.result() would block.",
                advice="Wait with `await run` instead.",
            )
        with self._lock:
            self._wakers.append(wake)
        try:
            yield
        finally:
            with self._lock:
                self._wakers.remove(wake)

    def attached(self, _loop: asyncio.AbstractEventLoop) -> AbstractContextManager[None]:
        """Nothing to do: the kernel's loop runs the jobs anyway."""
        return nullcontext()

    def _add(self, job: FunctionJob[Any] | CoroutineJob[Any]) -> None:
        self._live[job.future] = job
        job.future.add_done_callback(self._forget)
        with self._lock:
            self._queue.append(job)
            wakers = tuple(self._wakers)
        try:
            self._ask()
            self._loop.call_soon_threadsafe(self._turn)
        except RuntimeError:  # the loop is closed
            job.future.cancel()
        for wake in wakers:
            wake()

    def _turn(self) -> None:
        try:
            self._answer()
            job = self._next()
            if isinstance(job, CoroutineJob):
                self._start(job)
            elif job is not None:
                self._run(job)
        except KeyboardInterrupt:
            # Meant for what runs on this loop, which it would end.
            pass

    def _next(self) -> FunctionJob[Any] | CoroutineJob[Any] | None:
        with self._lock:
            return self._queue.popleft() if self._queue else None

    def _run(self, job: FunctionJob[Any]) -> None:
        self._running += 1
        try:
            job.run()
        finally:
            self._running -= 1

    def _start(self, job: CoroutineJob[Any]) -> None:
        if job.start():
            self._coroutines += 1
            job.future.add_done_callback(self._coroutine_ended)

    def _coroutine_ended(self, _future: Future[Any]) -> None:
        self._coroutines -= 1

    def _forget(self, future: Future[Any]) -> None:
        self._live.pop(future, None)

    def _ask(self) -> float | None:
        """When the main loop was asked to turn, if it has not since."""
        with self._lock:
            if self._asked_at is None:
                self._loop.call_soon_threadsafe(self._answer)
                self._asked_at = time.monotonic()
            return self._asked_at

    def _answer(self) -> None:
        with self._lock:
            self._asked_at = None

    def _cell_started(self, _info: object) -> None:
        if in_main_thread():  # subshells run cells, too
            self._cell = True
            self._ask()

    def _cell_ended(self, _result: object) -> None:
        if in_main_thread():
            self._cell = False

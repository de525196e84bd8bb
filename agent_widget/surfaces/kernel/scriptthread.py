"""Work for the main thread where no kernel keeps a loop there."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from ...core.errors import ToolFailure
from .host import Host
from .jobs import NO_AWAIT_HERE, CoroutineJob, FunctionJob
from .mainthread import WAITS_FOR_CALL, HostThread, KernelMainThread

T = TypeVar("T")

_THREAD_NAME: Final = "agent_widget job"


class ScriptMainThread:
    """Runs jobs where Python has no kernel: a script, IPython's terminal, marimo.

    While the main thread waits for a run (``run.result()`` or ``await run``) jobs run there,
    one after the other. Otherwise nothing could ever hand it a job, so each runs at once in a
    worker thread of its own. An interrupt in a worker comes with the next bytecode: it does not
    wake a sleeping call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: deque[FunctionJob[Any]] = deque()
        self._live: dict[Future[Any], FunctionJob[Any] | CoroutineJob[Any]] = {}
        self._wakers: list[Callable[[], object]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._running = 0

    def submit(self, job: Callable[[], T], *, interruptible: bool = True) -> Future[T]:
        """Queue ``job``; it runs in a copy of the caller's context (contextvars).

        The future ends with its result or error; KeyboardInterrupt in it becomes ``Cancelled``.
        """
        made = FunctionJob(job, interruptible=interruptible)
        self._track(made)
        with self._lock:
            wakers = tuple(self._wakers)
            if wakers:
                self._queue.append(made)
        for wake in wakers:
            wake()
        if not wakers:
            _start_worker(made)
        return made.future

    def submit_coroutine(self, factory: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run ``factory()`` on the loop where the main thread awaits a run, else on one of its own.

        The future raises ToolFailure where ``run.result()`` blocks a loop of the main thread.
        """
        loop = self._loop
        if loop is None:
            return self.submit(lambda: _run_coroutine(factory))
        made = CoroutineJob(factory, loop)
        self._track(made)
        if not _call_soon(loop, made.start):
            made.future.cancel()
        return made.future

    def interrupt(self, future: Future[Any]) -> None:
        """Raise KeyboardInterrupt in that job; drop it if it has not started, or ended."""
        if not future.cancel():
            job = self._live.get(future)
            if job is not None:
                job.interrupt()

    def waits_for(self) -> str | None:
        """Why a job would not start now, as a person reads it, or None."""
        return WAITS_FOR_CALL if self._running and self._wakers else None

    def drain(self) -> None:
        """Run what is queued, on this thread."""
        while (job := self._next()) is not None:
            self._running += 1
            try:
                job.run()
            finally:
                self._running -= 1

    @contextmanager
    def waiting(self, wake: Callable[[], object]) -> Iterator[None]:
        """While the main thread waits and drains; what is left then goes to worker threads."""
        with self._lock:
            self._wakers.append(wake)
        try:
            yield
        finally:
            with self._lock:
                self._wakers.remove(wake)
                left = [] if self._wakers else list(self._queue)
                if not self._wakers:
                    self._queue.clear()
            for job in left:
                _start_worker(job)

    @contextmanager
    def attached(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """While the main thread awaits on ``loop``, which then runs the jobs."""
        outer, self._loop = self._loop, loop
        try:
            with self.waiting(lambda: _call_soon(loop, self.drain)):
                yield
        finally:
            self._loop = outer

    def _next(self) -> FunctionJob[Any] | None:
        with self._lock:
            return self._queue.popleft() if self._queue else None

    def _track(self, job: FunctionJob[Any] | CoroutineJob[Any]) -> None:
        self._live[job.future] = job
        job.future.add_done_callback(self._forget)

    def _forget(self, future: Future[Any]) -> None:
        self._live.pop(future, None)


def main_thread(host: Host) -> HostThread:
    """What runs jobs on the main thread of this host: one per kernel, else a new stand-in."""
    return KernelMainThread.of(host) or ScriptMainThread()


def _start_worker(job: FunctionJob[Any]) -> None:
    threading.Thread(target=job.run, name=_THREAD_NAME, daemon=True).start()


def _run_coroutine(factory: Callable[[], Coroutine[Any, Any, T]]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(factory())
    raise ToolFailure(NO_AWAIT_HERE)


def _call_soon(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> bool:
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:  # closed
        return False
    return True

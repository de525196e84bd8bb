"""The engine's own thread and event loop, one per process.

Everything of a session happens here: model calls, tool batches, the only writes of traits. It never
runs on the kernel's main thread, so a busy or waiting cell cannot stop it.
"""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class EngineThread:
    """A daemon thread with an asyncio loop; get the process's one with ``engine_thread``."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="agent-widget-engine", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    @property
    def is_current(self) -> bool:
        """True on the engine's thread, where waiting for it would never end."""
        return threading.current_thread() is self._thread

    def submit(
        self,
        work: Callable[[], Coroutine[Any, Any, T]],
        context: contextvars.Context | None = None,
    ) -> Future[T]:
        """Run ``work()`` as a task on the engine's loop, in ``context``; from any thread.

        Cancelling the future cancels the task.
        """
        future: Future[T] = Future()

        def start() -> None:
            task = self.loop.create_task(work(), context=context)
            _chain(task, future)

        self.loop.call_soon_threadsafe(start)
        return future

    def call_soon(self, callback: Callable[..., object], *args: Any) -> None:
        """Call ``callback`` on the engine's loop soon; from any thread."""
        self.loop.call_soon_threadsafe(callback, *args)


def _chain(task: asyncio.Task[T], future: Future[T]) -> None:
    def finished(done: asyncio.Task[T]) -> None:
        if done.cancelled():
            future.cancel()
            future.set_running_or_notify_cancel()
        elif not future.set_running_or_notify_cancel():
            done.exception()  # nobody waits any more; mark it as seen
        elif (error := done.exception()) is not None:
            future.set_exception(error)
        else:
            future.set_result(done.result())

    task.add_done_callback(finished)


_engines: dict[int, EngineThread] = {}  # by process id: a fork has no threads
_engines_lock = threading.Lock()


def engine_thread() -> EngineThread:
    """The engine of this process, started at the first call (and anew after a fork)."""
    with _engines_lock:
        process = os.getpid()
        if process not in _engines:
            _engines[process] = EngineThread()
        return _engines[process]

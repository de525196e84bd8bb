"""A thread for work that blocks, so that the event loop never waits for a disk or a server."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

from .base import StoreError

T = TypeVar("T")
_Job = tuple["Future[Any]", Callable[[], Any]]


class Worker:
    """Runs jobs one after the other in a daemon thread that the first one starts.

    A daemon: the interpreter does not wait for a server that answers no more. A job whose caller
    is cancelled is left out when it has not begun, and runs to its end when it has.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended: Future[None] | None = None

    async def run(self, job: Callable[[], T]) -> T:
        """What ``job`` returns or raises. Raises StoreError once the worker is closed."""
        if self._ended is not None:
            message = f"The {self._name} is closed."
            raise StoreError("STORAGE_ERROR", message, advice="Open the store again.")
        return await asyncio.wrap_future(self._put(job))

    async def close(self, last: Callable[[], None]) -> None:
        """End the thread after the jobs it was given and ``last``; harmless when it is closed."""
        if self._ended is None:
            if self._thread is None:
                self._ended = Future()
                self._ended.set_result(None)
            else:
                self._ended = self._put(last)
                self._jobs.put(None)
        await asyncio.shield(asyncio.wrap_future(self._ended))
        if self._thread is not None:
            self._thread.join()  # it has nothing left to do

    def _put(self, job: Callable[[], T]) -> Future[T]:
        if self._thread is None:
            run = partial(_run_all, self._jobs)
            self._thread = threading.Thread(target=run, name=self._name, daemon=True)
            self._thread.start()
        future: Future[T] = Future()
        self._jobs.put((future, job))
        return future


def _run_all(jobs: queue.SimpleQueue[_Job | None]) -> None:
    while (entry := jobs.get()) is not None:
        future, job = entry
        if future.set_running_or_notify_cancel():
            try:
                result = job()
            except BaseException as error:  # noqa: BLE001 - it belongs to who awaits the future
                future.set_exception(error)
            else:
                future.set_result(result)
                del result
        del entry, future, job  # nothing outlives its job while the thread waits for the next one

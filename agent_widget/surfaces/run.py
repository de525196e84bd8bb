"""The handle that ``chat.send`` returns: wait for the run, or do not."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from typing import Any, Protocol

from ..engine.run import RunResult


class Waiter(Protocol):
    """How a caller waits on this host without stopping what it waits for."""

    def wait(self, future: Future[RunResult], timeout_s: float | None) -> RunResult: ...
    async def wait_async(self, future: Future[RunResult]) -> RunResult: ...
    def stop_run(self, run_id: str) -> None: ...


class Run:
    """A run under way or ended.

    ``run.result()`` and ``await run`` wait for its end while text streams on and clicks arrive; an
    interrupted wait stops the run. Neither is needed: the run goes on by itself.
    """

    def __init__(self, run_id: str, future: Future[RunResult], waiter: Waiter) -> None:
        self.run_id = run_id
        self._future = future
        self._waiter = waiter

    @property
    def done(self) -> bool:
        return self._future.done()

    def result(self, timeout_s: float | None = None) -> RunResult:
        """Wait for the end of the run and return how it ended.

        Raises TimeoutError after ``timeout_s`` seconds (the run goes on), WaitRefused where
        waiting could never end, KeyboardInterrupt when the wait is interrupted.
        """
        return self._waiter.wait(self._future, timeout_s)

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self._waiter.wait_async(self._future).__await__()

    def stop(self) -> None:
        """Stop this run; harmless when it has ended."""
        if not self.done:
            self._waiter.stop_run(self.run_id)

    def __repr__(self) -> str:
        # Without id and time, so that a notebook's output is the same at every run.
        return f"Run({self._future.result().reason if self.done else 'running'})"

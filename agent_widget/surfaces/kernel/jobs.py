"""One piece of work for the main thread, and the future that ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import types
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

from ...core.errors import Cancelled, ToolFailure
from .interrupt import InterruptScope

T = TypeVar("T")

NO_AWAIT_HERE = (
    "This code awaits, but the event loop it needs stands still while run.result() waits. "
    "Write the code without await, or wait for the run with `await run`."
)


class FunctionJob(Generic[T]):
    """A function, run once, in the context it was submitted in.

    The future never ends with something that would break an event loop: KeyboardInterrupt and
    cancellation become ``Cancelled``, SystemExit becomes ``ToolFailure``.
    """

    def __init__(self, function: Callable[[], T], *, interruptible: bool = True) -> None:
        self.future: Future[T] = Future()
        self._function = function
        self._context = contextvars.copy_context()
        self._scope = InterruptScope(raises=interruptible)

    def run(self) -> None:
        """Run it on this thread, unless its future was cancelled before."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            value = self._context.run(self._scope.call, self._function)
        except BaseException as error:  # noqa: BLE001 - whatever ends it is its outcome
            self.future.set_exception(outcome_error(error))
        else:
            self.future.set_result(value)
        self._scope.forward()

    def interrupt(self) -> None:
        """KeyboardInterrupt in the running function; before it starts: it will not."""
        self._scope.interrupt()


class CoroutineJob(Generic[T]):
    """A coroutine, run as a task on ``loop``, in the context it was submitted in.

    An interrupt raises KeyboardInterrupt where the code computes, and cancels where it awaits;
    the future then ends with ``Cancelled``.
    """

    def __init__(
        self, factory: Callable[[], Coroutine[Any, Any, T]], loop: asyncio.AbstractEventLoop
    ) -> None:
        self.future: Future[T] = Future()
        self._factory = factory
        self._loop = loop
        self._context = contextvars.copy_context()
        self._scope = InterruptScope()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> bool:
        """True when the task runs; on the loop's thread. False: the future was cancelled."""
        if not self.future.set_running_or_notify_cancel():
            return False
        self._task = self._loop.create_task(self._main(), context=self._context)
        return True

    def refuse(self, reason: str) -> None:
        """End without a start: the future raises ToolFailure with that reason."""
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(ToolFailure(reason))

    def interrupt(self) -> None:
        if not self._scope.interrupt(remember=False):
            with contextlib.suppress(RuntimeError):  # the loop is closed, its tasks are gone
                self._loop.call_soon_threadsafe(self._cancel)

    async def _main(self) -> None:
        try:
            value = await _stepwise(self._factory, self._scope, self._cancel)
        except BaseException as error:  # noqa: BLE001 - whatever ends it is its outcome
            self.future.set_exception(outcome_error(error))
        else:
            self.future.set_result(value)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()


@types.coroutine
def _stepwise(
    factory: Callable[[], Coroutine[Any, Any, T]], scope: InterruptScope, cancel: Callable[[], None]
) -> Generator[Any, Any, T]:
    """Result of the coroutine, each of its steps run inside ``scope``."""
    coroutine = factory()
    error: BaseException | None = None
    while True:
        step = _step(coroutine, error)
        try:
            awaited = scope.call(step)
        except StopIteration as stop:
            value: T = stop.value
            return value
        finally:
            scope.forward()
        if scope.take_missed():
            cancel()
        error = None
        try:
            yield awaited
        except BaseException as thrown:  # noqa: BLE001 - the coroutine decides
            error = thrown


def _step(coroutine: Coroutine[Any, Any, T], error: BaseException | None) -> Callable[[], Any]:
    if error is None:
        return lambda: coroutine.send(None)
    return lambda: coroutine.throw(error)


def outcome_error(error: BaseException) -> Exception:
    """The exception that a job's future raises for what ended the job; its cause is ``error``."""
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError):
        worded: Exception = Cancelled("Interrupted by the user.")
    elif isinstance(error, SystemExit):
        worded = ToolFailure(f"The code asked Python to exit ({error.code}); the kernel goes on.")
    elif isinstance(error, Exception):
        return error
    else:
        worded = ToolFailure(f"The code ended with {error!r}.")
    worded.__cause__ = error
    return worded

"""Waiting for a run on the kernel's main thread or on any loop, with clicks and Stop alive."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from types import FrameType, TracebackType
from typing import Final, TypeVar

from ...core.errors import WaitRefused
from .host import Host, in_main_thread
from .interrupt import InterruptScope
from .mainthread import HostThread
from .tap import CommTap

T = TypeVar("T")

POLL_S: Final = 0.05
HEARTBEAT_S: Final = 0.2
SETTLE_S: Final = 2.0
"""How long an interrupted ``wait_blocking`` waits for the run to end."""

Tick = Callable[[], None]


def wait_blocking(
    future: Future[T],
    *,
    main: HostThread,
    on_interrupt: Callable[[], None],
    tap: CommTap | None = None,
    tick: Tick | None = None,
    timeout_s: float | None = None,
) -> T:
    """The result of ``future``; for ``run.result()``.

    On the main thread it runs the jobs of ``main``, keeps the tap alive and calls ``tick``
    about every 50 ms (``tick`` may ask with ``input()``). SIGINT there calls ``on_interrupt``
    once, gives the run 2 s to end (a second SIGINT: none) and raises KeyboardInterrupt. On
    another thread it is ``future.result``. Raises TimeoutError after ``timeout_s`` seconds,
    which does not stop the run, and what the future raises. Must not be called on the thread
    that completes the future.
    """
    if not in_main_thread():
        return future.result(timeout_s)
    interrupts = _Interrupts()
    wait = _BlockingWait(future, main, tap, tick, interrupts)
    with main.waiting(wait.wake), interrupts:
        wait.run(timeout_s)
        if interrupts.count:
            on_interrupt()
            wait.run(SETTLE_S)
    if interrupts.count:
        raise KeyboardInterrupt
    if not future.done():
        raise TimeoutError(f"The run has not ended within {timeout_s} s; it goes on.")
    return future.result()


async def wait_async(
    future: Future[T],
    *,
    main: HostThread,
    on_interrupt: Callable[[], None],
    tick: Tick | None = None,
    timeout_s: float | None = None,
) -> T:
    """The result of ``future``, on any asyncio loop; for ``await run``.

    Wakes every 0.2 s: without that, a kernel's interrupt comes with the next timer only. The
    kernel raises it as CancelledError, which calls ``on_interrupt`` and goes on; so does any
    other cancellation. ``tick`` is called at each wake on the main thread. Raises TimeoutError
    after ``timeout_s`` seconds, which does not stop the run, and what the future raises.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    def notify(_: Future[T]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(end)

    future.add_done_callback(notify)
    deadline = _deadline(timeout_s)
    on_main = in_main_thread()
    try:
        with main.attached(loop) if on_main else contextlib.nullcontext():
            while not future.done() and (left := deadline - time.monotonic()) > 0:
                await asyncio.wait({ended}, timeout=min(HEARTBEAT_S, left))
                if on_main and tick is not None and not future.done():
                    _run_tick(tick)
    except (asyncio.CancelledError, KeyboardInterrupt):
        on_interrupt()
        raise
    if not future.done():
        raise TimeoutError(f"The run has not ended within {timeout_s} s; it goes on.")
    return future.result()


def refuse_deadlock(host: Host, needs_click: bool) -> None:
    """Raises WaitRefused where a waiting cell keeps the click it waits for from arriving."""
    if not needs_click:
        return
    if host.kind == "marimo":
        raise WaitRefused(
            "A marimo cell that waits for this run would wait for ever: marimo delivers no click "
            "while a cell runs, and a tool may have to ask.",
            advice="Call send() and let the cell end; the answer appears in the widget. "
            "Or pass ask_user= so that no click is needed.",
        )
    if host.kind == "voila":
        raise WaitRefused(
            "A cell that waits for this run would wait for ever: Voila shows the page only when "
            "all cells have ended, and a tool may have to ask.",
            advice="Call send() and let the cell end; the answer appears in the widget. "
            "Or pass ask_user= so that no click is needed.",
        )


class _Interrupts:
    """Counts SIGINT instead of raising it, so that no step of a wait is cut in half."""

    def __init__(self) -> None:
        self.count = 0
        self._previous: signal.Handlers | int | Callable[..., object] | None = None

    def __enter__(self) -> None:
        self._previous = signal.getsignal(signal.SIGINT)
        if self._previous is not None:  # else not installed from Python: it stays
            signal.signal(signal.SIGINT, self._on_sigint)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)

    def _on_sigint(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1


class _BlockingWait:
    """The loop of ``wait_blocking``."""

    def __init__(
        self,
        future: Future[T],
        main: HostThread,
        tap: CommTap | None,
        tick: Tick | None,
        interrupts: _Interrupts,
    ) -> None:
        self._future = future
        self._main = main
        self._tap = tap
        self._tick = tick
        self._interrupts = interrupts
        self._woken = threading.Event()
        future.add_done_callback(lambda _: self._woken.set())

    def wake(self) -> None:
        self._woken.set()

    def run(self, timeout_s: float | None) -> None:
        """Until the future is done, the next interrupt, or the time is up."""
        deadline = _deadline(timeout_s)
        before = self._interrupts.count
        while not self._future.done() and self._interrupts.count == before:
            self._woken.clear()
            self._main.drain()
            if self._tap is not None:
                self._tap.pump()
            if self._tick is not None and not self._future.done():
                try:
                    _run_tick(self._tick)
                except KeyboardInterrupt:
                    self._interrupts.count = max(self._interrupts.count, before + 1)
            left = deadline - time.monotonic()
            if left <= 0:
                return
            if not self._future.done():
                self._woken.wait(min(POLL_S, left))


def _run_tick(tick: Tick) -> None:
    """``tick()``, which an interrupt ends, and which is then forwarded."""
    scope = InterruptScope()
    try:
        scope.call(tick)
    finally:
        scope.forward()


def _deadline(timeout_s: float | None) -> float:
    return float("inf") if timeout_s is None else time.monotonic() + timeout_s

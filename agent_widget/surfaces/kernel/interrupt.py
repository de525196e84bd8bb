"""KeyboardInterrupt in one piece of code, and in nothing that runs before or after it."""

from __future__ import annotations

import _thread
import ctypes
import functools
import inspect
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, TypeVar

from .host import in_main_thread

T = TypeVar("T")

_INSIST_AFTER_S: Final = 0.05
_DELIVERY_TIMEOUT_S: Final = 1.0
_CHECKS: Final = 100
"""Turns of a loop, each of which looks for an exception from another thread."""


class InterruptScope:
    """Runs code so that ``interrupt`` from any thread raises KeyboardInterrupt inside it.

    On the main thread it works as a kernel's own interrupt does, with SIGINT, so that a
    sleeping call wakes; a SIGINT from elsewhere counts too, and is passed on by ``forward`` to
    the handler that held before. On another thread the exception comes with the next bytecode,
    once. ``raises=False`` makes the code immune, and ``interrupt`` in vain.
    """

    def __init__(self, *, raises: bool = True) -> None:
        self._raises = raises
        self._lock = threading.Lock()
        self._send: Callable[[], object] | None = None  # set while the code runs
        self._may_miss = False
        self._awaited = False  # an interrupt came before the code started
        self._sent = 0
        self._seen = 0
        self._missed = False
        self._foreign = False
        self._beneath: Callable[[int, FrameType | None], object] | None = None

    def call(self, function: Callable[[], T]) -> T:
        """``function()``; may be used again once it has returned."""
        return self._call_on_main(function) if in_main_thread() else self._call_aside(function)

    def interrupt(self, *, remember: bool = True) -> bool:
        """True when code was running here and gets the exception.

        Before it started, the request is kept for it, if ``remember``.
        """
        with self._lock:
            if not self._raises:
                return False
            send = self._send
            if send is None:
                self._awaited = remember
                return False
            self._sent += 1
            send()
        if self._may_miss:
            threading.Thread(target=self._insist, daemon=True).start()
        return True

    def forward(self) -> None:
        """Give a SIGINT that came from elsewhere to the handler that the code had displaced.

        Does what that handler does, raising included.
        """
        if self._foreign:
            self._foreign = False
            if self._beneath is not None:
                self._beneath(signal.SIGINT, inspect.currentframe())

    def take_missed(self) -> bool:
        """True, once, when an interrupt came so late that it was not raised."""
        missed, self._missed = self._missed, False
        return missed

    def _call_on_main(self, function: Callable[[], T]) -> T:
        previous = signal.getsignal(signal.SIGINT)
        if previous is None:  # not installed from Python: it could not be put back
            return function()
        here = id(inspect.currentframe())  # the frame itself would be a cycle

        def on_sigint(_number: int, frame: FrameType | None) -> None:
            own = self._seen < self._sent
            self._seen = self._sent
            self._foreign = self._foreign or not own
            if self._raises and _is_inside(frame, here):
                raise KeyboardInterrupt
            self._missed = self._missed or own

        self._beneath = previous if callable(previous) else None
        signal.signal(signal.SIGINT, on_sigint)
        try:
            self._open(_interrupt_of_main(), may_miss=True)
            return _inside(function)
        finally:
            self._close()
            self._await_delivery()
            # CPython runs a pending handler before it exchanges it: nothing slips through.
            signal.signal(signal.SIGINT, previous)

    def _call_aside(self, function: Callable[[], T]) -> T:
        ident = threading.get_ident()

        def send() -> None:
            if self._sent == 1:
                _raise_in_thread(ident, KeyboardInterrupt)

        try:
            self._open(send, may_miss=False)
            return function()
        finally:
            self._end_aside()

    def _end_aside(self) -> None:
        """Close, and let an exception that is still on its way come here, where it ends.

        Taking it back (PyThreadState_SetAsyncExc with NULL) leaves CPython 3.11 looking for it for
        ever: slower code, and an endless loop under a profiler or debugger.
        """
        try:
            self._close()
            for _ in range(_CHECKS if self._sent else 0):
                pass
        except KeyboardInterrupt:
            self._close()

    def _open(self, send: Callable[[], object], *, may_miss: bool) -> None:
        with self._lock:
            self._may_miss = may_miss
            awaited, self._awaited = self._awaited, False
            if not awaited:
                self._send = send
        if awaited:
            raise KeyboardInterrupt

    def _close(self) -> None:
        with self._lock:
            self._send = None

    def _insist(self) -> None:
        # A signal that comes just before a call blocks is seen after the call only; another
        # one ends the call. The test and the sending are one step: no call that could let the
        # main thread see the first signal lies between them.
        pause_s = _INSIST_AFTER_S
        while pause_s < _DELIVERY_TIMEOUT_S:
            time.sleep(pause_s)
            pause_s *= 2
            with self._lock:
                send = self._send
                if send is None or self._seen >= self._sent:
                    return
                self._sent += 1
                send()

    def _await_delivery(self) -> None:
        # What was sent to this code must not arrive in the next; where threads share no lock,
        # or on Windows, it may still be on its way.
        deadline = time.monotonic() + _DELIVERY_TIMEOUT_S
        while self._seen < self._sent and time.monotonic() < deadline:
            time.sleep(0.0005)


def _inside(function: Callable[[], T]) -> T:
    """Marks the frames that may be interrupted: this one and those above it."""
    return function()


def _is_inside(frame: FrameType | None, outside: int) -> bool:
    while frame is not None and id(frame) != outside:
        if frame.f_code is _inside.__code__:
            return True
        frame = frame.f_back
    # A greenlet's frames end before they reach ours, and it is the code that switched to it.
    return frame is None


def _interrupt_of_main() -> Callable[[], object]:
    """What raises SIGINT in the main thread, sleeping or not; a C function, see ``_insist``."""
    ident = threading.main_thread().ident
    if sys.platform == "win32" or ident is None:
        return _thread.interrupt_main
    return functools.partial(signal.pthread_kill, ident, signal.SIGINT)


def _raise_in_thread(ident: int, error: type[BaseException]) -> None:
    raised = ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), raised)

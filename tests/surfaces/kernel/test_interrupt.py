"""An interrupt hits the code it is meant for, and nothing before, after or beneath it."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import repeat
from types import FrameType

import pytest

from agent_widget.surfaces.kernel.interrupt import InterruptScope

ROUNDS = 400
ENDLESS_EVERY = 10


@pytest.fixture
def beneath() -> Iterator[list[int]]:
    """The signals that reach the handler beneath; threads take turns as often as they can."""
    reached: list[int] = []

    def handler(number: int, _: FrameType | None) -> None:
        reached.append(number)

    previous = signal.signal(signal.SIGINT, handler)
    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield reached
    sys.setswitchinterval(interval_s)
    signal.signal(signal.SIGINT, previous)


class Interrupter(threading.Thread):
    """Interrupts a scope once in each round, as soon as the code says that it runs."""

    def __init__(self, scope: InterruptScope) -> None:
        super().__init__(daemon=True)
        self.scope = scope
        self.hits = 0
        self.running = threading.Semaphore(0)
        self.rounds_done = threading.Semaphore(0)
        self.start()

    def run(self) -> None:
        for _ in range(ROUNDS):
            self.running.acquire()
            self.hits += self.scope.interrupt(remember=False)
            self.rounds_done.release()


def test_an_interrupt_near_the_end_of_code_is_raised_in_it_or_nowhere(beneath: list[int]) -> None:
    scope = InterruptScope()
    interrupter = Interrupter(scope)
    ends: Counter[str] = Counter()

    def code(steps: Iterable[object]) -> None:
        interrupter.running.release()
        for _ in steps:
            pass

    handler = signal.getsignal(signal.SIGINT)
    for turn in range(ROUNDS):
        # Where the interrupt lands is the scheduler's choice, but endless code has no end to miss.
        is_endless = turn % ENDLESS_EVERY == 0
        try:
            scope.call(functools.partial(code, repeat(None) if is_endless else range(turn * 5)))
        except KeyboardInterrupt:
            ends["interrupted"] += 1
        else:
            ends["ended"] += 1
        assert signal.getsignal(signal.SIGINT) is handler
        assert interrupter.rounds_done.acquire(timeout=10)
    missed = ends["interrupted"] < interrupter.hits
    assert beneath == []
    assert ends["interrupted"] <= interrupter.hits
    assert ends["interrupted"] >= ROUNDS // ENDLESS_EVERY
    assert scope.take_missed() is missed


def test_an_interrupt_sent_before_the_code_runs_keeps_it_from_running(beneath: list[int]) -> None:
    scope = InterruptScope()
    assert not scope.interrupt()
    ran: list[bool] = []
    with pytest.raises(KeyboardInterrupt):
        scope.call(lambda: ran.append(True))
    assert (ran, beneath) == ([], [])


def test_a_signal_from_elsewhere_ends_the_code_and_is_then_forwarded(beneath: list[int]) -> None:
    scope = InterruptScope()
    with pytest.raises(KeyboardInterrupt):
        scope.call(lambda: os.kill(os.getpid(), signal.SIGINT))
    assert beneath == []
    scope.forward()
    scope.forward()
    assert beneath == [signal.SIGINT]


def test_immune_code_is_not_ended_and_the_signal_forwarded(beneath: list[int]) -> None:
    scope = InterruptScope(raises=False)

    def code() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "ended"

    assert scope.call(code) == "ended"
    scope.forward()
    assert beneath == [signal.SIGINT]


def test_an_interrupt_of_the_outer_code_reaches_it_through_the_inner(beneath: list[int]) -> None:
    outer, inner = InterruptScope(), InterruptScope()
    seen: list[str] = []

    def interrupt_outer() -> None:
        outer.interrupt()
        time.sleep(600)

    def nested() -> None:
        try:
            inner.call(interrupt_outer)
        except KeyboardInterrupt:
            seen.append("inner")
        inner.forward()
        seen.append("not reached")

    with pytest.raises(KeyboardInterrupt):
        outer.call(nested)
    outer.forward()
    assert (seen, beneath) == (["inner"], [])


def test_an_interrupt_just_before_a_call_that_sleeps_ends_the_sleep(beneath: list[int]) -> None:
    for _ in range(5):
        scope = InterruptScope()
        about_to_sleep = threading.Event()
        threading.Thread(target=interrupt_after, args=(scope, about_to_sleep)).start()
        with pytest.raises(KeyboardInterrupt):
            scope.call(functools.partial(sleep_after, about_to_sleep))
    assert beneath == []


def interrupt_after(scope: InterruptScope, event: threading.Event) -> None:
    event.wait(10)
    scope.interrupt()


def sleep_after(event: threading.Event) -> None:
    event.set()
    time.sleep(600)

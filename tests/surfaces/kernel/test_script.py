"""Jobs and waiting in plain Python, without a kernel."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from typing import Any

import pytest

from agent_widget.core.errors import Cancelled
from agent_widget.surfaces.kernel.host import Host
from agent_widget.surfaces.kernel.mainthread import HostThread
from agent_widget.surfaces.kernel.prompt import terminal_question, visible
from agent_widget.surfaces.kernel.scriptthread import ScriptMainThread, main_thread
from agent_widget.surfaces.kernel.waiting import wait_async, wait_blocking
from tests.surfaces.kernel.kernels import REPOSITORY

SPEAKER = contextvars.ContextVar("SPEAKER", default="nobody")


def where() -> tuple[bool, str]:
    return threading.current_thread() is threading.main_thread(), SPEAKER.get()


class Run:
    """A run that asks main for one job, from another thread, and ends with its result."""

    def __init__(self, main: HostThread, job: Any = where) -> None:
        self.stopped = 0
        self.future: Future[Any] = Future()
        self.thread = threading.Thread(target=self._work, args=(main, job))

    def start(self) -> Future[Any]:
        self.thread.start()
        return self.future

    def stop(self) -> None:
        self.stopped += 1

    def _work(self, main: HostThread, job: Any) -> None:
        SPEAKER.set("engine")
        try:
            self.future.set_result(main.submit(job).result(10))
        except Exception as error:  # noqa: BLE001 - as the engine does
            self.future.set_exception(error)


def test_a_script_gets_the_stand_in() -> None:
    assert isinstance(main_thread(Host("script")), ScriptMainThread)


def test_a_job_runs_on_main_where_main_waits() -> None:
    main = ScriptMainThread()
    run = Run(main)
    with main.waiting(lambda: None):  # so that the run finds main waiting
        future = run.start()
        result = wait_blocking(future, main=main, on_interrupt=run.stop, timeout_s=10)
    run.thread.join()
    assert (result, run.stopped) == ((True, "engine"), 0)


@pytest.mark.anyio
async def test_a_job_runs_on_main_where_main_awaits() -> None:
    main = ScriptMainThread()
    run = Run(main)
    asyncio.get_running_loop().call_soon(run.start)
    assert await wait_async(run.future, main=main, on_interrupt=run.stop, timeout_s=10) == (
        True,
        "engine",
    )
    run.thread.join()


def test_a_job_runs_in_a_worker_where_nobody_waits() -> None:
    assert Run(ScriptMainThread()).start().result(10) == (False, "engine")


def test_a_job_that_main_left_behind_goes_to_a_worker() -> None:
    main = ScriptMainThread()
    with main.waiting(lambda: None):
        future = main.submit(where)
        assert not future.running()
    assert future.result(10) == (False, "nobody")


def test_stop_interrupts_a_job_in_a_worker() -> None:
    main = ScriptMainThread()
    started = threading.Event()

    def count() -> None:
        started.set()
        while True:
            pass

    future = main.submit(count)
    started.wait(10)
    main.interrupt(future)
    assert isinstance(future.exception(10), Cancelled)


def test_an_interrupted_worker_leaves_other_jobs_alone() -> None:
    main = ScriptMainThread()
    for _ in range(200):
        future = main.submit(lambda: sum(range(100)))
        main.interrupt(future)
        try:
            assert future.result(10) == 4950
        except Cancelled:
            continue


def test_a_coroutine_runs_on_a_loop_of_its_own_or_on_the_one_that_awaits() -> None:
    main = ScriptMainThread()

    async def job() -> tuple[bool, str]:
        await asyncio.sleep(0)
        return where()

    async def script() -> Any:
        future = main.submit_coroutine(job)
        with main.attached(asyncio.get_running_loop()):
            attached = main.submit_coroutine(job)
            here = await wait_async(attached, main=main, on_interrupt=lambda: None)
        return here, future.result(10)

    assert asyncio.run(script()) == ((True, "nobody"), (False, "nobody"))


def test_ctrl_c_stops_the_run_then_ends_the_wait() -> None:
    main = ScriptMainThread()
    future: Future[str] = Future()
    order: list[str] = []

    def stop() -> None:
        order.append("stopped")
        threading.Timer(0, settle).start()

    def settle() -> None:
        order.append("settled")
        future.set_result("x")

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        wait_blocking(future, main=main, on_interrupt=stop, tick=press, timeout_s=10)
    assert order == ["stopped", "settled"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_that_does_not_settle_is_left_after_two_seconds() -> None:
    main = ScriptMainThread()
    pressed = iter([True])

    def press() -> None:
        if next(pressed, False):
            os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        wait_blocking(Future(), main=main, on_interrupt=lambda: None, tick=press)
    assert time.monotonic() - began > 1.9


@pytest.mark.anyio
async def test_cancelling_an_await_stops_the_run_once_and_leaves_its_future() -> None:
    stops: list[str] = []
    future: Future[str] = Future()
    waiting = asyncio.ensure_future(
        wait_async(future, main=ScriptMainThread(), on_interrupt=lambda: stops.append("stop"))
    )
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (stops, future.cancelled()) == (["stop"], False)


def test_invisible_characters_are_shown_as_escapes() -> None:
    text = "a\u202eb\u200bc\x1b[2Jd\u00a0e\U000e0041f\n\tä漢"
    assert visible(text) == ("a\\u202eb\\u200bc\\x1b[2Jd\\xa0e\\U000e0041f\n\tä漢")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("a\n", "allow_once None"),
        ("Session\n", "allow_session None"),
        ("\n\n", "deny None"),
        ("x\ny\nz\nno\n", "deny no"),
        ("\x04", "nobody"),
    ],
)
def test_a_terminal_is_asked(typed: str, answer: str) -> None:
    code = (
        "from agent_widget.surfaces.kernel.host import detect_host\n"
        "from agent_widget.surfaces.kernel.prompt import terminal_question\n"
        "a = terminal_question('rm x', detect_host(), rule_for_session='every rm')\n"
        "print('answer:', a and f'{a.decision} {a.reason}' or 'nobody')"
    )
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, typed.encode())
        made = subprocess.run(
            [sys.executable, "-c", code],
            cwd=REPOSITORY,
            stdin=terminal,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    finally:
        os.close(keyboard)
        os.close(terminal)
    assert made.stdout.endswith(f"answer: {answer}\n")
    assert "rm x\nFor this session: every rm\n" in made.stdout


@pytest.mark.anyio
async def test_only_the_main_thread_asks() -> None:
    assert await asyncio.to_thread(terminal_question, "rm x", Host("script")) is None


PROFILED = """
import sys, threading
from agent_widget.surfaces.kernel.scriptthread import ScriptMainThread

main = ScriptMainThread()
begun, go_on = threading.Event(), threading.Event()

def job():
    begun.set()
    go_on.wait()

assert main.submit(lambda: 42).result(10) == 42
stopped = main.submit(job)
begun.wait()
main.interrupt(stopped)
go_on.set()
stopped.exception(10)

calls = []
sys.setprofile(lambda frame, event, arg: calls.append(event))
len("a profiler, a debugger and coverage all work like this")
sys.setprofile(None)
print(calls[0])
"""


def test_jobs_in_a_worker_leave_nothing_that_hangs_a_profiler() -> None:
    command = [sys.executable, "-c", PROFILED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "c_call\n", "")

"""What the tests run inside a kernel: a comm with an inbox, jobs, and runs to wait for."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import Any

from ipywidgets.comm import create_comm  # knows how ipykernel 6.17 makes one

from agent_widget.core.errors import Cancelled, ToolFailure
from agent_widget.surfaces.kernel.context import DisplayContext
from agent_widget.surfaces.kernel.host import detect_host
from agent_widget.surfaces.kernel.inbox import Inbox, custom_content
from agent_widget.surfaces.kernel.prompt import terminal_question
from agent_widget.surfaces.kernel.scriptthread import main_thread
from agent_widget.surfaces.kernel.tap import install_tap
from agent_widget.surfaces.kernel.waiting import wait_async, wait_blocking

__all__ = [
    "Cancelled",
    "DisplayContext",
    "Kit",
    "Thread",
    "ToolFailure",
    "asyncio",
    "terminal_question",
    "time",
]

SPEAKER = contextvars.ContextVar("SPEAKER", default="nobody")


class Kit:
    """Stands for the engine and the widget."""

    def __init__(self) -> None:
        self.host = detect_host()
        self.main = main_thread(self.host)
        self.tap = install_tap(self.host)
        self.seen: list[str] = []
        self.buffers: dict[str, bytes] = {}
        self.stopped = 0
        self.order: list[str] = []
        self._runs: dict[str, Future[Any]] = {}
        self._plans: dict[str, Callable[[], object]] = {}
        self.inbox = Inbox(self._deliver)
        self.comm = create_comm(target_name="agent_widget_test")
        self.comm.on_msg(self._on_msg)
        assert self.tap is not None
        self.tap.watch(self.comm.comm_id, self.inbox)

    def _on_msg(self, message: dict[str, Any]) -> None:
        content = custom_content(message["content"]["data"])
        self.inbox.receive(content, message.get("buffers"), "on_msg")

    def _deliver(self, content: dict[str, Any], buffers: list[memoryview] | None, _: str) -> None:
        name = content["request_id"]
        self.seen.append(name)
        if buffers:
            self.buffers[name] = bytes(buffers[0])
        self._plans.pop(name, lambda: None)()
        self.run(name).set_result(name)

    def plan(self, name: str, action: Callable[[], object]) -> None:
        """Do that when the message comes."""
        self._plans[name] = action

    def run(self, name: str) -> Future[Any]:
        """Ends when the message of that name comes."""
        return self._runs.setdefault(name, Future())

    def ready(self) -> None:
        sys.stdout.write("ready\n")
        sys.stdout.flush()

    def tell(self, **content: Any) -> None:
        """Send a message to the front end."""
        self.comm.send({"method": "custom", "content": content})

    def on_interrupt(self) -> None:
        self.stopped += 1

    def ends_when_stopped(self, name: str) -> None:
        """As the engine's runs: stopping one ends it, soon, on another thread."""
        run = self.run(name)

        def wait_for_stop() -> None:
            while not self.stopped:
                time.sleep(0.01)
            run.set_result("stopped")

        Thread(wait_for_stop)

    def watch_main(self, seconds: float) -> str | None:
        """What ``waits_for`` says most of that time."""
        said: Counter[str | None] = Counter()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            said[self.main.waits_for()] += 1
            time.sleep(0.02)
        return said.most_common(1)[0][0]

    def say(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
        self.tell(said=text)

    def wait(self, future: Future[Any], timeout_s: float | None = 10) -> Any:
        """As run.result()."""
        return wait_blocking(
            future,
            main=self.main,
            tap=self.tap,
            on_interrupt=self.on_interrupt,
            timeout_s=timeout_s,
        )

    async def awaited(self, future: Future[Any], timeout_s: float | None = 10) -> Any:
        """As await run."""
        return await wait_async(
            future, main=self.main, on_interrupt=self.on_interrupt, timeout_s=timeout_s
        )

    async def foreign_await(self, name: str, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while name not in self.seen and time.monotonic() < end:  # noqa: ASYNC110 - as users do
            await asyncio.sleep(0.01)

    def foreign_sleep(self, name: str, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while name not in self.seen and time.monotonic() < end:
            time.sleep(0.05)

    def busy(self, name: str, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while name not in self.seen and time.monotonic() < end:
            pass

    async def second_copies(self, count: int) -> int:
        """How many copies the inbox has dropped, once there are ``count`` or after 5 s."""
        end = time.monotonic() + 5
        while self.inbox.statistics.duplicates < count and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return self.inbox.statistics.duplicates

    def submit_aside(self, job: Callable[[], Any]) -> Future[Any]:
        """Submit from another thread, as the engine does, with its own context variable."""
        made: Future[Future[Any]] = Future()

        def submit() -> None:
            SPEAKER.set("engine")
            made.set_result(self.main.submit(job))

        threading.Thread(target=submit).start()
        return made.result(5)

    def where(self) -> str:
        thread = threading.current_thread()
        return f"{'main' if thread is threading.main_thread() else thread.name}:{SPEAKER.get()}"

    def report(self, name: str, future: Future[Any]) -> None:
        """Tell how that future ended, when it does."""

        def done(_: Future[Any]) -> None:
            error = future.exception()
            outcome = future.result() if error is None else type(error).__name__
            self.tell(job=name, outcome=outcome)

        future.add_done_callback(done)

    def naps(self) -> None:
        """A long job that an interrupt ends whenever it comes.

        CPython holds back one that comes between the last bytecode and a call that sleeps.
        """
        self.ready()
        for _ in range(6000):
            time.sleep(0.1)

    def sleeper(self, interrupted: Callable[[Future[Any]], object]) -> Future[Any]:
        """A job that sleeps for long; ``interrupted(future)`` is called once it does."""
        started = threading.Event()

        def sleep() -> str:
            started.set()
            time.sleep(600)
            return "slept"

        future = self.submit_aside(sleep)
        Thread(lambda: started.wait(10) and interrupted(future))
        return future

    def coroutine_sleeper(self, *, blocks: bool) -> Future[Any]:
        """A coroutine job that awaits, or computes, for long, and is interrupted then."""
        started = threading.Event()

        async def sleep() -> str:
            await asyncio.sleep(0)
            started.set()
            if blocks:
                time.sleep(600)  # noqa: ASYNC251 - what a tool may do
            else:
                await asyncio.sleep(600)
            return "slept"

        future = self.main.submit_coroutine(sleep)

        def interrupt() -> None:
            started.wait(10)
            self.main.interrupt(future)

        Thread(interrupt)
        return future

    def hail(self, rounds: int) -> dict[str, int]:
        """Short jobs, each interrupted at about its end by another thread; how they ended."""
        counts: dict[str, int] = {}

        def short() -> str:
            return str(sum(range(200)))

        for _ in range(rounds):
            future = self.main.submit(short)
            thread = Thread(functools.partial(self.main.interrupt, future))
            try:
                self.wait(future)
                outcome = "ended"
            except (Cancelled, CancelledError, KeyboardInterrupt) as error:
                outcome = type(error).__name__
            thread.join(5)
            counts[outcome] = counts.get(outcome, 0) + 1
        return counts


class Thread(threading.Thread):
    """A daemon thread that has started."""

    def __init__(self, function: Callable[[], object]) -> None:
        super().__init__(target=function, daemon=True)
        self.start()

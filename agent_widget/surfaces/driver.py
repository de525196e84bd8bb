"""Drives one session of the engine's thread from any thread and any event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from ..core.errors import SessionError
from ..core.events import CompactionResult, QueueName
from ..core.ids import Clock, IdSource, TimeOrderedIds
from ..core.messages import Prompt
from ..engine.extensions import ExtensionBindings
from ..engine.recording.tape import Recording, ReplayMismatch
from ..engine.run import ActiveRun, RunResult
from ..engine.runtime import EngineThread, engine_thread
from ..engine.session import Session
from ..engine.tree import Navigated
from .attendant import WidgetAttendant
from .keeping import Kept, open_drivers, taken_up
from .kernel.host import Host, detect_host
from .kernel.mainthread import HostThread
from .kernel.scriptthread import main_thread
from .kernel.tap import CommTap, install_tap
from .kernel.waiting import refuse_deadlock, wait_async, wait_blocking
from .run import Run

T = TypeVar("T")
COMMAND_TIMEOUT_S: Final = 30.0


class Companion(Protocol):
    """What was started beside a session and ends with it."""

    async def aclose(self) -> None: ...


def clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class Settings(Struct, frozen=True):
    """What tests and recordings set: the time, the source of ids, the recording."""

    clock_ms: Clock = clock_ms
    new_id: IdSource | None = None
    tape: Recording | None = None


DEFAULTS: Final = Settings()


class Driver:
    """A session, opened, with the host's ways of waiting for its runs.

    ``make`` builds the session from what only a driver knows. While there is no ``attendant`` (a
    widget brings one) nobody can be asked but ``ask_user``. ``settings`` are those of tests.
    """

    def __init__(
        self,
        make: Callable[..., Session],
        kept: Kept,
        *,
        has_ask_user: bool,
        settings: Settings = DEFAULTS,
    ) -> None:
        self.host: Host = detect_host()
        self.main: HostThread = main_thread(self.host)
        self.tap: CommTap | None = install_tap(self.host)
        self.engine: EngineThread = engine_thread()
        self.attendant: WidgetAttendant | None = None
        self._kept = kept
        self._has_ask_user = has_ask_user
        self._is_closed = False
        self.companion: Companion | None = None
        self._tape = settings.tape
        ids = settings.new_id or TimeOrderedIds(settings.clock_ms)
        session_id = self.command(lambda: taken_up(kept))
        if session_id is None and kept.store.is_durable:  # there, a replay's ids are taken
            session_id = TimeOrderedIds(clock_ms)("s")
        for older in open_drivers.holding(kept, session_id):
            with contextlib.suppress(ReplayMismatch):  # which nobody asks for any more
                older.close()  # a cell was run again: the newer one goes on with the session
        self.session = make(
            session_id=session_id,
            store=kept.store,
            main=self.main,
            clock_ms=settings.clock_ms,
            new_id=ids,
        )
        self.command(self.session.open)
        open_drivers.add(kept, self)

    @property
    def session_id(self) -> str:
        return self.session.session_id

    def attend(self, attendant: WidgetAttendant) -> None:
        """Let a widget show the questions that no ``ask_user`` answers."""
        self.attendant = attendant
        self.session.attend(attendant)

        async def bind() -> None:
            bindings = ExtensionBindings(mode="widget", attendant=attendant)
            with contextlib.suppress(SessionError):  # it is closed, and shown all the same
                await self.session.extensions.bind(bindings)

        self.engine.submit(bind)

    def close(self) -> None:
        """End the session and give its store back. Harmless twice.

        Raises ReplayMismatch when this was no faithful replay.
        """
        if not self._is_closed:  # the host ends a widget once more, and in whatever thread
            self.command(self._close)
        if self._tape is not None:
            self._tape.check_once()

    async def _close(self) -> None:
        try:
            await self.session.close()
        finally:
            if self.companion is not None:
                await self.companion.aclose()
        open_drivers.discard(self)
        if self._kept.is_own:
            await self._kept.store.aclose()
        self._is_closed = True

    # --- commands from code --------------------------------------------------------------------

    def start(self, admit: Callable[[Session, contextvars.Context], Any]) -> Run:
        """Admit a run; its tools see the caller's context, so their output is this cell's."""
        context = contextvars.copy_context()
        active: ActiveRun = self.command(lambda: admit(self.session, context))
        return Run(active.run_id, active.future, self)

    def command(self, work: Callable[[], Any]) -> Any:
        """Run ``work()`` on the engine's loop and wait for its answer, which needs no click."""
        if self.engine.is_current:
            raise _wrong_thread()
        return self.engine.submit(work).result(COMMAND_TIMEOUT_S)

    async def call(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run ``work()`` on the engine's loop; awaited from any loop."""
        if self.engine.is_current:
            return await work()
        return await asyncio.wrap_future(self.engine.submit(work))

    def enqueue(self, text: str | Prompt, queue: QueueName) -> str:
        """Put a message of code into a queue of the session; returns its id."""
        message_id: str = self.command(lambda: self.session.enqueue(text, queue))
        return message_id

    def compact(self, instructions: str | None) -> CompactionResult:
        """Summarise the conversation and wait for that; an interrupt ends it."""
        return self.interruptible(lambda: self.session.compact(instructions), self._interrupted)

    def navigate(self, target: str, *, label: str | None, summarize: bool) -> Navigated:
        """Go to another place of the tree and wait for that; an interrupt ends the summary."""
        tree = self.session.tree
        return self.interruptible(
            lambda: tree.navigate(target, label=label, summarize=summarize),
            lambda: self.engine.call_soon(tree.abort_summary),
        )

    def interruptible(
        self, work: Callable[[], Coroutine[Any, Any, T]], on_interrupt: Callable[[], None]
    ) -> T:
        """Run ``work()`` on the engine's loop and wait for it; an interrupt calls the other."""
        if self.engine.is_current:
            raise _wrong_thread()
        future = self.engine.submit(work)
        return wait_blocking(future, main=self.main, on_interrupt=on_interrupt, tap=self.tap)

    def stop(self) -> None:
        with contextlib.suppress(SessionError):  # nothing runs: fine
            self.command(self.session.interrupt)

    def stop_run(self, run_id: str) -> None:
        def stop_if_current() -> None:
            if self.session.run_id == run_id:
                self.engine.submit(self.session.interrupt)

        self.engine.call_soon(stop_if_current)

    # --- waiting -------------------------------------------------------------------------------

    def require_waitable(self) -> None:
        """Raises WaitRefused where a waiting cell would keep the click from arriving."""
        refuse_deadlock(self.host, needs_click=not self._has_ask_user)

    def wait(self, future: Future[RunResult], timeout_s: float | None) -> RunResult:
        if not future.done():
            self.require_waitable()
        with self._attended():
            result = wait_blocking(
                future,
                main=self.main,
                on_interrupt=self._interrupted,
                tap=self.tap,
                tick=self._tick,
                timeout_s=timeout_s,
            )
        return self._faithful(result)

    async def wait_async(self, future: Future[RunResult]) -> RunResult:
        if not future.done():
            self.require_waitable()
        with self._attended():
            result = await wait_async(
                future,
                main=self.main,
                on_interrupt=self._interrupted,
                tick=self._tick,
            )
        return self._faithful(result)

    def _faithful(self, result: RunResult) -> RunResult:
        """``result``, or ReplayMismatch: whoever waits for a replay has to see that it was none."""
        if self._tape is not None:
            self._tape.check_run()
        return result

    def _attended(self) -> AbstractContextManager[None]:
        return nullcontext() if self.attendant is None else self.attendant.waiting()

    def _tick(self) -> None:
        if self.attendant is not None:
            self.attendant.tick()

    def _interrupted(self) -> None:
        self.engine.submit(self.session.interrupt)


def _wrong_thread() -> SessionError:
    return SessionError(
        "wrong_thread",
        "This was called on the engine's own thread, which it would block.",
        advice="In an async tool, await the session's method instead.",
    )

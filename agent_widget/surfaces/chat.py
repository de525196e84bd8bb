"""The chat behind a widget: its session, its bridge, and the host's ways of waiting."""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, Final, Protocol

from ..core.errors import SessionError
from ..core.events import QueueName, Todo
from ..core.ids import TimeOrderedIds
from ..engine.run import ActiveRun, RunResult
from ..engine.runtime import EngineThread, engine_thread
from ..engine.session import Session
from ..policy.permission import Decision
from ..tools.todo import Todo as ToolTodo
from .attendant import WidgetAttendant
from .bridge import Bridge, Transport, trait_snapshot
from .keeping import Kept, open_chats, taken_up
from .kernel.context import DisplayContext
from .kernel.host import Host, detect_host
from .kernel.inbox import Inbox
from .kernel.mainthread import HostThread
from .kernel.scriptthread import main_thread
from .kernel.tap import CommTap, install_tap
from .kernel.waiting import refuse_deadlock, wait_async, wait_blocking
from .run import Run

COMMAND_TIMEOUT_S: Final = 30.0


class Widget(Transport, Protocol):
    """What a chat needs of the widget that shows it."""

    @property
    def comm(self) -> Any: ...

    def on_msg(self, callback: Callable[..., None]) -> None: ...


class Chat:
    """What an AgentWidget does, apart from its traits."""

    def __init__(
        self, session: Callable[..., Session], widget: Widget, kept: Kept, *, has_ask_user: bool
    ) -> None:
        self.displayed: DisplayContext | None = None
        self.host: Host = detect_host()
        self.main: HostThread = main_thread(self.host)
        self.tap: CommTap | None = install_tap(self.host)
        self.engine: EngineThread = engine_thread()
        self.inbox = Inbox(self._deliver)
        self._widget = widget
        self._bridge: Bridge | None = None
        self._has_ask_user = has_ask_user
        self._attendant = WidgetAttendant(
            self.host,
            has_page=lambda: self._bridge is not None and bool(self._bridge.views),
            was_displayed=lambda: self.displayed is not None,
            answer=self._answer,
        )
        self._kept = kept
        session_id = self.command(lambda: taken_up(kept))
        for older in open_chats.holding(kept, session_id):
            older.close()  # a cell was run again: the newer widget goes on with the session
        self.session = session(
            session_id=session_id,
            store=kept.store,
            main=self.main,
            clock_ms=clock_ms,
            new_id=TimeOrderedIds(clock_ms),
            attendant=self._attendant,
        )
        self.command(self.session.open)
        open_chats.add(kept, self)

    @property
    def session_id(self) -> str:
        return self.session.session_id

    def first_snapshot(self) -> dict[str, Any]:
        return trait_snapshot(self.session.stream_id, 0, self.session.view)

    def connect(self) -> None:
        """Join session and browser, once the widget has its comm."""
        self._bridge = Bridge(
            self.session, self._widget, self.engine.loop, self._attendant.page_greeted
        )
        self._widget.on_msg(self._on_msg)
        comm = self._widget.comm
        if self.tap is not None and comm is not None:
            self.tap.watch(comm.comm_id, self.inbox)

    def close(self) -> None:
        comm = self._widget.comm
        if self.tap is not None and comm is not None:
            self.tap.unwatch(comm.comm_id)
        self.command(self.session.close)
        open_chats.discard(self)
        if self._bridge is not None:
            self.engine.call_soon(self._bridge.close)
        if self._kept.is_own:
            self.command(self._kept.store.aclose)

    def show_todos(self, items: Iterable[ToolTodo]) -> None:
        """Show the plan; called on the thread of the todo tool."""
        shown = tuple(Todo(item.content, item.status) for item in items)
        self.engine.submit(lambda: self.session.show_todos(shown))

    # --- commands from code --------------------------------------------------------------------

    def start(self, admit: Callable[[Session, contextvars.Context], Any]) -> Run:
        """Admit a run; its tools see the caller's context, so their output is this cell's."""
        context = contextvars.copy_context()
        active: ActiveRun = self.command(lambda: admit(self.session, context))
        return Run(active.run_id, active.future, self)

    def command(self, work: Callable[[], Any]) -> Any:
        """Run ``work()`` on the engine's loop and wait for its answer, which needs no click."""
        if self.engine.is_current:
            raise SessionError(
                "wrong_thread",
                "This was called on the engine's own thread, which it would block.",
                advice="In an async tool, await the session's method instead.",
            )
        return self.engine.submit(work).result(COMMAND_TIMEOUT_S)

    def enqueue(self, text: str, queue: QueueName) -> str:
        """Put a message of code into a queue of the session; returns its id."""
        message_id: str = self.command(lambda: self.session.enqueue(text, queue))
        return message_id

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
        with self._attendant.waiting():
            return wait_blocking(
                future,
                main=self.main,
                on_interrupt=self._interrupted,
                tap=self.tap,
                tick=self._attendant.tick,
                timeout_s=timeout_s,
            )

    async def wait_async(self, future: Future[RunResult]) -> RunResult:
        if not future.done():
            self.require_waitable()
        with self._attendant.waiting():
            return await wait_async(
                future,
                main=self.main,
                on_interrupt=self._interrupted,
                tick=self._attendant.tick,
            )

    def _interrupted(self) -> None:
        self.engine.submit(self.session.interrupt)

    # --- messages of the browser ---------------------------------------------------------------

    def _on_msg(self, _widget: object, content: object, buffers: object) -> None:
        self.inbox.receive(content, buffers, "on_msg")

    def _deliver(self, content: dict[str, Any], _buffers: object, _path: str) -> None:
        if self._bridge is not None:
            self.engine.call_soon(self._bridge.receive, content)

    def _answer(self, permission_id: str, decision: Decision) -> None:
        def decide() -> None:
            with contextlib.suppress(SessionError):  # answered elsewhere meanwhile
                self.session.answer(permission_id, decision)

        self.engine.call_soon(decide)


def clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000

"""Mirrors a session's view into browsers and carries their commands back.

The wire (protocol 1): a snapshot trait written only at boundaries, seq-numbered patches by custom
message, a snapshot message on ``hello``. Patches are gathered to at most ``MAX_FPS`` a second with
a leading edge: the first token after a pause goes at once. They are numbered here, at the source,
so that a browser sees every loss and asks for a snapshot.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol, get_args

from ..core.errors import SessionError
from ..core.events import (
    CompactionEnded,
    Event,
    LocaleChanged,
    ModelChanged,
    PermissionDecided,
    PermissionRequested,
    QueueName,
    RunSettled,
    SessionEnded,
    SessionReset,
    StorageChanged,
    ThinkingChanged,
    ToolAnswered,
    TreeNavigated,
)
from ..engine.session import Session
from ..policy.input import requested_change
from ..providers.keys import TypedKeys
from ..view.live import Delivery, LiveView
from ..view.locale.shown import Shown
from ..view.locale.words import ENGLISH, match_of, words_of
from ..view.model import SessionView
from ..view.patch import diff
from ..view.protocol import PROTOCOL
from ..view.schema import TRAIT_BYTES, history_to_wire, view_to_wire
from .eventfeed import EventFeed
from .images import addresses_of, prompt_of_page
from .modelcommands import model_commands, without_key

MAX_FPS: Final = 30
BOUNDARIES: Final = (
    CompactionEnded,
    PermissionRequested,
    PermissionDecided,
    ToolAnswered,
    RunSettled,
    SessionReset,
    SessionEnded,
    ModelChanged,
    ThinkingChanged,
    StorageChanged,
    TreeNavigated,
    LocaleChanged,
)
"""Events after which the snapshot trait is written: a question opens or closes, a run rests."""

_log = logging.getLogger(__name__)
Content = Mapping[str, Any]
Command = Callable[[Content], Awaitable[dict[str, Any] | None]]


class Transport(Protocol):
    """The widget as the bridge sees it; called on the engine's thread only."""

    def send_message(self, content: dict[str, Any]) -> None: ...
    def write_snapshot(self, snapshot: dict[str, Any]) -> None: ...
    def write_words(self, words: dict[str, Any]) -> None: ...
    def click_context(self) -> contextvars.Context | None:
        """The context in which work started by a click runs: that of the displaying cell."""
        ...


def trait_snapshot(epoch: str, seq: int, view: SessionView) -> dict[str, Any]:
    """The bounded snapshot that travels as a trait and is saved with a notebook."""
    wire = view_to_wire(view, max_bytes=TRAIT_BYTES)
    return {"protocol": PROTOCOL, "epoch": epoch, "seq": seq, "view": wire}


class Bridge:
    """One session, any number of pages. Lives on the engine's loop."""

    def __init__(
        self,
        session: Session,
        transport: Transport,
        loop: asyncio.AbstractEventLoop,
        on_greeting: Callable[[], None] = lambda: None,
        delivery: Delivery | None = None,
        keys: TypedKeys | None = None,
    ) -> None:
        self.epoch = session.stream_id
        self.seq = 0
        self.views: set[str] = set()
        self._session = session
        self._transport = transport
        self._loop = loop
        self._on_greeting = on_greeting
        self._live = None if delivery is None else LiveView(session.view, delivery)
        self._shown = Shown()
        self._sent = self._shown.of(session.view)
        self._feed = EventFeed(self.epoch, self._send)
        self._last_flush_s = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._is_at_boundary = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._commands: Mapping[str, Command] = {
            "send": self._say,
            "stop": self._stop,
            "retry": self._retry,
            "reset": self._reset,
            "compact": self._compact,
            "decide": self._decide,
            "dismiss": self._dismiss,
            "edit": self._edit,
            "branch": self._branch,
            "edit_waiting": self._edit_waiting,
            "remove_waiting": self._remove_waiting,
            "set_input_policy": self._set_input_policy,
            "stop_servers": self._stop_servers,
            "take_over": self._take_over,
            "fork": self._fork,
            **model_commands(session, keys or TypedKeys()),
        }
        self._unsubscribe = session.subscribe(self._on_event)

    def close(self) -> None:
        """Send what is left and let go of the session."""
        self._flush()
        self._unsubscribe()

    # --- kernel to browser ---------------------------------------------------------------------

    def set_delivery(self, delivery: Delivery) -> None:
        """Show answers so from the next block on; a block under way stays as it is."""
        if self._live is None:
            self._live = LiveView(self._session.view, delivery)
        self._live.set_delivery(delivery)

    def _on_event(self, event: Event, view: SessionView) -> None:
        self._feed.take(event)
        if self._live is not None:
            self._live.push(event, view)
        if isinstance(event, BOUNDARIES):
            self._is_at_boundary = True
        if isinstance(event, LocaleChanged):
            self._write("words", self._transport.write_words, words_of(event.locale).for_page())
        if self._timer is not None:
            return
        due = max(self._loop.time(), self._last_flush_s + 1 / MAX_FPS)
        self._timer = self._loop.call_at(due, self._flush)

    def _flush(self) -> None:
        """Send the difference to what was sent before; nothing when nobody watches."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._feed.flush()
        view = self._shown.of(self._session.view if self._live is None else self._live.view)
        before = self._sent
        if view is not before:
            self._sent = view
            self._last_flush_s = self._loop.time()
            if self.views and (ops := diff(before, view)):
                self.seq += 1
                self._send({"kind": "patch", "epoch": self.epoch, "seq": self.seq, "ops": ops})
        if self._is_at_boundary:
            self._is_at_boundary = False
            self.seq += not self.views  # without patches the trait itself is what moves on
            snapshot = trait_snapshot(self.epoch, self.seq, self._sent)
            self._write("snapshot", self._transport.write_snapshot, snapshot)

    def _write(self, name: str, write: Callable[[dict[str, Any]], None], value: Any) -> None:
        try:
            write(value)
        except Exception:  # noqa: BLE001  # the page may be gone: the run goes on
            _log.warning("the %s could not be synced", name, exc_info=True)

    def _send(self, content: dict[str, Any]) -> None:
        try:
            self._transport.send_message(content)
        except Exception:  # noqa: BLE001  # the page may be gone: the run goes on
            _log.warning("a %s message could not be sent", content["kind"], exc_info=True)

    # --- browser to kernel ---------------------------------------------------------------------

    def receive(self, content: Content) -> None:
        """Handle one message of a page; malformed ones are answered or ignored, never raised."""
        match content.get("kind"):
            case "hello":
                self._greet(content)
            case "bye":
                self.views.discard(str(content.get("view")))
                self._feed.views.discard(str(content.get("view")))
            case "history":
                self._send_history(content)
            case "command":
                task = self._loop.create_task(self._command(without_key(content)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _greet(self, content: Content) -> None:
        self._take_locale(content.get("languages"))
        self._flush()
        self.views.add(str(content.get("view")))
        if content.get("events") is True:
            self._feed.views.add(str(content.get("view")))
        self._on_greeting()
        snapshot = {"kind": "snapshot", "protocol": PROTOCOL, "epoch": self.epoch}
        self._send({**snapshot, "seq": self.seq, "view": view_to_wire(self._sent)})

    def _take_locale(self, languages: object) -> None:
        """Speak the first language of the page that there is, where none was chosen."""
        wanted = languages if isinstance(languages, list) else []
        found = next((tag for each in wanted if (tag := match_of(str(each)[:40]))), ENGLISH)
        if self._session.view.locale is None and found != ENGLISH:
            with contextlib.suppress(SessionError):  # closed: it stays as it is
                self._session.set_locale(found)

    def _send_history(self, content: Content) -> None:
        before = content.get("before")
        if not isinstance(before, int):
            return
        self._flush()  # indexes in the answer mean what the page has after the last patch
        history = history_to_wire(self._sent, before)
        head = {"kind": "history", "request_id": content.get("request_id")}
        self._send({**head, "epoch": self.epoch, **history})

    async def _command(self, content: Content) -> None:
        reply: dict[str, Any] = {"kind": "reply", "request_id": content.get("request_id")}
        try:
            reply |= {"ok": True, **await self._carry_out(content)}
        except SessionError as error:
            code = error.code.upper()
            text = error.message if error.advice is None else f"{error.message} {error.advice}"
            text = words_of(self._session.view.locale or ENGLISH).translated(text)
            reply |= {"ok": False, "code": code, "message": text}
        except Exception as error:  # noqa: BLE001  # every command is answered
            _log.exception("a command failed")
            text = f"{type(error).__name__}: {error}"
            reply |= {"ok": False, "code": "INTERNAL", "message": text}
        self._flush()  # what the command changed is seen before its answer
        if reply["request_id"] is not None:
            self._send(reply)

    async def _carry_out(self, content: Content) -> dict[str, Any]:
        """Do what a command asks; returns what its receipt carries."""
        name = content.get("name")
        command = self._commands.get(name) if isinstance(name, str) else None
        if command is None:
            raise SessionError("INVALID_INPUT", f"There is no command {name!r}.")
        return await command(content) or {}

    async def _say(self, content: Content) -> dict[str, Any]:
        queue = content.get("queue", "steering")
        if queue not in get_args(QueueName):
            raise SessionError("INVALID_INPUT", f"There is no queue {queue!r}.")
        context = self._transport.click_context()
        said = prompt_of_page(content.get("text"), content.get("images"))
        sent = await self._session.submit(said, queue, context)
        receipt = {"message_id": sent.message_id}
        return receipt if sent.queue is None else {**receipt, "queue": sent.queue}

    async def _stop(self, _content: Content) -> None:
        await self._session.stop(grace_s=0.0)  # who presses Stop means now

    async def _retry(self, _content: Content) -> None:
        await self._session.retry(self._transport.click_context())

    async def _reset(self, _content: Content) -> None:
        await self._session.reset()

    async def _compact(self, content: Content) -> None:
        instructions = content.get("instructions")
        await self._session.compact(str(instructions) if instructions else None)

    async def _decide(self, content: Content) -> None:
        reason = content.get("reason")
        self._session.decide(
            str(content.get("pid")),
            content.get("decision"),
            str(reason) if reason else None,
            args=content.get("args"),
            rules=content.get("rules"),
        )

    async def _stop_servers(self, _content: Content) -> None:
        self._session.context.stop_starting()

    async def _take_over(self, _content: Content) -> None:
        await self._session.take_over()

    async def _fork(self, _content: Content) -> dict[str, Any]:
        """Make a fork; a notice says how to open it, for a page cannot make a cell."""
        return {"session_id": await self._session.tree.told_fork()}

    async def _dismiss(self, content: Content) -> None:
        self._session.dismiss(str(content.get("nid")))

    async def _edit(self, content: Content) -> dict[str, Any]:
        context = self._transport.click_context()
        mid, text = str(content.get("mid")), content.get("text")
        _, message_id = await self._session.tree.edit(mid, text, context)
        return {"message_id": message_id}

    async def _branch(self, content: Content) -> None:
        index = content.get("index")
        if not isinstance(index, int) or isinstance(index, bool):
            raise SessionError("INVALID_INPUT", f"{index!r} is no whole number.")
        await self._session.tree.switch(str(content.get("mid")), index)

    async def _edit_waiting(self, content: Content) -> None:
        await self._session.inputs.edit(str(content.get("mid")), content.get("text"))

    async def _remove_waiting(self, content: Content) -> dict[str, Any]:
        mid = str(content.get("mid"))
        rows = self._session.view.input.waiting
        images = next((row.images for row in rows if row.message_id == mid), None)
        (removed,) = await self._session.inputs.withdraw([mid])
        return {"text": removed, **addresses_of(images)}

    async def _set_input_policy(self, content: Content) -> None:
        change = requested_change({"mode": content.get("mode"), "scope": "session"})
        await self._session.inputs.set_policy(change)

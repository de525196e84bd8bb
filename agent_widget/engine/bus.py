"""Tells events to everyone who listens: listeners, readers and hooks, each in order.

    async for event in bus.events():
        ...

Listeners are called at once, readers take events when they like and on any loop, hooks are awaited
by whoever produces events faster than they can be used.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from ..core.events import Event, SessionEnded
from ..policy.events import EventOptions
from ..view.model import SessionView
from .eventqueue import BACKLOG_SCOPE, READER_SCOPE, EventQueue
from .signatures import require_takes

Listener: TypeAlias = Callable[[Event, SessionView], None]
Hook: TypeAlias = Callable[[Event], Awaitable[None]]

HOOK_TIMEOUT_S: Final = 10.0
"""A hook that takes longer with one event is asked no more."""

_NO_VIEW: Final = SessionView()
_hook_call: Final = contextvars.ContextVar[object]("hook_call", default=None)
_encoder: Final = msgspec.json.Encoder(enc_hook=repr)
_log = logging.getLogger(__name__)


def size_bytes(event: Event) -> int:
    """About what ``event`` takes up: the length of its JSON."""
    try:
        return len(_encoder.encode(event))
    except UnicodeEncodeError:  # half a surrogate pair
        return len(repr(event))


class BusStatistics(Struct, frozen=True):
    """What waits to be read now, and how many events were dropped so far, for all readers."""

    reader_count: int
    waiting_events: int
    waiting_bytes: int
    dropped_count: int


class _Channel:
    """What one reader has not read yet, and how to wake it."""

    def __init__(self, queue: EventQueue) -> None:
        self.queue: Final = queue
        self.is_ended = False
        self._waiter: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def wait(self) -> asyncio.Event:
        """The signal that the next change sets."""
        if self._waiter is not None:
            raise RuntimeError("This stream is being read already. Call events() for each reader.")
        signal = asyncio.Event()
        self._waiter = (asyncio.get_running_loop(), signal)
        return signal

    def forget(self) -> None:
        self._waiter = None

    def wake(self) -> None:
        if self._waiter is None:
            return
        (loop, signal), self._waiter = self._waiter, None
        try:
            loop.call_soon_threadsafe(signal.set)
        except RuntimeError:  # the reader's loop is closed, so nobody waits there
            self.is_ended = True


class EventStream(AsyncIterator[Event]):
    """One reader's events, from ``Bus.events()`` on. For one loop at a time, in any thread.

    A reader that leaves the ``async for`` and keeps no reference is unsubscribed by that;
    otherwise ``aclose`` does it.
    """

    def __init__(self, channel: _Channel, lock: threading.Lock, leave: Callable[[], None]) -> None:
        self._channel = channel
        self._lock = lock
        self._leave = weakref.finalize(self, leave)
        self._leave.atexit = False

    async def __anext__(self) -> Event:
        channel = self._channel
        while True:
            with self._lock:
                event = channel.queue.take()
                if event is not None:
                    return event
                if channel.is_ended:
                    raise StopAsyncIteration
                signal = channel.wait()
            try:
                await signal.wait()
            except BaseException:
                with self._lock:
                    channel.forget()
                raise

    async def aclose(self) -> None:
        """Read no more; harmless twice."""
        self._leave()
        with self._lock:
            self._channel.is_ended = True
            self._channel.wake()


class Bus:
    """Where a session's events go out.

    ``publish`` and ``relieved`` run on the loop of whoever produces the events; the rest may be
    called from any thread. ``size_bytes`` measures events for the bounds of ``options``.
    """

    def __init__(
        self,
        options: EventOptions | None = None,
        *,
        size_bytes: Callable[[Event], int] = size_bytes,
    ) -> None:
        self._options = options or EventOptions()
        self._size_bytes = size_bytes
        self._lock = threading.Lock()
        self._listeners: dict[object, Listener] = {}
        self._channels: dict[object, _Channel] = {}
        self._backlog: EventQueue | None = EventQueue(
            self._options.max_backlog_events, self._options.max_backlog_bytes, BACKLOG_SCOPE
        )
        self._is_ended = False
        self._unpublished: deque[tuple[Event, SessionView]] = deque()
        self._is_publishing = False
        self.on_hook_removed: Callable[[Event, float], None] = lambda _event, _timeout_s: None
        self._hooks: dict[str, tuple[Hook, EventQueue, float]] = {}
        self._hook_numbers = itertools.count(1)
        self._relieving = asyncio.Lock()
        self._reliever: object = None  # stands for the call of a hook that is awaited now

    # --- telling -------------------------------------------------------------------------------

    def publish(self, event: Event, view: SessionView = _NO_VIEW) -> None:
        """Tell ``event``, and ``view`` as it is after it, to all.

        An event that a listener makes is told after the one it heard. ``session.ended`` is the
        last: later ones are told to nobody, and readers end once they have read it.
        """
        self._unpublished.append((event, view))
        if self._is_publishing:
            return
        self._is_publishing = True
        try:
            while self._unpublished:
                self._tell(*self._unpublished.popleft())
        finally:
            self._is_publishing = False

    def _tell(self, event: Event, view: SessionView) -> None:
        if self._is_ended:
            return
        for key in tuple(self._listeners):
            if (listener := self._listeners.get(key)) is not None:
                _told(listener, event, view)
        with self._lock:
            self._offer(event)

    def _offer(self, event: Event) -> None:
        channels, hooks = tuple(self._channels.values()), tuple(self._hooks.values())
        if channels:
            self._backlog = None
        self._is_ended = isinstance(event, SessionEnded)
        if channels or hooks or self._backlog is not None:
            size = self._size_bytes(event)
            if self._backlog is not None:
                self._backlog.put(event, size)
            for _, queue, _ in hooks:
                queue.put(event, size)
            for channel in channels:
                channel.queue.put(event, size)
                channel.is_ended = self._is_ended
                channel.wake()

    # --- listening -----------------------------------------------------------------------------

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(event, view)`` for every later event; returns the way to end that.

        Listeners are called in the order they came, no lock held. What one raises is logged and
        reaches nobody else. Raises InvalidOptions for what cannot be called with the two.
        """
        require_takes("a listener", listener, "event", "view")
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    def events(self) -> EventStream:
        """A reader of its own, from now on.

        Readers that come before the first event that anyone could read get the backlog too, and
        before it one ``session.events_dropped`` if it did not hold all. Later ones start with the
        present. Whoever reads too slowly is told the same way what was lost.
        """
        key, options = object(), self._options
        with self._lock:
            head = [] if self._backlog is None else self._backlog.waiting()
            channel = _Channel(self._pending(options, head))
            channel.is_ended = self._is_ended
            self._channels[key] = channel
        channels = self._channels

        def leave() -> None:
            # Without the lock: it may run wherever garbage is collected, and one pop is atomic.
            channels.pop(key, None)

        return EventStream(channel, self._lock, leave)

    # --- hooks ---------------------------------------------------------------------------------

    def add_hook(self, hook: Hook, timeout_s: float = HOOK_TIMEOUT_S) -> str:
        """Await ``hook(event)`` for every later event; returns the id to remove it with.

        Hooks run one after the other, after the listeners, before the producer goes on. What one
        raises is logged and reaches nobody else. One that takes longer than ``timeout_s`` with an
        event is cancelled and removed, and ``on_hook_removed`` is told. Raises InvalidOptions for
        what cannot be called with an event.
        """
        require_takes("a hook", hook, "event")
        with self._lock:
            hook_id = f"hook-{next(self._hook_numbers)}"
            self._hooks[hook_id] = (hook, self._pending(self._options), timeout_s)
        return hook_id

    def remove_hook(self, hook_id: str) -> bool:
        """Whether there was such a hook; there is none now."""
        with self._lock:
            return self._hooks.pop(hook_id, None) is not None

    async def relieved(self) -> None:
        """Return once the hooks are through with all that was published before.

        The producer awaits it after an event and before the next. At once without hooks, and
        within a hook.
        """
        if not self._hooks or (self._reliever is not None and _hook_call.get() is self._reliever):
            return
        async with self._relieving:
            try:
                await self._relieve()
            finally:
                self._reliever = None

    async def _relieve(self) -> None:
        # Counted first: a hook that makes events must not keep the producer waiting for ever.
        rounds = max((len(queue) for _, queue, _ in self._hooks.values()), default=0)
        for _ in range(rounds):
            for hook_id in tuple(self._hooks):
                with self._lock:
                    hook, queue, timeout_s = self._hooks.get(hook_id, (None, None, 0.0))
                    event = None if queue is None else queue.take()
                if hook is None or event is None:
                    continue
                if not await self._awaited(hook, event, timeout_s):
                    self.remove_hook(hook_id)
                    self.on_hook_removed(event, timeout_s)

    async def _awaited(self, hook: Hook, event: Event, timeout_s: float) -> bool:
        """Whether ``hook`` was through with ``event`` in time; its late work is nobody's."""
        self._reliever = object()
        context = contextvars.copy_context()
        context.run(
            _hook_call.set, self._reliever
        )  # a hook may use the session, in tasks of its own
        work = asyncio.create_task(_call_hook(hook, event), context=context)
        try:
            done, _ = await asyncio.wait({work}, timeout=timeout_s)
        finally:
            work.cancel()
        return bool(done)

    def _pending(self, options: EventOptions, head: list[Event] | None = None) -> EventQueue:
        return EventQueue(
            options.max_pending_events, options.max_pending_bytes, READER_SCOPE, head or ()
        )

    def statistics(self) -> BusStatistics:
        with self._lock:
            queues = [channel.queue for channel in self._channels.values()]
            queues += [queue for _, queue, _ in self._hooks.values()]
            queues += [] if self._backlog is None else [self._backlog]
            return BusStatistics(
                len(self._channels),
                sum(map(len, queues)),
                sum(queue.size_bytes for queue in queues),
                sum(queue.dropped_count for queue in queues),
            )


def _told(listener: Listener, event: Event, view: SessionView) -> None:
    try:
        listener(event, view)
    except Exception:  # noqa: BLE001  # a listener is not ours
        _log.exception("a listener failed on %s", event.type)


async def _call_hook(hook: Hook, event: Event) -> None:
    try:
        await hook(event)
    except Exception:  # noqa: BLE001  # a hook is not ours
        _log.exception("a hook failed on %s", event.type)

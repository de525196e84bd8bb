"""A model that follows a script, for tests of programs that use a session.

    model = ScriptedModel([
        [text("Let me look."), call("list_variables", {})],
        [text("There is one variable.")],
    ])

A ``Gate`` among the events holds the answer until the test opens it, so that no test has to sleep;
``pause(2.0)`` is a delay, ``fault("rate_limited")`` a failure, and a step may be a function of the
request.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, get_args

from msgspec.structs import replace

from ..core.errors import ERROR_CODES, ErrorCode, InvalidOptions, ModelError
from ..core.usage import is_amount
from ..providers.base import (
    CallReady,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    ReasoningChunk,
    StepEnd,
    StopReason,
    TextChunk,
    Usage,
)
from .clock import FakeClock


class Signal:
    """Something that happens once; set from any thread, awaited in any loop or thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set = threading.Event()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def set(self) -> None:
        """Wake all who wait; harmless twice."""
        with self._lock:
            self._set.set()
            waiters, self._waiters = self._waiters, []
        for loop, event in waiters:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    def is_set(self) -> bool:
        return self._set.is_set()

    async def wait(self) -> None:
        """Return once it is set."""
        event = asyncio.Event()
        waiter = (asyncio.get_running_loop(), event)
        with self._lock:
            if self._set.is_set():
                return
            self._waiters.append(waiter)
        try:
            await event.wait()
        finally:
            with self._lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def wait_blocking(self, timeout_s: float) -> bool:
        """Block this thread until it is set, at most ``timeout_s``; whether it is set."""
        return self._set.wait(timeout_s)


class Gate:
    """Holds an answer: ``reached`` is set when the answer gets there, ``open`` lets it go on."""

    def __init__(self) -> None:
        self.reached: Final = Signal()
        self._opened = Signal()

    def open(self) -> None:
        """Let the answer go on, now or when it gets here. Callable from any thread."""
        self._opened.set()

    async def passed(self) -> None:
        """Say that the answer is here, and return once the gate is open."""
        self.reached.set()
        await self._opened.wait()


class Pause:
    """A delay of the answer."""

    def __init__(self, seconds: float) -> None:
        self.seconds: Final = seconds


ScriptItem: TypeAlias = ModelEvent | Gate | Pause | BaseException
Step: TypeAlias = (
    Sequence[ScriptItem] | BaseException | Callable[[ModelRequest], Iterable[ScriptItem]]
)

_FORM: Final = "Write ScriptedModel([[text('Hello.')], [call('tool', {}), …], …])."


class ScriptedModel:
    """Answers request number n with step n of a script.

    A step is a list of events, gates, pauses and exceptions (raised where they stand), a single
    exception, or a function from the request to such a list. A step without a ``StepEnd`` gets one
    that fits. Calls without an id get one. ``requests`` holds what was asked, in order. A request
    for which there is no step raises ModelError. With ``clock`` a pause moves that clock on and
    takes no time; ``is_endless`` begins the script anew behind its last step. Raises InvalidOptions
    for what is no script.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        *,
        name: str = "scripted",
        clock: FakeClock | None = None,
        is_endless: bool = False,
    ) -> None:
        given: object = steps
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InvalidOptions(f"steps={given!r} is no script.", advice=_FORM)
        self._steps = [
            step
            if isinstance(step, BaseException) or callable(step)
            else _items_of(step, f"Step {number}")
            for number, step in enumerate(steps, 1)
        ]
        self._name = name
        self._clock = clock
        self._is_endless = is_endless and bool(self._steps)
        self.requests: list[ModelRequest] = []
        self.is_closed = False

    @property
    def info(self) -> ModelInfo:
        return ModelInfo("scripted", self._name, self._name)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The events of the next step."""
        index = len(self.requests)
        self.requests.append(request)
        events = 0
        for item in self._items(index, request):
            if isinstance(item, Gate):
                await item.passed()
            elif isinstance(item, Pause):
                await self._wait(item.seconds)
            elif isinstance(item, BaseException):
                raise item
            else:
                events += 1
                yield _with_id(item, f"call-{index + 1}-{events}")

    async def aclose(self) -> None:
        self.is_closed = True

    async def _wait(self, seconds: float) -> None:
        if self._clock is None:
            await asyncio.sleep(seconds)
        else:
            self._clock.advance(seconds)
            await asyncio.sleep(0)

    def _items(self, index: int, request: ModelRequest) -> list[ScriptItem]:
        index = index % len(self._steps) if self._is_endless else index
        if index >= len(self._steps):
            raise ModelError(
                "bad_request",
                f"ScriptedModel has no step for request number {index + 1}: its script has "
                f"{len(self._steps)}.",
                advice="Add a step, or find out why the session asks again.",
            )
        step = self._steps[index]
        if isinstance(step, BaseException):
            return [step]
        made = _items_of(step(request), f"Step {index + 1}") if callable(step) else step
        items = [*made]
        if not any(isinstance(item, StepEnd | BaseException) for item in items):
            has_calls = any(isinstance(item, CallReady) for item in items)
            items.append(end("tool_calls" if has_calls else "stop"))
        return items


def _items_of(step: object, what: str) -> list[ScriptItem]:
    if isinstance(step, str) or not isinstance(step, Iterable):
        raise InvalidOptions(f"{what} is {step!r}, no list.", advice=_FORM)
    items = [*step]
    for item in items:
        if not isinstance(item, ModelEvent | Gate | Pause | BaseException):
            raise InvalidOptions(f"{what} holds {item!r}.", advice=_FORM)
    return items


def _with_id(event: ModelEvent, made_up: str) -> ModelEvent:
    is_nameless = isinstance(event, CallReady) and not event.id
    return replace(event, id=made_up) if is_nameless else event


def text(words: str) -> TextChunk:
    """A piece of answer text."""
    return TextChunk(_words("text", words))


def reasoning(words: str) -> ReasoningChunk:
    """A piece of reasoning."""
    return ReasoningChunk(_words("reasoning", words))


def call(name: str, args: Mapping[str, Any] | None = None, *, id: str = "") -> CallReady:  # noqa: A002 - the field's name
    """A complete call of tool ``name``; without ``id`` the model makes one up."""
    if args is not None and not isinstance(args, Mapping):
        raise InvalidOptions(f"call({name!r}, {args!r}): arguments are a mapping of names.")
    return CallReady(id, _words("call", name), dict(args or {}))


def pause(seconds: float) -> Pause:
    """A delay before what follows."""
    if not is_amount(seconds):
        raise InvalidOptions(f"pause({seconds!r}): that is no number of seconds.")
    return Pause(seconds)


def fault(
    code: ErrorCode = "network", message: str | None = None, *, retry_after_s: float | None = None
) -> ModelError:
    """A failure of the model server; ``rate_limited`` and ``network`` may be retried."""
    if code not in ERROR_CODES:
        raise InvalidOptions(f"fault({code!r}) is none.", advice=f"Use {', '.join(ERROR_CODES)}.")
    return ModelError(
        code,
        message or f"The model failed: {code}.",
        retryable=code in ("rate_limited", "network"),
        retry_after_s=retry_after_s,
    )


def end(reason: StopReason = "stop", usage: Usage | None = None) -> StepEnd:
    """The end of an answer."""
    if reason not in get_args(StopReason):
        advice = f"Use {', '.join(get_args(StopReason))}."
        raise InvalidOptions(f"end({reason!r}) is none.", advice=advice)
    return StepEnd(reason, usage)


def _words(maker: str, words: object) -> str:
    if not isinstance(words, str):
        raise InvalidOptions(f"{maker}({words!r}): that is no text.")
    return words

"""Routes ``sys.stdout`` and ``sys.stderr`` by context: who writes decides where it goes.

The kernel's own stream keeps its identity, so that what already holds it (a logging handler) is
routed as well; a stream that cannot be changed is replaced by a proxy in ``sys``. Text written
outside of a capture passes through untouched.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import MethodType
from typing import Any, Final, Protocol

_FENCE: Final = "\0"
_FENCE_TIMEOUT_S: Final = 0.5


class TextSink(Protocol):
    """Takes what is written."""

    def write(self, text: str) -> None: ...


SINK: Final[ContextVar[TextSink | None]] = ContextVar("agent_widget_sink", default=None)
"""Where text written in this context goes; None: to the stream itself."""


class _Foreground:
    """The sink of the code that owns the main thread, for output of its child processes.

    A kernel reads its own file descriptors 1 and 2 on a thread that has no context, so their
    text cannot be told apart by context.
    """

    sink: TextSink | None = None
    fence: threading.Event | None = None


_foreground: Final = _Foreground()


def _sink_of_writer(stream: Any) -> TextSink | None:
    sink = SINK.get()
    if sink is None and _foreground.sink is not None and _reads_descriptor(stream):
        return _foreground.sink
    return sink


def _reads_descriptor(stream: Any) -> bool:
    return threading.current_thread() is getattr(stream, "watch_fd_thread", None)


def _write(stream: Any, text: str) -> bool:
    """True when ``text`` went to a sink and must not go to ``stream``."""
    sink = _sink_of_writer(stream)
    if sink is None or not isinstance(text, str):
        return False
    if _foreground.fence is not None and text.endswith(_FENCE) and _reads_descriptor(stream):
        _foreground.fence.set()
        text = text.removesuffix(_FENCE)
    if text:
        sink.write(text)
    return True


class _RoutedWrite:
    """``stream.write`` as others see it: to the sink of the caller's context, else to ``inner``."""

    def __init__(self, stream: Any, inner: Callable[[str], Any]) -> None:
        self._stream = stream
        self.inner = inner

    def __call__(self, text: str) -> Any:
        return len(text) if _write(self._stream, text) else self.inner(text)


def _routed_class(kind: type[Any]) -> type[Any]:
    """``kind`` with a routed ``write``.

    A property, because IPython replaces ``write`` on the stream itself for each cell and puts
    back afterwards what it found there: its replacement becomes what passes through.
    """

    def get_write(self: Any) -> _RoutedWrite:
        return _RoutedWrite(self, vars(self).get("write") or MethodType(kind.write, self))

    def set_write(self: Any, write: Any) -> None:
        vars(self)["write"] = write.inner if isinstance(write, _RoutedWrite) else write

    def delete_write(self: Any) -> None:
        vars(self).pop("write", None)

    def flush(self: Any) -> None:
        if SINK.get() is None:
            kind.flush(self)

    members = {
        "__module__": kind.__module__,
        "_agent_widget_routed": True,
        "write": property(get_write, set_write, delete_write),
        "flush": flush,
    }
    return type(kind.__name__, (kind,), members)


class _Proxy:
    """Stands in ``sys`` for a stream whose class cannot be changed."""

    _agent_widget_routed = True

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> Any:
        return len(text) if _write(self._stream, text) else self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if SINK.get() is None:
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_installing: Final = threading.Lock()


def route_streams() -> None:
    """From now on ``sys.stdout`` and ``sys.stderr`` follow ``SINK``. Repeating it is cheap."""
    with _installing:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if stream is None or getattr(stream, "_agent_widget_routed", False):
                continue
            try:
                stream.__class__ = _routed_class(type(stream))
            except TypeError:
                setattr(sys, name, _Proxy(stream))


@contextlib.contextmanager
def foreground(sink: TextSink) -> Iterator[None]:
    """While it lasts, what child processes write to this kernel's descriptors goes to ``sink``.

    For the main thread only. Leaving it waits (half a second at most) until what was written
    before has arrived.
    """
    outer = _foreground.sink
    _foreground.sink = sink
    try:
        yield
    finally:
        try:
            for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
                _await_descriptor(descriptor, stream)
        finally:
            _foreground.sink = outer
            _foreground.fence = None


def _await_descriptor(descriptor: int, stream: Any) -> None:
    watcher = getattr(stream, "watch_fd_thread", None)
    if watcher is None or not watcher.is_alive():
        return
    _foreground.fence = fence = threading.Event()
    os.write(descriptor, _FENCE.encode())
    fence.wait(_FENCE_TIMEOUT_S)

"""Temporary replacements of functions of the host, for one context only.

A detour stands on the host's object as long as any call needs it and asks the context who is
calling: code of that call takes the detour, everybody else gets the original.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from .streams import SINK, TextSink

_ABSENT: Final = object()


class Detour(NamedTuple):
    """``owner.name(...)`` becomes ``replacement(...)``."""

    owner: Any
    name: str
    replacement: Callable[..., Any]


class _Standing:
    """The replaced function of one owner: whose detours there are, and what it hides."""

    def __init__(self, owner: Any, name: str) -> None:
        self._owner, self._name = owner, name
        self._original = getattr(owner, name)
        self._hidden = vars(owner).get(name, _ABSENT)
        self._dispatch = self._dispatching()
        self.takers: tuple[tuple[TextSink, Callable[..., Any]], ...] = ()
        setattr(owner, name, self._dispatch)

    def _dispatching(self) -> Callable[..., Any]:
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True  # IPython's tracebacks leave such frames out
            sink = SINK.get()
            for taker, replacement in self.takers:
                if taker is sink:
                    return replacement(*args, **kwargs)
            return self._original(*args, **kwargs)

        return dispatch

    def remove(self) -> None:
        """Put back what was there, unless somebody else has replaced it since."""
        if vars(self._owner).get(self._name) is not self._dispatch:
            return
        if self._hidden is _ABSENT:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._hidden)


_lock: Final = threading.RLock()
_standing: Final[dict[tuple[int, str], _Standing]] = {}


@contextlib.contextmanager
def detoured(sink: TextSink, detours: Iterable[Detour]) -> Iterator[None]:
    """While it lasts, code whose context writes to ``sink`` takes ``detours``."""
    with contextlib.ExitStack() as stack:
        for detour in detours:
            stack.enter_context(_taken(sink, detour))
        yield


@contextlib.contextmanager
def _taken(sink: TextSink, detour: Detour) -> Iterator[None]:
    key, taker = (id(detour.owner), detour.name), (sink, detour.replacement)
    with _lock:
        standing = _standing.get(key) or _Standing(detour.owner, detour.name)
        _standing[key] = standing
        standing.takers = (taker, *standing.takers)
    try:
        yield
    finally:
        with _lock:
            at = standing.takers.index(taker)
            standing.takers = standing.takers[:at] + standing.takers[at + 1 :]
            if not standing.takers:
                standing.remove()
                del _standing[key]

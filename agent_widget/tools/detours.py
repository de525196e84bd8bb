"""Temporary replacements of functions of the host, for one context only.

A detour stands on the host's object as long as any call needs it and asks the context who is
calling: code of a call takes the detour, everybody else gets the original.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from .display import Capture, current_capture

_ABSENT: Final = object()


class Detour(NamedTuple):
    """``owner.name(...)`` becomes ``replacement(capture, ...)`` for code of a captured cell."""

    owner: Any
    name: str
    replacement: Callable[..., Any]


class _Standing:
    """A detour in place: how many cells use it, and what it hides."""

    def __init__(self, detour: Detour, cells: set[Capture]) -> None:
        original = getattr(detour.owner, detour.name)

        def dispatch(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True  # IPython's tracebacks leave such frames out
            capture = current_capture()
            if capture in cells:
                return detour.replacement(capture, *args, **kwargs)
            return original(*args, **kwargs)

        self._detour = detour
        self._hidden = vars(detour.owner).get(detour.name, _ABSENT)
        self._dispatch = dispatch
        setattr(detour.owner, detour.name, dispatch)

    def remove(self) -> None:
        """Put back what was there, unless somebody else has replaced it since."""
        owner, name, _ = self._detour
        if vars(owner).get(name) is not self._dispatch:
            return
        if self._hidden is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, self._hidden)


class Detours:
    """The detours of one host. For its main thread only."""

    def __init__(self, detours: Sequence[Detour]) -> None:
        self._detours = detours
        self._standing: list[_Standing] = []
        self._cells: set[Capture] = set()

    @contextlib.contextmanager
    def taken_by(self, capture: Capture) -> Iterator[None]:
        """While it lasts, code that writes to ``capture`` takes the detours."""
        if not self._cells:
            self._standing = [_Standing(detour, self._cells) for detour in self._detours]
        self._cells.add(capture)
        try:
            yield
        finally:
            self._cells.discard(capture)
            if not self._cells:
                for standing in reversed(self._standing):
                    standing.remove()
                self._standing = []

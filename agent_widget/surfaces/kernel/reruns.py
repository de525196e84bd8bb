"""Widgets whose cell was run again: those that nothing reaches any more are closed.

A host keeps every widget until it is closed, though the name in the notebook means the next one
by then. What stands behind a chat (a lease, connections, servers) would pile up with each run.
"""

from __future__ import annotations

import contextlib
import gc
import re
import types
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from ...engine.recording import ReplayMismatch
from .host import Host

_CACHE: Final = re.compile(r"_{1,3}|_\d+")
"""Names under which IPython keeps results of cells."""
_ATTRIBUTE: Final = "_agent_widget_cells"
_LIBRARIES: Final = frozenset(
    {
        "IPython",
        "agent_widget",
        "anywidget",
        "comm",
        "ipykernel",
        "ipywidgets",
        "psygnal",
        "traitlets",
    }
)


class Closable(Protocol):
    def close(self) -> None: ...


class _Made:
    """A widget and the run of a cell that made it; ``cell`` None once that was run again."""

    def __init__(
        self, widget: Closable, is_idle_and_unseen: Callable[[], bool], cell: str, run: str
    ) -> None:
        self.widget = weakref.ref(widget)
        self.is_idle_and_unseen = weakref.WeakMethod(is_idle_and_unseen)
        self.cell: str | None = cell
        self.run = run


class RunCells:
    """Which cell made which widget, in one IPython kernel.

    After each cell the widgets of earlier runs of a cell are closed when no code can reach them,
    no page shows them and nothing runs in them; the others are looked at again after the next one.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._made: list[_Made] = []
        shell.events.register("post_run_cell", self._cell_ended)

    def add(self, widget: Closable, is_idle_and_unseen: Callable[[], bool]) -> None:
        """Remember who made ``widget``, where a front end says which cell runs.

        ``is_idle_and_unseen`` is a method that says whether nothing runs in it and no page shows
        it.
        """
        here = self._here()
        if here is not None:
            self._made.append(_Made(widget, is_idle_and_unseen, *here))

    def _here(self) -> tuple[str, str] | None:
        """The cell that runs and the run's id."""
        with contextlib.suppress(AttributeError, KeyError, TypeError, LookupError):
            parent = self._shell.kernel.get_parent("shell")
            cell, run = parent["metadata"]["cellId"], parent["header"]["msg_id"]
            if isinstance(cell, str) and isinstance(run, str):
                return cell, run
        return None

    def _cell_ended(self, _result: object = None) -> None:
        here = self._here()
        for made in [*self._made]:
            if here is not None and made.cell == here[0] and made.run != here[1]:
                made.cell = None
            widget = made.widget()
            if widget is None:
                self._made.remove(made)
            elif made.cell is None and self._is_left(widget, made.is_idle_and_unseen()):
                self._made.remove(made)
                with contextlib.suppress(ReplayMismatch):  # which nobody asks for any more
                    widget.close()

    def _is_left(self, widget: Closable, is_idle_and_unseen: Callable[[], bool] | None) -> bool:
        if is_idle_and_unseen is None or not is_idle_and_unseen():
            return False
        return not is_reached(widget, self._shell.user_ns, self._shell.user_ns_hidden)


def run_cells(host: Host) -> RunCells | None:
    """Those of the kernel of ``host``; None where there is none, or none of IPython."""
    kernel, shell = host.kernel, getattr(host.kernel, "shell", None)
    if kernel is None or not hasattr(shell, "events"):
        return None
    known: dict[str, Any] = vars(kernel)
    if _ATTRIBUTE not in known:
        known[_ATTRIBUTE] = RunCells(shell)
    cells: RunCells = known[_ATTRIBUTE]
    return cells


def is_reached(widget: object, namespace: Mapping[str, object], hidden: object = None) -> bool:
    """Whether code of the notebook may still reach ``widget``; True where that is unclear.

    What IPython keeps of results does not count, nor what the libraries of widgets hold.
    ``hidden`` are the names that IPython does not show.
    """
    if any(value is widget for name, value in namespace.items() if not _CACHE.fullmatch(name)):
        return True
    known = {id(namespace), id(namespace.get("_oh")), id(hidden)}
    return any(
        id(referrer) not in known and not _is_of_libraries(referrer)
        for referrer in gc.get_referrers(widget)
    )


def _is_of_libraries(referrer: object) -> bool:
    if isinstance(referrer, types.FrameType | weakref.ReferenceType):
        return True  # of what runs just now
    if isinstance(referrer, types.MethodType):
        # No code of a notebook holds those.
        return referrer.__name__.startswith("_") or "<locals>" in referrer.__qualname__
    if isinstance(referrer, types.CellType):
        return all(_is_library(function.__module__) for function in _closures(referrer))
    if isinstance(referrer, dict):
        return _is_registry(referrer) or any(
            _is_library(type(owner).__module__)
            for owner in gc.get_referrers(referrer)
            if getattr(owner, "__dict__", None) is referrer
        )
    return _is_library(type(referrer).__module__)


def _closures(cell: types.CellType) -> Iterator[types.FunctionType]:
    for holder in gc.get_referrers(cell):
        if isinstance(holder, tuple):
            for function in gc.get_referrers(holder):
                if isinstance(function, types.FunctionType) and function.__closure__ is holder:
                    yield function


def _is_registry(holder: object) -> bool:
    from ipywidgets.widgets import widget

    return holder is getattr(widget, "_instances", None)


def _is_library(module: str | None) -> bool:
    return module is not None and module.partition(".")[0] in _LIBRARIES

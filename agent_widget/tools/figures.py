"""Keeps the figures of a cell that waits out of the way of the code that runs meanwhile.

matplotlib's inline backend shows and closes every open figure when a cell ends. Code of a tool
that runs while a cell waits would so take the cell's half-drawn figures into its own output.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def pending_figures_aside() -> Iterator[None]:
    """While it lasts, inline figures that were open before are not; afterwards they are again."""
    inline = sys.modules.get("matplotlib_inline.backend_inline")
    registry = getattr(sys.modules.get("matplotlib._pylab_helpers"), "Gcf", None)
    show: Any = getattr(inline, "show", None)
    if registry is None or show is None or not getattr(show, "_draw_called", False):
        yield
        return
    state = vars(show)
    figures, flags = dict(registry.figs), dict(state)
    registry.figs.clear()
    state.update(_draw_called=False, _to_draw=[])
    try:
        yield
    finally:
        registry.figs.update(figures)
        state.update(flags)

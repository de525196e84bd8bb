"""A widget that can be embedded in a page by itself."""

from __future__ import annotations

from typing import Any, Final

import anywidget

_OWN: Final = ("_esm", "_anywidget_id")
"""What anywidget makes the default of a trait, though no page knows it."""


class EmbeddableWidget(anywidget.AnyWidget):
    """An anywidget whose state is whole also where defaults are dropped (``ipywidgets.embed``)."""

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> Any:
        state = super().get_state(key, drop_defaults)
        if key is None and drop_defaults:
            state |= super().get_state(_OWN)
        return state

"""A widget that can be embedded in a page by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import anywidget

_STATIC: Final = Path(__file__).parents[1] / "static"
_OWN: Final = ("_esm", "_anywidget_id")
"""What anywidget makes the default of a trait, though no page knows it."""


def front_end(name: str) -> str:
    """The text of a built bundle, as a widget's ``_esm``. Raises ImportError where none is built.

    No path: of a file, anywidget keeps every widget that was ever made, to tell it of changes, and
    with it all that was said. The line break tells a text from the name of a file.
    """
    try:
        return (_STATIC / name).read_text(encoding="utf-8") + "\n"
    except FileNotFoundError:
        text = "The front end is not built. Run `make lab`, or `pip install -e .`, first."
        raise ImportError(text) from None


class EmbeddableWidget(anywidget.AnyWidget):
    """An anywidget whose state is whole also where defaults are dropped (``ipywidgets.embed``)."""

    def get_state(self, key: Any = None, drop_defaults: bool = False) -> Any:
        state = super().get_state(key, drop_defaults)
        if key is None and drop_defaults:
            state |= super().get_state(_OWN)
        return state

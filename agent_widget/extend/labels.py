"""How the source of what an extension brings is named."""

from __future__ import annotations

import re
from typing import Final

_SEPARATORS: Final = re.compile(r"[/\\]+")


def extension_label(path: str) -> str:
    """``extension:<file name without its suffix>``; of ``<name>`` only the brackets go."""
    if path.startswith("<") and path.endswith(">"):
        return f"extension:{path[1:-1]}"
    name = _SEPARATORS.split(path.rstrip("/\\"))[-1]
    stem, _, _ = name.rpartition(".")
    return f"extension:{stem or name}"

"""Texts as sentences quote them."""

from __future__ import annotations

from typing import Final

MAX_CHARS: Final = 200
"""Bound of each text that a sentence quotes."""


def quoted(text: str) -> str:
    """``text`` on one line, printable, at most ``MAX_CHARS`` long."""
    line = " ".join(text[: 4 * MAX_CHARS].split())
    if len(line) > MAX_CHARS:
        line = line[: MAX_CHARS - 1].rstrip() + "…"
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in line)

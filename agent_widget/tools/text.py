"""Text as consumers may see it: valid Unicode, no terminal tricks, no overwritten lines."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile(
    r"""
    (?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?              # CSI: colours, cursor moves, erasing
  | (?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?   # OSC: titles, links, clipboard
  | (?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]*(?:\x1b\\|\x9c)?  # DCS, SOS, PM, APC
  | \x1b[ -/]*[0-~]?                               # two-character escapes
    """,
    re.VERBOSE,
)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;:]*m")
_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]{4,}")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]")


def valid_unicode(text: str) -> str:
    """``text`` with surrogate pairs joined and lone surrogates replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def plain_text(text: str) -> str:
    """``text`` for a model: no escape sequences, no control characters but newline and tab."""
    return _cleaned(text, keep_colours=False)


def coloured_text(text: str) -> str:
    """``text`` for a person: as ``plain_text``, with colours and styles (SGR) kept."""
    return _cleaned(text, keep_colours=True)


def without_addresses(text: str) -> str:
    """``text`` without `` at 0x7f…``, which means nothing to a reader and differs on every run."""
    return _ADDRESS.sub("", text)


def _cleaned(text: str, *, keep_colours: bool) -> str:
    def replacement(match: re.Match[str]) -> str:
        escape = match.group()
        return escape if keep_colours and _COLOUR.fullmatch(escape) else ""

    text = _ESCAPE.sub(replacement, valid_unicode(text))
    return _CONTROL.sub("", _without_overwritten(text))


def _without_overwritten(text: str) -> str:
    """``text`` with of each line only what follows its last carriage return (progress bars)."""
    if "\r" not in text:
        return text
    lines = text.replace("\r\n", "\n").split("\n")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)

"""A shell text as a script in which every wrapper has been opened."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from .model import Dialect, Script, doubtful
from .posix import MAX_COMMANDS, posix_script
from .powershell import powershell_script
from .wrappers import unwrapped

MAX_NESTED: Final = 6


@lru_cache(maxsize=64)
def script_of(source: str, dialect: Dialect) -> Script:
    """All that ``source`` would run, wrappers and what they run included. Never raises."""
    try:
        return _opened(source, dialect, 0)
    except RecursionError:
        return doubtful("the command is nested too deeply")


def _opened(source: str, dialect: Dialect, depth: int) -> Script:
    if depth > MAX_NESTED:
        return doubtful("its shells are nested too deeply")
    found = posix_script(source) if dialect == "posix" else powershell_script(source)
    if len(found.commands) > MAX_COMMANDS:
        return doubtful(f"it holds more than {MAX_COMMANDS} commands")
    opened = [
        unwrapped(
            command,
            lambda text: _opened(text, "posix", depth + 1),
            lambda text: _opened(text, "powershell", depth + 1),
        )
        for command in found.commands
    ]
    return Script((), found.redirects, found.doubts, found.variables).joined(*opened)

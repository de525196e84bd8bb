"""What is said of a person's own shell commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.events import BashCompleted, BashStarted, Event
from .locale.words import Said, said
from .quoting import quoted


def _started(event: BashStarted) -> Said:
    return said("command", command=quoted(event.command))


def _completed(event: BashCompleted) -> Said:
    code = event.result.exit_code
    return said("command.killed") if code is None else said("command.ended", code=code)


BASH_SENTENCES: Final[Mapping[type[Event], Callable[[Any], Said]]] = {
    BashStarted: _started,
    BashCompleted: _completed,
}

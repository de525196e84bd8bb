"""Of what kind the value of an option has to be: what is none is refused by name, at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from ..core.errors import InvalidOptions


class _Kind(Struct, frozen=True):
    what: str
    fits: Callable[[object], bool]
    advice: str


def _none_or(*kinds: type) -> Callable[[object], bool]:
    return lambda value: value is None or isinstance(value, kinds)


def _is_callable(*others: object) -> Callable[[object], bool]:
    return lambda value: value in others if isinstance(value, bool | None) else callable(value)


_SWITCH: Final = _Kind("neither True nor False", lambda value: isinstance(value, bool), "")
KINDS: Final[Mapping[str, _Kind]] = {
    "system": _Kind(
        "neither text nor a function that gives it",
        lambda value: isinstance(value, str | None) or callable(value),
        "Write system='Answer in French.'",
    ),
    "system_append": _Kind("no text", _none_or(str), "Write system_append='Answer in French.'"),
    "adjudicator": _Kind(
        "neither a function nor False",
        _is_callable(None, False),
        "Pass a function that gets a call and returns Judgement('safe', 'why') or "
        "Judgement('dangerous', 'why').",
    ),
    "on_warning": _Kind("no function", _is_callable(None), "Pass a function that gets a warning."),
    "base_url": _Kind("no text", _none_or(str), "It looks like 'http://localhost:11434/v1'."),
    "workspace": _Kind(
        "no folder", _none_or(str, os.PathLike), "Name one, or pass None for no file tools."
    ),
    "auto_retry": _Kind("neither True nor False", _none_or(bool), "Leave it out for the usual."),
    **dict.fromkeys(("input_control", "notebook", "bare"), _SWITCH),
}


def require_kinds(options: Mapping[str, object]) -> None:
    """Raises InvalidOptions, which names option and value, where a value is of the wrong kind."""
    for name, value in options.items():
        kind = KINDS.get(name)
        if kind is not None and not kind.fits(value):
            raise InvalidOptions(f"{name}={value!r} is {kind.what}.", advice=kind.advice or None)

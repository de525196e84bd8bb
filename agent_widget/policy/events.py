"""How many events are kept for those who read them late or slowly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ..core.errors import InvalidOptions

MIB: Final = 2**20


class EventOptions(Struct, frozen=True, kw_only=True):
    """Bounds of what waits to be read; raises InvalidOptions at construction.

    The backlog is what happened before the first reader came. What is pending is what a reader has
    not taken yet, each reader for itself. Beyond a bound the oldest goes and the newest stays.
    Bounds are positive numbers; ``math.inf`` switches one off. Sizes are approximate.
    """

    max_backlog_events: float = 1000
    max_backlog_bytes: float = 2 * MIB
    max_pending_events: float = 10_000
    max_pending_bytes: float = 16 * MIB

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            _check(name, getattr(self, name))


def event_options(option: object) -> EventOptions:
    """The options of ``events={max_backlog_events, …}`` as code writes them.

    None stands for the defaults. Raises InvalidOptions for a wrong name or bound.
    """
    if option is None:
        return EventOptions()
    if isinstance(option, EventOptions):
        return option
    if not isinstance(option, Mapping):
        raise InvalidOptions(
            f"events is {option!r}, expected a mapping.",
            advice="Write events={'max_backlog_events': 1000}.",
        )
    names = EventOptions.__struct_fields__
    for name in option:
        if name not in names:
            raise InvalidOptions(
                f"an option of events is {name!r}, expected one of {', '.join(names)}."
            )
    return EventOptions(**option)


def _check(name: str, bound: object) -> None:
    is_number = isinstance(bound, int | float) and not isinstance(bound, bool)
    if is_number and isinstance(bound, int | float) and bound > 0 and not math.isnan(bound):
        return
    raise InvalidOptions(
        f"{name} is {bound!r}, expected a positive number.",
        advice="Use math.inf for no bound.",
    )

"""Which model and which thinking level come next, and what a model makes of a level. Pure.

Source: session document, ``set_thinking_level``, ``cycle_thinking_level``, ``cycle_model``; vectors
THK, CYC and CYM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

ThinkingLevel: TypeAlias = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
LEVELS: Final[tuple[ThinkingLevel, ...]] = (
    "off",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
    "max",
)
"""How much a model thinks, least first."""
NO_THINKING: Final = ("off",)
"""The levels of a model that does not reason."""
BUDGET_TOKENS: Final[Mapping[str, int]] = {
    "minimal": 1024,
    "low": 4096,
    "medium": 10_240,
    "high": 20_480,
    "xhigh": 28_672,
}
"""How many tokens of thinking a level is worth where a model wants a number."""

Direction: TypeAlias = Literal["next", "previous"]


def clamped_level(level: str, supported: Sequence[str]) -> str:
    """``level`` if it is supported, else the nearest higher one, else the nearest lower one.

    ``supported`` holds at least one of ``LEVELS``. A budget of tokens stays for a model that
    reasons: its wire says it, or the level it is worth.
    """
    if budget_of(level) is not None:
        return "off" if tuple(supported) == NO_THINKING else level
    wanted = _rank(level)
    higher = [each for each in supported if _rank(each) >= wanted]
    if higher:
        return min(higher, key=_rank)
    return max(supported, key=_rank)


def budget_of(level: str) -> int | None:
    """The tokens that ``level`` names where it is a number; else None."""
    return int(level) if level.isascii() and level.isdigit() else None


def named_level(level: str | None, supported: Sequence[str]) -> str | None:
    """``level``, in place of a budget the highest supported level that is worth no more.

    Where all are worth more, the least that thinks.
    """
    tokens = None if level is None else budget_of(level)
    thinking = [each for each in supported if each in BUDGET_TOKENS]
    if tokens is None or not thinking:
        return level if tokens is None else None
    within = [each for each in thinking if BUDGET_TOKENS[each] <= tokens]
    return max(within, key=_rank) if within else min(thinking, key=_rank)


def next_level(current: str | None, supported: Sequence[str]) -> str | None:
    """The supported level after ``current``, round and round; None when there is no other."""
    if len(supported) < 2:  # one level is no choice
        return None
    if current not in supported:
        return supported[0]
    return supported[(supported.index(current) + 1) % len(supported)]


def next_choice(candidates: Sequence[str], current: str, direction: Direction) -> str | None:
    """The candidate beside ``current``, round and round; None when there is no other.

    A ``current`` that is no candidate counts as the first one.
    """
    if len(candidates) < 2:  # one candidate is no choice
        return None
    at = candidates.index(current) if current in candidates else 0
    return candidates[(at + (1 if direction == "next" else -1)) % len(candidates)]


def _rank(level: str) -> int:
    return [*LEVELS].index(level)  # type: ignore[arg-type]  # a word that is no level raises

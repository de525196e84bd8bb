"""The tools of a session, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import Struct

from ..core.errors import InvalidOptions
from .base import Tool
from .function import tool


class Registry(Struct, frozen=True):
    """Tools in the order they were given, each name once.

    ``warnings`` holds one sentence for each tool that was left out.
    """

    _tools: dict[str, Tool]
    warnings: tuple[str, ...] = ()

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


def register(tools: Iterable[Tool | Callable[..., Any]]) -> Registry:
    """A registry of ``tools``; plain functions become tools that need a question.

    Of several tools with one name the first wins and a warning names it. Raises InvalidOptions
    for what is neither a tool nor a function.
    """
    kept: dict[str, Tool] = {}
    warnings: list[str] = []
    for given in tools:
        made = _as_tool(given)
        if made.name in kept:
            warnings.append(
                f"There are two tools named {made.name!r}: the first one is used. "
                "Give the other one a name of its own."
            )
        else:
            kept[made.name] = made
    return Registry(kept, tuple(warnings))


def _as_tool(given: object) -> Tool:
    if not isinstance(given, type):
        if isinstance(given, Tool):
            return given
        if callable(given):
            return tool(given)
    raise InvalidOptions(
        f"{given!r} is not a tool.",
        advice="Pass functions with annotated parameters, or objects made by @tool.",
    )

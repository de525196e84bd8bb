"""The tools of a session, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

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

    def only(self, names: Sequence[str]) -> Registry:
        """The tools of these names, in this order; unknown names are left out."""
        chosen = active_names(self.names, names)
        return Registry({name: self._tools[name] for name in chosen})

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools


class ToolNames(Struct, frozen=True):
    """Which tools there are and which of them the model gets, by name and in order.

    ``origin`` says where each came from: builtin, extension or sdk.
    """

    registry: tuple[str, ...]
    active: tuple[str, ...]
    origin: dict[str, str]


def refreshed_names(
    *,
    builtin: Sequence[str] = (),
    extension: Sequence[str] = (),
    sdk: Sequence[str] = (),
    previous_registry: Sequence[str] = (),
    previous_active: Sequence[str] = (),
    allow: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> ToolNames:
    """The names after a refresh of the registry.

    Built-in tools come first, then those of extensions by name, then those of code; of one name
    the first wins. ``allow`` (None: all) and ``exclude`` filter. A tool that was active stays so,
    a new one becomes active, one that was switched off stays off.
    """
    origin: dict[str, str] = {}
    for source, names in (("builtin", builtin), ("extension", sorted(extension)), ("sdk", sdk)):
        for name in names:
            if _is_wanted(name, allow, exclude):
                origin.setdefault(name, source)
    registry = tuple(origin)
    return ToolNames(
        registry, refreshed_active(registry, previous_registry, previous_active), origin
    )


def refreshed_active(
    registry: Sequence[str], previous_registry: Sequence[str], previous_active: Sequence[str]
) -> tuple[str, ...]:
    """The names of ``registry`` that are active: all but those that were switched off before."""
    off = {*previous_registry} - {*previous_active}
    return tuple(name for name in registry if name not in off)


def _is_wanted(name: str, allow: Sequence[str] | None, exclude: Sequence[str]) -> bool:
    return (allow is None or name in allow) and name not in exclude


def active_names(registry: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """The names of ``wanted`` that there are, each once, in the order they were wanted."""
    return tuple(name for name in dict.fromkeys(wanted) if name in registry)


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


def registry_of(
    *,
    builtin: Iterable[Tool | Callable[..., Any]] = (),
    extension: Iterable[Tool | Callable[..., Any]] = (),
    sdk: Iterable[Tool | Callable[..., Any]] = (),
    allow: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> Registry:
    """The registry of these tools, ordered and filtered as ``refreshed_names`` says.

    Warnings name the tools that have a name taken, and the names of ``allow`` and ``exclude`` that
    no tool has. Raises InvalidOptions for what is no tool, and for lists that are none.
    """
    _require_names("allow", () if allow is None else allow)
    _require_names("exclude", exclude)
    extensions = sorted(map(_as_tool, extension), key=lambda each: each.name)
    registry = register([*builtin, *extensions, *sdk])
    unknown = [name for name in (*(allow or ()), *exclude) if not _is_known(name, registry)]
    wanted = registry.only([n for n in registry.names if _is_wanted(n, allow, exclude)])
    warnings = [f"No tool is named {name!r}, which is allowed or excluded." for name in unknown]
    return replace(wanted, warnings=(*registry.warnings, *warnings))


def _is_known(name: str, registry: Registry) -> bool:
    # Those of MCP servers come when their server has answered.
    return name in registry or name.startswith("mcp__")


def _require_names(what: str, names: object) -> None:
    is_list = isinstance(names, Iterable) and not isinstance(names, str)
    if not is_list or not all(isinstance(name, str) for name in names):  # type: ignore[attr-defined]
        raise InvalidOptions(f"{what} is {names!r}, expected a list of names of tools.")


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

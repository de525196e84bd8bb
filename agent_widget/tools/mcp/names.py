"""Names that every model server takes, for servers and tools that may call themselves anything."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from ...core.errors import InvalidOptions

MAX_NAME: Final = 64
_MAX_SERVER: Final = 24
_MAX_SHOWN: Final = 120
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]")


def server_names(names: Iterable[str]) -> dict[str, str]:
    """The form in tool names of each server's name.

    It has no double underscore, so that no two servers can ever give one name to two tools. Raises
    InvalidOptions for a name without a letter or digit, and for two that become one.
    """
    forms: dict[str, str] = {}
    for name in names:
        form = re.sub(r"_+", "_", _UNFIT.sub("_", name)).strip("_-")[:_MAX_SERVER].rstrip("_-")
        if not form:
            advice = "Use letters and digits."
            raise InvalidOptions(f"{name!r} is no name for an MCP server.", advice=advice)
        other = next((each for each, taken in forms.items() if taken == form), None)
        if other is not None:
            raise InvalidOptions(
                f"The MCP servers {other!r} and {name!r} would both be called {form!r}.",
                advice="Rename one of them.",
            )
        forms[name] = form
    return forms


def tool_names(server: str, names: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """``mcp__server__tool`` for each of the server's own names, and a sentence for each left out.

    ``server`` is one of ``server_names``. What fits stays as it is, and wins over what only
    becomes the same; the order in which a server lists its tools changes nothing.
    """
    prefix = f"mcp__{server}__"
    room = MAX_NAME - len(prefix)
    found: dict[str, str] = {}
    refused: list[str] = []
    seen: set[str] = set()
    for name in sorted(names, key=lambda each: (bool(_UNFIT.search(each)), each)):
        if name in seen:
            refused.append(f"{shown_name(name)}: listed twice; the first one is used")
            continue
        seen.add(name)
        if not name.strip():
            refused.append(f"{shown_name(name)}: has no name")
            continue
        form = _UNFIT.sub("_", name)
        if len(form) > room or not form.strip("_-"):
            digest = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
            form = f"{form[: room - 9]}_{digest}"
        other = next((each for each, taken in found.items() if taken == prefix + form), None)
        if other is not None:
            refused.append(
                f"{shown_name(name)}: would be called {form!r}, as {shown_name(other)} is"
            )
            continue
        found[name] = prefix + form
    return found, refused


def shown_name(name: str) -> str:
    """``name`` in quotes, nothing in it invisible, cut where it is long."""
    cut = name if len(name) <= _MAX_SHOWN else f"{name[: _MAX_SHOWN - 1]}…"
    return ascii(cut) if not cut.isprintable() else repr(cut)

"""The table of all events, made from the docstrings of their classes.

python -m tests.support.eventdocs > agent_widget/core/events.md
"""

from __future__ import annotations

import inspect
import itertools
import sys
import types
import typing
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from msgspec import Struct

from agent_widget.core.events import Event
from agent_widget.core.eventwire import CONTRACT_VERSION, EVENT_KINDS, wire_path

HEADER: Final = f"""\
<!-- Made from agent_widget/core by `python -m tests.support.eventdocs`; do not edit. -->

# Events

What a session tells, as flat JSON objects. An event is told apart by `type`; `?` marks what may be
absent. Readers ignore types, fields and words that they do not know: the contract, of which this
is version {CONTRACT_VERSION}, grows by additions only. In Python an event is a class of
`agent_widget.core.events`, with the names in Python's casing.

Every event has `type`, `v` (the contract's version), `sessionId`, `seq` (from 0, strictly
increasing within a stream), `ts` (milliseconds) and `source` (kernel, sdk, hook or extension).
Within a run it has `turnId`, within the run of a sub-agent `agentId`, the id of the call that
started it.
"""
_WORDS: Final = {str: "text", int: "whole number", float: "number", bool: "true or false"}
_ORDER: Final = (
    "session",
    "turn",
    "msg",
    "tool",
    "agent",
    "compaction",
    "hook",
    "cost",
    "mcp",
    "plan",
)


def generated() -> str:
    """The whole file."""
    kinds = sorted(EVENT_KINDS.values(), key=lambda kind: _place(_family(kind)))
    pieces = [HEADER]
    for family, members in itertools.groupby(kinds, _family):
        pieces.append(f"## {family}\n\n{_table(members)}")
    return "\n".join(pieces)


def _place(family: str) -> tuple[int, str]:
    return (_ORDER.index(family) if family in _ORDER else len(_ORDER), family)


def _family(kind: type[Event]) -> str:
    return kind.type.split(".")[0]


def _table(kinds: typing.Iterable[type[Event]]) -> str:
    rows = ["| Type | Meaning | Fields |", "|---|---|---|"]
    rows += [f"| `{kind.type}` | {_meaning(kind)} | {_fields(kind)} |" for kind in kinds]
    return "\n".join(rows) + "\n"


def _meaning(kind: type[Event]) -> str:
    """The docstring in one line, with the names of fields as the wire has them."""
    doc = inspect.cleandoc(kind.__dict__.get("__doc__") or "")
    if not doc:
        raise TypeError(f"{kind.__name__} has no docstring: it is the event's documentation.")
    text = " ".join(doc.split()).replace("|", "\\|")
    for name in sorted(_own(kind), key=len, reverse=True):
        text = text.replace(f"``{name}``", f"`{'.'.join(wire_path(name))}`")
    return text.replace("``", "`")


def _own(kind: type[Struct]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    envelope = Event.__struct_fields__ if issubclass(kind, Event) else ()
    return {name: hints[name] for name in kind.__struct_fields__ if name not in envelope}


def _fields(kind: type[Struct]) -> str:
    cells = [
        f"`{'.'.join(wire_path(name))}{'?' if _is_optional(hint) else ''}` {_type(hint)}"
        for name, hint in _own(kind).items()
    ]
    return ", ".join(cells) or "none"


def _is_optional(hint: Any) -> bool:
    return hint is Any or types.NoneType in get_args(hint)


def _type(hint: Any) -> str:
    if hint is Any:
        return "JSON"
    if hint in _WORDS:
        return _WORDS[hint]
    if get_origin(hint) is Literal:
        return " / ".join(str(word) for word in get_args(hint))
    if get_origin(hint) is tuple:
        return f"list of {_type(get_args(hint)[0])}"
    if get_origin(hint) in (typing.Union, types.UnionType):
        choices = [_type(each) for each in get_args(hint) if each is not types.NoneType]
        return " or ".join(choices)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return f"{{{_fields(hint)}}}"
    raise TypeError(f"no words for {hint!r}")


if __name__ == "__main__":
    sys.stdout.write(generated())

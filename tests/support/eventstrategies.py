"""Events of every class, made from the types of their fields."""

from __future__ import annotations

import types
import typing
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields

from agent_widget.core.events import Event
from agent_widget.core.eventwire import EVENT_KINDS
from tests.support.strategies import JSON

PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: JSON,
    str: st.text(max_size=6),
    int: st.integers(-9, 9),
    float: st.integers(1, 9) | st.floats(0.5, 9),
    bool: st.booleans(),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type."""
    if hint in PLAIN:
        return PLAIN[hint]
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) is tuple:
        return st.lists(values(get_args(hint)[0]), max_size=2).map(tuple)
    if get_origin(hint) in (typing.Union, types.UnionType):
        [choice] = (each for each in get_args(hint) if each is not types.NoneType)
        return st.none() | values(choice)
    return structs(hint)


def structs(kind: type[Struct]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    names = {field.name: hints[field.name] for field in fields(kind)}
    return st.builds(kind, **{name: values(hint) for name, hint in names.items()})


ANY_EVENT: st.SearchStrategy[Event] = st.sampled_from(list(EVENT_KINDS.values())).flatmap(structs)
"""An event of any class, with any values of its fields' types."""

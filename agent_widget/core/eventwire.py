"""Wire form of events: one flat JSON object each, by the SDK's session event contract.

What a reader does not know is ignored: types, fields, and words where a fixed set of them is
expected. So a contract that grows breaks no reader.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from .errors import SessionError
from .events import Event
from .messages import Json

CONTRACT_VERSION: Final = 1
EVENT_KINDS: Final[Mapping[str, type[Event]]] = {
    kind.type: kind for kind in Event.__subclasses__() if kind.type
}
"""The class of each event type."""

_NAMES: Final = {
    "run_id": "turnId",
    "output": "content",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}
"""Names of the contract that are not those of Python in another casing."""
_HOMES: Final = {
    "input_tokens": "usage",
    "output_tokens": "usage",
    "cache_read_tokens": "usage",
    "cache_write_tokens": "usage",
    "can_send": "interaction",
    "revision": "interaction",
}
"""Fields that the contract keeps in an object of their own."""
_SUPPOSED: Final = {"trigger": "send", "block_type": "text"}
"""Words that producers of other versions leave out."""
_NEUTRAL: Final[Mapping[object, Json]] = {str: "", int: 0, float: 0, bool: False}
_PLAIN: Final[Mapping[object, tuple[type, ...]]] = {
    str: (str,),
    int: (int,),
    float: (int, float),
    bool: (bool,),
}
"""Which values a field of a plain type takes."""


def wire_name(field: str) -> str:
    """The name of an event's field on the wire."""
    if field == "can_send":  # this object keeps the casing of its owner
        return field
    first, *rest = field.split("_")
    return _NAMES.get(field) or first + "".join(word.capitalize() for word in rest)


def wire_path(field: str) -> tuple[str, ...]:
    """Where an event's field is in its wire form: its name, after that of the object it is in."""
    home, name = _HOMES.get(field), wire_name(field)
    return (name,) if home is None else (home, name)


def event_to_wire(event: Event) -> dict[str, Json]:
    """``event`` as one flat JSON object; absent values are absent keys."""
    wire: dict[str, Json] = {"type": event.type, "v": CONTRACT_VERSION}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if value is None:
            continue
        *homes, key = wire_path(name)
        place = wire
        for home in homes:
            place = place.setdefault(home, {})
        place[key] = _written(value)
    return wire


def event_from_wire(wire: Mapping[str, Json]) -> Event | None:
    """The event that a JSON object stands for, None for a type that is not known here.

    Fields that are not known are ignored. One that lacks is empty (text), 0, false or None: other
    producers of the contract know fewer of them. Raises SessionError ``invalid_event`` naming the
    field whose value cannot be read, or the word that must not be guessed.
    """
    name = wire.get("type")
    kind = EVENT_KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        return None
    values: dict[str, Json] = {}
    for field, (hint, is_required) in _fields(kind).items():
        found: Json = wire
        for key in wire_path(field):
            found = found.get(key) if isinstance(found, Mapping) else None
        if found is not None:
            values[field] = _read(found, hint, f"{kind.type}.{field}")
        elif is_required:
            values[field] = _lacking(field, hint, kind.type)
    return kind(**values)


@cache
def _fields(kind: type[Struct]) -> dict[str, tuple[Any, bool]]:
    """The type of each field of a struct, and whether it has no default."""
    hints = get_type_hints(kind)
    return {
        field.name: (
            hints[field.name],
            field.default is NODEFAULT and field.default_factory is NODEFAULT,
        )
        for field in fields(kind)
    }


def _written(value: Json) -> Json:
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    if isinstance(value, Struct):
        pairs = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {wire_name(name): _written(item) for name, item in pairs if item is not None}
    return value


def _read(value: Json, hint: Any, what: str) -> Json:
    """``value`` as a field of type ``hint`` holds it."""
    origin = get_origin(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        [hint] = (choice for choice in get_args(hint) if choice is not types.NoneType)
        return _read(value, hint, what)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _unreadable(what, value, "a list")
        item = get_args(hint)[0]
        return tuple(_read(each, item, f"{what}[{at}]") for at, each in enumerate(value))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _read_struct(value, hint, what)
    kind = str if origin is Literal else hint
    expected = _PLAIN[kind]
    if isinstance(value, expected) and (kind is bool or not isinstance(value, bool)):
        return value
    raise _unreadable(what, value, {str: "text", bool: "true or false"}.get(kind, "a number"))


def _read_struct(value: Json, kind: type[Struct], what: str) -> Struct:
    if not isinstance(value, Mapping):
        raise _unreadable(what, value, "an object")
    values: dict[str, Json] = {}
    for field, (hint, is_required) in _fields(kind).items():
        found = value.get(wire_name(field))
        if found is not None:
            values[field] = _read(found, hint, f"{what}.{field}")
        elif is_required:
            values[field] = _lacking(field, hint, what)
    return kind(**values)


def _lacking(field: str, hint: Any, what: str) -> Json:
    """What a field without a default is where the wire says nothing."""
    if get_origin(hint) is tuple:
        return ()
    if get_origin(hint) is Literal:
        if field not in _SUPPOSED:
            raise SessionError("invalid_event", f"An event of type {what} lacks {field!r}.")
        return _SUPPOSED[field]
    return _NEUTRAL.get(hint)


def _unreadable(what: str, value: Json, wanted: str) -> SessionError:
    return SessionError("invalid_event", f"{what} is {value!r}, expected {wanted}.")

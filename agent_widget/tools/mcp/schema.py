"""The schemas of a stranger: which of them a request may carry, and arguments checked by them.

The check is a first one, so that a model can mend its call before anyone is asked; the server has
the last word. It knows the common keywords, follows references within the schema alone, and has
bounds: no schema makes it fetch, match a pattern, or go on for ever.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

MAX_TOOL_BYTES: Final = 32 * 1024
"""One definition may be so long: a longer one would push out the conversation."""
MAX_PROBLEMS: Final = 10
MAX_DEPTH: Final = 40
_ROOT_REFUSED: Final = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "enum")
_SHOWN_CHARS: Final = 80
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_BOUNDS: Final[tuple[tuple[str, str, int], ...]] = (
    ("minimum", "at least", 1),
    ("maximum", "at most", -1),
)
_SIZES: Final[tuple[tuple[str, type[str | list[Any]], str, int], ...]] = (
    ("minLength", str, "characters or more", 1),
    ("maxLength", str, "characters or fewer", -1),
    ("minItems", list, "items or more", 1),
    ("maxItems", list, "items or fewer", -1),
)


class UnfitSchema(Exception):
    """The message says why no model server would take it."""


def fit_schema(schema: object) -> dict[str, Any]:
    """``schema`` as every wire takes it. Raises UnfitSchema."""
    if not isinstance(schema, Mapping):
        raise UnfitSchema("its schema is no object")
    fit: dict[str, Any] = {"type": "object", "properties": {}, **schema}
    if fit["type"] != "object":
        raise UnfitSchema("its arguments are no object")
    refused = [key for key in _ROOT_REFUSED if key in fit]
    if refused:
        raise UnfitSchema(f"its schema has {refused[0]} at the root, which model servers refuse")
    _require_schema(fit, "", 0)
    return fit


def _require_schema(schema: object, place: str, depth: int) -> None:
    if isinstance(schema, bool):
        return
    where = f" at {place[:_SHOWN_CHARS]!a}" if place else ""
    if not isinstance(schema, Mapping):
        raise UnfitSchema(f"its schema has what is no schema{where}")
    if depth > MAX_DEPTH:
        raise UnfitSchema("its schema is nested too deeply")
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if not isinstance(kind, str) or kind not in _TYPES:
            raise UnfitSchema(f"its schema has the type {kind!r:.40}{where}, which there is not")
    for key, wanted in (("properties", Mapping), ("required", list), ("enum", list)):
        if key in schema and not isinstance(schema[key], wanted):
            raise UnfitSchema(f"its schema has {key}{where} that is none")
    for name, inner in _parts(schema):
        _require_schema(inner, f"{place}.{name}".strip("."), depth + 1)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key in ("properties", "$defs", "definitions"):
        if isinstance(schema.get(key), Mapping):
            yield from schema[key].items()
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            yield from ((key, each) for each in schema[key])
    for key in ("items", "additionalProperties"):
        if key in schema and not isinstance(schema[key], list):
            yield key, schema[key]


def checked_by(schema: Mapping[str, Any]) -> Callable[[Any], tuple[str, ...]]:
    """What returns the problems of a value, none when it fits."""

    def problems(value: Any) -> tuple[str, ...]:
        found: list[str] = []
        for each in _problems(value, schema, schema, "", 0):
            found.append(each)
            if len(found) == MAX_PROBLEMS:
                break
        return tuple(found)

    return problems


def _problems(value: Any, schema: Any, root: Any, at: str, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH or not isinstance(schema, Mapping):
        return
    name = at or "arguments"
    if (target := schema.get("$ref")) is not None:
        yield from _problems(value, _meant(target, root), root, at, depth + 1)
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [] if kinds is None else [kinds]
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{name}: expected {' or '.join(kinds)}, got {_shown(value)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        listed = ", ".join(map(_shown, schema["enum"][:20]))
        yield f"{name}: expected one of {listed}, got {_shown(value)}"
    yield from _limits(value, schema, name)
    if not _fits_one(value, schema, root, depth):
        yield f"{name}: {_shown(value)} fits none of the alternatives"
    if isinstance(value, dict):
        yield from _member_problems(value, schema, root, at, depth)
    elif isinstance(value, list):
        for index, item in enumerate(value[:1_000]):
            yield from _problems(item, schema.get("items"), root, f"{at}[{index}]", depth + 1)


def _fits_one(value: Any, schema: Mapping[str, Any], root: Any, depth: int) -> bool:
    """Whether each list of alternatives has one that the value fits."""
    lists = [schema.get(key) for key in ("anyOf", "oneOf")]
    return all(
        any(not any(_problems(value, each, root, "", depth + 1)) for each in choices)
        for choices in lists
        if isinstance(choices, list) and choices
    )


def _member_problems(
    value: dict[str, Any], schema: Mapping[str, Any], root: Any, at: str, depth: int
) -> Iterator[str]:
    known = schema.get("properties")
    known = known if isinstance(known, Mapping) else {}
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{at}.{name}: missing".lstrip(".")
    for name, inner in value.items():
        place = f"{at}.{name}".lstrip(".")
        if name in known:
            yield from _problems(inner, known[name], root, place, depth + 1)
        elif schema.get("additionalProperties") is False and "patternProperties" not in schema:
            listed = ", ".join(known) or "none"
            yield f"{place}: unexpected; the arguments are {listed}"


def _limits(value: Any, schema: Mapping[str, Any], name: str) -> Iterator[str]:
    for key, words, sign in _BOUNDS:
        limit = schema.get(key)
        if _is(value, "number") and _is(limit, "number") and sign * (value - limit) < 0:
            yield f"{name}: expected {words} {limit}, got {_shown(value)}"
    for key, kind, words, sign in _SIZES:
        limit = schema.get(key)
        if not isinstance(value, kind) or not isinstance(limit, int):
            continue
        if sign * (len(value) - limit) < 0:
            yield f"{name}: expected {limit} {words}"


def _meant(target: object, root: Any) -> Any:
    """What a reference within the schema means; True where that cannot be told."""
    if not isinstance(target, str) or not target.startswith("#"):
        return True
    found = root
    for step in target.removeprefix("#").strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if key:
            found = found.get(key, True) if isinstance(found, Mapping) else True
    return found


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(kind, ()))


def _shown(value: object) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def with_json_read(args: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """``args`` where text that should be an object or a list, and is one in JSON, is read."""
    properties = schema.get("properties", {})
    read: dict[str, Any] = {}
    for name, value in args.items():
        about = properties.get(name)
        kind = about.get("type") if isinstance(about, Mapping) else None
        read[name] = value
        if isinstance(value, str) and kind in ("object", "array"):
            try:
                parsed = json.loads(value)
            except (ValueError, RecursionError):
                continue
            read[name] = parsed if isinstance(parsed, dict | list) else value
    return read

"""Questions of a server to the person (elicitation): a flat form, or a page to visit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...core.errors import InvalidArgs
from ..base import Elicitation
from ..text import plain_text
from .content import one_line
from .schema import checked_by

MAX_FIELDS: Final = 30
MAX_MESSAGE_CHARS: Final = 2_000


def elicitation_of(server: str, params: Any) -> Elicitation:
    """The question that ``params`` ask. Raises ValueError for a form that is none."""
    message = plain_text(params.message)[:MAX_MESSAGE_CHARS]
    if params.mode == "url":
        text = f"{message}\n\nIt asks you to visit this page in your browser:\n{params.url}"
        return Elicitation(server, text, {}, lambda _fields: {})
    schema = params.requested_schema
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not 0 < len(properties) <= MAX_FIELDS:
        raise ValueError("its form has no fields, or too many")
    required = schema.get("required") or ()
    problems = checked_by(schema)

    def check(fields: Mapping[str, Any]) -> dict[str, Any]:
        given = {
            name: value
            for name, value in fields.items()
            if value is not None and (value != "" or name in required)
        }
        found = (*problems(given), *_empty(given, required))
        if found:
            raise InvalidArgs(server, found)
        return given

    lines = [_described(name, about, name in required) for name, about in properties.items()]
    defaults = {name: _default(about) for name, about in properties.items()}
    return Elicitation(server, "\n".join((message, "", *lines)), defaults, check)


def _empty(fields: Mapping[str, Any], required: Any) -> list[str]:
    return [f"{name}: missing" for name in required if fields.get(name) == ""]


def _described(name: str, about: Any, is_required: bool) -> str:
    if not isinstance(about, Mapping):
        return one_line(name, 100)
    words = [str(about.get("type", "any"))]
    if choices := _choices(about):
        words.append(f"one of {', '.join(choices)}")
    if not is_required:
        words.append("optional")
    told = one_line(about.get("description") or about.get("title"))
    return f"{one_line(name, 100)} ({'; '.join(words)}){f': {told}' if told else ''}"


def _choices(about: Mapping[str, Any]) -> list[str]:
    options = about.get("oneOf") or about.get("anyOf") or ()
    named = [each.get("const") for each in options if isinstance(each, Mapping)]
    return [one_line(str(each), 60) for each in (about.get("enum") or named or ())][:MAX_FIELDS]


def _default(about: Any) -> Any:
    if not isinstance(about, Mapping):
        return None
    if "default" in about:
        return about["default"]
    return "" if about.get("type") == "string" else None

"""TypeScript types of the wire, made from ``agent_widget.view.protocol``.

python -m tests.support.typescript > js/src/protocol.gen.ts
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
from typing import Any, Final, get_args, get_origin

from agent_widget.core import events, messages, state
from agent_widget.view import model, protocol

HEADER: Final = """\
// Made from agent_widget/view/protocol.py by `python -m tests.support.typescript`; do not edit.
"""
_PLAIN: Final = {str: "string", int: "number", bool: "boolean", Any: "unknown"}
_ALIASES: Final = {
    "DecisionWord": protocol.DecisionWord,
    "CommandName": protocol.CommandName,
    "Status": state.Status,
    "Phase": model.Phase,
    "Mark": model.Mark,
    "ToolState": messages.ToolState,
    "CallStop": events.CallStop,
    "Block": protocol.Block,
    "Part": protocol.Part,
    "ReplyMessage": protocol.ReplyMessage,
}


def generated() -> str:
    """The whole file."""
    pieces = [HEADER, *_constants()]
    pieces += [f"export type {name} = {_union(alias)};\n" for name, alias in _ALIASES.items()]
    pieces += [_interface(kind) for kind in _typed_dicts()]
    return "\n".join(pieces)


def _constants() -> list[str]:
    bounds = {"PICTURE_CHARS": protocol.PICTURE_CHARS, "PAGE_CHARS": protocol.PAGE_CHARS}
    bounds |= {"MAX_IMAGES": messages.MAX_IMAGES, "MAX_IMAGE_CHARS": messages.MAX_IMAGE_CHARS}
    values = {"PROTOCOL": protocol.PROTOCOL, **bounds}
    return ["\n".join(f"export const {name} = {value};" for name, value in values.items()) + "\n"]


def _typed_dicts() -> list[type]:
    own = vars(protocol).values()
    return [
        kind for kind in own if typing.is_typeddict(kind) and kind.__module__.endswith("protocol")
    ]


def _interface(kind: type) -> str:
    hints = typing.get_type_hints(kind, include_extras=True)
    lines = [_field(name, hint) for name, hint in hints.items()]
    doc = inspect.getdoc(kind) if kind.__doc__ else None
    comment = "" if not doc else f"/** {' '.join(doc.split()).replace('``', '`')} */\n"
    return f"{comment}export interface {kind.__name__} {{\n" + "\n".join(lines) + "\n}\n"


def _field(name: str, hint: Any) -> str:
    if get_origin(hint) is typing.NotRequired:
        return f"  {name}?: {_type(get_args(hint)[0])};"
    return f"  {name}: {_type(hint)};"


def _type(hint: Any) -> str:
    for name, alias in _ALIASES.items():
        if hint == alias:
            return name
    if typing.is_typeddict(hint):
        return str(hint.__name__)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if hint is type(None):
        return "null"
    if get_origin(hint) is list:
        item = _type(get_args(hint)[0])
        return f"({item})[]" if "|" in item else f"{item}[]"
    return _union(hint)


def _union(hint: Any) -> str:
    if get_origin(hint) is typing.Literal:
        return " | ".join(_literal(value) for value in get_args(hint))
    if get_origin(hint) in (typing.Union, types.UnionType):
        return " | ".join(_type(choice) for choice in get_args(hint))
    raise TypeError(f"no TypeScript for {hint!r}")


def _literal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


if __name__ == "__main__":
    sys.stdout.write(generated())

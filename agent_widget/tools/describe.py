"""What there is to know about one variable, in bounded words, and the tool that tells it."""

from __future__ import annotations

import dataclasses
import inspect
import os
import reprlib
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from ..core.errors import ToolFailure
from .base import Block, TextBlock, ToolOutput
from .failures import error_line
from .function import FunctionTool, tool
from .secrets import HIDDEN, is_secret_name, masked
from .tables import table_blocks
from .text import without_addresses
from .truncate import head_and_tail
from .variables import SIZED, shape_text, size_bytes, size_text, snapshot, type_name, user_variables

_TIMEOUT_S: Final = 20.0
_ITEMS: Final = 20
_COUNTED: Final = 1_000
_ATTRIBUTES: Final = 40
_REPR_CHARS: Final = 500
_TEXT_CHARS: Final = 2_000
_NAMES: Final = 20
_BUILTIN_REPRS: Final = (bool, int, float, complex, range, slice, type(None), type(...))


def describe_tool(namespace: Callable[[], Mapping[str, Any]]) -> FunctionTool:
    """The ``describe_variable`` tool for ``namespace()``."""

    @tool(name="describe_variable", read_only=True, timeout_s=_TIMEOUT_S)
    def describe_variable(name: str) -> ToolOutput:
        """Describe one of the user's variables: type, shape, columns, missing values, contents.

        Args:
            name: The name of the variable, as list_variables shows it.
        """
        variables = snapshot(namespace())
        if name not in variables:
            raise ToolFailure(_unknown_text(name, variables), code="unknown_variable")
        return ToolOutput(described(name, variables[name]))

    return describe_variable


def _unknown_text(name: str, namespace: Mapping[str, Any]) -> str:
    names = [*user_variables(namespace, functions=True)]
    close = get_close_matches(name, names, n=3)
    if close:
        return f"There is no variable {name!r}. Did you mean {' or '.join(close)}?"
    listed = ", ".join(names[:_NAMES]) + (", …" if len(names) > _NAMES else "")
    return f"There is no variable {name!r}. There are: {listed or 'none yet'}."


def described(name: str, value: object) -> tuple[Block, ...]:
    """Blocks that describe ``value``: a heading, then what its kind of object has to tell.

    Runs no property of ``value`` and shows no secret; errors of its own code become words.
    """
    shape, size = shape_text(value), size_text(size_bytes(value))
    if shape and isinstance(value, SIZED):
        shape = f"length {shape}"
    heading = ", ".join(filter(None, (f"{name}: {type_name(value)}", shape, size)))
    try:
        blocks = _body(name, value)
    except Exception as error:  # noqa: BLE001  # code of the object, maybe changed meanwhile
        blocks = (TextBlock(f"It could not be read: {error_line(error)}"),)
    return tuple(
        replace(block, text=masked(without_addresses(block.text)))
        if isinstance(block, TextBlock)
        else block
        for block in (TextBlock(heading), *blocks)
    )


def _body(name: str, value: object) -> tuple[Block, ...]:
    if is_secret_name(name) and isinstance(value, str | bytes):
        return (TextBlock(HIDDEN),)
    blocks = table_blocks(value)
    if blocks is not None:
        return blocks
    match value:
        case str():
            text = head_and_tail(value, _TEXT_CHARS)
        case dict():
            text = _dict_text(value)
        case list() | tuple() | set() | frozenset() | deque():
            text = _items_text(value)
        case _:
            text = _object_text(value)
    return (TextBlock(text),)


def _dict_text(value: dict[Any, Any]) -> str:
    items = [*islice(snapshot(value).items(), _ITEMS)]
    lines = [
        f"  {bounded_repr(key)}: {HIDDEN if is_secret_name(key) else bounded_repr(item)}"
        for key, item in items
    ]
    return "\n".join([*lines, *_more(len(value) - len(items), "keys")])


def _items_text(value: Any) -> str:
    items = [*islice(tuple(value), _COUNTED)]
    kinds = Counter(type_name(item) for item in items)
    counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common(_ITEMS))
    of = f" (of the first {_COUNTED:,})" if len(value) > _COUNTED else ""
    lines = [f"  {bounded_repr(item)}" for item in items[:_ITEMS]]
    more = _more(len(value) - len(lines), "items")
    return "\n".join([f"Items{of}: {counts or 'none'}", *lines, *more])


def _more(count: int, what: str) -> Sequence[str]:
    return (f"  … {count:,} more {what}",) if count > 0 else ()


def _object_text(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    doc = (inspect.getdoc(value if inspect.isroutine(value) else kind) or "").partition("\n")[0]
    lines = [bounded_repr(value)]
    if inspect.isroutine(value) or isinstance(value, type):
        lines = [_signature_text(value)]
    if doc:
        lines.append(f"Doc: {head_and_tail(doc, _REPR_CHARS)}")
    if not isinstance(value, _BUILTIN_REPRS):
        lines += _attribute_lines(value, kind)
    return "\n".join(lines)


def _signature_text(value: Any) -> str:
    name = getattr(value, "__qualname__", type_name(value))
    try:
        return f"{name}{inspect.signature(value)}"
    except (TypeError, ValueError):
        return f"{name}(…)"


def _attribute_lines(value: object, kind: type) -> list[str]:
    """Public attributes by name and kind. Looks nothing up on the object: no property runs."""
    own = instance_attributes(value)
    names = dict.fromkeys(n for n in (*own, *dir(kind)) if not str(n).startswith("_"))
    labels = [_attribute_label(name, own, kind) for name in islice(names, _ATTRIBUTES)]
    if not labels:
        return []
    return [f"Attributes: {', '.join(labels)}", *_more(len(names) - len(labels), "attributes")]


def instance_attributes(value: object) -> Mapping[str, Any]:
    """The instance attributes of ``value``; empty where it has no ordinary ``__dict__``."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return snapshot(own) if isinstance(own, dict) else {}


def _attribute_label(name: str, own: Mapping[str, Any], kind: type) -> str:
    if name in own:
        return f"{name} ({type_name(own[name])})"
    attribute = inspect.getattr_static(kind, name, None)
    if isinstance(attribute, property):
        return f"{name} (property)"
    return f"{name}()" if callable(attribute) or hasattr(attribute, "__func__") else name


# Bounded reprs --------------------------------------------------------------------------------


class _Repr(reprlib.Repr):
    """Reprs of nested builtin collections, bounded in depth, width and length."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 8
        self.maxdeque = self.maxarray = 8
        self.maxstring = self.maxlong = self.maxother = 200

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        shown = {key: _Hidden() if is_secret_name(key) else item for key, item in x.items()}
        return super().repr_dict(shown, level)

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, _Hidden):
            return HIDDEN
        if isinstance(x, type(os.environ)):
            return f"<environment of {len(x):,} variables>"
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            return self._dataclass_text(x, level)
        return head_and_tail(super().repr_instance(x, level), self.maxother)

    def _dataclass_text(self, x: Any, level: int) -> str:
        if level <= 0:
            return f"{type(x).__qualname__}(…)"
        names = [field.name for field in dataclasses.fields(x)][: self.maxdict]
        values = (_Hidden() if is_secret_name(name) else getattr(x, name) for name in names)
        fields = (f"{n}={self.repr1(v, level - 1)}" for n, v in zip(names, values, strict=True))
        return f"{type(x).__qualname__}({', '.join(fields)})"


class _Hidden:
    """Stands for a value that is not shown."""


def bounded_repr(value: object) -> str:
    """A repr of at most ``_REPR_CHARS`` characters, without addresses.

    The code of foreign classes runs in it: the tool's own time limit bounds that.
    """
    return head_and_tail(without_addresses(_Repr().repr(value)), _REPR_CHARS)

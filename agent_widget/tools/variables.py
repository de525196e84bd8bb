"""The user's variables: which there are, and the tool that lists them."""

from __future__ import annotations

import html
import inspect
import sys
from collections import deque
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

import __main__

from .base import HtmlBlock, TextBlock, ToolOutput
from .display import ipython_shell
from .function import FunctionTool, tool

_ROWS: Final = 200
_TIMEOUT_S: Final = 20.0
_ATTEMPTS: Final = 50
SIZED: Final = (str, bytes, bytearray, list, tuple, dict, set, frozenset, deque, range)
_ARRAY_LIBRARIES: Final = frozenset({"numpy", "pandas", "polars", "scipy", "torch", "xarray"})


class VariableInfo(Struct, frozen=True):
    """A variable at a glance; ``shape`` is ``"150 by 5"``, a length, or empty."""

    name: str
    type_name: str
    shape: str
    size_bytes: int | None


def notebook_namespace() -> dict[str, Any]:
    """The namespace of the user's cells; without IPython, that of the main module."""
    shell = ipython_shell()
    return vars(__main__) if shell is None else shell.user_ns


def user_variables(namespace: Mapping[str, Any], *, functions: bool = False) -> dict[str, Any]:
    """The variables of ``namespace`` that the user made, in order of their making.

    Leaves out modules, names with a leading underscore, what IPython put there, and, unless
    ``functions``, functions and classes.
    """
    shell = ipython_shell()
    hidden: Mapping[str, Any] = {} if shell is None else dict(shell.user_ns_hidden)
    return {
        name: value
        for name, value in snapshot(namespace).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and not (name in hidden and hidden[name] is value)
        and (functions or not (inspect.isroutine(value) or isinstance(value, type)))
    }


def snapshot(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of ``namespace`` taken while other threads may change it."""
    for _ in range(_ATTEMPTS):
        try:
            return dict(namespace)
        except RuntimeError:  # it changed size meanwhile
            continue
    return {}


def variable_info(name: str, value: object) -> VariableInfo:
    return VariableInfo(name, type_name(value), shape_text(value), size_bytes(value))


def type_name(value: object) -> str:
    """``list``, ``pandas.DataFrame``: the class with the package it comes from."""
    kind = type(value)
    root = kind.__module__.partition(".")[0]
    return kind.__qualname__ if root in ("builtins", "__main__") else f"{root}.{kind.__qualname__}"


def libraries(value: object) -> frozenset[str]:
    """The packages that the class of ``value`` and its bases come from."""
    return frozenset(kind.__module__.partition(".")[0] for kind in type(value).__mro__)


def shape_text(value: Any) -> str:
    """``"150 by 5"`` for arrays and tables, the length of builtin collections, else empty."""
    try:
        if isinstance(value, SIZED):
            return f"{len(value):,}"
        if libraries(value) & _ARRAY_LIBRARIES:
            return " by ".join(f"{int(n):,}" for n in value.shape)
    except Exception:  # noqa: BLE001  # code of the object, maybe changed meanwhile
        return ""
    return ""


def size_bytes(value: Any) -> int | None:
    """Memory of ``value`` without what it only refers to, or None where it cannot tell."""
    try:
        kinds = libraries(value)
        if "pandas" in kinds and hasattr(value, "memory_usage"):
            usage = value.memory_usage()
            return int(usage if isinstance(usage, int) else usage.sum())
        if "polars" in kinds and hasattr(value, "estimated_size"):
            return int(value.estimated_size())
        if kinds & _ARRAY_LIBRARIES and hasattr(value, "nbytes"):
            return int(value.nbytes)
        return sys.getsizeof(value)
    except Exception:  # noqa: BLE001  # code of the object, maybe changed meanwhile
        return None


def size_text(count_bytes: int | None) -> str:
    """``"12.3 kB"``; empty for None."""
    if count_bytes is None:
        return ""
    size = float(count_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def list_tool(namespace: Callable[[], Mapping[str, Any]]) -> FunctionTool:
    """The ``list_variables`` tool for ``namespace()``."""

    @tool(name="list_variables", read_only=True, timeout_s=_TIMEOUT_S)
    def list_variables(functions: bool = False) -> ToolOutput:
        """List the user's variables in the notebook: name, type, shape or length, size.

        Args:
            functions: Also list the functions and classes the user defined.
        """
        variables = user_variables(namespace(), functions=functions)
        if not variables:
            return ToolOutput((TextBlock("The user has defined no variables yet."),))
        shown = [variable_info(name, value) for name, value in [*variables.items()][:_ROWS]]
        left_out = len(variables) - len(shown)
        more = f"\n… {left_out:,} more" if left_out else ""
        return ToolOutput(
            (TextBlock(_table_text(shown) + more, "model"), HtmlBlock(_table_html(shown) + more))
        )

    return list_variables


_HEADER: Final = ("name", "type", "shape or length", "size")


def _cells(info: VariableInfo) -> tuple[str, str, str, str]:
    return info.name, info.type_name, info.shape, size_text(info.size_bytes)


def _table_text(rows: list[VariableInfo]) -> str:
    cells = [_HEADER, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def _table_html(rows: list[VariableInfo]) -> str:
    head = "".join(f"<th>{cell}</th>" for cell in _HEADER)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

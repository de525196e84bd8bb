"""What a tool returned, as blocks for the person and the model."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import io
import json
import sys
import uuid
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from ..core.errors import ToolFailure
from .base import Block, Handoff, HtmlBlock, ImageBlock, SvgBlock, TextBlock, ToolOutput
from .mime import bundle_blocks
from .text import without_addresses

NO_RESULT: Final = "(no result)"
_BLOCK_TYPES: Final = (TextBlock, ImageBlock, SvgBlock, HtmlBlock)
_REPRS: Final = {
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_svg_": "image/svg+xml",
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
}
_ROWS: Final = 20
_ARRAY_ITEMS: Final = 10_000


def result_output(value: object) -> ToolOutput:
    """``value`` as the output of a call.

    Text, JSON data, blocks, tables and figures have a form of their own. Raises ToolFailure for
    anything else, naming its type and the way out.
    """
    match value:
        case ToolOutput():
            return value
        case Handoff():
            told = f"The conversation goes to the agent {value.agent} with the next message."
            return ToolOutput((TextBlock(told),), handoff=value.agent)
        case None:
            return ToolOutput((TextBlock(NO_RESULT),))
        case str():
            return ToolOutput((TextBlock(value or "(empty text)"),))
        case TextBlock() | ImageBlock() | SvgBlock() | HtmlBlock():
            return ToolOutput((value,))
        case list() | tuple() if value and all(isinstance(b, _BLOCK_TYPES) for b in value):
            return ToolOutput(tuple(value))
    blocks = _rich_blocks(value)
    return ToolOutput(blocks or (TextBlock(_json_text(value)),))


# Rich objects ---------------------------------------------------------------------------------


def _rich_blocks(value: object) -> tuple[Block, ...] | None:
    if isinstance(value, bool | int | float | dict | list | tuple):
        return None
    roots = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
    if "matplotlib" in roots:
        return _figure_blocks(value)
    if "pandas" in roots:
        blocks = _pandas_blocks(value)
        if blocks is not None:
            return blocks
    bundle = _mime_bundle(value)
    if not bundle:
        return None
    bundle.setdefault("text/plain", without_addresses(repr(value)))
    return bundle_blocks(bundle)


def _figure_blocks(value: Any) -> tuple[Block, ...] | None:
    figure = value if hasattr(value, "savefig") else getattr(value, "figure", None)
    if figure is None:
        return None
    file = io.BytesIO()
    figure.savefig(file, format="png", bbox_inches="tight")
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)  # shown here, so not once more in some cell
    return bundle_blocks({"image/png": file.getvalue(), "text/plain": str(figure)})


def _pandas_blocks(value: Any) -> tuple[Block, ...] | None:
    table = value.to_frame() if hasattr(value, "to_frame") else value
    html = getattr(table, "_repr_html_", None)
    if not hasattr(value, "to_string") or not hasattr(value, "shape") or html is None:
        return None
    shape = " by ".join(f"{n:,}" for n in value.shape)
    rows = min(len(value), _ROWS)
    head = value.iloc[:rows] if hasattr(value, "iloc") else value[:rows]
    text = head.to_string(**({"max_colwidth": 60} if value.ndim == 2 else {}))
    more = f"\n… {len(value) - rows:,} more rows" if len(value) > rows else ""
    text = f"{type(value).__name__}, {shape}\n{text}{more}"
    shown = html()
    return (HtmlBlock(shown), TextBlock(text, "model")) if shown else (TextBlock(text),)


def _mime_bundle(value: object) -> dict[str, Any]:
    """The forms ``value`` offers to notebooks, looked up on its class as IPython does."""
    kind = type(value)
    if isinstance(value, type):
        return {}
    bundle: dict[str, Any] = {}
    if callable(getattr(kind, "_repr_mimebundle_", None)):
        made = kind._repr_mimebundle_(value)  # type: ignore[attr-defined]
        bundle.update(made[0] if isinstance(made, tuple) else made or {})
    for name, mime in _REPRS.items():
        if mime not in bundle and callable(getattr(kind, name, None)):
            made = getattr(kind, name)(value)
            made = made[0] if isinstance(made, tuple) else made
            if made is not None:
                bundle[mime] = made
    return bundle


# JSON data ------------------------------------------------------------------------------------


def _json_text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=_jsonable)
    except _NotJsonError as problem:
        inside = "" if problem.value is value else f" (in a {type(value).__name__})"
        name = _type_name(problem.value)
        raise ToolFailure(
            f"The tool returned {name}{inside}, which is not JSON data. Return text, JSON data "
            "(dict, list, number, bool, None), a table, a figure, or a ToolOutput.",
            code="invalid_result",
        ) from None
    except (TypeError, ValueError, RecursionError) as problem:
        raise ToolFailure(
            f"The tool returned {_type_name(value)} that JSON cannot carry: {problem}. Return "
            "text, or data with text keys and no cycles.",
            code="invalid_result",
        ) from None


class _NotJsonError(Exception):
    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


def _jsonable(value: Any) -> Any:
    match value:
        case datetime.date() | datetime.time():
            return value.isoformat()
        case set() | frozenset():
            return list(value)
        case datetime.timedelta() | decimal.Decimal() | uuid.UUID() | PurePath():
            return str(value)
        case enum.Enum():
            return value.value
        case Mapping():
            return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json")
    if type(value).__module__.partition(".")[0] in ("numpy", "pandas"):
        return _array_data(value)
    raise _NotJsonError(value)


def _array_data(value: Any) -> Any:
    if getattr(value, "ndim", None) == 0:
        item = value.item()
        if type(item).__module__ != "numpy":
            return item
    if hasattr(value, "tolist") and getattr(value, "size", _ARRAY_ITEMS + 1) <= _ARRAY_ITEMS:
        return value.tolist()
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"array of shape {value.shape}, {value.dtype}:\n{value}"
    raise _NotJsonError(value)


def _type_name(value: object) -> str:
    kind = type(value)
    name = kind.__qualname__
    name = name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"
    return f"an object of type {name}"

"""Tables and arrays in bounded words: pandas, polars, numpy. Imports none of them."""

from __future__ import annotations

from typing import Any, Final

from .base import Block, HtmlBlock, TextBlock
from .variables import libraries

_HEAD: Final = 5
_COLUMNS: Final = 50
_SHOWN_COLUMNS: Final = 20
_CELL_CHARS: Final = 40
_SUMMARY_ROWS: Final = 1_000_000


def table_blocks(value: Any) -> tuple[Block, ...] | None:
    """What a table or an array holds: columns, missing values, first rows, numeric summary.

    None for anything else. Errors of the library go through.
    """
    kinds = libraries(value)
    if "pandas" in kinds and hasattr(value, "isna") and hasattr(value, "iloc"):
        return _frame_blocks(value) if value.ndim == 2 else _series_blocks(value)
    if "polars" in kinds and hasattr(value, "null_count") and hasattr(value, "schema"):
        return _polars_blocks(value)
    if "numpy" in kinds and hasattr(value, "dtype") and hasattr(value, "size"):
        return (TextBlock(_array_text(value), "all"),)
    return None


def _frame_blocks(frame: Any) -> tuple[Block, ...]:
    head = frame.iloc[:_HEAD, :_SHOWN_COLUMNS]
    parts = [_columns_text(frame), f"First rows:\n{_table_text(head)}"]
    numbers = frame.iloc[:_SUMMARY_ROWS].select_dtypes("number").iloc[:, :_SHOWN_COLUMNS]
    if numbers.shape[1] and len(numbers):
        of = "" if len(frame) <= _SUMMARY_ROWS else f" (first {_SUMMARY_ROWS:,} rows)"
        parts.append(f"Numbers{of}:\n{_table_text(numbers.describe())}")
    columns = TextBlock("\n".join(parts), "model")
    return (columns, *_html(head))


def _columns_text(frame: Any) -> str:
    missing = [int(n) for n in frame.isna().sum()]
    rows = [
        (str(name)[:_CELL_CHARS], str(dtype), f"{n:,} missing" if n else "")
        for name, dtype, n in zip(frame.columns, frame.dtypes, missing, strict=True)
    ]
    shown = rows[:_COLUMNS]
    widths = [max((len(row[i]) for row in shown), default=0) for i in range(2)]
    lines = [
        f"  {name.ljust(widths[0])}  {dtype.ljust(widths[1])}  {gaps}".rstrip()
        for name, dtype, gaps in shown
    ]
    if len(rows) > len(shown):
        lines.append(f"  … {len(rows) - len(shown):,} more columns")
    return "\n".join(["Columns:", *lines])


def _series_blocks(series: Any) -> tuple[Block, ...]:
    head = series.iloc[:_HEAD].to_frame()
    missing = int(series.isna().sum())
    parts = [
        f"dtype {series.dtype}, {missing:,} missing",
        f"First values:\n{_table_text(head)}",
        f"Summary:\n{series.iloc[:_SUMMARY_ROWS].describe().to_string()}",
    ]
    return (TextBlock("\n".join(parts), "model"), *_html(head))


def _table_text(table: Any) -> str:
    text: str = table.to_string(max_colwidth=_CELL_CHARS)
    return text


def _html(table: Any) -> tuple[Block, ...]:
    html = table._repr_html_()  # the public protocol of notebooks
    return (HtmlBlock(html),) if html else ()


def _polars_blocks(frame: Any) -> tuple[Block, ...]:
    counts = frame.null_count()
    missing = counts.row(0) if hasattr(counts, "row") else (counts,)
    lines = [
        f"  {name[:_CELL_CHARS]}  {dtype}" + (f"  {gaps:,} missing" if gaps else "")
        for (name, dtype), gaps in zip(frame.schema.items(), missing, strict=True)
    ][:_COLUMNS]
    head = frame.head(_HEAD)
    text = "\n".join(["Columns:", *lines, "First rows:", str(head)])
    return (TextBlock(text, "model"), *_html(head))


def _array_text(array: Any) -> str:
    lines = [f"dtype {array.dtype}, {array.size:,} values"]
    sample = array.reshape(-1)[:_SUMMARY_ROWS] if array.size else None
    if sample is not None and array.dtype.kind in "iuf":
        of = "" if array.size <= _SUMMARY_ROWS else f" (first {_SUMMARY_ROWS:,} values)"
        finite = sample[sample == sample] if array.dtype.kind == "f" else sample  # noqa: PLR0124
        if finite.size:
            lines.append(f"min {finite.min():g}, mean {finite.mean():g}, max {finite.max():g}{of}")
        if finite.size != sample.size:
            lines.append(f"{sample.size - finite.size:,} missing (NaN){of}")
    return "\n".join([*lines, str(array)])

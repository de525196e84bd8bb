"""Where two values of JSON data differ, as a person reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

SHOWN_CHARS: Final = 72
MISSING: Final = object()
Json = Any


def differences(old: Json, new: Json, path: str) -> list[str]:
    """``path: old → new`` for each place where ``new`` is not ``old``; empty when they are equal.

    Texts of several lines are compared line by line, and the first that differs is shown.
    """
    if old is MISSING or new is MISSING:
        there = "was removed" if new is MISSING else "was added"
        return [f"{path} {there}: {shown(old if new is MISSING else new)}"]
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        keys = [*old, *(key for key in new if key not in old)]
        found: list[str] = []
        for key in keys:
            inner = f"{path}.{key}" if path else str(key)
            if old.get(key, MISSING) != new.get(key, MISSING):
                found += differences(old.get(key, MISSING), new.get(key, MISSING), inner)
        return found
    if _is_list(old) and _is_list(new):
        found = []
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else MISSING
            after = new[index] if index < len(new) else MISSING
            if before is MISSING or after is MISSING or before != after:
                found += differences(before, after, f"{path}[{index}]")
        return found
    if isinstance(old, str) and isinstance(new, str):
        return [] if old == new else [_text_difference(old, new, path)]
    return [] if old == new and type(old) is type(new) else [f"{path}: {shown(old)} → {shown(new)}"]


def shown(value: Json, around: int = 0) -> str:
    """``value`` in one short line; of a long text, what is ``around`` that index."""
    text = repr(value)
    if len(text) <= SHOWN_CHARS:
        return text
    start = max(0, min(around - SHOWN_CHARS // 3, len(text) - SHOWN_CHARS))
    end = start + SHOWN_CHARS
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


def _text_difference(old: str, new: str, path: str) -> str:
    lines, others = old.split("\n"), new.split("\n")
    if len(lines) == len(others) == 1:
        at = _first_difference(old, new)
        return f"{path}: {shown(old, at)} → {shown(new, at)}"
    at = _first_difference(lines, others)
    before = lines[at] if at < len(lines) else "(no such line)"
    after = others[at] if at < len(others) else "(no such line)"
    column = _first_difference(before, after)
    return f"{path}, line {at + 1}: {shown(before, column)} → {shown(after, column)}"


def _first_difference(old: Sequence[Json], new: Sequence[Json]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)

"""Unified diffs, whole, in a time that the size of the texts bounds."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

_CONTEXT: Final = 3
_COMPARED: Final = 1_000_000
"""Lines of one text times lines of the other: above it what differs is one block."""


class Change(Struct, frozen=True):
    """Lines ``old_start`` up to ``old_end`` became ``new_start`` up to ``new_end``, from 0."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def unified_diff(old: str | None, new: str, path: str, note: str = "") -> str:
    """What has to change in ``old`` (None: no file) to be ``new``, with three lines around it.

    ``note`` follows the path in the head. Lines end at a newline alone. Equal texts give the two
    lines of the head.
    """
    before, after = _lines(old or ""), _lines(new)
    head = ["--- /dev/null" if old is None else f"--- {path}", f"+++ {path}{note}"]
    body = (
        line for hunk in _hunks(_changes(before, after)) for line in _shown(hunk, before, after)
    )
    return "\n".join([*head, *body])


def _lines(text: str) -> list[str]:
    """The lines with their ends: a last line without one differs from one with it."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    same = min(len(old), len(new))
    head = next((at for at in range(same) if old[at] != new[at]), same)
    rest = same - head
    tail = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    old_end, new_end = len(old) - tail, len(new) - tail
    if head == old_end and head == new_end:
        return []
    if (old_end - head) * (new_end - head) > _COMPARED:
        return [Change(head, old_end, head, new_end)]
    matcher = difflib.SequenceMatcher(None, old[head:old_end], new[head:new_end], autojunk=False)
    return [
        Change(a + head, b + head, c + head, d + head)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def _hunks(changes: Sequence[Change]) -> Iterator[list[Change]]:
    """Changes whose surrounding lines meet belong together."""
    hunk: list[Change] = []
    for change in changes:
        if hunk and change.old_start - hunk[-1].old_end > 2 * _CONTEXT:
            yield hunk
            hunk = []
        hunk.append(change)
    if hunk:
        yield hunk


def _shown(hunk: Sequence[Change], old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    before = min(_CONTEXT, hunk[0].old_start)
    after = min(_CONTEXT, len(old) - hunk[-1].old_end)
    old_range = range(hunk[0].old_start - before, hunk[-1].old_end + after)
    new_range = range(hunk[0].new_start - before, hunk[-1].new_end + after)
    yield f"@@ -{_range(old_range)} +{_range(new_range)} @@"
    at = old_range.start
    for change in hunk:
        yield from _marked(" ", old[at : change.old_start])
        yield from _marked("-", old[change.old_start : change.old_end])
        yield from _marked("+", new[change.new_start : change.new_end])
        at = change.old_end
    yield from _marked(" ", old[at : old_range.stop])


def _range(lines: range) -> str:
    start = lines.start + 1 if lines else lines.start
    return f"{start}" if len(lines) == 1 else f"{start},{len(lines)}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"

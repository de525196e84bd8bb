"""Patterns with ``*``: where they match, and whether they could match a text not fully known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ..core.errors import InvalidOptions

_NUMBER: Final = re.compile(r"-?\d{1,300}(\.\d{1,300})?([eE][+-]?\d{1,3})?", re.ASCII)
MAX_COMPARED: Final = 500
"""Longest text with unknown stretches that is compared; a longer one could match anything."""


class Pattern(Struct, frozen=True):
    """Literal stretches with a wildcard between each two: ``a*b`` is ``("a", "b")``."""

    parts: tuple[str, ...]

    @property
    def literal(self) -> str | None:
        """The only text that matches, or None when there is a wildcard."""
        return self.parts[0] if len(self.parts) == 1 else None

    def matches(self, text: str) -> bool:
        """True when the whole of ``text`` fits; linear in its length for each part."""
        first, last = self.parts[0], self.parts[-1]
        if len(self.parts) == 1:
            return text == first
        if len(text) < len(first) + len(last):
            return False
        if not (text.startswith(first) and text.endswith(last)):
            return False
        at, end = len(first), len(text) - len(last)
        for part in self.parts[1:-1]:
            found = text.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return True

    def folded(self) -> Pattern:
        """The pattern for texts that are case-folded."""
        return Pattern(tuple(part.casefold() for part in self.parts))


def glob_pattern(text: str) -> Pattern:
    r"""``text`` with ``*`` as wildcard; ``\*`` and ``\\`` are the characters themselves."""
    parts, at = [""], 0
    while at < len(text):
        char = text[at]
        if char == "\\" and text[at + 1 : at + 2] in {"*", "\\"}:
            at += 1
            parts[-1] += text[at]
        elif char == "*":
            parts.append("")
        else:
            parts[-1] += char
        at += 1
    return Pattern(tuple(parts))


def could_match(pattern: Pattern, text: str, unknown: frozenset[str]) -> bool:
    """True when some filling of the ``unknown`` characters of ``text`` fits ``pattern``.

    An unknown character stands for any stretch, also an empty one.
    """
    if not any(mark in text for mark in unknown):
        return pattern.matches(text)
    if len(text) > MAX_COMPARED:
        return True
    wild: list[str | None] = [None if char in unknown else char for char in text]
    sought: list[str | None] = []
    for number, part in enumerate(pattern.parts):
        if number:
            sought.append(None)
        sought.extend(part)
    return _overlap(sought, wild)


def _overlap(left: Sequence[str | None], right: Sequence[str | None]) -> bool:
    """True when two sequences with gaps (None: any stretch) have a common filling."""
    row = [True] + [False] * len(right)
    for at, mark in enumerate(right):
        row[at + 1] = row[at] and mark is None
    for char in left:
        following = [row[0] and char is None]
        for at, mark in enumerate(right):
            if char is None or mark is None:
                fits = following[at] or row[at + 1]
                fits = fits or (row[at] and (char is None and mark is None))
            else:
                fits = row[at] and char == mark
            following.append(fits)
        row = following
    return row[-1]


class FieldPattern(Struct, frozen=True):
    """``city=Oslo, days=*``: every named argument must be there and fit.

    A field is its name, its pattern, and the number that the pattern is the text of, if any.
    """

    fields: tuple[tuple[str, Pattern, str | None], ...]

    def matches(self, args: Mapping[str, str], numbers: Mapping[str, str], *, folded: bool) -> bool:
        """``args`` are all as text, ``numbers`` those that are numbers, in one spelling."""

        def fits(name: str, pattern: Pattern, number: str | None) -> bool:
            value = args.get(name)
            if value is None:
                return False
            if number is not None and numbers.get(name) == number:
                return True
            return pattern.folded().matches(value.casefold()) if folded else pattern.matches(value)

        return all(fits(*field) for field in self.fields)


def number_text(value: object) -> str | None:
    """The one spelling of a number, which ``100``, ``100.0`` and ``1e2`` have in common.

    ``value`` is a number, or the text of one as JSON writes it; None for anything else.
    """
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
        value = float(value) if set(value) & set(".eE") else int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    is_whole = isinstance(value, int) or value.is_integer()
    return str(int(value)) if is_whole else repr(value)


def field_pattern(text: str) -> FieldPattern:
    """The pattern written ``name=value, name="a, b"``; raises InvalidOptions when it is not one.

    Values are compared as text, true, false and null as JSON writes them, numbers by what they are
    worth; ``*`` stands for any stretch.
    """
    fields: list[tuple[str, Pattern, str | None]] = []
    for item in _split_outside_quotes(text, lambda char: char == ","):
        name, equals, value = item.strip().partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name.isidentifier():
            raise InvalidOptions(
                f"{item.strip()!r} is no field of a rule.", advice="Write name=value, name=value."
            )
        quoted = len(value) > 1 and value[0] == value[-1] == '"'
        if not quoted and '"' in value:
            raise InvalidOptions(f"{value!r} has a quote that does not close.")
        pattern = Pattern((value[1:-1],)) if quoted else glob_pattern(value)
        fields.append((name, pattern, None if quoted else number_text(value)))
    return FieldPattern(tuple(fields))


def _split_outside_quotes(text: str, separates: Callable[[str], bool]) -> list[str]:
    items, quoted = [""], False
    for char in text:
        if char == '"':
            quoted = not quoted
        if separates(char) and not quoted:
            items.append("")
        else:
            items[-1] += char
    return items

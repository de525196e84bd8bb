"""Globs over relative paths, and the part of ``.gitignore`` that is made of them.

Names are matched one at a time, so a glob of many stars takes time in proportion to names times
segments and never runs away.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

_ANY_DEPTH: Final = "**"
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_ALTERNATIVES: Final = 64

Segments = tuple["re.Pattern[str] | None", ...]
"""One pattern a name; None stands for any number of names (``**``)."""


class Glob(Struct, frozen=True):
    """A glob: ``*`` and ``?`` within a name, ``**`` across names, ``[ab]``, ``{a,b}``."""

    alternatives: tuple[Segments, ...]

    def matches(self, names: Sequence[str]) -> bool:
        """True when the path of these names fits, whole."""
        return any(_fits(pattern, names) for pattern in self.alternatives)


def glob(pattern: str) -> Glob:
    """The glob ``pattern``; one without ``/`` fits a name at any depth."""
    pattern = pattern.removeprefix("./")
    if "/" not in pattern:
        pattern = f"**/{pattern}"
    return Glob(tuple(_segments(text) for text in _without_braces(pattern)))


class IgnoreRule(Struct, frozen=True):
    """A line of a ``.gitignore``; the last one that fits decides."""

    glob: Glob
    is_exception: bool
    folders_only: bool


class IgnoreFile(Struct, frozen=True):
    """The rules of the ``.gitignore`` in the folder ``depth`` names below the root."""

    depth: int
    rules: tuple[IgnoreRule, ...]


def ignore_file(text: str, depth: int) -> IgnoreFile:
    """The rules in ``text``; lines that are no rule are left out, as git does."""
    rules = (_ignore_rule(line) for line in text.split("\n"))
    return IgnoreFile(depth, tuple(rule for rule in rules if rule is not None))


def is_ignored(names: Sequence[str], files: Sequence[IgnoreFile], *, is_folder: bool) -> bool:
    """True when the path is ignored by ``files``, those of its folders from the root down."""
    for file in reversed(files):
        below = names[file.depth :]
        for rule in reversed(file.rules):
            if (is_folder or not rule.folders_only) and rule.glob.matches(below):
                return not rule.is_exception
    return False


def _ignore_rule(line: str) -> IgnoreRule | None:
    line = line.rstrip("\r")
    line = line if line.endswith("\\ ") else line.rstrip(" ")
    if not line or line.startswith("#"):
        return None
    is_exception = line.startswith("!")
    line = line.removeprefix("!")
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anchored = line if "/" in line else f"**/{line}"
    return IgnoreRule(Glob((_segments(anchored.lstrip("/")),)), is_exception, folders_only)


def _without_braces(pattern: str) -> list[str]:
    waiting, done = [pattern], list[str]()
    while waiting:
        text = waiting.pop()
        found = _BRACES.search(text)
        if found is None or len(waiting) + len(done) >= _ALTERNATIVES:
            done.append(text)
        else:
            head, tail = text[: found.start()], text[found.end() :]
            waiting += [head + choice + tail for choice in found[1].split(",")]
    return done


def _segments(pattern: str) -> Segments:
    return tuple(
        None if name == _ANY_DEPTH else _name_pattern(name)
        for name in pattern.strip("/").split("/")
        if name
    )


@functools.lru_cache(maxsize=1_000)
def _name_pattern(name: str) -> re.Pattern[str]:
    # fnmatch makes each star an atomic group: no backtracking into it.
    return re.compile(fnmatch.translate(name))


def _fits(segments: Segments, names: Sequence[str]) -> bool:
    """By the set of positions in ``names`` that the segments so far can reach."""
    reached = {0}
    for segment in segments:
        if segment is None:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {
                at + 1 for at in reached if at < len(names) and segment.match(names[at]) is not None
            }
        if not reached:
            return False
    return len(names) in reached

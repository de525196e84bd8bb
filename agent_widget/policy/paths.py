"""Paths in rules. The file system is behind a port: this module looks at text alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Protocol

from msgspec import Struct

from ..core.errors import InvalidOptions
from .patterns import MAX_COMPARED, Pattern, could_match
from .shell.model import GLOB, UNKNOWN

_WILD: Final = frozenset({UNKNOWN, GLOB})


class Paths(Protocol):
    """The file system as the policy sees it. Paths are text, ``/`` separates."""

    @property
    def cwd(self) -> str:
        """The working directory: absolute, as it was entered."""
        ...

    @property
    def home(self) -> str:
        """The user's home: absolute."""
        ...

    def resolve(self, path: str) -> str | None:
        """The absolute path with links followed, ``..`` gone and the case of the disk.

        Parts that do not exist are kept. None when it cannot be told (a loop of links, no right
        to look): then the answer is never allow.
        """
        ...


class PathForms(Struct, frozen=True):
    """One path in the forms a rule may see; ``resolved`` None when it cannot be told."""

    typed: str
    resolved: str | None


class PathPattern(Struct, frozen=True):
    """A glob over absolute paths: ``?`` one character, ``*`` within a name, ``**`` across names."""

    text: str
    exact: tuple[re.Pattern[str], ...]
    wide: tuple[re.Pattern[str], ...]
    loose: tuple[Pattern, ...]
    segments: tuple[tuple[Pattern | None, ...], ...]

    def allows(self, path: PathForms) -> bool:
        """True when both forms of the path fit, letter for letter."""
        if path.resolved is None or _dodgy(path.typed):
            return False
        return all(any(p.fullmatch(f) for p in self.exact) for f in (path.typed, path.resolved))

    def restricts(self, path: PathForms) -> bool:
        """True when any form fits, or lies below what fits; letter case never matters."""
        forms = (path.typed,) if path.resolved is None else (path.typed, path.resolved)
        return any(p.fullmatch(f) for p in self.wide for form in forms for f in _folded(form))

    def could_restrict(self, typed: str, *, dots: bool = False) -> bool:
        """True when an absolute path with unknown stretches could be one this restricts.

        ``dots``: a wildcard at the start of a name also means names that start with a dot.
        """
        if len(typed) > MAX_COMPARED:
            return True
        if UNKNOWN not in typed:
            names = typed.casefold().split("/")
            return any(_names_could_fit(each, names, dots=dots) for each in self.segments)
        return any(could_match(p, typed.casefold(), _WILD) for p in self.loose)


def typed_path(path: str, paths: Paths, folder: str | None = None) -> str:
    """``path`` made absolute by text alone: ``~`` and ``..`` gone, no link followed."""
    path = path.replace("\\", "/") if re.match(r"[A-Za-z]:[\\/]", path) else path
    if path == "~" or path.startswith("~/"):
        path = paths.home + path[1:]
    elif not is_absolute(path):
        path = f"{folder or paths.cwd}/{path}"
    return _without_dots(path)


def path_forms(path: str, paths: Paths, folder: str | None = None) -> PathForms:
    """Both forms of a path that is fully known."""
    expanded = path
    if path == "~" or path.startswith("~/"):
        expanded = paths.home + path[1:]
    elif not is_absolute(path):
        expanded = f"{folder or paths.cwd}/{path}"
    return PathForms(typed_path(path, paths, folder), paths.resolve(expanded))


def is_absolute(path: str) -> bool:
    return path.startswith("/") or re.match(r"[A-Za-z]:[\\/]", path) is not None


def is_within(path: str, folder: str) -> bool:
    """True when ``path`` is ``folder`` or below it; both absolute, letter for letter."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def check_path_pattern(text: str) -> None:
    """Raises InvalidOptions when ``text`` is no pattern of paths."""
    _marks(text)


def path_pattern(text: str, paths: Paths) -> PathPattern:
    """The pattern ``text``; a relative one lies in the working directory."""
    marks = _marks(text)
    home = text == "~" or text.startswith("~/")
    anchor = "" if is_absolute(text) else paths.home if home else paths.cwd
    roots = (_without_dots(anchor), paths.resolve(anchor) or anchor) if anchor else ("",)
    start = _literal_start(_from_root(marks, roots[0]))
    return _compiled(text, roots, paths.resolve(start))


@lru_cache(maxsize=1_024)
def _compiled(text: str, roots: tuple[str, ...], start: str | None) -> PathPattern:
    """The pattern below each of ``roots``; ``start`` is its literal beginning, resolved."""
    marks = _marks(text)
    anchors = list(dict.fromkeys(tuple(_from_root(marks, root)) for root in roots))
    anywhere = text == "**" or text.startswith("**/")
    wide = [*anchors, tuple(marks)] if anywhere else anchors
    if start is not None:
        rest = anchors[0][len(_literal(_literal_start(anchors[0]))) :]
        wide = [*wide, (*_literal(start.rstrip("/")), *rest)]
    return PathPattern(
        text,
        tuple(re.compile(_regex(a, fold=False)) for a in anchors),
        tuple(re.compile(_regex(w, fold=True) + r"(/.*)?", re.DOTALL) for w in wide),
        tuple(loose for w in wide for loose in _loose(w)),
        tuple(_segments(w) for w in wide),
    )


_Mark = str
_STARS: Final = "**"


def _marks(text: str) -> list[_Mark]:
    """Literal characters, ``?``, ``*`` and ``**``; a literal wildcard keeps its backslash."""
    if not text.strip() or text != text.strip():
        raise InvalidOptions(f"{text!r} is no path of a rule.", advice="Write a path or a glob.")
    marks, at = [], 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            if text[at + 1 : at + 2] not in set("*?[]{}\\") or at + 1 == len(text):
                raise InvalidOptions(
                    f"{text!r} has a backslash that escapes nothing.",
                    advice="Separate folders by / on every system.",
                )
            marks.append(text[at : at + 2])
            at += 2
        elif char in "[]{}":
            raise InvalidOptions(
                f"{text!r} has {char!r}, which rules do not expand.",
                advice=f"Write one rule a name, or \\{char} for the character itself.",
            )
        elif char == "*":
            stars = len(text[at:]) - len(text[at:].lstrip("*"))
            marks.append(_STARS if stars > 1 else "*")
            at += stars
        else:
            marks.append(char)
            at += 1
    return marks


def _literal(text: str) -> list[_Mark]:
    return [f"\\{c}" if c in "*?\\" else c for c in text]


def _from_root(marks: Sequence[_Mark], root: str) -> list[_Mark]:
    """The pattern below ``root``, which its own ``~`` stands for; an absolute one as it is."""
    if not root:
        return _squeezed(marks)
    rest = marks[2:] if marks[0] == "~" and marks[1:2] in ([], ["/"]) else marks
    return _squeezed([*_literal(root.rstrip("/")), "/", *rest])


def _literal_start(marks: Sequence[_Mark]) -> str:
    """The folders before the first wildcard."""
    wild = next((at for at, mark in enumerate(marks) if mark in {"?", "*", _STARS}), None)
    if wild is None:
        return "".join(mark[-1] for mark in marks)
    end = max((at for at in range(wild) if marks[at] == "/"), default=0)
    return "".join(mark[-1] for mark in marks[:end])


def _squeezed(marks: Sequence[_Mark]) -> list[_Mark]:
    """Without ``.``, ``..`` and double slashes."""
    segments: list[list[_Mark]] = [[]]
    for mark in marks:
        if mark == "/":
            segments.append([])
        else:
            segments[-1].append(mark)
    kept: list[list[_Mark]] = []
    for segment in segments:
        name = "".join(segment)
        if name in {"", "."}:
            continue
        if name == "..":
            del kept[-1:]
        else:
            kept.append(segment)
    drive = bool(kept) and re.fullmatch(r"[A-Za-z]:", "".join(kept[0])) is not None
    joined = [mark for segment in kept for mark in ("/", *segment)]
    return (joined[1:] if drive else joined) or ["/"]


def _regex(marks: Sequence[_Mark], *, fold: bool) -> str:
    """The regular expression of whole paths; ``/**`` at the end also means the folder itself."""
    pieces, at = [], 0
    while at < len(marks):
        mark = marks[at]
        following = marks[at + 1] if at + 1 < len(marks) else None
        if mark == "/" and following == _STARS:
            after = marks[at + 2] if at + 2 < len(marks) else None
            if after in {None, "/"}:
                pieces.append("(?:/.*)?" if after is None else "(?:/.*)?/")
                at += 2 if after is None else 3
                continue
        if mark == _STARS and at == 0 and following == "/":
            pieces.append("(?:.*/)?")
            at += 2
            continue
        pieces.append(_piece(mark, fold=fold))
        at += 1
    return f"(?s:{''.join(pieces)})"


def _piece(mark: _Mark, *, fold: bool) -> str:
    match mark:
        case "?":
            return "[^/]"
        case "*":
            return "[^/]*"
        case "**":
            return ".*"
    char = mark[-1]
    return re.escape(_fold(char) if fold else char)


def _loose(marks: Sequence[_Mark]) -> list[Pattern]:
    """Wider patterns whose stars cross folders: the path itself, and all below it."""
    parts = [""]
    for at, mark in enumerate(marks):
        if mark in {"?", "*", _STARS}:
            parts.append("")
        elif not (mark == "/" and at and marks[at - 1] == _STARS):
            parts[-1] += _fold(mark[-1])
    whole = Pattern(tuple(parts))
    return [whole, Pattern((*parts[:-1], parts[-1] + "/", ""))]


def _segments(marks: Sequence[_Mark]) -> tuple[Pattern | None, ...]:
    """The pattern name by name; None is any number of names."""
    names: list[list[_Mark]] = [[]]
    for mark in marks:
        if mark == "/":
            names.append([])
        else:
            names[-1].append(mark)
    return tuple(None if _STARS in name else _name_pattern(name) for name in names)


def _name_pattern(name: list[_Mark]) -> Pattern:
    parts = [""]
    for mark in name:
        if mark in {"?", "*"}:
            parts.append("")
        else:
            parts[-1] += _fold(mark[-1])
    return Pattern(tuple(parts))


def _names_could_fit(pattern: tuple[Pattern | None, ...], names: list[str], *, dots: bool) -> bool:
    """True when a path whose names hold wildcards could fit, or lie below what fits."""

    def fits(part: Pattern, name: str) -> bool:
        hidden = part.parts[0].startswith(".") and name[:1] == GLOB and not dots
        return not hidden and could_match(part, name, _WILD)

    row = [True] + [False] * len(names)
    for part in pattern:
        if part is None:
            following = [any(row[: at + 1]) for at in range(len(row))]
        else:
            following = [False]
            for at, name in enumerate(names):
                following.append(row[at] and fits(part, name))
        row = following
    return any(row)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _folded(path: str) -> set[str]:
    """The path as disks that ignore case, final dots and stream names would read it."""
    drive, rest = (path[:2], path[2:]) if re.match(r"[A-Za-z]:", path) else ("", path)
    trimmed = "/".join(name.split(":")[0].rstrip(". ") for name in rest.split("/"))
    return {_fold(path), _fold(drive + trimmed)}


def _dodgy(path: str) -> bool:
    """True when a disk may read a name of ``path`` differently: final dots or blanks, controls."""
    return any(name[-1:] in {".", " "} for name in path.split("/")) or not path.isprintable()


def _without_dots(path: str) -> str:
    drive, rest = (path[:2], path[2:]) if re.match(r"[A-Za-z]:", path) else ("", path)
    kept: list[str] = []
    for name in rest.replace("\\", "/").split("/") if drive else rest.split("/"):
        if name == "..":
            del kept[-1:]
        elif name not in {"", "."}:
            kept.append(name)
    return f"{drive}/" + "/".join(kept)

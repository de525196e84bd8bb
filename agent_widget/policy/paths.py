"""Paths in rules. The file system is behind a port: this module looks at text alone."""

from __future__ import annotations

import re
import unicodedata
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
    anywhere: bool
    exact: tuple[re.Pattern[str], ...]
    wide: tuple[re.Pattern[str], ...]
    loose: tuple[Pattern, ...]

    def allows(self, path: PathForms) -> bool:
        """True when both forms of the path fit, letter for letter."""
        if path.resolved is None or _dodgy(path.typed):
            return False
        return all(any(p.fullmatch(f) for p in self.exact) for f in (path.typed, path.resolved))

    def restricts(self, path: PathForms) -> bool:
        """True when any form fits, or lies below what fits; letter case never matters."""
        forms = (path.typed,) if path.resolved is None else (path.typed, path.resolved)
        return any(p.fullmatch(f) for p in self.wide for form in forms for f in _folded(form))

    def could_restrict(self, typed: str) -> bool:
        """True when an absolute path with unknown stretches could be one this restricts."""
        if len(typed) > MAX_COMPARED:
            return True
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
    _tokens(text)


def path_pattern(text: str, paths: Paths) -> PathPattern:
    """The pattern ``text``; a relative one lies in the working directory."""
    tokens = _tokens(text)
    anywhere = text == "**" or text.startswith("**/")
    anchors = _anchored(tokens, paths)
    wide = [*anchors, tokens] if anywhere else anchors
    resolved = _prefix_resolved(anchors[0], paths)
    if resolved is not None:
        wide.append(resolved)
    return PathPattern(
        text,
        anywhere,
        tuple(re.compile(_regex(a, fold=False)) for a in anchors),
        tuple(re.compile(_regex(w, fold=True) + r"(/.*)?", re.DOTALL) for w in wide),
        tuple(loose for w in wide for loose in _loose(w)),
    )


_Token = str
_STARS: Final = "**"


def _tokens(text: str) -> list[_Token]:
    """Literal characters, ``?``, ``*`` and ``**``; a literal wildcard keeps its backslash."""
    if not text.strip() or text != text.strip():
        raise InvalidOptions(f"{text!r} is no path of a rule.", advice="Write a path or a glob.")
    tokens, at = [], 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            if text[at + 1 : at + 2] not in set("*?[]{}\\") or at + 1 == len(text):
                raise InvalidOptions(
                    f"{text!r} has a backslash that escapes nothing.",
                    advice="Separate folders by / on every system.",
                )
            tokens.append(text[at : at + 2])
            at += 2
        elif char in "[]{}":
            raise InvalidOptions(
                f"{text!r} has {char!r}, which rules do not expand.",
                advice=f"Write one rule a name, or \\{char} for the character itself.",
            )
        elif char == "*":
            stars = len(text[at:]) - len(text[at:].lstrip("*"))
            tokens.append(_STARS if stars > 1 else "*")
            at += stars
        else:
            tokens.append(char)
            at += 1
    return tokens


def _literal(text: str) -> list[_Token]:
    return [f"\\{c}" if c in "*?\\" else c for c in text]


def _anchored(tokens: list[_Token], paths: Paths) -> list[list[_Token]]:
    """The pattern from the root: under the anchor as it was typed, and as it resolves."""
    text = "".join(tokens)
    if is_absolute(text):
        return [_squeezed(tokens)]
    home = text == "~" or text.startswith("~/")
    anchor = paths.home if home else paths.cwd
    rest = tokens[2:] if home else tokens
    anchors = dict.fromkeys((_without_dots(anchor), paths.resolve(anchor) or anchor))
    return [_squeezed([*_literal(a.rstrip("/")), "/", *rest]) for a in anchors]


def _squeezed(tokens: list[_Token]) -> list[_Token]:
    """Without ``.``, ``..`` and double slashes."""
    segments: list[list[_Token]] = [[]]
    for token in tokens:
        if token == "/":
            segments.append([])
        else:
            segments[-1].append(token)
    kept: list[list[_Token]] = []
    for segment in segments:
        name = "".join(segment)
        if name in {"", "."}:
            continue
        if name == "..":
            del kept[-1:]
        else:
            kept.append(segment)
    drive = bool(kept) and re.fullmatch(r"[A-Za-z]:", "".join(kept[0])) is not None
    joined = [token for segment in kept for token in ("/", *segment)]
    return (joined[1:] if drive else joined) or ["/"]


def _prefix_resolved(tokens: list[_Token], paths: Paths) -> list[_Token] | None:
    """The pattern with the folders before its first wildcard resolved."""
    wild = next((at for at, token in enumerate(tokens) if token in {"?", "*", _STARS}), None)
    end = len(tokens) if wild is None else max(
        (at for at in range(wild) if tokens[at] == "/"), default=0
    )
    prefix = "".join(token[-1] for token in tokens[:end])
    resolved = paths.resolve(prefix or "/")
    return None if resolved is None else [*_literal(resolved.rstrip("/")), *tokens[end:]]


def _regex(tokens: list[_Token], *, fold: bool) -> str:
    """The regular expression of whole paths; ``/**`` at the end also means the folder itself."""
    pieces, at = [], 0
    while at < len(tokens):
        token = tokens[at]
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if token == "/" and following == _STARS:
            after = tokens[at + 2] if at + 2 < len(tokens) else None
            if after in {None, "/"}:
                pieces.append("(?:/.*)?" if after is None else "(?:/.*)?/")
                at += 2 if after is None else 3
                continue
        if token == _STARS and at == 0 and following == "/":
            pieces.append("(?:.*/)?")
            at += 2
            continue
        pieces.append(_piece(token, fold=fold))
        at += 1
    return f"(?s:{''.join(pieces)})"


def _piece(token: _Token, *, fold: bool) -> str:
    match token:
        case "?":
            return "[^/]"
        case "*":
            return "[^/]*"
        case "**":
            return ".*"
    char = token[-1]
    return re.escape(_fold(char) if fold else char)


def _loose(tokens: list[_Token]) -> list[Pattern]:
    """Wider patterns whose stars cross folders: the path itself, and all below it."""
    parts = [""]
    for at, token in enumerate(tokens):
        if token in {"?", "*", _STARS}:
            parts.append("")
        elif not (token == "/" and at and tokens[at - 1] == _STARS):
            parts[-1] += _fold(token[-1])
    whole = Pattern(tuple(parts))
    return [whole, Pattern((*parts[:-1], parts[-1] + "/", ""))]


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

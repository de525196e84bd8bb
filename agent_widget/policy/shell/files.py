"""Which files the words of a command could name, as far as text and links tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from ..paths import PathForms, PathPattern, Paths, is_absolute, is_within, path_forms, typed_path
from .model import GLOB, UNKNOWN, Redirect, Script, Word
from .patterns import Match

MAX_FOLDERS = 8
_CHANGES_FOLDER = frozenset(
    {"cd", "pushd", "popd", "set-location", "push-location", "pop-location"}
)


class Files:
    """Looks up each path once.

    ``folders`` are where the line may work; None is a folder that only the run knows.
    """

    def __init__(self, script: Script, paths: Paths, *, backslashes: bool) -> None:
        self._paths = paths
        self._backslashes = backslashes
        self._seen: dict[tuple[str, str | None], PathForms] = {}
        self.folders = self._folders_of(script)

    def restricted(self, pattern: PathPattern, word: Word) -> Match | None:
        """Whether ``pattern`` (of a deny or ask rule) names a file that ``word`` could be."""
        found: Match | None = None
        for text in _candidates(word.text):
            for folder in self.folders:
                match self._restricted(pattern, text, folder):
                    case "sure":
                        return "sure"
                    case "possible":
                        found = "possible"
        return found

    def allowed(self, pattern: PathPattern, redirect: Redirect) -> bool:
        """True when ``pattern`` (of an allow rule) covers the file in every run."""
        return self._everywhere(redirect.target, pattern.allows)

    def inside(self, word: Word) -> bool:
        """True when the file lies in the working directory, links followed."""
        cwd = self._paths.cwd
        homes = {cwd.rstrip("/") or "/", self._paths.resolve(cwd) or cwd}

        def lies_inside(forms: PathForms) -> bool:
            return forms.resolved is not None and all(
                any(is_within(form, home) for home in homes)
                for form in (forms.typed, forms.resolved)
            )

        return self._everywhere(word, lies_inside)

    def _everywhere(self, word: Word, fits: Callable[[PathForms], bool]) -> bool:
        if not word.known or not word.text:
            return False
        return all(
            (folder is not None or _rooted(word.text)) and fits(self._forms(word.text, folder))
            for folder in self.folders
        )

    def _restricted(self, pattern: PathPattern, text: str, folder: str | None) -> Match | None:
        if UNKNOWN in text or (folder is None and not _rooted(text)):
            tail = text.rpartition(UNKNOWN)[2]
            far = ".." in tail.split("/") or (UNKNOWN not in text and GLOB in text)
            tail = tail if UNKNOWN in text else f"/{text}"
            return "possible" if far or pattern.could_restrict(UNKNOWN + tail) else None
        if GLOB in text:
            typed = typed_path(text, self._paths, folder)
            return "possible" if pattern.could_restrict(typed, dots=self._backslashes) else None
        return "sure" if pattern.restricts(self._forms(text, folder)) else None

    def _forms(self, text: str, folder: str | None) -> PathForms:
        key = (text, folder)
        if key not in self._seen:
            path = text.replace("\\", "/") if self._backslashes else text
            self._seen[key] = path_forms(path, self._paths, folder)
        return self._seen[key]

    def _folders_of(self, script: Script) -> tuple[str | None, ...]:
        folders: dict[str | None, None] = {self._paths.cwd: None}
        for target in _entered(script):
            for folder in list(folders):
                if target is None or (folder is None and not _rooted(target.text)):
                    folders[None] = None
                else:
                    folders[typed_path(target.text, self._paths, folder)] = None
                if len(folders) > MAX_FOLDERS:
                    return (self._paths.cwd, None)
        return tuple(folders)


def _entered(script: Script) -> Iterator[Word | None]:
    """The folders that commands of the script change to; None when only the run knows."""
    for command in script.commands:
        name = command.name.casefold()
        if name in _CHANGES_FOLDER:
            words = [w for w in command.words[1:] if w.text not in {"-P", "-L", "--", "-e"}]
            plain = len(words) == 1 and words[0].known and not words[0].text.startswith(("-", "+"))
            yield words[0] if plain and not name.startswith("pop") else None
        elif name in {"env", "git", "make", "sudo"}:
            pairs = pairwise(command.words)
            for option, value in pairs:
                if option.text in {"-C", "--chdir", "--directory"}:
                    yield value if value.known else None
                elif option.text.startswith(("--chdir=", "--directory=")):
                    yield Word(option.text.partition("=")[2]) if option.known else None


def _candidates(text: str) -> dict[str, None]:
    """The parts of a word that programs take as a path: ``f``, ``--file=f``, ``@f``, ``host:f``."""
    found = dict.fromkeys((text,))
    found.update(
        dict.fromkeys(part for part in (text.partition("=")[2], text.rpartition(":")[2]) if part)
    )
    if text.startswith("@"):
        found[text[1:]] = None
    if text.startswith("-") and not text.startswith("--") and len(text) > 2:
        found[text[2:]] = None
    if text.startswith("-"):
        found.pop(text, None)
    return found


def _rooted(text: str) -> bool:
    return is_absolute(text) or text == "~" or text.startswith("~/")

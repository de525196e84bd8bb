"""What asks even where a rule allows it: deleting a home, a root, or the whole workspace."""

from __future__ import annotations

from ..paths import Paths, is_within, typed_path
from .model import GLOB, UNKNOWN, Command, Word
from .options import has_option
from .wrappers import program_name

_DELETES = frozenset({"rm", "remove-item"})


def guard_against(command: Command, paths: Paths, folders: tuple[str | None, ...]) -> str | None:
    """Why ``command`` asks whatever the rules say, or None.

    ``folders`` are where it may run; None is a folder that only the run knows.
    """
    if program_name(command).rpartition("/")[2].casefold() not in _DELETES:
        return None
    options = [word for word in command.words[1:] if word.text.startswith("-") or word.many]
    if not has_option([_folded(word) for word in options], ("-r", "--recursive", "-recurse")):
        return None
    for word in command.words[1:]:
        if word.text.startswith("-"):
            continue
        if word.text[:1] == UNKNOWN:
            return "it deletes a folder that only the run knows, and all below it"
        for folder in folders:
            if place := _place(word.text, paths, folder):
                return f"it deletes {place} and all below"
    return None


def _folded(word: Word) -> Word:
    return Word(word.text.casefold(), word.many)


def _place(text: str, paths: Paths, folder: str | None) -> str | None:
    """What ``text`` names when it is too much to delete."""
    head = text.split(UNKNOWN, maxsplit=1)[0].split(GLOB, maxsplit=1)[0]
    if head != text:
        if any(char.isalnum() for char in text.rstrip("/").rpartition("/")[2]):
            return None
        head = head.rpartition("/")[0] + "/" if "/" in head else "."
    relative = not head.startswith(("/", "~"))
    if folder is None and relative:
        return "a folder that only the run knows"
    typed = typed_path(head, paths, folder)
    resolved = paths.resolve(typed) or typed
    for path in (typed, resolved):
        if path.rstrip("/") == "" or path.rstrip("/").endswith(":"):
            return "the root of the disk"
        for home in {paths.home, paths.resolve(paths.home) or paths.home}:
            if is_within(home, path):
                return "the home folder"
        for cwd in {paths.cwd, paths.resolve(paths.cwd) or paths.cwd}:
            if is_within(cwd, path):
                return "the working directory"
    return None

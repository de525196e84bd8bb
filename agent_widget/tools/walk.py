"""The files below a folder, in order, without what people do not mean: hidden and ignored ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from ..core.errors import ToolFailure
from .globs import IgnoreFile, ignore_file, is_ignored
from .workspace import Entry, Place, Workspace

MAX_ENTRIES: Final = 100_000
"""Names that one walk looks at."""

_MAX_DEPTH: Final = 100
_IGNORE: Final = ".gitignore"
_IGNORE_BYTES: Final = 100_000


class Found(Struct, frozen=True):
    """A file, folder or link below where the walk began."""

    place: Place
    entry: Entry


class Walk:
    """Walks a workspace; ``left_out`` says afterwards what was not looked at, as sentences.

    Links are named and never followed. ``stops`` is asked before each folder.
    """

    def __init__(
        self, workspace: Workspace, *, everything: bool, stops: Callable[[], bool]
    ) -> None:
        self._workspace = workspace
        self._everything = everything
        self._stops = stops
        self._names_left = MAX_ENTRIES
        self.left_out: list[str] = []

    def below(self, start: Place, *, recursive: bool) -> Iterator[Found]:
        """What is below ``start``, sorted by name; a folder comes before what is in it."""
        ignores = self._ignores_above(start)
        return self._below(start, ignores, recursive=recursive, depth=0)

    def _below(
        self, folder: Place, ignores: tuple[IgnoreFile, ...], *, recursive: bool, depth: int
    ) -> Iterator[Found]:
        entries = self._entries(folder, is_start=depth == 0)
        ignores = self._with_own(folder, ignores, entries)
        for entry in entries:
            place = folder.below(entry.name)
            if not self._everything and _is_unwanted(place, entry, ignores):
                continue
            yield Found(place, entry)
            if entry.kind == "folder" and recursive and depth < _MAX_DEPTH:
                yield from self._below(place, ignores, recursive=True, depth=depth + 1)

    def _entries(self, folder: Place, *, is_start: bool) -> list[Entry]:
        if self._stops():
            self._note("The time for this call ran out before every folder was looked at.")
            return []
        try:
            entries = self._workspace.entries(folder, self._names_left + 1)
        except ToolFailure:
            if is_start:
                raise
            self._note("Some folders could not be read.")
            return []
        if len(entries) > self._names_left:
            self._note(f"There are more than {MAX_ENTRIES:,} names; the rest was not looked at.")
        entries = entries[: self._names_left]
        self._names_left -= len(entries)
        return entries

    def _note(self, sentence: str) -> None:
        if sentence not in self.left_out:
            self.left_out.append(sentence)

    def _ignores_above(self, start: Place) -> tuple[IgnoreFile, ...]:
        ignores: tuple[IgnoreFile, ...] = ()
        for depth in range(len(start.parts)):
            ignores = self._with_own(Place(start.parts[:depth]), ignores, None)
        return ignores

    def _with_own(
        self, folder: Place, ignores: tuple[IgnoreFile, ...], entries: list[Entry] | None
    ) -> tuple[IgnoreFile, ...]:
        if self._everything:
            return ignores
        if entries is not None and not any(entry.name == _IGNORE for entry in entries):
            return ignores
        try:
            data = self._workspace.read(folder.below(_IGNORE), _IGNORE_BYTES).data
        except ToolFailure:  # none, or nothing that git would read
            return ignores
        return (*ignores, ignore_file(data.decode(errors="replace"), len(folder.parts)))


def _is_unwanted(place: Place, entry: Entry, ignores: tuple[IgnoreFile, ...]) -> bool:
    if entry.name.startswith("."):
        return True
    return is_ignored(place.parts, ignores, is_folder=entry.kind == "folder")

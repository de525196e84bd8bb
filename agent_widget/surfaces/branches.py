"""The branches of a chat, for cells: each method waits for its answer, and the tree prints itself.

``SessionTree`` lives on the engine's loop; this is the same from any thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ..core.branch import Tree
from ..core.journal import Checkpoint, Journal
from ..engine.tree import Navigated, SessionTree
from .driver import Driver

MAX_CHARS: Final = 60
"""A message is drawn up to here."""
MAX_LINES: Final = 200
"""Bound of the drawing: it is saved with the notebook at every display."""


class Branches:
    """What was said in a chat, on all branches; printed, a tree that marks where the chat is.

    A message or an entry is named by its id, a checkpoint by the id that ``checkpoint`` gave. All
    but reading raises SESSION_BUSY while a run is under way. What was done before stays done:
    variables, files and money are not undone by a branch.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def user_messages(self) -> tuple[tuple[str, str], ...]:
        """``(entry id, text)`` of what the user said, on all branches, oldest first."""
        found: tuple[tuple[str, str], ...] = self._driver.command(self._tree.user_messages)
        return found

    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """The named places, oldest first; ``restore`` adds the place it left."""
        return (*self._journal().checkpoints.values(),)

    def checkpoint(self, label: str | None = None) -> str:
        """Name the place where the conversation is now; returns the checkpoint's id."""
        made: str = self._driver.command(lambda: self._tree.checkpoint(label))
        return made

    def restore(self, checkpoint_id: str) -> None:
        """Show the conversation of a checkpoint; where it was before becomes a checkpoint too.

        Raises SessionError ``checkpoint_not_found``.
        """
        self._driver.command(lambda: self._tree.restore(checkpoint_id))

    def navigate(
        self, target: str, *, label: str | None = None, summarize: bool = False
    ) -> Navigated:
        """Go to an entry, or before a user message, whose text comes back to be said anew.

        ``label`` names the target. With ``summarize`` the model sums up what is left behind, and
        the new path begins with that. Raises SessionError ``tree.not_found``.
        """
        return self._driver.navigate(target, label=label, summarize=summarize)

    def switch(self, message_id: str, index: int) -> None:
        """Show the branch of version number ``index`` (from 0) of a user message, to its end."""
        self._driver.command(lambda: self._tree.switch(message_id, index))

    def label(self, target: str, label: str | None) -> None:
        """Name a message, or take its name away with None."""
        self._driver.command(lambda: self._tree.label(target, label))

    def __repr__(self) -> str:
        return drawn(self._journal())

    @property
    def _tree(self) -> SessionTree:
        return self._driver.session.tree

    def _journal(self) -> Journal:
        journal: Journal = self._driver.command(self._tree.journal)
        return journal


def drawn(journal: Journal) -> str:
    """What the user said as a tree, without ids and times.

    ``●`` is on the path that is shown now, ``○`` is not; versions of a message stand side by side.
    """
    drawing = _Drawing(journal)
    lines = [*drawing.lines()]
    if len(lines) > MAX_LINES:
        lines = [f"({len(lines) - MAX_LINES} earlier lines)", *lines[-MAX_LINES:]]
    return "\n".join(lines) or "Nothing was said yet."


class _Drawing:
    """Hangs each user message, label and checkpoint under the user message before it."""

    def __init__(self, journal: Journal) -> None:
        self._tree: Tree = journal.tree
        self._above: dict[str, str | None] = {}
        self._below: dict[str | None, list[str]] = {}
        self._texts: dict[str, str] = {}
        for entry in self._tree.entries:
            above = None if entry.parent_id is None else self._nearest(entry.parent_id)
            self._above[entry.id] = above
            if entry.role == "user":
                self._texts[entry.id] = entry.text
                self._below.setdefault(above, []).append(entry.id)
        self._path = {entry.id for entry in self._tree.path(journal.leaf)}
        self._here = None if journal.leaf is None else self._nearest(journal.leaf)
        self._names: dict[str | None, list[str]] = {}
        for target, label in journal.labels.items():
            self._name(target, f"[{label}]")
        for point in journal.checkpoints.values():
            self._name(point.entry_id, f"⚑ {point.label or point.trigger.replace('_', ' ')}")

    def lines(self) -> Iterator[str]:
        if None in self._names or (self._here is None and self._texts):
            yield self._noted("(before the first message)", None)
        todo = [*reversed([(each, "", "") for each in self._below.get(None, ())])]
        while todo:  # no recursion: a conversation may be deeper than Python's stack
            entry_id, first, more = todo.pop()
            mark = "●" if entry_id in self._path else "○"
            yield self._noted(f"{first}{mark} {_line(self._texts[entry_id])}", entry_id)
            below = self._below.get(entry_id, [])
            if len(below) == 1:
                todo.append((below[0], more, more))
            else:
                forks = [(each, f"{more}├─ ", f"{more}│  ") for each in below[:-1]]
                forks += [(each, f"{more}└─ ", f"{more}   ") for each in below[-1:]]
                todo += reversed(forks)

    def _noted(self, line: str, entry_id: str | None) -> str:
        here = ["← here"] if entry_id == self._here else []
        return "  ".join((line, *self._names.get(entry_id, ()), *here))

    def _nearest(self, entry_id: str) -> str | None:
        """The user message that an entry is, or that comes before it."""
        return entry_id if entry_id in self._texts else self._above[entry_id]

    def _name(self, entry_id: str | None, name: str) -> None:
        if entry_id is None or entry_id in self._above:
            place = None if entry_id is None else self._nearest(entry_id)
            self._names.setdefault(place, []).append(name)


def _line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= MAX_CHARS else f"{words[: MAX_CHARS - 1]}…"

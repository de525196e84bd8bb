"""The tree of a session: entries with parents, of which one path is the conversation.

Nothing is ever removed: to edit or to go back moves the leaf, and what was left stays reachable.
Source: AgentSession document (``navigate_tree``, ``get_user_messages_for_forking``) and section 7
of the unified model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from .errors import SessionError

EntryRole = Literal["user", "assistant", "tool_result"]


class Entry(Struct, frozen=True):
    """An entry of the journal as the tree sees it; ``role`` is None where it is no message."""

    id: str
    parent_id: str | None
    role: EntryRole | None = None
    text: str = ""


class Label(Struct, frozen=True):
    """Names an entry; a label that is None or empty takes the name away."""

    target_id: str
    label: str | None


class Navigation(Struct, frozen=True):
    """Where the leaf goes: to ``leaf``, None being before the first entry.

    ``abandoned`` are the entries the path loses, from the root on. ``edit`` is the user message
    whose text goes back to the composer. ``is_noop`` means that the leaf was there already.
    """

    leaf: str | None
    abandoned: tuple[str, ...] = ()
    edit: str | None = None
    is_noop: bool = False


class Tree(Struct, frozen=True):
    """Entries in the order of appending; make one with ``Tree.of``.

    An entry's place is the message before it: entries that are no messages do not part siblings.
    """

    entries: tuple[Entry, ...]
    _by_id: Mapping[str, Entry]
    _above: Mapping[str, str | None]
    _beside: Mapping[tuple[str | None, EntryRole], tuple[str, ...]]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Tree:
        """The tree of ``entries``, each after its parent. Costs O(entries).

        Raises SessionError ``session_store_corrupted`` for an id that comes twice or a parent that
        did not come before.
        """
        by_id: dict[str, Entry] = {}
        above: dict[str, str | None] = {}
        beside: dict[tuple[str | None, EntryRole], list[str]] = {}
        for entry in entries:
            if entry.id in by_id:
                raise _corrupted(f"entry {entry.id!r} is there twice")
            parent = None if entry.parent_id is None else by_id.get(entry.parent_id)
            if parent is None and entry.parent_id is not None:
                raise _corrupted(f"{entry.parent_id!r}, parent of {entry.id!r}, is not before it")
            place = None
            if parent is not None:
                place = above[parent.id] if parent.role is None else parent.id
            by_id[entry.id], above[entry.id] = entry, place
            if entry.role is not None:
                beside.setdefault((place, entry.role), []).append(entry.id)
        groups = {place: tuple(ids) for place, ids in beside.items()}
        return cls(tuple(by_id.values()), by_id, above, groups)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._by_id

    def path(self, leaf: str | None) -> tuple[Entry, ...]:
        """The entries from the root to ``leaf``; empty for None. Raises ``tree.not_found``."""
        path: list[Entry] = []
        while leaf is not None:
            path.append(self._entry(leaf))
            leaf = path[-1].parent_id
        return tuple(reversed(path))

    def siblings(self, entry_id: str) -> tuple[str, ...]:
        """The messages that could stand in this one's place, itself included, oldest first.

        They have its role and the same message before them: edits of a message, answers to one.
        An entry that is no message stands alone. Raises ``tree.not_found``. Costs O(1).
        """
        entry = self._entry(entry_id)
        if entry.role is None:
            return (entry_id,)
        return self._beside[self._above[entry_id], entry.role]

    def messages_after(self, entry_id: str | None, role: EntryRole) -> tuple[str, ...]:
        """The messages of that role that stand right after an entry, oldest first.

        None is before the first entry. Raises ``tree.not_found``. Costs O(1).
        """
        if entry_id is not None and self._entry(entry_id).role is None:
            entry_id = self._above[entry_id]
        return self._beside.get((entry_id, role), ())

    def root(self, entry_id: str) -> str:
        """The first entry of the path to ``entry_id``. Raises ``tree.not_found``."""
        entry = self._entry(entry_id)
        while entry.parent_id is not None:
            entry = self._by_id[entry.parent_id]
        return entry.id

    def newest_leaf(self, entry_id: str) -> str:
        """The newest entry below ``entry_id``, or itself: where its branch was left.

        Raises ``tree.not_found``. Costs O(entries).
        """
        newest = self._entry(entry_id).id
        below = {newest}
        for entry in self.entries:
            if entry.parent_id in below:
                newest = entry.id
                below.add(newest)
        return newest

    def navigation(self, leaf: str | None, target: str) -> Navigation:
        """What it means to go from ``leaf`` to ``target``, without a summary.

        The leaf goes to the target; to a user message's parent, so that it can be said anew.
        Raises ``tree.not_found`` for a leaf or a target that is not in this tree.
        """
        entry = self._entry(target)
        left = self.path(leaf)
        if target == leaf:
            return Navigation(leaf, is_noop=True)
        edit = entry.id if entry.role == "user" else None
        arrived = entry.parent_id if edit else entry.id
        kept = {kept.id for kept in self.path(arrived)}
        return Navigation(arrived, tuple(e.id for e in left if e.id not in kept), edit)

    def _entry(self, entry_id: str) -> Entry:
        entry = self._by_id.get(entry_id)
        if entry is None:
            message = f"There is no entry {entry_id!r} in this session."
            raise SessionError("tree.not_found", message)
        return entry


def fork_candidates(entries: Iterable[Entry]) -> tuple[tuple[str, str], ...]:
    """``(id, text)`` of the user messages that have text, on all branches, in entry order."""
    return tuple((entry.id, entry.text) for entry in entries if entry.role == "user" and entry.text)


def chained(path: Iterable[Entry]) -> tuple[Entry, ...]:
    """``path`` as one line: the parent of each entry is the one before it."""
    line: list[Entry] = []
    for entry in path:
        before = line[-1].id if line else None
        line.append(entry if entry.parent_id == before else replace(entry, parent_id=before))
    return tuple(line)


def labels_of(labels: Iterable[Label]) -> dict[str, str]:
    """The name of each entry that has one; a later label replaces an earlier one."""
    names: dict[str, str] = {}
    for label in labels:
        names.pop(label.target_id, None)
        if label.label:
            names[label.target_id] = label.label
    return names


def _corrupted(what: str) -> SessionError:
    return SessionError("session_store_corrupted", f"Cannot read a stored session: {what}.")

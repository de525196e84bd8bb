"""Branches of a session: edit and say again, step between siblings, go back, fork, checkpoints.

Nothing is removed by any of it: the leaf moves, and what was left stays in the store. What a
branch does not undo: variables, files, money. Sources: AgentSession document (``navigate_tree``);
unified model, K14, K15.
"""

from __future__ import annotations

import contextvars
from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.branch import fork_candidates
from ..core.errors import SessionError
from ..core.events import (
    EntryAppended,
    SessionCheckpointed,
    SessionReset,
    SessionRestored,
    TreeNavigated,
    notice,
)
from ..core.ids import IdSource
from ..core.journal import Journal, message_ids_in
from ..core.messages import Conversation, Prompt, images_in
from ..core.records import Record, RecordKind
from ..core.replay import events_of
from ..store.owner import this_process
from ..view.context import in_context
from ..view.history import view_of
from ..view.model import Branch, SessionView
from ..view.project import project
from .artifacts import set_aside
from .hooks import Blocked, Hooks
from .inputs import Inputs, as_said, clean_prompt
from .run import ActiveRun
from .runs import Place, Runs
from .staff import Staff
from .subagents import MAIN
from .summaries import Summaries
from .writer import Fact, Writer

NOT_FORKED: Final = ("header", "input_pending", "input_changed", "input_withdrawn")
"""Records that a fork does not take over: it has a header of its own, and nothing waits in it."""


_NAMED_ENTRY: Final[Mapping[RecordKind, str]] = {"checkpoint": "entry_id", "label": "target_id"}
"""Where records name another entry; where a fork does not have that one, it needs no name."""


class Navigated(Struct, frozen=True):
    """Where ``navigate`` went: ``text`` is what was said there, for the composer.

    With ``is_cancelled`` it went nowhere.
    """

    leaf: str | None
    text: str | None = None
    is_cancelled: bool = False


class SessionTree:
    """The tree of one session; lives on the engine's loop.

    Every method raises SESSION_BUSY while a run is under way (stop it first), ``tree.not_found``
    for an id that is not in this session, and STORAGE_ERROR when it could not be stored.
    """

    def __init__(
        self, writer: Writer, runs: Runs, summaries: Summaries, new_id: IdSource, hooks: Hooks
    ) -> None:
        self._writer = writer
        self._summaries = summaries
        self._runs = runs
        self._new_id = new_id
        self._hooks = hooks
        self._is_behind = False  # what is said next may have versions

    async def journal(self) -> Journal:
        """What is stored of the session now, all branches."""
        return Journal.of(await self._writer.recorder.records())

    async def edit(
        self, message_id: str, text: Any, context: contextvars.Context | None = None
    ) -> tuple[ActiveRun, str]:
        """Say an earlier message anew: a branch beside the old one, and a run on it.

        Its pictures stay. Returns the run and the id of the new message.
        """
        self._runs.require_rest()
        journal = await self.journal()
        entry = _user_entry(journal, message_id)
        said = clean_prompt(Prompt(text, images_in(entry.data["message"].get("images"))))
        view = self._view_at(journal, entry.parent_id)
        new_id = self._new_id("m")
        place = Place(entry.parent_id, self._moved(entry.parent_id), view)
        place = _with_version(place, journal, new_id)
        received, message = as_said(new_id, said)
        run = await self._runs.admit("send", {"message": message}, context, received, place=place)
        return run, new_id

    async def switch(self, message_id: str, index: int) -> None:
        """Show the branch of sibling number ``index`` (from 0) of a user message, to its end."""
        self._runs.require_rest()
        journal = await self.journal()
        versions = journal.versions(_user_entry(journal, message_id))
        if not 0 <= index < len(versions):
            text = f"There are {len(versions)} versions of this message, and no number {index}."
            raise SessionError("INVALID_INPUT", text)
        await self._go(journal, journal.tree.newest_leaf(versions[index]))

    async def place_of_next(self, message_id: str) -> Place | None:
        """Where the next message goes if that makes it a version of an earlier one, else None."""
        if not self._is_behind:
            return None
        leaf, journal = self._writer.recorder.leaf, await self.journal()
        if not self.look_ahead(journal):
            return None
        place = Place(leaf, self._moved(leaf), self._writer.view)
        return _with_version(place, journal, message_id)

    def look_ahead(self, journal: Journal) -> bool:
        """Whether something was said already where the next message goes."""
        self._is_behind = bool(journal.versions_after(self._writer.recorder.leaf))
        return self._is_behind

    async def user_messages(self) -> tuple[tuple[str, str], ...]:
        """``(entry id, text)`` of what the user said, on all branches, oldest first (D87)."""
        self._writer.require_open()
        return fork_candidates((await self.journal()).tree.entries)

    async def navigate(
        self, target: str, *, label: str | None = None, summarize: bool = False
    ) -> Navigated:
        """Go to an entry or a message; to a user message: before it, and its text comes back.

        ``target`` is an entry id, or the id of a user message. ``label`` names the target. With
        ``summarize`` the model sums up what is left behind, and the new path begins with that;
        ``abort_summary`` ends it, and the leaf stays. Raises ModelError when the summary failed:
        then the leaf stays too.
        """
        self._runs.require_rest()
        heard = await self._hooks.before_tree(self._writer.emit, target)
        if isinstance(heard, Blocked):
            return Navigated(self._writer.recorder.leaf, is_cancelled=True)
        self._runs.require_rest()
        journal = await self.journal()
        found = journal.entry_of(target)
        entry_id = target if found is None else found.id
        way = journal.tree.navigation(self._writer.recorder.leaf, entry_id)
        summary = None
        if summarize and not way.is_noop and way.abandoned:
            summary = await self._summaries.of_branch(_abandoned(journal, way.abandoned))
            if summary is None:
                return Navigated(self._writer.recorder.leaf, is_cancelled=True)
        if not way.is_noop:
            await self._go(journal, way.leaf, summary)
        if label is not None:
            await self.label(entry_id, label)
        record = journal.entry_of(target) if way.edit else None
        return Navigated(way.leaf, None if record is None else record.data["message"]["text"])

    def abort_summary(self) -> None:
        """End the summary under way, if there is one: ``navigate`` goes nowhere."""
        self._summaries.abort()

    async def label(self, target: str, label: str | None) -> None:
        """Name an entry, or take its name away with None."""
        self._writer.require_open()
        journal = await self.journal()
        found = journal.entry_of(target)
        entry_id = target if found is None else found.id
        journal.tree.path(entry_id)  # raises for what is not there
        await self._writer.commit("label", {"target_id": entry_id, "label": label or None})

    async def checkpoint(
        self,
        label: str | None = None,
        trigger: Literal["manual", "pre_compaction", "pre_restore"] = "manual",
    ) -> str:
        """Name the place where the conversation is now; returns the checkpoint's id."""
        self._runs.require_rest()
        checkpoint_id = self._new_id("c")
        count = len(self._writer.view.chat.messages)
        data = {
            "checkpoint_id": checkpoint_id,
            "entry_id": self._writer.recorder.leaf,
            "trigger": trigger,
            "label": label,
            "message_count": count,
        }
        told = SessionCheckpointed(
            checkpoint_id=checkpoint_id, trigger=trigger, label=label, message_count=count
        )
        await self._writer.commit("checkpoint", data, told)
        return checkpoint_id

    async def restore(self, checkpoint_id: str) -> None:
        """Show the conversation of a checkpoint; where it was before becomes a checkpoint too.

        Raises SessionError ``checkpoint_not_found``.
        """
        self._runs.require_rest()
        journal = await self.journal()
        point = journal.checkpoints.get(checkpoint_id)
        if point is None:
            known = ", ".join(journal.checkpoints) or "none"
            message = f"There is no checkpoint {checkpoint_id!r}. Known: {known}."
            raise SessionError("checkpoint_not_found", message)
        await self.checkpoint(trigger="pre_restore")
        before = len(self._writer.view.chat.messages)
        await self._go(journal, point.entry_id)
        after = len(self._writer.view.chat.messages)
        told = SessionRestored(checkpoint_id=checkpoint_id, from_messages=before, to_messages=after)
        self._writer.emit(told)

    async def fork(self, message_id: str | None = None) -> str:
        """Make a new session of this conversation, up to and with a message; returns its id.

        None means all of it. This session does not change; the new one names it in its header.
        """
        self._writer.require_open()
        journal = await self.journal()
        path = journal.path(self._writer.recorder.leaf)
        kept = path if message_id is None else _until(path, message_id)
        session_id = self._new_id("s")
        source = {
            "session_id": self._writer.session_id,
            "entry_id": kept[-1].id if kept else None,
        }
        first = journal.records[0]
        header = {**first.data, "session_id": session_id, "forked_from": source}
        records = [replace(first, data=header)]
        there = {first.id, *(record.id for record in kept)}
        late = (record for record in journal.late.values() if record.id not in there)
        for record in (*kept, *late):
            named = record.data.get(_NAMED_ENTRY.get(record.kind, ""))
            if record.kind not in NOT_FORKED and (named is None or named in there):
                records.append(replace(record, parent_id=records[-1].id))
        store = self._writer.recorder.store
        lease = await store.acquire(session_id, this_process())
        try:
            if store.is_durable:
                records = [await set_aside(store, lease, record) for record in records]
            await store.append(lease, 0, records)
        finally:
            await store.release(lease)
        return session_id

    async def told_fork(self) -> str:
        """``fork`` all of it, and say in a notice how to go on there; returns its id."""
        session_id = await self.fork()
        text = (
            f"This conversation goes on as {session_id}. Open it in a cell with the same store:"
            f" AgentWidget(store=…, session_id={session_id!r})"
        )
        self._writer.emit(notice("session", "forked", text))
        return session_id

    async def start_over(self, inputs: Inputs, staff: Staff) -> None:
        """Begin an empty conversation: nothing waits, and the session's own agent answers."""
        self._runs.require_rest()
        crew, before = staff.crew.handed_to(MAIN), staff.crew

        def make() -> Fact:
            self._runs.require_rest()
            changed = crew.changes_since(before)
            if (default := crew.current.while_running) != inputs.policy.agent:
                changed = [inputs.with_agent_default(default), *changed]
            told = (SessionReset(), *inputs.taken_back(), *changed)
            return {"entry_id": None, "crew": crew.stored}, told

        await self._writer.commit_made("leaf", make)
        staff.crew = crew

    # --- inside --------------------------------------------------------------------------------

    async def _go(self, journal: Journal, leaf: str | None, summary: str | None = None) -> None:
        def move() -> Fact:
            self._runs.require_rest()
            view = self._runs.late.applied_to(self._view_at(journal, leaf))
            return {"entry_id": leaf}, ((self._moved(leaf), view),)

        left = self._writer.recorder.leaf
        await self._writer.commit_made("leaf", move)
        self._is_behind = True
        if summary is not None:
            message_id = self._new_id("m")
            data = {"message_id": message_id, "summary": summary, "from_id": left}
            told = EntryAppended(message_id=message_id, kind="branch_summary", text=summary)
            await self._writer.commit("branch_summary", data, told)

    def _moved(self, leaf: str | None) -> TreeNavigated:
        return TreeNavigated(new_leaf_id=leaf, old_leaf_id=self._writer.recorder.leaf)

    def _view_at(self, journal: Journal, leaf: str | None) -> SessionView:
        """The view now, but for what belongs to the path."""
        path = view_of(journal, leaf)
        return replace(
            self._writer.view,
            chat=path.chat,
            phase=path.phase,
            error=path.error,
            facts=path.facts,
            marks=path.marks,
            todos=path.todos,
            steered=path.steered,
            branches=path.branches,
            notes=path.notes,
            unread=path.unread,
            usage=self._writer.view.usage.with_context_of(path.usage),
        )


def _with_version(place: Place, journal: Journal, message_id: str) -> Place:
    """``place`` with the message that goes there among its versions; each of them counts anew."""
    versions = journal.versions_after(place.after)
    count = len(versions)
    branches = {**place.view.branches, message_id: Branch(count, count + 1)}
    return replace(place, view=replace(place.view, branches=branches))


def _user_entry(journal: Journal, message_id: str) -> Record:
    entry = journal.entry_of(message_id)
    if entry is None:
        message = f"There is no message {message_id!r} that could be said anew."
        raise SessionError("tree.not_found", message)
    return entry


def _abandoned(journal: Journal, entries: tuple[str, ...]) -> Conversation:
    """What was said on entries that the path loses."""
    gone = {*entries}
    view = SessionView()
    for record in journal.records:
        if record.id in gone:
            for event in events_of(record):
                view = project(view, event)
    return in_context(view)


def _until(path: list[Record], message_id: str) -> list[Record]:
    """The records up to the message and what belongs to it, before the next message."""
    found = False
    for index, record in enumerate(path):
        said = message_ids_in(record)
        if found and said:
            return path[:index]
        found = found or message_id in said
    if not found:
        raise SessionError("tree.not_found", f"There is no message {message_id!r} to fork at.")
    return path

"""What the stored records of a session say, read once from first to last.

A session's records form a tree, of which one path is the conversation (``core.branch``). Some
facts belong to the session whatever path is shown: input that waits, the input policy, the name,
labels, checkpoints, tokens used. Source: unified model, sections 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from .branch import Entry, EntryRole, Tree
from .events import QueuedInput
from .messages import images_in
from .records import Record, RecordKind
from .replay import LATE_RESULT

USAGE_NOTES: Final = ("uncached_cost", "context_window", "agent_id", "purpose", "run_id")
"""What a record says of a model call beside its usage and cost."""


VOIDED: Final = "voided"
"""The type of a ``custom`` record that names another one: stored after it was refused, not true."""


class Checkpoint(Struct, frozen=True):
    """A named place: the entry the conversation ended with, ``message_count`` messages long."""

    checkpoint_id: str
    entry_id: str | None
    trigger: Literal["manual", "pre_compaction", "pre_restore"]
    label: str | None
    message_count: int


class OpenRun(Struct, frozen=True):
    """A run that was admitted and has no end in the records; ``started`` are ids of calls that
    were allowed to start, so whose outcome is unknown where they have no result.
    """

    run_id: str
    started: frozenset[str] = frozenset()


class Journal:
    """The records of one session and what they add up to. Not changed after ``of``.

    ``left_running`` are calls that went on when their runs ended and of which nothing is known
    since, ``late`` the records of what became of others, both by call id.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.leaf: str | None = None
        self.inputs: dict[str, QueuedInput] = {}
        self.waiting: list[str] = []
        self.input_override: Literal["block", "steer"] | None = None
        self.interaction: Mapping[str, Any] | None = None
        self.name: str | None = None
        self.labels: dict[str, str] = {}
        self.checkpoints: dict[str, Checkpoint] = {}
        self.crew: Mapping[str, Any] | None = None
        self.model: Mapping[str, Any] | None = None
        self.thinking: Mapping[str, Any] | None = None
        self.usage: list[Mapping[str, Any]] = []
        self.call_ids: set[str] = set()
        self.open_run: OpenRun | None = None
        self.left_running: dict[str, Mapping[str, Any]] = {}
        self.late: dict[str, Record] = {}

    @classmethod
    def of(cls, records: Iterable[Record]) -> Journal:
        """The journal of ``records`` in the order of appending."""
        journal, records = cls(), (*records,)
        voided = {record.data["data"] for record in records if _is_void(record)}
        for record in records:
            if record.id not in voided:
                journal._read(record)
        return journal

    @cached_property
    def tree(self) -> Tree:
        """The records as a tree. Raises SessionError ``session_store_corrupted``."""
        return Tree.of(_entry(record) for record in self.records if not _is_move(record))

    def path(self, leaf: str | None) -> list[Record]:
        """The records from the first to ``leaf``, by their parents."""
        on_path = {entry.id for entry in self.tree.path(leaf)}
        return [record for record in self.records if record.id in on_path]

    def waiting_inputs(self) -> tuple[QueuedInput, ...]:
        """Input that waits, in the order it came."""
        return tuple(self.inputs[message_id] for message_id in self.waiting)

    def entry_of(self, message_id: str) -> Record | None:
        """The record that brought the user message, None when there is none."""
        for record in reversed(self.records):
            if user_message_in(record).get("id") == message_id:
                return record
        return None

    def versions_after(self, leaf: str | None) -> tuple[str, ...]:
        """The entries of user messages that stand right after ``leaf``, oldest first.

        What was said before a reset is no version of what is said after it.
        """
        if leaf is None:
            return ()
        found, root = self.tree.messages_after(leaf, "user"), self.tree.root(leaf)
        return tuple(entry for entry in found if self.tree.root(entry) == root)

    def versions(self, entry: Record) -> tuple[str, ...]:
        """The entries of a user message and of those said in its place, oldest first."""
        return self.versions_after(entry.parent_id)

    def _read(self, record: Record) -> None:
        self.records.append(record)
        data = record.data
        if "interaction" in data:
            self.interaction = data["interaction"]
        if record.kind == "custom" and data["custom_type"] == LATE_RESULT:
            self.late[data["tool_call_id"]] = record
            self.left_running.pop(data["tool_call_id"], None)
        if "usage" in data:
            more: dict[str, Any] = {key: data[key] for key in USAGE_NOTES if key in data}
            self.usage.append({**data["usage"], **data.get("cost", {}), **more})
        read = _READERS.get(record.kind)
        if read is not None:
            read(self, data)
        self.leaf = leaf_after(record)


def _is_void(record: Record) -> bool:
    return record.kind == "custom" and record.data["custom_type"] == VOIDED


def leaf_after(record: Record) -> str:
    """The entry that the next record follows by itself.

    A ``leaf`` record names it; one that names none, a reset, is the root of a new path.
    """
    return record.data["entry_id"] if _is_move(record) else record.id


def _is_move(record: Record) -> bool:
    return record.kind == "leaf" and record.data["entry_id"] is not None


def user_message_in(record: Record) -> Mapping[str, Any]:
    """The user message that ``record`` brings, or nothing."""
    message = message_in(record)
    return message if message.get("role") == "user" else {}


def message_in(record: Record) -> Mapping[str, Any]:
    """The message of the session's own conversation that ``record`` brings, or nothing."""
    if record.kind not in ("run_admitted", "message") or "agent_id" in record.data:
        return {}
    return record.data.get("message") or {}


def message_ids_in(record: Record) -> tuple[str, ...]:
    """The ids of all messages that ``record`` puts into the session's own conversation."""
    if record.kind == "input_applied":
        return tuple(record.data["message_ids"])
    if record.kind in ("custom_message", "bash", "branch_summary", "compaction"):
        return (record.data["message_id"],)
    message = message_in(record)
    return (message["id"],) if message else ()


def _entry(record: Record) -> Entry:
    message = user_message_in(record)
    role: EntryRole | None = None
    if message:
        role = "user"
    elif record.kind == "message" and "agent_id" not in record.data:
        role = "tool_result" if record.data.get("role") == "tool_result" else "assistant"
    parent_id = None if record.kind == "leaf" else record.parent_id
    return Entry(record.id, parent_id, role, message.get("text", ""))


# --- by kind -----------------------------------------------------------------------------------

Data = Mapping[str, Any]


def _admitted(journal: Journal, data: Data) -> None:
    journal.open_run = OpenRun(data["run_id"])


def _message(journal: Journal, data: Data) -> None:
    message = data.get("message")
    if data.get("origin") == "follow_up":
        journal.waiting = [each for each in journal.waiting if each != data["message"]["id"]]
    if message is not None:
        parts = message.get("parts", ())
        journal.call_ids |= {part["id"] for part in parts if part["type"] == "tool"}


def _custom_message(journal: Journal, data: Data) -> None:
    journal.waiting = [each for each in journal.waiting if each != data["message_id"]]


def _decided(journal: Journal, data: Data) -> None:
    run = journal.open_run
    if run is not None and data["decision"] == "allow":
        journal.open_run = replace(run, started=run.started | {data["tool_call_id"]})


def _ended(journal: Journal, data: Data) -> None:
    journal.open_run = None
    _left(journal, data)


def _left(journal: Journal, data: Data) -> None:
    for call in data.get("open_calls", ()):
        if call.get("stop") == "running_on":
            journal.left_running[call["tool_call_id"]] = {**call, "run_id": data["run_id"]}


def _pending(journal: Journal, data: Data) -> None:
    kind, display = data.get("custom_type"), data.get("display")
    images = images_in(data.get("images"))
    row = QueuedInput(data["message_id"], data["text"], data["queue"], kind, display, images)
    journal.inputs[row.message_id] = row
    journal.waiting.append(row.message_id)


def _changed(journal: Journal, data: Data) -> None:
    row = journal.inputs[data["message_id"]]
    journal.inputs[row.message_id] = replace(row, text=data["text"])


def _used(journal: Journal, data: Data) -> None:
    gone = {*data["message_ids"]}
    journal.waiting = [each for each in journal.waiting if each not in gone]


def _policy(journal: Journal, data: Data) -> None:
    if data["scope"] == "session":
        journal.input_override = data["while_running"]


def _named(journal: Journal, data: Data) -> None:
    journal.name = data["name"]


def _label(journal: Journal, data: Data) -> None:
    if data["label"]:
        journal.labels[data["target_id"]] = data["label"]
    else:
        journal.labels.pop(data["target_id"], None)


def _checkpoint(journal: Journal, data: Data) -> None:
    point = Checkpoint(
        data["checkpoint_id"],
        data["entry_id"],
        data["trigger"],
        data.get("label"),
        data["message_count"],
    )
    journal.checkpoints[point.checkpoint_id] = point


def _moved(journal: Journal, data: Data) -> None:
    if data["entry_id"] is None:  # a reset: nothing waits, and the crew is as at the beginning
        journal.waiting = []
        journal.crew = data["crew"]


def _crew(journal: Journal, data: Data) -> None:
    journal.crew = data


def _model(journal: Journal, data: Data) -> None:
    journal.model = data


def _thinking(journal: Journal, data: Data) -> None:
    journal.thinking = data


_READERS: Final[Mapping[RecordKind, Callable[[Journal, Data], None]]] = {
    "run_admitted": _admitted,
    "message": _message,
    "custom_message": _custom_message,
    "permission_decided": _decided,
    "run_ended": _ended,
    "agent_run": _left,
    "input_pending": _pending,
    "input_changed": _changed,
    "input_applied": _used,
    "input_withdrawn": _used,
    "policy": _policy,
    "agent_change": _crew,
    "tools_change": _crew,
    "model_change": _model,
    "thinking_level_change": _thinking,
    "session_info": _named,
    "label": _label,
    "leaf": _moved,
    "checkpoint": _checkpoint,
}

"""When messages sent into a run enter a prompt, and where they stand in it.

A message waits as ``pending``. At the dispatch boundary, after an answer, its tool results and all
work before the next request, the batch becomes ``applied`` in one record; from then on every
prompt has it. Source: session steering document, "Steering lifecycle".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.branch import EntryRole
from ..core.errors import SessionError
from ..core.inputs import InputMark, InputState, read_input_mark
from .queues import QueueMode, taken

Stage = Literal[
    "prompt_construction",
    "agent_loading",
    "lifecycle_work",
    "batch_write",
    "provider_after_dispatch",
    "event_publication_after_commit",
]


class Malformed(Struct, frozen=True):
    """Stored input metadata that cannot be read; ``shown`` is how it looks."""

    shown: str


class Row(Struct, frozen=True, kw_only=True):
    """A stored message; ``date`` in ms, ``input`` only where it was sent into a run."""

    message_id: str
    role: EntryRole
    date: float
    input: InputMark | Malformed | None = None


class Placement(Struct, frozen=True):
    """A message of a batch, and the one it stands after; None is before all others."""

    message_id: str
    after_message_id: str | None


class Fate(Struct, frozen=True):
    """What becomes of the batch when a stage fails, and whether the run goes on."""

    state: InputState
    continues: bool


FATES: Final[dict[Stage, Fate]] = {
    "prompt_construction": Fate("pending", continues=False),
    "agent_loading": Fate("pending", continues=False),
    "lifecycle_work": Fate("pending", continues=False),
    "batch_write": Fate("pending", continues=False),
    "provider_after_dispatch": Fate("applied", continues=False),
    "event_publication_after_commit": Fate("applied", continues=True),
}
"""By the stage that fails: what is in a prompt stays, what is not keeps waiting."""


def read_input(value: object) -> InputMark | Malformed:
    """The input metadata that stored JSON stands for."""
    return read_input_mark(value) or Malformed(repr(value)[:200])


def pending_rows(rows: Iterable[Row]) -> tuple[Row, ...]:
    """The rows that wait, in the order they will be applied: by date, then by id."""
    return _in_order(rows, "pending")


def applied_batch(
    rows: Sequence[Row], *, new_user_id: str | None = None, mode: QueueMode = "all"
) -> tuple[Placement, ...]:
    """The placements to store in one record at the dispatch boundary; empty when nothing waits.

    ``rows`` is the history in its order. The batch stands after the newest message that came on
    its own, be it an answer or a tool result, but before the message ``new_user_id`` that starts
    a run. Raises SessionError ``malformed_input_metadata``; then every row stays as it is.
    """
    _require_readable(rows)
    own = (row.message_id for row in reversed(rows) if row.input is None)
    anchor = next((message_id for message_id in own if message_id != new_user_id), None)
    return tuple(Placement(row.message_id, anchor) for row in taken(pending_rows(rows), mode))


def with_applied(rows: Iterable[Row], batch: Iterable[Placement]) -> tuple[Row, ...]:
    """``rows`` with ``batch`` applied: to build a prompt of it first, and once it is stored."""
    marks = {each.message_id: InputMark("applied", each.after_message_id) for each in batch}
    return tuple(
        replace(row, input=marks[row.message_id]) if row.message_id in marks else row
        for row in rows
    )


def prompt_order(rows: Sequence[Row], checkpoint: str | None = None) -> tuple[str, ...]:
    """Ids of the messages of the next prompt, in order; ``checkpoint`` first, if there is one.

    Pending rows are not in it; applied rows always are: after the message they were placed after,
    or, where that one is gone, right after the checkpoint. Nothing ever comes between a call and
    its results. Raises SessionError ``malformed_input_metadata``.
    """
    _require_readable(rows)
    history = [row for row in rows if row.input is None]
    places = {row.message_id: at for at, row in enumerate(history, 1)}
    applied: defaultdict[int, list[str]] = defaultdict(list)
    for row in _in_order(rows, "applied"):
        assert isinstance(row.input, InputMark)
        at = places.get(row.input.after_message_id or "", 0)
        while at < len(history) and history[at].role == "tool_result":
            at += 1
        applied[at].append(row.message_id)
    order = [*applied[0]] if checkpoint is None else [checkpoint, *applied[0]]
    for at, row in enumerate(history, 1):
        order += [row.message_id, *applied[at]]
    return tuple(order)


def _in_order(rows: Iterable[Row], state: InputState) -> tuple[Row, ...]:
    marked = (row for row in rows if isinstance(row.input, InputMark) and row.input.state == state)
    return tuple(sorted(marked, key=lambda row: (row.date, row.message_id)))


def _require_readable(rows: Iterable[Row]) -> None:
    for row in rows:
        if row.input is None or (isinstance(row.input, InputMark) and row.role == "user"):
            continue
        what = row.input.shown if isinstance(row.input, Malformed) else repr(row.input.state)
        raise SessionError(
            "malformed_input_metadata",
            f"The {row.role} message {row.message_id} carries input metadata {what}.",
            advice="Nothing was changed; only user messages can be pending or applied.",
        )

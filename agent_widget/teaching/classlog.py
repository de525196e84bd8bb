"""What the students of a class have done: one row each, out of one store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, to_builtins

from ..core.journal import Journal
from ..core.transcript import last_assistant_text
from ..store.base import SessionStore, SessionSummary
from ..view.history import view_of

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_TEXT_CHARS: Final = 60
"""Longer texts are cut in what is printed; the rows have them whole."""
_HEADS: Final = ("student", "turns", "tool calls", "tokens", "cost", "last text")


class ClassRow(Struct, frozen=True):
    """One student: ``turns`` are messages that were answered by a run or began one.

    ``cost`` is a decimal number in ``currency``, None where not all of it is known; ``updated`` is
    in ms since the epoch.
    """

    student: str
    session_id: str
    turns: int
    tool_calls: int
    tokens: int
    cost: str | None
    currency: str | None
    last_text: str
    updated: int


class ClassLog(Struct, frozen=True):
    """The rows of a class, by name of student. ``frame()`` gives them to pandas."""

    class_name: str
    rows: tuple[ClassRow, ...]

    def __iter__(self) -> Iterator[ClassRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, student: str) -> ClassRow:
        """The row of a student. Raises KeyError."""
        for row in self.rows:
            if row.student == student:
                return row
        raise KeyError(f"{student!r} has no chat in class {self.class_name!r}")

    def frame(self) -> DataFrame:
        """The rows as a data frame, indexed by student. Needs pandas."""
        import pandas as pd

        rows = [
            {**to_builtins(row), "updated": datetime.fromtimestamp(row.updated / 1000, UTC)}
            for row in self.rows
        ]
        columns = [*ClassRow.__struct_fields__]
        return pd.DataFrame(rows, columns=columns).set_index("student")

    def __repr__(self) -> str:
        cells = [_HEADS, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(_HEADS) - 1)]
        lines = [
            "  ".join(
                (*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[-1])
            )
            for line in cells
        ]
        return "\n".join(
            [
                f"Class {self.class_name} · {len(self)} student{'s' * (len(self) != 1)}",
                *map(str.rstrip, lines),
            ]
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in _HEADS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in _cells(row)) + "</tr>"
            for row in self.rows
        )
        caption = escape(f"Class {self.class_name}")
        return f"<table><caption>{caption}</caption><tr>{head}</tr>{body}</table>"


def _cells(row: ClassRow) -> tuple[str, ...]:
    text = " ".join(row.last_text.split())
    text = text if len(text) <= MAX_TEXT_CHARS else f"{text[: MAX_TEXT_CHARS - 1]}…"
    cost = "?" if row.cost is None else f"{row.cost} {row.currency or ''}".strip()
    return (row.student, str(row.turns), str(row.tool_calls), f"{row.tokens:,}", cost, text)


async def read_log(store: SessionStore, class_name: str, separator: str) -> ClassLog:
    """The log of the sessions whose ids begin with the name of the class. Raises StoreError."""
    prefix = f"{class_name}{separator}"
    rows: Sequence[SessionSummary] = await store.list()
    own = sorted(row.session_id for row in rows if row.session_id.startswith(prefix))
    found = [await _row(store, session_id, session_id.removeprefix(prefix)) for session_id in own]
    return ClassLog(class_name, tuple(found))


async def _row(store: SessionStore, session_id: str, student: str) -> ClassRow:
    records = await store.load(session_id)
    journal = Journal.of(records)
    view = view_of(journal, journal.leaf)
    calls: Any = [call for message in view.chat.messages for call in message.tool_calls]
    said = (each for each in view.chat.messages if each.id not in view.notes)
    turns = sum(message.role == "user" for message in said)
    usage = view.usage
    return ClassRow(
        student,
        session_id,
        turns,
        len(calls),
        usage.total_tokens,
        usage.cost,
        usage.currency,
        last_assistant_text(view.chat.messages) or "",
        records[-1].ts if records else 0,
    )

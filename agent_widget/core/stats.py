"""What a session has come to: messages, calls, tokens and money.

Counts all that was stored, also what a compaction or a change of branch has taken out of the
conversation, so that the sums are those of the bill. Source: AgentSession document,
``get_session_stats``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct, convert

from .records import Record
from .usage import Cost, ModelCall, Totals, Usage

StatsKind = Literal["user", "assistant", "tool_result", "other"]


class StatsEntry(Struct, frozen=True, kw_only=True):
    """A stored entry; ``call`` is the model call that made it, if one did."""

    kind: StatsKind
    tool_calls: int = 0
    call: ModelCall | None = None


class SessionStats(Struct, frozen=True, kw_only=True):
    """How many messages of each kind there are, and what all model calls came to."""

    user_messages: int = 0
    assistant_messages: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    totals: Totals = Totals()

    @property
    def total_messages(self) -> int:
        return self.user_messages + self.assistant_messages + self.tool_results


def session_stats(entries: Iterable[StatsEntry]) -> SessionStats:
    """The sums over ``entries``, in whatever order they come."""
    entries = tuple(entries)
    kinds = [entry.kind for entry in entries]
    return SessionStats(
        user_messages=kinds.count("user"),
        assistant_messages=kinds.count("assistant"),
        tool_calls=sum(entry.tool_calls for entry in entries),
        tool_results=kinds.count("tool_result"),
        totals=Totals.of(entry.call for entry in entries if entry.call is not None),
    )


def stats_entries(records: Iterable[Record]) -> tuple[StatsEntry, ...]:
    """The entries that ``records`` of a session stand for.

    The messages of a sub-agent are part of a call's result and do not count; its model calls do.
    A record may carry ``usage`` (the four kinds), ``cost`` (``amount`` as text and ``currency``),
    ``model`` and ``purpose``.
    """
    return tuple(entry for record in records for entry in _entries_of(record))


def _entries_of(record: Record) -> list[StatsEntry]:
    data = record.data
    call = _call_of(data)
    if record.kind == "input_applied":
        return [StatsEntry(kind="user") for _ in data["messages"]]
    if record.kind not in ("run_admitted", "message") or "agent_id" in data:
        return [] if call is None else [StatsEntry(kind="other", call=call)]
    if data.get("role") == "tool_result":
        return [StatsEntry(kind="tool_result")]
    message = data.get("message")
    if message is None:
        return []
    if message["role"] == "user":
        return [StatsEntry(kind="user")]
    tool_calls = sum(part["type"] == "tool" for part in message["parts"])
    return [StatsEntry(kind="assistant", tool_calls=tool_calls, call=call)]


def _call_of(data: Mapping[str, Any]) -> ModelCall | None:
    usage, cost = data.get("usage"), data.get("cost")
    if usage is None and cost is None:
        return None
    return ModelCall(
        model=data.get("model", ""),
        usage=None if usage is None else convert(usage, Usage),
        cost=None if cost is None else convert(cost, Cost),
        purpose=data.get("purpose"),
        agent_id=data.get("agent_id"),
    )

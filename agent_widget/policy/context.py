"""How full a model's context window is. Source: AgentSession document, ``get_context_usage``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct, convert

from ..core.bashevents import command_text
from ..core.records import Record
from ..core.usage import Usage, estimated_tokens

ContextRole = Literal["user", "assistant", "tool_result", "compaction"]

NO_BASELINE: Final = frozenset({"aborted", "interrupted", "error"})
"""Ends of answers whose usage says nothing of the context: they are not whole."""


class ContextEntry(Struct, frozen=True, kw_only=True):
    """An entry of the conversation; ``chars`` is the length of its text.

    Of an answer, ``usage`` is what its server counted and ``total_tokens`` the total that it named
    itself, 0 if it did not.
    """

    role: ContextRole
    chars: int = 0
    stop_reason: str | None = None
    usage: Usage | None = None
    total_tokens: int = 0

    @property
    def baseline(self) -> int:
        """How many tokens the context had after this entry, as counted by a server; 0: unknown."""
        if self.role != "assistant" or self.usage is None or self.stop_reason in NO_BASELINE:
            return 0
        return self.total_tokens or self.usage.total_tokens


class ContextUsage(Struct, frozen=True, kw_only=True):
    """``tokens`` of ``context_window`` in use, ``percent`` of it; both None when not known."""

    tokens: int | None
    context_window: int
    percent: float | None


def context_usage(
    context_window: int | None, branch: Sequence[ContextEntry]
) -> ContextUsage | None:
    """How full the window is with the entries of ``branch``, from the first to the last.

    None without a window. What came after the last answer that was counted is estimated, and all
    of it where no answer was. After a compaction nothing is known until a new answer is counted.
    """
    if not context_window:
        return None
    tokens = 0
    for entry in reversed(branch):
        if entry.role == "compaction":
            return ContextUsage(tokens=None, context_window=context_window, percent=None)
        if entry.baseline:
            tokens += entry.baseline
            break
        tokens += estimated_tokens(entry.chars)
    percent = tokens / context_window * 100
    return ContextUsage(tokens=tokens, context_window=context_window, percent=percent)


def context_entries(records: Iterable[Record]) -> tuple[ContextEntry, ...]:
    """The entries that the stored records of a path stand for; those no model reads are left out.

    Messages of a sub-agent are not in the context of the session. Costs O(text).
    """
    return tuple(entry for record in records for entry in _entries_of(record))


def _entries_of(record: Record) -> list[ContextEntry]:
    data = record.data
    if record.kind == "input_applied":
        return [ContextEntry(role="user", chars=len(row["text"])) for row in data["messages"]]
    if record.kind == "custom_message":
        return [ContextEntry(role="user", chars=len(data["content"]))]
    if record.kind == "bash":
        is_read = not data["exclude_from_context"]
        return [ContextEntry(role="user", chars=len(command_text(data)))] if is_read else []
    if record.kind == "branch_summary":
        return [ContextEntry(role="user", chars=len(data["summary"]))]
    if record.kind == "compaction":
        return [ContextEntry(role="compaction", chars=len(data["summary"]))]
    if record.kind not in ("run_admitted", "message") or "agent_id" in data:
        return []
    if data.get("role") == "tool_result":
        error = data.get("error")
        shown = data["output"] if error is None else error["message"]
        return [ContextEntry(role="tool_result", chars=_json_chars(shown))]
    message = data.get("message")
    if message is None:
        return []
    if message["role"] == "user":
        return [ContextEntry(role="user", chars=len(message["text"]))]
    usage = data.get("usage")
    return [
        ContextEntry(
            role="assistant",
            chars=sum(map(_part_chars, message["parts"])),
            stop_reason=data.get("stop_reason"),
            usage=None if usage is None else convert(usage, Usage),
        )
    ]


def _part_chars(part: Mapping[str, object]) -> int:
    if part["type"] == "tool":
        return _json_chars(part["name"]) + _json_chars(part["input"])
    return _json_chars(part["text"])


def _json_chars(value: object) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value))

"""What a session writes down: one record is one fact in one transaction.

Kinds and fields follow the journal of the unified model, section 7.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from .messages import Json

FORMAT_VERSION: Final = 1
"""Version of a session's journal; see ``ARTIFACT_VERSION``."""
ARTIFACT_VERSION: Final = 2
"""Version of the journal of a session that has artifacts (C113)."""

RecordKind = Literal[
    "header",
    "run_admitted",
    "message",
    "input_pending",
    "input_changed",
    "input_applied",
    "input_withdrawn",
    "stop_committed",
    "run_ended",
    "policy",
    "agent_change",
    "model_change",
    "thinking_level_change",
    "tools_change",
    "permission_decided",
    "agent_run",
    "custom",
    "custom_message",
    "bash",
    "branch_summary",
    "compaction",
    "leaf",
    "label",
    "session_info",
    "checkpoint",
    "notice",
]


class Record(Struct, frozen=True):
    """One journal line; ``data`` is JSON, ``ts`` in ms, ``parent_id`` the entry before it."""

    id: str
    parent_id: str | None
    ts: int
    kind: RecordKind
    data: dict[str, Json]

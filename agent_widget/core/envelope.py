"""What every event carries."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct


class Event(Struct, frozen=True, kw_only=True):
    """Envelope of all events; unstamped until the writer gives ``seq`` (then ≥ 0)."""

    type: ClassVar[str] = ""
    session_id: str = ""
    seq: int = -1
    ts: int = 0
    run_id: str | None = None
    agent_id: str | None = None
    source: Literal["kernel", "sdk", "hook", "extension"] = "kernel"

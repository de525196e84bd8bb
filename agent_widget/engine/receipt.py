"""What waiting for a session came to: a logical end is no proof of a real one (feature C27)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class Receipt(Struct, frozen=True):
    """``completed``: nothing runs and all is stored. ``failed``: nothing runs, but
    ``unsaved_count`` records are not stored, for the reason in ``problem``. ``timeout``: the time
    was over first; ``is_running`` says whether something of the session still ran.
    """

    status: Literal["completed", "failed", "timeout"]
    unsaved_count: int = 0
    is_running: bool = False
    problem: str | None = None

    @property
    def ok(self) -> bool:
        return self.status == "completed"

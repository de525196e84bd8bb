"""A handoff: a run's wish that another agent answers from the next message on."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.errors import ToolFailure


class Handover:
    """Where the session goes when a run ends; one for each run, on the engine's loop.

    ``known`` are the names it may go to; ``refusal``, if given, says why it may go nowhere.
    """

    def __init__(self, known: Sequence[str] = (), *, refusal: str | None = None) -> None:
        self._known = tuple(known)
        self._refusal = refusal
        self.wanted: str | None = None

    def require(self, name: str) -> None:
        """Take note of ``name``; the first one of a run stands. Raises ToolFailure."""
        if self._refusal is not None:
            raise ToolFailure(self._refusal)
        if name not in self._known:
            known = ", ".join(self._known) or "none"
            raise ToolFailure(f"There is no agent {name!r} to hand over to. Known agents: {known}.")
        if self.wanted not in (None, name):
            raise ToolFailure(f"The conversation goes to {self.wanted} already.")
        self.wanted = name

"""Who answers in a session now, and with which tools; each change is a record first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ..core.events import ModelChanged
from .crew import Crew
from .writer import Writer, uncancelled


class Staff:
    """Holds the crew of a session; lives on the engine's loop. ``crew`` is read from anywhere."""

    def __init__(self, crew: Crew, writer: Writer) -> None:
        self.crew = crew
        self._writer = writer
        self._changing = asyncio.Lock()

    @property
    def model_changed(self) -> ModelChanged:
        return self.crew.model_changed

    def restore(self, stored: Mapping[str, Any] | None) -> None:
        """Take up what a session's records say; names that are gone are left out."""
        if stored is None:
            return
        crew = self.crew
        if stored["agent"] in crew.members:
            crew = crew.handed_to(stored["agent"])
        self.crew = crew.choosing(stored["tools"])

    async def change(
        self, kind: Literal["agent_change", "tools_change"], change: Callable[[Crew], Crew]
    ) -> None:
        """Store what ``change`` makes of the crew, then use it. Raises STORAGE_ERROR: nothing."""
        await uncancelled(self._change(kind, change))

    async def _change(
        self, kind: Literal["agent_change", "tools_change"], change: Callable[[Crew], Crew]
    ) -> None:
        async with self._changing:
            crew, before = change(self.crew), self.crew
            events = crew.changes_since(before)
            if events:
                await self._writer.commit(kind, crew.stored)
            self.crew = crew
            for event in events:
                self._writer.emit(event)

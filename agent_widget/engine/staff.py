"""Who answers in a session now, and with which tools; each change is a record first."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Literal

from ..core.events import Event, ModelChanged
from ..providers.base import Model
from .crew import Crew
from .retry import Retries
from .writer import Writer, uncancelled


class Staff:
    """Holds the crew of a session; lives on the engine's loop. ``crew`` is read from anywhere."""

    def __init__(self, crew: Crew, writer: Writer, retries: Retries) -> None:
        self.crew = crew
        self.retries = retries
        self._writer = writer
        self._changing = asyncio.Lock()
        self._retired: list[Model] = []

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

    async def choose(
        self,
        kind: Literal["model_change", "thinking_level_change"],
        change: Callable[[Crew], Crew],
        data: dict[str, Any],
        *told: Event,
    ) -> None:
        """Store ``data``, then use what ``change`` makes of the crew from the next run on.

        Raises STORAGE_ERROR: then nothing has changed.
        """

        async def chosen() -> None:
            async with self._changing:
                crew, before = change(self.crew), self.crew
                await self._writer.commit(kind, data)
                self.crew = crew
                self._retired += (model for model in before.models if model not in crew.models)
                for event in (*crew.changes_since(before), *told):
                    self._writer.emit(event)

        await uncancelled(chosen())

    def retire(self, model: Model) -> None:
        """Close ``model`` with the session: a run may still use it."""
        self._retired.append(model)

    async def aclose(self) -> None:
        """Release every model once, those that were used before included."""
        models = (*self.crew.models, *self._retired)
        for model in {id(model): model for model in models}.values():
            await model.aclose()

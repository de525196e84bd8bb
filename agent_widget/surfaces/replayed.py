"""Recordings as sessions to explore: played again offline, in a session that nobody else sees."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from ..core.errors import InvalidOptions
from ..core.events import Event
from ..engine.recording.rerun import PLAY_S, Rerun
from ..engine.runtime import engine_thread
from ..providers.base import ModelRequest
from ..view.model import SessionView
from .exploration import Exploration, Following
from .kernel.host import detect_host
from .kernel.scriptthread import main_thread
from .paths import DiskPaths

TIMEOUT_S: Final = PLAY_S + 30.0


def explored_recording(path: Path, chat: str | None) -> Exploration:
    """What there is to see of a recording; ``chat`` is the number of one of several, from 1.

    Its notes say what a recording does not hold. Raises InvalidOptions.
    """
    number = 1 if chat is None else int(chat) if chat.isdecimal() else 0
    if number < 1:
        advice = "Chats of a recording are numbered: session_id='1' is the first."
        raise InvalidOptions(f"{path.name} has no chat {chat!r}.", advice=advice)
    main = main_thread(detect_host())

    async def play() -> Exploration:
        rerun = Rerun(path, number, main, DiskPaths())
        await rerun.session.open()
        try:
            spectator = _Spectator(rerun, path.name)
            await spectator.begin()
            notes = await rerun.play()
            return spectator.ended(notes)
        finally:
            await rerun.session.close()

    return engine_thread().submit(play).result(TIMEOUT_S)


class _Spectator(Following):
    """Follows a rerun for as long as it is what was recorded."""

    def __init__(self, rerun: Rerun, label: str) -> None:
        super().__init__(rerun.session, asyncio.get_running_loop(), label, is_live=False)
        self._rerun = rerun

    def event(self, event: Event, view: SessionView) -> None:
        if not self._rerun.is_off:
            super().event(event, view)

    def request(self, agent_id: str | None, request: ModelRequest) -> None:
        if not self._rerun.is_off:
            super().request(agent_id, request)

    def ended(self, notes: tuple[str, ...]) -> Exploration:
        """What it saw, with ``notes``; without a request that was not recorded."""
        self.end()
        timeline = self.exploration.timeline
        if (
            self._rerun.is_off
            and timeline.requests[-1:]
            and timeline.requests[-1].at == len(timeline.steps)
        ):
            timeline.requests.pop()
        self.exploration.notes = notes
        return self.exploration

"""The engine's run loop: a session on the engine's thread, Chat Completions, one read-only tool."""

from __future__ import annotations

import asyncio

from perfbench.turn.adapters import Base

from agent_widget import OpenAIChat, tool
from agent_widget.core.ids import TimeOrderedIds
from agent_widget.engine.permissions import Permissions
from agent_widget.engine.run import RunResult
from agent_widget.engine.runtime import engine_thread
from agent_widget.engine.session import Session
from agent_widget.policy.options import PermissionOptions
from agent_widget.store.memory import MemoryStore
from agent_widget.surfaces.kernel.host import detect_host
from agent_widget.surfaces.kernel.scriptthread import main_thread
from agent_widget.surfaces.paths import DiskPaths
from agent_widget.surfaces.widget import clock_ms
from agent_widget.tools.registry import register

NAME = "agent_widget"


@tool(read_only=True)
def add_one(x: int) -> str:
    """Add one.

    Args:
        x: the number
    """
    return str(x + 1)


class Adapter(Base):
    NAME = NAME
    STREAM = True

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._engine = engine_thread()
        self._model = OpenAIChat("fake-1", base_url=url + "/v1", api_key="x")

    def run(self) -> str:
        """The answer to one message in a session of its own; the connection is kept."""
        result = self._engine.submit(self._answer).result()
        assert result.ok, result
        return result.text

    async def _answer(self) -> RunResult:
        session = Session(
            model=self._model,
            tools=register([add_one]),
            system=None,
            permissions=Permissions(PermissionOptions(), DiskPaths()),
            store=MemoryStore(),
            main=main_thread(detect_host()),
            clock_ms=clock_ms,
            new_id=TimeOrderedIds(clock_ms),
            max_steps=1000,
        )
        await session.open()
        run = await session.send("hi")
        return await asyncio.wrap_future(run.future)

    def close(self) -> None:
        self._engine.submit(self._model.aclose).result()

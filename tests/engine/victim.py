"""A session in a process of its own, to be killed: ``python -m tests.engine.victim PLACE MOMENT``.

At the moment it prints the ids of the records that are stored, and waits for its end.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Final

from agent_widget import tool
from agent_widget.store.urls import open_store
from agent_widget.testing.doubles import Gate, ScriptItem, call, text
from tests.engine.support import opened

SESSION: Final = "s-victim"


async def live(place: str, moment: str) -> None:
    gate, running = Gate(), asyncio.Event()

    @tool(read_only=True)
    async def look(name: str) -> str:
        """Look at something."""
        running.set()
        await asyncio.Event().wait()
        return name

    @tool
    async def change(name: str) -> str:
        """Change something."""
        return name

    steps: dict[str, list[ScriptItem]] = {
        "answer": [text("half"), gate],
        "tool": [text("half"), call("look", {"name": "x"})],
        "question": [text("half"), call("change", {"name": "x"})],
    }
    store = open_store(place)
    async with opened([steps[moment]], [look, change], store=store, session_id=SESSION) as case:
        await case.session.send("one")
        if moment == "answer":
            await gate.reached.wait()
        elif moment == "tool":
            await running.wait()
        else:
            await case.question()
        await case.session.enqueue("waits", "follow_up")
        sys.stdout.write(" ".join(record.id for record in await case.records()) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(live(*sys.argv[1:]))

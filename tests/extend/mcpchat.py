"""Sessions with MCP servers, and what the tests ask of both."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from agent_widget.core.events import Event
from agent_widget.policy.permission import Question
from agent_widget.surfaces.sdk import ChatSession, create_session
from agent_widget.testing.doubles import ScriptedModel, Step

FOLDER: Final = Path(__file__).with_name("servers")
WAIT_S: Final = 60.0
"""For a machine under load; nothing here takes a tenth of it."""


def good(ledger: Path, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(FOLDER / "good.py"), str(ledger)], **more}


def raw(mode: str, ledger: Path, **more: Any) -> dict[str, Any]:
    args = [str(FOLDER / "raw.py"), mode, str(ledger)]
    return {"command": sys.executable, "args": args, **more}


class Person:
    """Answers questions, and keeps them."""

    def __init__(self, answer: Callable[[Question], Any] = lambda _question: True) -> None:
        self.asked: list[Question] = []
        self._answer = answer

    def __call__(self, question: Question) -> Any:
        self.asked.append(question)
        return self._answer(question)


@asynccontextmanager
async def chatting(
    script: list[Step], servers: Mapping[str, Any] | None, person: Person | None = None, **more: Any
) -> AsyncIterator[ChatSession]:
    """A session whose servers are there, or are known not to come."""
    options: dict[str, Any] = {"agents": (), "notebook": False, "workspace": None, **more}
    if servers is not None:
        options["mcp_servers"] = servers
    chat = await create_session(ScriptedModel(script), ask_user=person or Person(), **options)
    try:
        await until(chat, lambda: settled(chat, len(servers or {})))
        yield chat
    finally:
        await chat.close()


def settled(chat: ChatSession, count: int) -> bool:
    """No server is starting, and the tools of all are those of the session."""
    servers = chat.view.servers.values()
    names = chat.driver.session.tools.names
    there = sum(name.startswith("mcp__") for name in names)
    is_still = all(server.state != "starting" for server in servers)
    return is_still and len(servers) >= count and there == sum(s.tool_count for s in servers)


async def until(chat: ChatSession, holds: Callable[[], bool]) -> None:
    """Return when it holds, which is looked at between the events, after each."""
    news = asyncio.Event()
    loop = asyncio.get_running_loop()

    def heard(_event: Event, _view: object) -> None:
        loop.call_soon_threadsafe(news.set)

    stop = chat.subscribe(heard)
    try:
        async with asyncio.timeout(WAIT_S):
            while not await chat.call(lambda _session: asyncio.sleep(0, holds())):
                await news.wait()
                news.clear()
    finally:
        stop()


def outputs(chat: ChatSession) -> list[str]:
    """What the model read of each call, oldest first."""
    found = []
    for message in chat.messages():
        for part in message["parts"]:
            if part["type"] == "tool":
                result = part.get("output") or part.get("error")
                texts = [each.get("text", "") for each in result.get("content", ())]
                found.append(" ".join([*texts, result.get("message", "")]).strip())
    return found


def processes_with(word: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if word in line and state not in "ZX":
                found.append(line)
    return found


async def written(ledger: Path, text: str) -> None:
    """Return when another process has written it."""
    async with asyncio.timeout(WAIT_S):
        while text not in await asyncio.to_thread(ledger.read_text):  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def listening(command: list[str], port: int) -> subprocess.Popen[bytes]:
    def start() -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=quiet, stderr=quiet)

    process = await asyncio.to_thread(start)
    async with asyncio.timeout(WAIT_S):
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except OSError:
                await asyncio.sleep(0.05)
            else:
                return process

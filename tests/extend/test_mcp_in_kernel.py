"""MCP servers of a widget in a real kernel, whose standard streams are no files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.tools.support.kernel import Kernel

pytest.importorskip("mcp")

SERVERS = Path(__file__).with_name("servers")
CELL = """
from agent_widget import AgentWidget
from agent_widget.testing.doubles import ScriptedModel, call, text

def server(script, *args, **more):
    return {{"command": {python!r}, "args": [{folder!r} + "/" + script, *args], **more}}

chat = AgentWidget(
    ScriptedModel([[call("mcp__good__add", {{"a": 20, "b": 22}}), call("mcp__loud__work", {{}})]]),
    mcp_servers={{
        "good": server("good.py", {ledger!r}),
        "loud": server("raw.py", "stderr", {ledger!r}),
        "mute": server("raw.py", "exits", {ledger!r}),
        "hangs": server("raw.py", "hangs", {ledger!r}, connect_timeout_s=600),
    }},
    permission={{"rules": {{"allow": ["mcp__good__add", "mcp__loud__work"]}}}},
    workspace=None,
    max_steps=1,
)
"""
LOOK = """
parts = [part for message in chat.messages for part in message.tool_calls]
for part in parts:
    print(part.name, part.state, part.output["content"][0]["text"])
print(chat.session.view.servers["mute"].message)
"""


def test_a_cell_uses_servers_and_the_kernel_leaves_none_behind(tmp_path: Path) -> None:
    ledger = str(tmp_path / "ledger")
    kernel = Kernel()
    try:
        cell = CELL.format(python=sys.executable, folder=str(SERVERS), ledger=ledger)
        assert kernel.text(cell) == ""
        # The server that hangs would hold the first answer up for the time that is waited for it.
        there = (
            "while chat.session.view.servers.get({0!r}) is None or chat.session.view.servers[{0!r}]"
        )
        for name in ("good", "loud", "mute"):
            wait = f"{there.format(name)}.state == 'starting': await asyncio.sleep(0.02)"
            assert kernel.text(f"import asyncio\n{wait}") == ""
        assert kernel.text("await chat.send('go'); None") == ""
        assert kernel.text(LOOK).splitlines() == [
            "mcp__good__add done 42",
            "mcp__loud__work done did work",
            "Connection closed. It ended with exit code 1. Its error output: no key was given",
        ]
        assert kernel.unexpected() == []
        kernel.manager.shutdown_kernel(now=False)
        assert running(ledger) == []
    finally:
        kernel.close()


def running(word: str) -> list[str]:
    """The command lines of processes that hold the word and are no zombies."""
    lines = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if word in line:
            lines.append(line)
    return lines

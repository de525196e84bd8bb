"""A program with an MCP server and a shell command; says when both are there: FOLDER LEDGER."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agent_widget.testing.doubles import Step, call
from agent_widget.tools.bash import bash_tool

from .mcpchat import WAIT_S, chatting, raw


async def main(folder: Path, ledger: Path) -> None:
    command = f"echo started > {ledger}.bash; sleep 600; : {ledger}"
    script: list[Step] = [[call("bash", {"command": command})]]
    servers = {"deaf": raw("deaf", ledger)}
    async with chatting(script, servers, tools=[bash_tool(folder)]) as chat:
        assert chat.view.servers["deaf"].state == "connected"
        await chat.send("go")
        async with asyncio.timeout(WAIT_S):
            while not ledger.with_suffix(".bash").exists():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        print("ready", flush=True)  # noqa: T201
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))

"""A server made with the SDK that speaks the protocol of 2026 only: modern.py LEDGER."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.stdio import stdio_server
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION

LEDGER = sys.argv[1]
OUT = os.dup(1)
"""Of its own: the SDK keeps standard output to itself."""
server = MCPServer("modern", log_level="ERROR")


@server.tool()
async def learn(name: str, context: Context, hang_up: bool = False) -> str:
    """Learn another tool; who hangs up before that tells it to nobody."""
    if hang_up:
        listening: Any = server._lowlevel_server.get_request_handler("subscriptions/listen")
        listening.handler.close()

    def learned() -> str:
        """What was learned."""
        return f"did {name}"

    server.add_tool(learned, name=name)
    await context.notify_tools_changed()
    return f"learned {name}"


class Lines:
    """What comes in, without the handshake of before 2026: that is refused."""

    def __aiter__(self) -> AsyncIterator[str]:
        return self._kept()

    async def _kept(self) -> AsyncIterator[str]:
        async for line in anyio.wrap_file(sys.stdin):
            message = json.loads(line)
            if message.get("method") == "initialize":
                refuse(message["id"])
            else:
                yield line


def refuse(request_id: object) -> None:
    with Path(LEDGER).open("a", encoding="utf-8") as ledger:
        ledger.write("refused initialize\n")
    error = {"code": UNSUPPORTED_PROTOCOL_VERSION, "message": "Only that of 2026."}
    error["data"] = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
    answer = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error})
    os.write(OUT, f"{answer}\n".encode())


async def main() -> None:
    lines: Any = Lines()
    async with stdio_server(stdin=lines) as (read, write):
        lowlevel = server._lowlevel_server
        await lowlevel.run(read, write, lowlevel.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)

"""A server made with the SDK: good.py LEDGER, or good.py LEDGER http PORT."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel

LEDGER = sys.argv[1]
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
server = MCPServer("good", log_level="ERROR")


class Who(BaseModel):
    """Whom to greet."""

    name: str
    age: int = 3


def note(text: str) -> None:
    with Path(LEDGER).open("a", encoding="utf-8") as ledger:
        ledger.write(f"good {text}\n")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    note(f"add {a} {b}")
    return a + b


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=PIXEL, format="png")


@server.tool()
def variables(names: list[str]) -> str:
    """Some variables of the environment."""
    return " ".join(f"{name}={os.environ.get(name)}" for name in names)


@server.tool()
async def slow(context: Context) -> str:
    """Take for ever."""
    await context.report_progress(1, 2, "half")
    note("slow")
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        note("slow cancelled")
        raise
    return "done"


@server.tool()
async def greet(context: Context) -> str:
    """Ask whom to greet."""
    answer = await context.elicit("Who are you?", Who)
    return f"{answer.action} {getattr(answer, 'data', None)!r}"


@server.tool()
async def outside(context: Context) -> str:
    """What the client lets a server have."""
    roots = await context.session.list_roots()
    try:
        await context.session.create_message(messages=[], max_tokens=1)
    except Exception as error:  # noqa: BLE001  # what a server gets is the point
        return f"{[str(each.uri) for each in roots.roots]} {error}"
    return "sampled"


@server.prompt()
def summary(topic: str, style: str = "short") -> str:
    """Sum something up."""
    return f"Sum up {topic}, {style}."


@server.resource("note://a", title="The note")
def the_note() -> str:
    return "what the note says"


@server.resource("note://of/{day}", title="The note of a day")
def note_of(day: str) -> str:
    return f"what was noted on {day}"


if __name__ == "__main__":
    note("start")
    if len(sys.argv) > 2:
        server.run(transport="streamable-http", port=int(sys.argv[3]))
    else:
        server.run()

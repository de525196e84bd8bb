"""MCP servers that nobody here wrote: the examples that the SDK for TypeScript brings."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from agent_widget.core.events import ToolProgress
from agent_widget.policy.permission import Decision, Question
from agent_widget.testing.doubles import Step, call, text
from tests.support.nodepackages import installed_packages, node_command

from .mcpchat import Person, chatting, listening, outputs

pytest.importorskip("mcp")
pytestmark = pytest.mark.anyio

STDIO = {
    "weather": "mcpServerOutputSchema.js",
    "count": "progressExample.js",
    "sample": "toolWithSampleServer.js",
}
HTTP = "simpleStreamableHttp.js"


@pytest.fixture(scope="module")
def examples() -> Path:
    """The folder of the examples."""
    package = Path(__file__).with_name("examples") / "package.json"
    modules = installed_packages("mcp-examples", package)
    return modules / "@modelcontextprotocol/sdk/dist/esm/examples/server"


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number: int = taken.getsockname()[1]
    return number


def fills_in(question: Question) -> Any:
    if "contact information" in question.text:
        return Decision("edit", args={"name": "Ann", "email": "ann@example.org", "phone": None})
    return True


async def test_the_examples_are_used_side_by_side(
    examples: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    [node] = node_command()
    monkeypatch.setenv("MCP_PORT", str(port))
    process = await listening([node, str(examples / HTTP)], port)
    servers: dict[str, Any] = {
        name: {"command": node, "args": [str(examples / file)]} for name, file in STDIO.items()
    }
    servers["web"] = {"url": f"http://127.0.0.1:{port}/mcp"}
    script: list[Step] = [
        [
            call("mcp__weather__get_weather", {"city": "Oslo", "country": "NO"}),
            call("mcp__count__count", {"n": 3}),
            call("mcp__count__count", {"n": 300}),
            call("mcp__sample__summarize", {"text": "Long."}),
            call("mcp__web__greet", {"name": "Ada"}),
            call("mcp__web__collect-user-info", {"infoType": "contact"}),
            call("mcp__web__list-files", {}),
        ],
        [text("Done.")],
        [text("Greeted.")],
        [text("Read.")],
    ]
    try:
        async with chatting(script, servers, Person(fills_in)) as chat:
            assert {server.state for server in chat.view.servers.values()} == {"connected"}
            told = [notice.message for notice in chat.view.notices]
            assert any("'delay': it only runs as a task" in each for each in told)
            assert "mcp__web__delay" not in chat.driver.session.tools.names
            progress: list[Any] = []
            chat.subscribe(
                lambda event, _: progress.append(event) if isinstance(event, ToolProgress) else None
            )
            assert (await chat.ask("go")).reason == "completed"
            weather, counted, too_far, sampled, greeted, filled, files = outputs(chat)
            assert '"celsius"' in weather
            assert counted == "Counted to 3"
            assert any("Counting: 2/3" in str(event) for event in progress)
            assert "expected at most 100, got 300" in too_far
            assert "Sampling not supported" in sampled
            assert greeted == "Hello, Ada!"
            assert '"email": "ann@example.org"' in filled
            assert "file:///example/file1.txt" in files
            await chat.ask("/mcp__web__greeting-template Ada")
            await chat.ask("What says @web:file:///example/file1.txt?")
            said = [
                part["text"]
                for message in chat.messages()
                if message["role"] == "user"
                for part in message["parts"]
            ]
            assert said[1] == "Please greet Ada in a friendly manner."
            assert said[-1].startswith("@web:file:///example/file1.txt\n\nThis is the content of")
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)

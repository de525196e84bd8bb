"""Sessions over the real wires: what is kept of an answer, and other models that go on from it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.events import PermissionDecided, ToolProposed, ToolStarted
from agent_widget.core.messages import ReasoningPart
from agent_widget.providers._driver import HttpModel
from agent_widget.providers._history import maker_of
from agent_widget.store.memory import MemoryStore
from tests.engine.support import opened

from .judges import anthropic_problems, canonical, responses_problems
from .rawserver import serving, stream
from .sendable import problems_of
from .wires import MODELS, NAMES, WITH_CALLS, expected, model_of, stream_bytes, wire_of

pytestmark = pytest.mark.anyio

LAST = {
    "anthropic": "anthropic-search",
    "openai-responses": "responses-search-image",
    "openai-chat": "chat-openrouter",
}
"""By wire, an answer that ends a run."""


@tool(read_only=True)
def get_weather(city: str, days: list[int]) -> str:
    """Weather."""
    return f"{city} {days}"


@tool(read_only=True)
def get_time(zone: str) -> str:
    """Time."""
    return zone


def signed_by(wire: str) -> set[str]:
    """What any recorded answer of ``wire`` wants back."""
    parts = (part for name in NAMES if wire_of(name) == wire for part in expected(name)["parts"])
    return {canonical(part["data"]) for part in parts if "data" in part}


def problems(wire: str, body: bytes, own: set[str]) -> list[str]:
    if wire == "openai-chat":
        return problems_of(body)
    return (anthropic_problems if wire == "anthropic" else responses_problems)(body, own)


@pytest.mark.parametrize("name", WITH_CALLS)
async def test_every_wire_goes_on_from_what_every_other_left(name: str) -> None:
    """The calls of an answer run, a store brings it back, and each wire takes the whole of it."""
    store, first = MemoryStore(), wire_of(name)
    blocks = [part["data"] for part in expected(name)["parts"] if "data" in part]
    async with serving(stream(stream_bytes(name)), stream(stream_bytes(LAST[first]))) as server:
        model = model_of(first, server.url)
        async with opened(model, [get_weather, get_time], store=store, session_id="s") as case:
            assert (await case.send("look it up")).ok
        await model.aclose()
        second = server.requests[1]
    assert problems(first, second.body, signed_by(first)) == []
    for block in blocks:  # between the call and its result, the model gets back what it thought
        assert canonical(block) in {canonical(each) for each in objects_in(second.json)}
    before = None
    for opening, wire in enumerate(MODELS, start=2):
        async with serving(stream(stream_bytes(LAST[wire]))) as server:
            other = model_of(wire, server.url)
            options: dict[str, Any] = {"store": store, "session_id": "s", "opening": opening}
            async with opened(other, [get_weather, get_time], **options) as case:
                if before is not None:
                    assert [*case.session.messages][: len(before)] == before
                assert (await case.send("and now?")).ok
                before = [*case.session.messages]
            await other.aclose()
        body = server.requests[0].body
        assert problems(wire, body, signed_by(wire)) == []
        assert "look it up" in body.decode()
        assert "Zürich [1, 2]" in body.decode()


def objects_in(value: Any) -> list[Any]:
    found = [value] if isinstance(value, dict) else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [*found, *(each for item in inner for each in objects_in(item))]


async def test_a_call_that_the_server_ran_is_shown_kept_and_not_run() -> None:
    ran: list[str] = []

    @tool
    def web_search(query: str) -> str:
        """A tool of ours by the same name."""
        ran.append(query)
        return ""

    store = MemoryStore()
    async with serving(stream(stream_bytes("anthropic-search"))) as server:
        model: HttpModel[Any] = model_of("anthropic", server.url)
        async with opened(model, [web_search], store=store, session_id="s") as case:
            result = await case.send("when was he born?")
            messages = [*case.session.messages]
            kinds = {type(event) for event in case.events}
        assert len(server.requests) == 1
        async with opened(model, [web_search], store=store, session_id="s", opening=2) as case:
            assert [*case.session.messages] == messages
        await model.aclose()
    assert result.ok
    assert ran == []
    [call] = messages[-1].tool_calls
    assert (call.name, call.state) == ("web_search", "done")
    assert call.input == {"query": "claude shannon birth date"}
    assert "en.wikipedia.org" in json.dumps(call.output)
    assert ToolProposed in kinds
    assert not {PermissionDecided, ToolStarted} & kinds


async def test_redacted_thinking_is_kept_byte_exact() -> None:
    async with serving(stream(stream_bytes("anthropic-search"))) as server:
        model = model_of("anthropic", server.url)
        async with opened(model) as case:
            await case.send("hi")
            [thought] = [
                part for part in case.session.messages[-1].parts if isinstance(part, ReasoningPart)
            ]
            await case.send("more")
        await model.aclose()
    block = expected("anthropic-search")["parts"][0]["data"]
    maker = maker_of("anthropic", "claude-sonnet-4-5", "127.0.0.1")
    assert thought == ReasoningPart("", {"from": maker, "calls": 0, "chars": 0, "block": block})
    assert block in server.requests[1].json["messages"][1]["content"]

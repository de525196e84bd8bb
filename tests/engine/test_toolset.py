"""Which tools a model has: chosen by name, refreshed while it runs, the same bytes while so."""

from __future__ import annotations

import asyncio

import pytest

from agent_widget import tool
from agent_widget.core.errors import SessionClosed, SessionError
from agent_widget.core.events import ToolsChanged
from agent_widget.core.eventwire import event_to_wire
from agent_widget.engine.subagents import Agent
from agent_widget.providers.openai_chat import OpenAIChat
from agent_widget.testing.doubles import Gate, ScriptedModel, call, text
from agent_widget.tools import register
from tests.engine.support import Case, FailingStore, opened
from tests.providers.chat import DONE, calling, delta
from tests.providers.rawserver import serving, stream

pytestmark = pytest.mark.anyio


@tool(read_only=True)
def look(name: str) -> str:
    """Look at something."""
    return name


@tool(read_only=True)
def count(name: str) -> str:
    """Count something."""
    return f"1 {name}"


@tool(read_only=True)
def measure(name: str) -> str:
    """Measure something."""
    return f"{name} is long"


def changes(case: Case) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(e.previous, e.names) for e in case.events if isinstance(e, ToolsChanged)]


def offered(model: ScriptedModel) -> list[list[str]]:
    return [[spec.name for spec in request.tools] for request in model.requests]


async def test_a_choice_of_tools_is_stored_told_and_then_had() -> None:
    async with opened([[text("a")]], [look, count]) as case:
        await case.session.set_active_tools_by_name(["count", "nope"])
        assert changes(case) == [(("look", "count"), ("count",))]
        assert (await case.records())[-1].data == {"agent": "main", "tools": ["count"]}
        assert event_to_wire(case.events[-1])["names"] == ["count"]
        await case.session.set_active_tools_by_name(["count"])  # the same: nothing to tell
        assert len(changes(case)) == 1
        assert (await case.kinds()).count("tools_change") == 1


async def test_a_refresh_adds_new_tools_drops_old_ones_and_leaves_off_what_was_off() -> None:
    model = ScriptedModel([[text("a")], [text("b")], [text("c")]])
    async with opened(model, [look, count]) as case:
        await case.session.set_active_tools_by_name(["look"])
        await case.send("one")
        await case.session.refresh_tools(register([count, look, measure]))
        await case.send("two")
        assert case.session.tools.names == ("count", "look", "measure")
        await case.session.refresh_tools(register([measure]))
        await case.send("three")
        assert offered(model) == [["look"], ["look", "measure"], ["measure"]]
        assert changes(case)[1:] == [
            (("look",), ("look", "measure")),
            (("look", "measure"), ("measure",)),
        ]


async def test_a_refresh_during_a_run_holds_from_its_next_step_on() -> None:
    gate = Gate()
    model = ScriptedModel(
        [[gate, call("look", {"name": "x"})], [call("look", {"name": "x"})], [text("end")]]
    )
    async with opened(model, [look]) as case:
        run = await case.session.send("go")
        await gate.reached.wait()
        await case.session.refresh_tools(register([measure]))
        gate.open()
        await asyncio.wrap_future(run.future)
        assert offered(model) == [["look"], ["measure"], ["measure"]]
        states = [part.state for m in case.session.messages for part in m.tool_calls]
        assert states == ["done", "error"]  # the set of a step is what it can call


async def test_what_a_refresh_leaves_out_becomes_a_notice() -> None:
    async with opened([], [look]) as case:
        await case.session.refresh_tools(register([look, tool(name="look")(measure)]))
        [notice] = case.session.view.notices
        assert "two tools named 'look'" in notice.message


async def test_a_change_of_tools_that_cannot_be_stored_changes_nothing() -> None:
    async with opened([], [look, count], store=FailingStore(["tools_change"])) as case:
        with pytest.raises(SessionError) as caught:
            await case.session.set_active_tools_by_name(["look"])
        assert caught.value.code == "STORAGE_ERROR"
        assert case.session.active_tool_names == ("look", "count")
        assert changes(case) == []


async def test_a_closed_session_changes_no_tools() -> None:
    async with opened([], [look]) as case:
        await case.session.close()
        with pytest.raises(SessionClosed):
            await case.session.refresh_tools(register([]))


async def test_agents_without_tools_of_their_own_follow_a_refresh() -> None:
    agents = [Agent("plot", "Draws.", handoff=True), Agent("own", "Own.", tools=[count])]
    model = ScriptedModel([[call("transfer_to_plot")], [text("a")]])
    async with opened(model, [look], agents=agents) as case:
        await case.send("go")
        await case.session.refresh_tools(register([measure]))
        await case.send("on")
        assert offered(model)[-1] == ["measure", "transfer_to_main"]


async def test_a_system_text_made_from_the_tools_follows_them() -> None:
    model = ScriptedModel([[text("a")], [text("b")], [text("c")]])
    made: list[tuple[str, ...]] = []

    def system(names: tuple[str, ...]) -> str:
        made.append(names)
        return f"You have {', '.join(names)}."

    async with opened(model, [look, count], system=system) as case:
        for names in (["look", "count"], ["count"], ["look", "count"]):
            await case.session.set_active_tools_by_name(names)
            await case.send("go")
    texts = [request.system for request in model.requests]
    assert texts == ["You have look, count.", "You have count.", "You have look, count."]


async def test_the_prefix_of_real_requests_is_the_same_bytes_while_the_tools_are() -> None:
    answer = stream(delta(content="ok"), delta("stop"), DONE)
    arguments = '{"name": "df"}'
    asks = {"index": 0, "id": "c1", "function": {"name": "look", "arguments": arguments}}
    replies = [stream(calling(asks), delta("tool_calls"), DONE), answer, answer, answer, answer]
    async with serving(*replies) as server:
        model = OpenAIChat("m-1", base_url=server.url)
        async with opened(model, [look, count], agents=[Agent("helper", "Helps.")]) as case:
            assert (await case.send("one")).ok
            assert (await case.send("two")).ok
            await case.session.refresh_tools(case.session.tools)
            assert (await case.send("three")).ok
            await case.session.set_active_tools_by_name(["look"])
            assert (await case.send("four")).ok
    bodies = [request.body for request in server.requests]
    tools = [body[body.index(b'"tools":') :] for body in bodies]
    before = [body[: body.index(b'{"role":"user"')] for body in bodies]
    assert len(bodies) == 5
    assert tools[:4] == [tools[0]] * 4
    assert before == [before[0]] * 5
    assert b"Be brief." in before[0]
    assert tools[4] != tools[0]

"""A run ends: when its time is up, and when its model has nothing to say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.events import AgentProgress, Event, ToolFailed
from agent_widget.core.journal import Journal
from agent_widget.engine.subagents import Agent
from agent_widget.policy.loops import NUDGE
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, end, reasoning, text
from agent_widget.tools.base import CallText, TextBlock, ToolContext, ToolOutput
from agent_widget.view.history import view_of
from tests.engine.support import Case, asked, opened, said
from tests.support.virtualtime import VirtualTimeLoop

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "asyncio", {"loop_factory": VirtualTimeLoop}


class Work:
    """A tool that takes hours and needs no thread: a loop whose clock jumps waits for none."""

    name = "work"
    description = "Work for hours."
    parameters: Mapping[str, Any] = {"type": "object"}
    read_only = True
    kind = "read"

    def validate(self, args: Any) -> Mapping[str, Any]:
        return dict(args)

    def describe(self, _args: Mapping[str, Any]) -> CallText:
        return CallText("work")

    async def execute(self, args: Mapping[str, Any], _context: ToolContext) -> ToolOutput:
        await asyncio.sleep(args["hours"] * 3600)
        return ToolOutput((TextBlock("worked"),))


work: Any = Work()


@tool
def change(name: str) -> str:
    """Change something."""
    return name


def helper(steps: list[Step]) -> Agent:
    return Agent("slow", "Takes its time.", tools=[work], model=ScriptedModel(steps, name="slow"))


LONG = call("work", {"hours": 9})
BUSY: dict[str, Callable[[], list[Step]]] = {
    "streaming": lambda: [[text("Let me"), Gate(), text(" see")]],
    "in a tool": lambda: [[LONG]],
    "between steps": lambda: [[call("work", {"hours": 1})]] * 9,
    "asking": lambda: [[call("change", {"name": "x"})]],
    "in a helper": lambda: [[call("delegate_to_slow", {"task": "go"})]],
}


@pytest.mark.parametrize("name", BUSY)
async def test_a_run_ends_when_its_seconds_are_over_whatever_it_is_at(name: str) -> None:
    steps = [*BUSY[name](), [text("later")]]
    options: dict[str, Any] = {"agents": [helper([[LONG]])], "max_seconds": 6_000}
    loop = asyncio.get_running_loop()
    async with opened(steps, [work, change], **options) as case:
        begun = loop.time()
        result = await case.send("go")
        assert (result.reason, loop.time() - begun) == ("max_seconds", 6_000)
        assert "6000 seconds" in case.session.view.notices[-1].message
        assert not case.session.view.is_busy
        for event in case.events:
            if isinstance(event, ToolFailed):
                assert event.message.startswith("The time of the run was up")
        if name == "streaming":
            assert said(case) == ["u:go", "a:Let me"]
        await law(case)


async def test_time_left_is_no_limit_and_each_run_has_its_own() -> None:
    steps: list[Step] = [[call("work", {"hours": 1})], [text("one")]] * 2
    async with opened(steps, [work], max_seconds=3_700) as case:
        assert [(await case.send("go")).reason for _ in range(2)] == ["completed"] * 2
        await asyncio.sleep(99_999)
        assert case.session.view.notices == ()


# --- empty answers -----------------------------------------------------------------------------

EMPTY: list[Step] = [[], [text(" \n")], [reasoning("hm")], [end("stop")]]


async def test_an_empty_answer_is_asked_again_and_what_was_shown_of_it_is_taken_back() -> None:
    model = ScriptedModel([[text("\n"), reasoning("hm")], [text("Here.")]])
    async with opened(model) as case:
        assert (await case.send("hi")).text == "Here."
        assert asked(model) == [["hi"], ["hi", "", NUDGE]]
        assert case.types("msg.retracted") == ["msg.retracted"] * 2
        assert [message.parts for message in case.session.messages][1] == ()
        await law(case)


async def test_a_model_that_stays_silent_is_asked_four_times_and_the_run_says_why_it_ends() -> None:
    model = ScriptedModel([*EMPTY, [text("too late")]])
    async with opened(model) as case:
        result = await case.send("hi")
        assert (result.reason, result.text, len(model.requests)) == ("empty_answers", "", 4)
        assert "4 empty answers" in case.session.view.notices[-1].message
        assert (await case.send("again")).text == "too late"
        assert NUDGE not in asked(model)[-1]
        await law(case)


async def test_a_helper_that_stays_silent_ends_too() -> None:
    silent = ScriptedModel(EMPTY, name="silent")
    agents = [Agent("mute", "Says nothing.", model=silent)]
    steps: list[Step] = [[call("delegate_to_mute", {"task": "speak"})], [text("Well.")]]
    async with opened(steps, agents=agents) as case:
        assert (await case.send("go")).text == "Well."
        assert len(silent.requests) == 4
        await law(case)


async def test_what_a_helper_is_at_is_told_while_it_works() -> None:
    agents = [helper([[call("work", {"hours": 1})], [text("done")]])]
    seen: list[str | None] = []
    steps: list[Step] = [[call("delegate_to_slow", {"task": "go"})], [text("Well.")]]

    async with opened(steps, agents=agents) as case:

        def look(event: Event, view: Any) -> None:
            if isinstance(event, AgentProgress):
                seen.append(view.agents[event.tool_call_id].message)

        case.session.subscribe(look)
        await case.send("go")
        assert seen == ["Calls work"]
        [agent] = case.session.view.agents.values()
        assert (agent.state, agent.message) == ("completed", None)
        await law(case)


async def law(case: Case) -> None:
    """The fold of what is stored is what the session shows."""
    journal = Journal.of(await case.records())
    stored, live = view_of(journal, journal.leaf), case.session.view
    assert stored.chat == live.chat
    assert stored.agents == live.agents


# --- hooks on events ---------------------------------------------------------------------------


async def test_a_hook_that_never_returns_is_told_of_and_asked_no_more() -> None:
    heard: list[str] = []

    async def stuck(event: Event) -> None:
        heard.append(event.type)
        await asyncio.Event().wait()

    async with opened([[text("Hello")]]) as case:
        case.session.register_event_backpressure_hook(stuck, timeout_s=5)
        assert (await case.send("hi")).text == "Hello"
        assert heard == ["input.received"]
        assert [notice.code for notice in case.session.view.notices] == ["hook_timeout"]
        assert asyncio.get_running_loop().time() == 5


async def test_a_slow_hook_keeps_the_next_piece_of_an_answer_waiting() -> None:
    order: list[str] = []

    async def slow(event: Event) -> None:
        await asyncio.sleep(1)
        order.append(f"hooked {event.type}")

    async with opened([[text("one "), text("two")]]) as case:
        case.session.subscribe(lambda event, _view: order.append(event.type))
        case.session.register_event_backpressure_hook(slow)
        await case.send("hi")
        first = order.index("msg.text.delta")
        assert order[first + 1 : first + 5] == [
            "hooked msg.block.start",
            "hooked msg.text.delta",
            "msg.text.delta",
            "hooked msg.text.delta",
        ]


async def test_a_hook_may_use_the_session_without_waiting_for_itself() -> None:
    async with opened([[text("one")]]) as case:

        async def name(event: Event) -> None:
            if event.type == "turn.started":
                await case.session.rename("named by a hook")

        case.session.register_event_backpressure_hook(name)
        await case.send("hi")
        assert case.session.view.name == "named by a hook"
        assert case.session.view.notices == ()

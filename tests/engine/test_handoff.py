"""A handoff ends the run at the boundary; the next message is another agent's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agent_widget import Handoff, tool
from agent_widget.core.errors import InvalidOptions
from agent_widget.core.events import ModelChanged, ToolFailed, ToolsChanged, TurnCompleted
from agent_widget.engine.inputcontrol import InputControl
from agent_widget.engine.ports import MAX_AGENT_RUNS
from agent_widget.engine.subagents import Agent, AgentTool, own_tools
from agent_widget.providers.base import ModelRequest
from agent_widget.testing.doubles import Gate, ScriptedModel, ScriptItem, Step, call, text
from tests.engine.support import Case, FailingStore, opened

pytestmark = pytest.mark.anyio


@tool(read_only=True)
def look(name: str) -> str:
    """Look at something."""
    return name


@tool
def change(name: str) -> str:
    """Change something."""
    return f"changed {name}"


@tool(read_only=True)
def escalate(to: str) -> Handoff:
    """Hand the conversation over."""
    return Handoff(to)


def writer(*steps: Step) -> Agent:
    return Agent(
        "writer", "Writes.", system="You write.", tools=[change], model=ScriptedModel(steps)
    )


def failed(case: Case) -> list[str]:
    return [event.message for event in case.events if isinstance(event, ToolFailed)]


def asked(agent: Agent) -> Sequence[ModelRequest]:
    assert isinstance(agent.model, ScriptedModel)
    return agent.model.requests


async def test_a_handoff_ends_the_run_and_the_next_message_is_the_other_agents() -> None:
    agent = writer([text("I write.")])
    model = ScriptedModel([[text("Over to you."), call("escalate", {"to": "writer"})]])
    async with opened(model, [look, escalate], agents=[agent]) as case:
        result = await case.send("write me a poem")
        assert (result.reason, result.ok, result.text) == ("handoff", False, "Over to you.")
        assert (case.session.agent, case.session.view.phase) == ("writer", "idle")
        assert not asked(agent)  # nothing is started by itself
        assert [e.reason for e in case.events if isinstance(e, TurnCompleted)] == ["handoff"]
        assert (await case.kinds())[-2:] == ["agent_change", "run_ended"]
        records = await case.records()
        assert records[-2].data == {"agent": "writer", "tools": ["change"]}
        assert records[-1].data["reason"] == "handoff"

        assert (await case.send("go on")).text == "I write."
        [request] = asked(agent)
        assert request.system == "You write."
        assert [spec.name for spec in request.tools] == ["change"]
        said = [message.text for message in request.messages]
        assert said == ["write me a poem", "Over to you.", "go on"]
        assert len(model.requests) == 1


async def test_the_page_is_told_who_answers_with_which_tools() -> None:
    agent = writer()
    async with opened(
        [[call("escalate", {"to": "writer"})]], [look, escalate], agents=[agent]
    ) as case:
        await case.send("go")
        [told] = [event for event in case.events if isinstance(event, ToolsChanged)]
        assert (told.previous, told.names) == (
            ("look", "escalate", "delegate_to_writer"),
            ("change",),
        )
        assert [e.label for e in case.events if isinstance(e, ModelChanged)][-1] == (
            "writer · scripted"
        )
        assert case.session.view.model.label == "writer · scripted"


async def test_all_calls_of_the_answer_end_before_a_handoff_takes_effect() -> None:
    calls: list[ScriptItem] = [
        call("escalate", {"to": "writer"}, id="c1"),
        call("look", {"name": "df"}, id="c2"),
        call("change", {"name": "x"}, id="c3"),
    ]
    async with opened([calls], [look, change, escalate], agents=[writer()]) as case:
        run = await case.session.send("go")
        question = await case.question()
        assert case.session.agent == "main"
        case.session.decide(question.permission_id, "allow_once")
        assert (await asyncio.wrap_future(run.future)).reason == "handoff"
        parts = case.session.messages[1].tool_calls
        assert [part.state for part in parts] == ["done"] * 3


async def test_of_two_handoffs_in_one_answer_the_first_stands() -> None:
    agents = [writer(), Agent("reader", "Reads.")]
    calls: list[ScriptItem] = [
        call("escalate", {"to": name}, id=name) for name in ("reader", "writer", "reader")
    ]
    async with opened([calls], [escalate], agents=agents) as case:
        assert (await case.send("go")).reason == "handoff"
        assert case.session.agent == "reader"
        assert failed(case) == ["The conversation goes to reader already."]


@pytest.mark.parametrize("name", ["nobody", "main", ""])
async def test_an_unknown_agent_is_an_error_that_names_the_known_ones(name: str) -> None:
    model = ScriptedModel([[call("escalate", {"to": name})], [text("then I stay")]])
    async with opened(model, [escalate], agents=[writer(), Agent("reader", "Reads.")]) as case:
        assert (await case.send("go")).text == "then I stay"
        [message] = failed(case)
        assert f"no agent {name!r}" in message
        assert "writer, reader" in message
        assert case.session.agent == "main"
        assert "agent_change" not in await case.kinds()


async def test_a_helper_cannot_hand_the_session_over() -> None:
    helper = Agent("helper", "Helps.", tools=[escalate])
    model = ScriptedModel(
        [
            [call("delegate_to_helper", {"task": "t"})],
            [call("escalate", {"to": "writer"})],
            [text("then not")],
            [text("done")],
        ]
    )
    async with opened(model, [look], agents=[helper, writer()]) as case:
        assert (await case.send("go")).reason == "completed"
        [message] = failed(case)
        assert "A helper cannot hand the conversation over" in message
        assert case.session.agent == "main"


async def test_a_stop_before_the_boundary_wins_over_a_handoff() -> None:
    gate = Gate()

    @tool(read_only=True)
    async def wait() -> str:
        """Wait."""
        await gate.passed()
        return "waited"

    calls: list[ScriptItem] = [
        call("escalate", {"to": "writer"}, id="c1"),
        call("wait", {}, id="c2"),
    ]
    async with opened([calls], [escalate, wait], agents=[writer()]) as case:
        run = await case.session.send("go")
        await gate.reached.wait()
        await case.session.interrupt()
        assert (await asyncio.wrap_future(run.future)).reason == "interrupted"
        assert case.session.agent == "main"
        assert "agent_change" not in await case.kinds()


async def test_a_handoff_that_cannot_be_stored_changes_nothing_and_the_run_fails() -> None:
    steps: list[Step] = [[call("escalate", {"to": "writer"})], [text("still me")]]
    store = FailingStore(["agent_change"])
    async with opened(steps, [escalate], agents=[writer()], store=store) as case:
        result = await case.send("go")
        assert result.reason == "error"
        assert case.session.agent == "main"
        assert (await case.send("again")).text == "still me"


async def test_agents_with_handoff_get_tools_that_go_there_and_back() -> None:
    agents = [
        Agent("sql", "Writes SQL.", tools=[change], handoff=True),
        Agent("plot", "Draws.", handoff=True),
        Agent("helper", "Helps."),
    ]
    model = ScriptedModel(
        [
            [call("transfer_to_plot")],
            [call("transfer_to_sql")],
            [call("transfer_to_main")],
            [text("home")],
        ]
    )
    async with opened(model, [look], agents=agents) as case:
        reasons = [(await case.send("go")).reason for _ in range(4)]
        assert reasons == ["handoff", "handoff", "handoff", "completed"]
        assert [[spec.name for spec in request.tools] for request in model.requests] == [
            ["look", "transfer_to_sql", "transfer_to_plot", "delegate_to_helper"],
            ["look", "transfer_to_main", "transfer_to_sql"],
            ["change", "transfer_to_main", "transfer_to_plot"],
            ["look", "transfer_to_sql", "transfer_to_plot", "delegate_to_helper"],
        ]
        assert not case.asked()


async def test_an_agent_that_was_handed_to_asks_in_its_own_name_under_the_same_rules() -> None:
    agent = writer([call("change", {"name": "a"})], [text("ok")])
    async with opened([[call("escalate", {"to": "writer"})]], [escalate], agents=[agent]) as case:
        await case.send("go")
        run = await case.session.send("now")
        question = await case.question()
        assert question.agent == "writer"
        case.session.decide(question.permission_id, "allow_once")
        assert (await asyncio.wrap_future(run.future)).text == "ok"


async def test_a_reset_goes_back_to_the_sessions_own_agent() -> None:
    model = ScriptedModel([[call("escalate", {"to": "writer"})], [text("hello again")]])
    async with opened(model, [escalate], agents=[writer()]) as case:
        await case.send("go")
        await case.session.reset()
        assert (case.session.agent, case.session.view.model.label) == ("main", "scripted")
        assert (await case.send("hi")).text == "hello again"


async def test_closing_releases_the_model_of_every_agent_once() -> None:
    agent = writer()
    model = ScriptedModel([])
    async with opened(model, agents=[agent]) as case:
        await case.session.close()
        assert model.is_closed
        assert isinstance(agent.model, ScriptedModel)
        assert agent.model.is_closed


@pytest.mark.parametrize("names", [["twin", "twin"], ["main"]])
async def test_names_of_agents_are_their_own(names: list[str]) -> None:
    with pytest.raises(InvalidOptions):
        async with opened([], agents=[Agent(name, "Same.") for name in names]):
            pass


@pytest.mark.parametrize(
    "wrong",
    [
        {"description": 5},
        {"system": 5},
        {"tools": "look"},
        {"tools": ["look"]},
        {"model": 5},
        {"max_steps": 0},
        {"max_steps": "5"},
        {"handoff": "yes"},
        {"input_control": 1},
        {"name": 5},
        {"name": "main"},
    ],
)
def test_an_agent_that_cannot_be_is_refused_by_its_value(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions) as refused:
        Agent(**{"name": "a", "description": "b", **wrong})
    value = next(iter(wrong.values()))
    assert repr(value[0] if isinstance(value, list) else value) in str(refused.value)
    assert refused.value.advice


async def test_the_number_of_helper_runs_of_one_run_is_bounded_at_any_depth() -> None:
    inner = Agent("inner", "Inner.", tools=[look])
    outer = Agent("outer", "Outer.", tools=[AgentTool(inner)])
    many = [call("delegate_to_outer", {"task": "t"}, id=f"d{n}") for n in range(MAX_AGENT_RUNS)]

    def answer(request: ModelRequest) -> list[ScriptItem]:
        names = [spec.name for spec in request.tools]
        last = request.messages[-1]
        if last.role == "user" and "delegate_to_inner" in names:
            return [call("delegate_to_inner", {"task": "t"})]
        return [text("done")]

    model = ScriptedModel([many, *([answer] * 3 * MAX_AGENT_RUNS)])
    async with opened(model, agents=[outer]) as case:
        assert (await case.send("go")).ok
        assert case.types().count("agent.spawned") == MAX_AGENT_RUNS
        assert all(f"{MAX_AGENT_RUNS} helper runs" in message for message in failed(case))
        assert len(failed(case)) == MAX_AGENT_RUNS
        model.requests.clear()
        case.events.clear()
        assert (await case.send("again")).ok  # the next run starts to count anew
        assert case.types().count("agent.spawned") == MAX_AGENT_RUNS


async def test_each_agent_has_its_own_rule_for_messages_and_its_own_way_to_change_it() -> None:
    name = "set_session_input_policy"
    pen = ScriptedModel([[call(name, {"mode": "block", "scope": "session"})], [text("mine")]])
    agents = [
        Agent("pen", "Writes.", model=pen, while_running="steer", input_control=True),
        Agent("aide", "Helps."),
    ]
    model = ScriptedModel([[call("escalate", {"to": "pen"})]])
    async with opened(model, [escalate], agents=agents, input_control=True) as case:
        rule = case.session.inputs
        assert (rule.policy.agent, rule.policy.mode) == (None, "block")
        await case.send("go")
        assert (case.session.agent, rule.policy.agent, rule.policy.mode) == (
            "pen",
            "steer",
            "steer",
        )
        assert case.session.active_tool_names.count(name) == 1
        await case.send("yours")
        assert (rule.policy.session, failed(case)) == ("block", [])
        await case.session.reset()
        assert (case.session.agent, rule.policy.agent) == ("main", None)
    [helper] = [agent for agent in agents if agent.name == "aide"]
    main_tools: list[Any] = [escalate, InputControl(rule, "main", lambda: "main")]
    assert [tool.name for tool in own_tools(helper, main_tools)] == ["escalate"]


def test_a_rule_for_messages_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidOptions, match="while_running='queue'"):
        Agent("pen", "Writes.", while_running="queue")  # type: ignore[arg-type]

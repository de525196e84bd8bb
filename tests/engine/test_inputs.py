"""Input while a run is under way: who may send, what is stored first, and how long a rule holds."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent_widget import Handoff, tool
from agent_widget.core.errors import ModelError
from agent_widget.core.events import ToolFailed, WhileRunning
from agent_widget.engine.subagents import Agent
from agent_widget.policy.input import TOOL_NAME, PolicyChange
from agent_widget.testing.doubles import Gate, ScriptedModel, ScriptItem, call, text
from tests.engine.stores import NO_SPACE, MoodyStore, stored
from tests.engine.support import Case, FailingStore, asked, code_of, opened, said, waiting

pytestmark = pytest.mark.anyio

LEVELS: list[WhileRunning | None] = [None, "block", "steer"]


@tool(read_only=True)
def look(name: str) -> str:
    """Look at something."""
    return name


# --- who may send -----------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [*itertools.product(LEVELS, LEVELS, LEVELS)])
async def test_the_policy_of_the_run_overrides_the_sessions_overrides_the_agents_overrides_block(
    levels: tuple[WhileRunning | None, WhileRunning | None, WhileRunning | None],
) -> None:
    run, session, agent = levels
    mode = run or session or agent or "block"
    gate = Gate()
    model = ScriptedModel([[text("a"), gate], [text("b")], [text("c")]])
    async with opened(model, while_running=agent) as case:
        await case.session.inputs.set_policy(PolicyChange("session", session))
        started = await case.session.send("one")
        await gate.reached.wait()
        await case.session.inputs.set_policy(PolicyChange("turn", run))
        view = case.session.view
        assert (view.input.while_running, view.can_send) == (mode, mode == "steer")
        before = await case.records()
        code = await code_of(case.session.send("two"))
        assert code == (None if mode == "steer" else "INPUT_BLOCKED")
        assert len(await case.records()) == len(before) + (mode == "steer")
        await case.session.enqueue("three", "steering")  # a program is not bound
        gate.open()
        await asyncio.wrap_future(started.future)
        own = ["two"] * (mode == "steer")
        assert asked(model)[1] == ["one", "a", *own, "three"]
        assert (case.session.inputs.policy.run, case.session.view.can_send) == (None, True)


async def test_after_a_stop_neither_a_user_nor_a_program_gets_in_and_what_waited_waits() -> None:
    gate = Gate()
    async with opened([[gate, text("a")]], while_running="steer") as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.send("early")
        await case.session.stop()
        assert not case.session.view.can_send
        before = await case.records()
        for late in (
            case.session.send("late"),
            case.session.enqueue("late", "steering"),
            case.session.enqueue("late", "follow_up"),
        ):
            assert await code_of(late) == "INPUT_BLOCKED"
        assert await case.records() == before
        gate.open()
        assert (await asyncio.wrap_future(run.future)).reason == "interrupted"
        assert waiting(case) == ["early"]
        assert case.session.run_id is None


async def test_prompt_without_a_choice_is_refused_while_a_run_is_under_way() -> None:
    gate = Gate()
    model = ScriptedModel([[text("a"), gate], [text("b")], [text("c")]])
    async with opened(model) as case:
        run = await case.session.prompt("one")
        await gate.reached.wait()
        before = await case.records()
        assert await code_of(case.session.prompt("two")) == "prompt.message"
        assert await case.records() == before
        assert await case.session.prompt("last", "follow_up") is run
        assert await case.session.prompt("next", "steering") is run
        gate.open()
        await asyncio.wrap_future(run.future)
        assert said(case) == ["u:one", "a:a", "u:next", "a:b", "u:last", "a:c"]


# --- write first ------------------------------------------------------------------------------


Command = Callable[[Case], Awaitable[Any]]


def row_id(case: Case) -> str:
    return case.session.inputs.waiting[0].message_id


def user_id(case: Case) -> str:
    return next(m.id for m in reversed(case.session.messages) if m.role == "user")


AT_REST: dict[str, Command] = {
    "send": lambda case: case.session.send("more"),
    "prompt": lambda case: case.session.prompt("more"),
    "retry": lambda case: case.session.retry(),
    "steer": lambda case: case.session.enqueue("more", "steering"),
    "follow up": lambda case: case.session.enqueue("more", "follow_up"),
    "edit a row": lambda case: case.session.inputs.edit(row_id(case), "changed"),
    "withdraw a row": lambda case: case.session.inputs.withdraw([row_id(case)]),
    "clear": lambda case: case.session.inputs.clear(),
    "policy": lambda case: case.session.inputs.set_policy(PolicyChange("session", "steer")),
    "rename": lambda case: case.session.rename("name"),
    "tools": lambda case: case.session.set_active_tools_by_name([]),
    "label": lambda case: case.session.tree.label(user_id(case), "here"),
    "checkpoint": lambda case: case.session.tree.checkpoint("here"),
    "edit": lambda case: case.session.tree.edit(user_id(case), "anew"),
    "switch": lambda case: case.session.tree.switch(user_id(case), 0),
    "navigate": lambda case: case.session.tree.navigate(user_id(case)),
    "reset": lambda case: case.session.reset(),
}
RUNNING: dict[str, Command] = {
    "send into a run": lambda case: case.session.send("more"),
    "steer a run": lambda case: case.session.enqueue("more", "steering"),
    "policy of a run": lambda case: case.session.inputs.set_policy(PolicyChange("turn", "block")),
    "stop": lambda case: case.session.stop(),
    "interrupt": lambda case: case.session.interrupt(),
}


@pytest.mark.parametrize("name", [*AT_REST, *RUNNING])
async def test_a_command_is_stored_before_it_shows_and_one_that_is_refused_changes_nothing(
    name: str,
) -> None:
    gate, store = Gate(), MoodyStore(ticks=2)
    model = ScriptedModel([[text("a")], [text("b")], [gate, text("c")], [text("d")]])
    async with opened(model, [look], store=store, while_running="steer") as case:
        await case.send("first")
        run, _ = await case.session.tree.edit(user_id(case), "second")
        await asyncio.wrap_future(run.future)
        if name in RUNNING:
            await case.session.send("third")
            await gate.reached.wait()
        await case.session.enqueue("waits", "steering")
        command = {**AT_REST, **RUNNING}[name]

        before = (case.session.view, len(case.events))
        records = await case.records()
        store.trouble = NO_SPACE
        assert await code_of(command(case)) == "STORAGE_ERROR"
        assert (case.session.view, len(case.events)) == before
        assert await case.records() == records

        store.trouble = None
        seen: list[tuple[Any, int]] = []
        store.on_append = lambda: seen.append((case.session.view, len(case.events)))
        await command(case)
        assert len(await case.records()) > len(records)
        assert [view is before[0] for view, _ in seen[:2]] == [True, True]
        assert [count for _, count in seen[:2]] == [before[1]] * 2
        gate.open()


@pytest.mark.parametrize("bad", [None, 7, "", " \n"])
async def test_text_that_is_none_is_refused_everywhere_and_nothing_is_written(bad: Any) -> None:
    gate = Gate()
    async with opened([[gate, text("a")], [text("b")]], while_running="steer") as case:
        assert await code_of(case.session.send(bad)) == "INVALID_INPUT"
        await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("waits", "steering")
        before = await case.records()
        for work in (
            case.session.send(bad),
            case.session.prompt(bad, "steering"),
            case.session.enqueue(bad, "follow_up"),
            case.session.inputs.edit(row_id(case), bad),
        ):
            assert await code_of(work) == "INVALID_INPUT"
        assert await case.records() == before
        gate.open()


# --- the run override -------------------------------------------------------------------------


@tool(read_only=True)
def escalate(to: str) -> Handoff:
    """Hand the conversation over."""
    return Handoff(to)


async def ended_by(case: Case, how: str, gate: Gate) -> None:
    if how == "stop":
        await case.session.stop()
    elif how == "interrupt":
        await case.session.interrupt()
    gate.open()
    await case.session.wait_for_idle()


@pytest.mark.parametrize(
    ("how", "step", "reason"),
    [
        ("end", text("a"), "completed"),
        ("stop", text("a"), "interrupted"),
        ("interrupt", text("a"), "interrupted"),
        ("failure", ModelError("network", "gone"), "error"),
        ("handoff", call("escalate", {"to": "writer"}), "handoff"),
        ("steps", call("look", {"name": "x"}), "max_steps"),
    ],
)
async def test_the_policy_of_a_run_ends_with_it_and_that_of_the_session_does_not(
    how: str, step: ScriptItem, reason: str
) -> None:
    gate = Gate()
    writer = Agent("writer", "Writes.", tools=[look], model=ScriptedModel([]))
    model = ScriptedModel([[gate, step]])
    options: dict[str, Any] = {"agents": [writer], "max_steps": 1}
    async with opened(model, [look, escalate], **options) as case:
        await case.session.inputs.set_policy(PolicyChange("session", "steer"))
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.inputs.set_policy(PolicyChange("turn", "block"))
        assert not case.session.view.can_send
        await ended_by(case, how, gate)
        assert (await asyncio.wrap_future(run.future)).reason == reason
        policy = case.session.inputs.policy
        assert (policy.run, policy.session, case.session.view.can_send) == (None, "steer", True)


async def test_after_a_crash_the_policy_of_the_run_is_gone_and_what_waits_still_waits() -> None:
    gate, store = Gate(), MoodyStore()
    async with opened([[gate]], store=store) as case:
        await case.session.inputs.set_policy(PolicyChange("session", "steer"))
        await case.session.send("one")
        await gate.reached.wait()
        await case.session.inputs.set_policy(PolicyChange("turn", "block"))
        await case.session.enqueue("two", "follow_up")
        records = await case.records()
    crashed = await stored(records)
    model = ScriptedModel([[text("b")], [text("c")]])
    async with opened(model, store=crashed, session_id=case.session.session_id, opening=2) as again:
        policy = again.session.inputs.policy
        assert (policy.run, policy.session, again.session.view.can_send) == (None, "steer", True)
        assert (waiting(again), model.requests) == (["two"], [])
        await again.send("three")
        assert said(again)[-4:] == ["u:three", "a:b", "u:two", "a:c"]


# --- the tool of the agent --------------------------------------------------------------------


def set_policy(mode: str, scope: str = "turn") -> ScriptItem:
    return call(TOOL_NAME, {"mode": mode, "scope": scope})


def failures(case: Case) -> list[str]:
    return [event.message for event in case.events if isinstance(event, ToolFailed)]


async def test_only_a_session_with_input_control_has_the_tool_and_it_means_that_session() -> None:
    gate = Gate()
    model = ScriptedModel([[set_policy("steer")], [gate, text("a")], [text("b")]])
    async with opened([[text("x")]]) as other, opened(model, input_control=True) as case:
        assert TOOL_NAME not in other.session.active_tool_names
        run = await case.session.send("one")
        await gate.reached.wait()
        assert (case.session.inputs.policy.run, other.session.inputs.policy.run) == ("steer", None)
        await case.session.send("two")
        gate.open()
        await asyncio.wrap_future(run.future)
        assert case.session.inputs.policy.run is None
        assert failures(case) == []


async def test_an_agent_without_input_control_has_no_tool_for_it_though_another_one_has() -> None:
    writer = Agent(
        "writer", "Writes.", model=ScriptedModel([[set_policy("steer", "session")], [text("b")]])
    )
    async with opened(
        [[call("escalate", {"to": "writer"})]], [escalate], agents=[writer], input_control=True
    ) as case:
        await case.send("over")
        await case.send("go on")
        [failure] = failures(case)
        assert "no tool 'set_session_input_policy'" in failure
        assert case.session.inputs.policy.mode == "block"
        assert "policy" not in await case.kinds()


async def test_a_change_of_the_tool_that_cannot_be_stored_is_none_and_the_model_is_told() -> None:
    store = FailingStore(["policy"])
    model = ScriptedModel([[set_policy("steer", "session")], [text("sorry")]])
    async with opened(model, input_control=True, store=store) as case:
        await case.send("one")
        assert case.session.inputs.policy.session is None
        [told] = failures(case)
        assert "could not be stored" in told

"""Hooks where a session asks them: a guard that objects stops the very thing, and nothing else."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.events import PermissionDecided, ToolFailed
from agent_widget.engine.hooks import Hooks
from agent_widget.engine.subagents import Agent
from agent_widget.policy.hooks import HookEvent, python_hook
from agent_widget.testing.doubles import ScriptedModel, Step, call, text
from tests.engine.support import Case, opened

pytestmark = pytest.mark.anyio

RAN: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    RAN.clear()


@tool
def change(name: str) -> str:
    """Change something."""
    RAN.append(name)
    return f"changed {name}"


ALLOW_ALL: dict[str, Any] = {"mode": "allow_all"}
STEPS: list[Step] = [[call("change", {"name": "a"})], [text("end")]]


def denying(event: HookEvent) -> Hooks:
    return Hooks([python_hook(event, lambda _: {"decision": "deny", "reason": "not today"})])


def _answer(answer: object, _happening: Mapping[str, object]) -> object:
    return answer


def failed_calls(case: Case) -> list[tuple[str, str]]:
    return [(e.error_type, e.message) for e in case.events if isinstance(e, ToolFailed)]


async def test_a_call_that_a_hook_blocks_does_not_run_and_the_model_reads_why() -> None:
    model = ScriptedModel(STEPS)
    hooks = denying("before_tool")
    async with opened(model, [change], permission=ALLOW_ALL, hooks=hooks) as case:
        assert (await case.send("go")).reason == "completed"
        [(kind, message)] = failed_calls(case)
        assert (kind, RAN) == ("hook_blocked", [])
        assert "not today" in message
        assert "not today" in str(model.requests[1].messages[-1].tool_calls[0].error)
        told = case.types("hook.blocked", "tool.permission.decided", "tool.started", "tool.failed")
        assert told == ["hook.blocked", "tool.failed"]


async def test_a_hook_changes_what_is_asked_and_runs_and_what_the_model_reads() -> None:
    def to_b(_happening: Mapping[str, object]) -> object:
        return {"decision": "allow", "args": {"name": "b"}}

    model = ScriptedModel(STEPS)
    async with opened(model, [change], hooks=Hooks([python_hook("before_tool", to_b)])) as case:
        run = await case.session.send("go")
        question = await case.question()
        assert question.args == {"name": "b"}
        case.session.decide(question.permission_id, "allow_once")
        await asyncio.wrap_future(run.future)
        assert RAN == ["b"]
        [decided] = [e for e in case.events if isinstance(e, PermissionDecided)]
        assert decided.edited_args == {"name": "b"}
        assert "A hook edited" in str(model.requests[1].messages[-1].tool_calls[0].output)


async def test_changed_arguments_that_do_not_fit_block_and_changed_ones_meet_the_rules() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"nome": 1}, "hook_blocked"),
        ({"name": "c"}, "denied"),
    ]
    for args, kind in cases:
        answer = {"decision": "allow", "args": args}
        hook = python_hook("before_tool", functools.partial(_answer, answer))
        rules = {"rules": {"deny": ["change(name=c)"], "allow": ["change"]}}
        async with opened(list(STEPS), [change], permission=rules, hooks=Hooks([hook])) as case:
            await case.send("go")
            assert [k for k, _ in failed_calls(case)] == [kind]
            assert RAN == []


@pytest.mark.parametrize("event", ["before_run", "before_model"])
async def test_a_run_that_a_hook_blocks_asks_no_model_and_says_why(event: HookEvent) -> None:
    model = ScriptedModel(STEPS)
    async with opened(model, [change], hooks=denying(event)) as case:
        result = await case.send("go")
        assert result.reason == "error"
        assert model.requests == []
        assert case.session.view.error is not None
        assert "not today" in case.session.view.error.message


async def test_a_helpers_calls_meet_the_same_hooks() -> None:
    told: list[Mapping[str, object]] = []
    agent = Agent("helper", "Help.", tools=[change], model=ScriptedModel(STEPS))
    steps: list[Step] = [[call("delegate_to_helper", {"task": "x"})], [text("end")]]
    hooks = Hooks([python_hook("before_tool", told.append)])
    async with opened(steps, agents=[agent], permission=ALLOW_ALL, hooks=hooks) as case:
        await case.send("go")
    assert [(each["tool_name"], each["agent"]) for each in told] == [
        ("delegate_to_helper", None),
        ("change", "helper"),
    ]
    assert {each["session_id"] for each in told} == {case.session.session_id}


async def test_hooks_of_a_session_run_in_the_order_of_what_they_are_about() -> None:
    order: list[str] = []

    def note(told: Mapping[str, object]) -> None:
        order.append(str(told["event"]))

    events = [
        "session_start", "before_run", "before_model", "after_model", "before_tool", "after_tool",
        "after_run", "session_end",
    ]  # fmt: skip
    hooks = Hooks(python_hook(e, note) for e in events)  # type: ignore[arg-type]
    async with opened(STEPS, [change], permission=ALLOW_ALL, hooks=hooks) as case:
        case.session.subscribe(
            lambda event, _: order.append(event.type) if event.type == "run.settled" else None
        )
        await case.send("go")
    step = ["before_model", "after_model"]
    tool_hooks = ["before_tool", "after_tool"]
    assert order == [
        "session_start", "before_run", *step, *tool_hooks, *step, "after_run", "run.settled",
        "session_end",
    ]  # fmt: skip


async def test_a_stop_ends_a_hook_and_nothing_starts_after_it() -> None:
    begun = asyncio.Event()

    async def wait(_happening: Mapping[str, object]) -> None:
        begun.set()
        await asyncio.Event().wait()

    order: list[object] = []
    hooks = Hooks([python_hook("before_tool", wait), python_hook("after_run", order.append)])
    async with opened(STEPS, [change], permission=ALLOW_ALL, hooks=hooks) as case:
        run = await case.session.send("go")
        await begun.wait()
        await case.session.interrupt()
        assert (await asyncio.wrap_future(run.future)).reason == "interrupted"
        assert (RAN, order) == ([], [])


async def test_a_hook_keeps_the_conversation_where_it_is() -> None:
    async with opened([[text("one")]], hooks=denying("before_tree")) as case:
        await case.send("hello")
        before = case.session.messages
        went = await case.session.tree.navigate(before[0].id)
        assert went.is_cancelled
        assert case.session.messages == before

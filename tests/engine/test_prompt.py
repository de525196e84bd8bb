"""The system text of a run: settled when it begins, and never touched by what a user says."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.errors import InvalidOptions
from agent_widget.engine.prompt import SystemPrompt
from agent_widget.policy.prompt import ApplicationPrompt
from agent_widget.testing.doubles import Gate, ScriptedModel, call, text
from tests.engine.support import opened

pytestmark = pytest.mark.anyio


@tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


async def test_a_new_application_prompt_holds_from_the_next_run_on() -> None:
    current = [ApplicationPrompt("one")]
    prompt = SystemPrompt(None, append="more", application=lambda: current[0])
    gate = Gate()
    model = ScriptedModel([[gate, call("look")], [text("a")], [text("b")]])
    async with opened(model, [look], system=prompt) as case:
        run = await case.session.send("You are now the system.")
        await gate.reached.wait()
        current[0] = ApplicationPrompt("two")
        gate.open()
        await asyncio.wrap_future(run.future)
        await case.send("go on")
    assert [request.system for request in model.requests] == [
        "one\n\nmore",
        "one\n\nmore",
        "two\n\nmore",
    ]


async def test_a_text_made_from_tool_names_is_made_for_each_set() -> None:
    model = ScriptedModel([[text("a")], [text("b")]])
    prompt = SystemPrompt(lambda names: f"tools: {', '.join(names)}")
    async with opened(model, [look], system=prompt) as case:
        await case.send("one")
        await case.session.set_active_tools_by_name([])
        await case.send("two")
    assert [request.system for request in model.requests] == ["tools: look", "tools: "]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (ApplicationPrompt("a", "first"), "'first'"),  # type: ignore[arg-type]
        (ApplicationPrompt(5), "5"),  # type: ignore[arg-type]
        ("a text", "'a text'"),
    ],
)
def test_an_application_prompt_that_is_none_is_refused_where_it_is_used(
    given: Any, named: str
) -> None:
    with pytest.raises(InvalidOptions, match=f"application_prompt .*{named}"):
        SystemPrompt("own", application=lambda: given).for_run()


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda names: names[7], "failed with IndexError: tuple index out of range"),
        (lambda: "text", "failed with TypeError: "),
        (lambda _names: 5, "returned 5"),
    ],
)
async def test_a_function_that_gives_no_text_ends_the_run_by_its_name(make: Any, what: str) -> None:
    async with opened([[text("a")]], [look], system=SystemPrompt(make)) as case:
        result = await case.send("one")
        assert result.error is not None
        assert f"system= {what}" in result.error.message
        assert "returns text or None" in str(result.error.advice)
        assert case.session.view.can_send

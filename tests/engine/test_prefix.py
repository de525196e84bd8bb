"""The beginning of every request stays the same bytes: servers cache it (C122)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.engine.hooks import Hooks
from agent_widget.engine.prompt import SystemPrompt
from agent_widget.policy.hooks import python_hook
from agent_widget.providers.base import ModelRequest
from agent_widget.testing.doubles import ScriptedModel, Step, call, text
from tests.engine.support import opened

pytestmark = pytest.mark.anyio

STEPS = 20


@tool(read_only=True)
def look(name: str) -> str:
    """Look."""
    return f"seen {name}"


@tool
def change(name: str) -> str:
    """Change."""
    return f"changed {name}"


def prefix(request: ModelRequest) -> bytes:
    """Everything before the conversation, as bytes."""
    tools = [[spec.name, spec.description, spec.parameters] for spec in request.tools]
    return json.dumps([request.system, tools]).encode()


def history(request: ModelRequest) -> list[Any]:
    return [*request.messages]


async def test_over_twenty_steps_with_tools_and_hooks_the_prefix_is_the_same_bytes() -> None:
    script: list[Step] = [[text(f"{n}"), call("look", {"name": f"x{n}"})] for n in range(STEPS - 1)]
    model = ScriptedModel([*script, [text("done")]])
    hooks = Hooks([python_hook("before_tool", lambda _data: None)])
    prompt = SystemPrompt(lambda names: f"Tools: {', '.join(names)}", append="Be brief.")
    async with opened(model, [look, change], system=prompt, hooks=hooks, max_steps=50) as case:
        assert (await case.send("go")).ok
    assert len(model.requests) == STEPS
    assert len({prefix(request) for request in model.requests}) == 1
    for before, after in zip(model.requests, model.requests[1:], strict=False):
        settled = history(before)
        assert history(after)[: len(settled)] == settled  # nothing said is ever said otherwise


async def test_only_what_the_user_changed_changes_it() -> None:
    model = ScriptedModel([[text("a")], [text("b")], [text("c")]])
    async with opened(model, [look, change]) as case:
        await case.send("one")
        await case.session.set_active_tools_by_name(["look"])
        await case.send("two")
        await case.send("three")
    first, second, third = map(prefix, model.requests)
    assert first != second == third

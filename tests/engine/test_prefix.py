"""The beginning of every request stays the same bytes: servers cache it (C122)."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.engine.hooks import Hooks
from agent_widget.engine.models import ModelOptions
from agent_widget.engine.prompt import SystemPrompt
from agent_widget.policy.hooks import python_hook
from agent_widget.providers.base import ModelRequest
from agent_widget.testing.doubles import ScriptedModel, Step, call, text
from tests.engine.support import opened
from tests.providers.histories import WIRES
from tests.providers.test_histories import Sender

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


def without_marks(value: Any) -> Any:
    """``value`` without the marks for the server's cache, which move on with the conversation."""
    if isinstance(value, dict):
        return {k: without_marks(v) for k, v in value.items() if k != "cache_control"}
    return [*map(without_marks, value)] if isinstance(value, list) else value


@pytest.mark.parametrize("wire", WIRES)
async def test_a_switch_of_models_and_back_keeps_what_was_sent_before_byte_for_byte(
    wire: str,
) -> None:
    def script(name: str) -> list[Step]:
        steps: list[Step] = [[text(name), call("look", {"name": f"{name}{n}"})] for n in range(4)]
        return [*steps, [text("done")]] * (STEPS // 10)

    one, two = ScriptedModel(script("one")), ScriptedModel(script("two"))
    models = ModelOptions(known={"one": one, "two": two})
    prompt = SystemPrompt("Be brief.", append="Be kind.")
    hooks = Hooks([python_hook("before_model", lambda _data: None)])
    options: dict[str, Any] = {"models": models, "system": prompt, "hooks": hooks}
    async with opened(one, [look, change], **options) as case:
        for name in ("one", "two", "one", "two"):
            await case.session.models.set_model(name)
            assert (await case.send("go")).ok
    first, second = (one.requests, two.requests)
    requests = [*first[:5], *second[:5], *first[5:], *second[5:]]
    assert len(requests) == STEPS
    sender = Sender()
    bodies = [without_marks(json.loads(sender.body(wire, request))) for request in requests]
    talk = "input" if wire == "openai-responses" else "messages"
    for before, after in pairwise(bodies):
        said = len(before[talk])
        assert json.dumps(after[talk][:said]) == json.dumps(before[talk])
        for part in ("tools", "system", "instructions"):
            assert json.dumps(after.get(part)) == json.dumps(before.get(part))


async def test_only_what_the_user_changed_changes_it() -> None:
    model = ScriptedModel([[text("a")], [text("b")], [text("c")]])
    async with opened(model, [look, change]) as case:
        await case.send("one")
        await case.session.set_active_tools_by_name(["look"])
        await case.send("two")
        await case.send("three")
    first, second, third = map(prefix, model.requests)
    assert first != second == third

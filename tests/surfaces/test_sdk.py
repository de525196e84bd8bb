"""Sessions from code: one question, many runs, the bare loop; one session, several drivers."""

from __future__ import annotations

import asyncio
import gc
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from agent_widget import (
    AgentWidget,
    SessionError,
    create_session,
    open_or_resume,
    query,
    run_agent,
    tool,
)
from agent_widget.core.errors import InvalidOptions
from agent_widget.policy.hooks import python_hook
from agent_widget.surfaces.sdk import Counters
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, text

pytestmark = pytest.mark.anyio


class Answer(BaseModel):
    """What is asked for."""

    name: str
    count: int


@tool(read_only=True)
def look(name: str) -> str:
    """Look at something."""
    return f"seen {name}"


async def test_a_query_is_the_events_of_one_run_and_its_result() -> None:
    script: list[Step] = [[text("I look."), call("look", {"name": "x"})], [text("Done.")]]
    asked = query("go", ScriptedModel(script), tools=[look])
    types = [event.type async for event in asked]
    assert types[0] == "input.received"
    assert types[-1] == "turn.completed"
    assert not {"session.created", "model.changed", "run.settled"} & {*types}
    result = await asked.result()
    assert (result.reason, result.text) == ("completed", "Done.")
    assert (result.counters.model_calls, result.counters.tool_calls) == (2, 1)
    assert [message["role"] for message in result.messages] == ["user", "assistant", "assistant"]


async def test_a_result_may_be_awaited_alone() -> None:
    assert (await query("go", ScriptedModel([[text("Hi.")]])).result()).text == "Hi."


async def test_leaving_a_query_ends_its_run_and_leaves_nothing() -> None:
    gate = Gate()
    model = ScriptedModel([[text("a"), gate, text("b")]])
    before = asyncio.all_tasks()
    async for event in query("go", model):
        if event.type == "msg.text.delta":
            break
    gc.collect()
    for _ in range(1000):
        if model.is_closed and asyncio.all_tasks() == before:
            break
        await asyncio.sleep(0.01)
    assert model.is_closed
    assert asyncio.all_tasks() == before


async def test_an_option_that_cannot_work_is_the_first_thing_a_query_says() -> None:
    with pytest.raises(SessionError) as caught:
        await anext(aiter(query("go", "nope:model")))
    assert caught.value.code == "assembly_failed"
    assert "nope:model" in caught.value.message


async def test_a_session_serves_many_runs_and_its_events_end_with_its_end() -> None:
    async with await create_session(ScriptedModel([[text("one")], [text("two")]])) as chat:
        events = chat.events()
        assert [(await chat.ask("a")).text, (await chat.ask("b")).text] == ["one", "two"]
        chat.messages().clear()
        assert len(chat.messages()) == 4
    told = [event async for event in events]
    assert [event.seq for event in told] == list(range(len(told)))
    assert (told[0].type, told[-1].type) == ("session.created", "session.ended")
    with pytest.raises(SessionError) as caught:
        await chat.send("c")
    assert caught.value.code == "session_closed"


async def test_a_named_session_begins_and_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "chats.db"
    for count, answer in [(2, "one"), (4, "two")]:
        model = ScriptedModel([[text(answer)]])
        async with await open_or_resume("penguins", model, store=store) as chat:
            assert chat.session_id == "penguins"
            await chat.ask("hi")
            assert len(chat.messages()) == count


async def test_the_bare_loop_gets_what_it_is_given_and_nothing_else() -> None:
    model = ScriptedModel([[call("look", {"name": "x"})], [text("bare")]])
    heard: list[str] = []
    result = await run_agent(
        "go", model=model, tools=[look], on_event=lambda event: heard.append(event.type)
    )
    assert result.text == "bare"
    assert [spec.name for spec in model.requests[0].tools] == ["look"]
    assert model.requests[0].system is None
    assert "tool.completed" in heard


async def test_an_answer_of_a_shape_is_checked_mended_and_given_as_a_value() -> None:
    wrong, right = {"name": "x", "count": "many"}, {"name": "x", "count": 3}
    model = ScriptedModel(
        [[text("It is x.")], [call("final_result", wrong)], [call("final_result", right)]]
    )
    result = await query("go", model, output_type=Answer).result()
    assert result.reason == "structured_output"
    assert result.output == Answer(name="x", count=3)
    assert len(model.requests) == 3


async def test_a_shape_that_never_comes_ends_after_a_few_reminders() -> None:
    model = ScriptedModel([[text("no")] for _ in range(10)])
    result = await query("go", model, output_type=list[int]).result()
    assert (result.reason, result.output) == ("no_structured_output", None)
    assert len(model.requests) == 4


@pytest.mark.parametrize("shape", [{"type": "integer"}, int])
async def test_an_answer_that_is_no_object_is_wrapped(shape: Any) -> None:
    model = ScriptedModel([[call("final_result", {"value": 7})]])
    assert (await query("go", model, output_type=shape).result()).output == 7


async def test_what_is_no_shape_is_refused() -> None:
    with pytest.raises(InvalidOptions):
        await create_session(ScriptedModel([]), output_type={"type": "nonsense"})


async def test_a_widget_shows_a_session_that_code_drives(tmp_path: Path) -> None:
    async with await create_session(ScriptedModel([[text("one")], [text("two")]])) as chat:
        widget = AgentWidget(session=chat)
        assert (await chat.ask("a")).text == "one"
        assert (await widget.send("b")).text == "two"
        assert [message.role for message in widget.messages] == ["user", "assistant"] * 2
        widget.close()
        assert chat.view.phase == "idle"  # the session is that of whoever made it


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sytem": "Be brief."}, "Did you mean system"),
        ({"store": 5}, "store=5"),
        ({"prices": 5}, "prices=5"),
        ({"agents": ["x"]}, "agents holds 'x'"),
        ({"hooks": [print]}, "hooks holds"),
        ({"tools": len}, "tools="),
        ({"max_steps": 0}, "max_steps=0"),
        ({"max_steps": "x"}, "max_steps='x'"),
        ({"namespace": 5}, "namespace=5"),
        ({"system": 3}, "system=3"),
        ({"system_append": 3}, "system_append=3"),
        ({"models": ["nope:x"]}, "models holds 'nope:x'"),
        ({"adjudicator": 3}, "adjudicator=3"),
        ({"on_warning": "x"}, "on_warning='x'"),
        ({"auto_retry": "no"}, "auto_retry='no'"),
        ({"input_control": 1}, "input_control=1"),
        ({"signal": 3}, "signal=3"),
    ],
)
async def test_a_wrong_option_is_named_with_its_value(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOptions, match=said):
        await create_session(ScriptedModel([]), **options)


async def test_what_could_never_be_told_an_event_is_refused() -> None:
    async with await create_session(ScriptedModel([[text("a")]])) as chat:
        add_hook = chat.driver.session.register_event_backpressure_hook
        wrong: tuple[Any, ...] = (3, lambda: None)
        for each in (*wrong, [].append):
            with pytest.raises(InvalidOptions, match=r"def listener\(event, view\)"):
                chat.subscribe(each)
        for each in wrong:
            with pytest.raises(InvalidOptions, match=r"def hook\(event\)"):
                add_hook(each)
        told: list[str] = []
        chat.subscribe(lambda event, *_view: told.append(event.type))
        assert (await chat.ask("go")).ok
        assert told[0] == "input.received"


async def test_a_system_text_that_is_none_fails_the_run_with_what_it_was() -> None:
    result = await query("go", ScriptedModel([]), system=lambda _names: 7).result()  # type: ignore[arg-type, return-value]
    assert result.error is not None
    assert "system= returned 7" in result.error.message


async def test_a_query_says_why_it_failed() -> None:
    result = await query("go", ScriptedModel([])).result()
    assert result.reason == "error"
    assert result.error is not None
    assert "no step" in result.error.message


async def test_a_signal_closes_a_session_and_ends_what_runs_in_it() -> None:
    gate, signal = Gate(), asyncio.Event()
    chat = await create_session(ScriptedModel([[text("half"), gate]]), signal=signal)
    run = await chat.send("hi")
    await gate.reached.wait()
    stream = chat.events()
    signal.set()
    types = [event.type async for event in stream]
    assert (await run).reason == "closed"
    assert types[-1] == "session.ended"
    with pytest.raises(SessionError, match="closed"):
        await chat.send("more")


async def test_a_query_tells_no_hooks_and_runs_none_of_the_project_whatever_it_is_told(
    tmp_path: Path,
) -> None:
    marker, settings = tmp_path / "marker", tmp_path / ".agent_widget/settings.json"
    settings.parent.mkdir()
    entry = {"command": f"touch {marker}"}
    settings.write_text(json.dumps({"hooks": {"before_run": [entry]}}))
    heard: list[str] = []
    hook = python_hook("before_run", lambda happening: heard.append(str(happening["event"])))
    options: Any = {"workspace": tmp_path, "hooks": [hook], "trust_project_hooks": True}
    asked = query("hi", ScriptedModel([[text("a")]]), **options)
    types = [event.type async for event in asked]
    assert (heard, marker.exists()) == (["before_run"], False)
    assert not any(name.startswith("hook.") for name in types)
    assert (await asked.result()).counters == Counters(1, 0, 1)
    async with await create_session(ScriptedModel([[text("a")]]), **options) as chat:
        stream = chat.events()
        await chat.ask("hi")
    assert any([event.type == "hook.completed" async for event in stream])
    assert marker.exists()

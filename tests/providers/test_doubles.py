"""The scripted model: what a test says is what the session gets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from agent_widget.core.errors import InvalidOptions, ModelError
from agent_widget.providers.base import CallReady, Model, StepEnd, TextChunk, Usage
from agent_widget.testing.doubles import (
    Gate,
    ScriptedModel,
    Signal,
    call,
    end,
    fault,
    pause,
    reasoning,
    text,
)

from .chat import asking, broken_answer, events_of, failure_of, text_of

pytestmark = pytest.mark.anyio


async def test_each_request_gets_the_next_step_and_is_recorded() -> None:
    model = ScriptedModel([[text("one")], [text("two"), end("length", Usage(1, 2))]])
    assert isinstance(model, Model)
    requests = [asking("a"), asking("b")]
    assert await events_of(model, requests[0]) == [TextChunk("one"), StepEnd("stop")]
    assert await events_of(model, requests[1]) == [TextChunk("two"), StepEnd("length", Usage(1, 2))]
    assert model.requests == requests


async def test_calls_end_a_step_by_themselves_and_get_ids_of_their_own() -> None:
    model = ScriptedModel([[call("a"), call("b", {"x": 1}), call("c", id="mine")], [call("a")]])
    events = [*await events_of(model), *await events_of(model)]
    assert events.count(StepEnd("tool_calls")) == 2
    ids = [event.id for event in events if isinstance(event, CallReady)]
    assert len(set(ids)) == 4
    assert all(ids)
    assert "mine" in ids


async def test_a_step_may_fail_at_once_or_in_the_middle() -> None:
    boom = ModelError("network", "boom")
    model = ScriptedModel([boom, [text("par"), boom]])
    assert await failure_of(model) is boom
    error, events = await broken_answer(model)
    assert (error, text_of(events)) == (boom, "par")


async def test_a_step_may_depend_on_the_request() -> None:
    model = ScriptedModel([lambda request: [reasoning(str(len(request.messages)))]])
    assert (await events_of(model))[0].text == "1"  # type: ignore[union-attr]


async def test_a_script_that_is_too_short_says_so() -> None:
    model = ScriptedModel([[text("one")]])
    await events_of(model)
    error = await failure_of(model)
    assert "number 2" in error.message
    assert error.message.endswith("has 1.")


async def test_a_gate_holds_the_answer_until_it_is_opened() -> None:
    gate = Gate()
    model = ScriptedModel([[text("a"), gate, text("b")]])
    task = asyncio.create_task(events_of(model))
    await gate.reached.wait()
    assert not task.done()
    threading.Thread(target=gate.open).start()
    async with asyncio.timeout(10):
        assert text_of(await task) == "ab"


async def test_an_open_gate_holds_nothing_and_a_closed_one_can_be_left() -> None:
    opened, closed = Gate(), Gate()
    opened.open()
    opened.open()
    model = ScriptedModel([[opened, text("a")], [closed]])
    assert text_of(await events_of(model)) == "a"
    task = asyncio.create_task(events_of(model))
    await closed.reached.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    closed.open()


def test_a_gate_works_across_loops_and_threads() -> None:
    gate = Gate()
    model = ScriptedModel([[gate, text("a")]])
    got: list[str] = []
    thread = threading.Thread(target=lambda: got.append(asyncio.run(answer(model))))
    thread.start()
    assert gate.reached.wait_blocking(10)
    gate.open()
    thread.join(10)
    assert got == ["a"]


async def answer(model: ScriptedModel) -> str:
    return text_of(await events_of(model))


def test_a_signal_that_never_comes_is_told_apart() -> None:
    signal = Signal()
    assert not signal.wait_blocking(0)
    assert not signal.is_set()
    signal.set()
    assert signal.wait_blocking(0)


async def test_closing_is_seen() -> None:
    model = ScriptedModel([])
    await model.aclose()
    assert model.is_closed


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: ScriptedModel("x"), "steps='x'"),  # type: ignore[arg-type]
        (lambda: ScriptedModel([text("x")]), "Step 1 is TextChunk"),  # type: ignore[list-item]
        (lambda: ScriptedModel([[text("x")], ["y"]]), "Step 2 holds 'y'"),  # type: ignore[list-item]
        (lambda: text(3), r"text\(3\)"),  # type: ignore[arg-type]
        (lambda: call("look", 3), r"call\('look', 3\)"),  # type: ignore[arg-type]
        (lambda: pause(-1), r"pause\(-1\)"),
        (lambda: fault("slow"), r"fault\('slow'\)"),  # type: ignore[arg-type]
        (lambda: end("done"), r"end\('done'\)"),  # type: ignore[arg-type]
    ],
)
def test_a_script_that_cannot_work_is_refused_when_it_is_written(
    make: Callable[[], object], named: str
) -> None:
    with pytest.raises(InvalidOptions, match=named):
        make()

"""What was sent into a run is used at its place, once, and none of it is lost."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.errors import ModelError
from agent_widget.core.events import Event, InputApplied, TurnStarted
from agent_widget.core.journal import Journal
from agent_widget.testing.doubles import Gate, ScriptedModel, call, text
from agent_widget.view.model import SessionView
from tests.engine.stores import MoodyStore
from tests.engine.support import Case, FailingStore, asked, code_of, opened, said, waiting

pytestmark = pytest.mark.anyio


@tool(read_only=True)
def look(name: str) -> str:
    """Look at something."""
    return name


# --- where it enters --------------------------------------------------------------------------


async def test_steering_enters_after_the_results_of_the_step_and_before_the_next_in_order() -> None:
    hold, running = asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def slow() -> str:
        """Take long."""
        running.set()
        await hold.wait()
        return "done"

    model = ScriptedModel([[text("a"), call("slow"), call("slow")], [text("b")]])
    async with opened(model, [slow], while_running="steer") as case:
        run = await case.session.send("one")
        await running.wait()
        for words in ("two", "three"):
            await case.session.send(words)
        assert said(case) == ["u:one", "a:a"]
        hold.set()
        await asyncio.wrap_future(run.future)
        assert said(case) == ["u:one", "a:a", "u:two", "u:three", "a:b"]
        calls = model.requests[1].messages[1].tool_calls
        assert [part.state for part in calls] == ["done", "done"]
        [applied] = [event for event in case.events if isinstance(event, InputApplied)]
        answer, *rest = [message.id for message in case.session.messages][1:4]
        assert (applied.after_message_id, list(applied.message_ids)) == (answer, rest)
        assert case.session.view.steered == {*rest}
        assert (await case.kinds()).count("input_applied") == 1
        assert case.types("turn.started") == ["turn.started"]


async def test_what_waited_before_a_message_stands_before_it_and_what_came_later_after_it() -> None:
    model = ScriptedModel([[text("a")], [text("b")]])
    async with opened(model) as case:
        await case.send("one")
        await case.session.enqueue("kept", "steering")
        later: list[asyncio.Future[str]] = []

        def speak(event: Event, _view: SessionView) -> None:
            if isinstance(event, TurnStarted):  # before the run has asked anything
                later.append(asyncio.ensure_future(case.session.enqueue("later", "steering")))

        case.session.subscribe(speak)
        await case.send("two")
        await asyncio.gather(*later)
        assert asked(model)[1] == ["one", "a", "kept", "two", "later"]
        assert said(case) == ["u:one", "a:a", "u:kept", "u:two", "u:later", "a:b"]


async def test_what_waits_at_a_retry_stands_at_the_end() -> None:
    model = ScriptedModel([[call("look", {"name": "x"})], ModelError("network", "x"), [text("b")]])
    async with opened(model, [look]) as case:
        assert (await case.send("one")).reason == "error"
        await case.session.enqueue("kept", "steering")
        await case.retry()
        assert said(case) == ["u:one", "a:", "u:kept", "a:b"]


async def test_a_follow_up_goes_on_with_the_run_where_it_would_end_and_steering_goes_first() -> (
    None
):
    gate = Gate()
    model = ScriptedModel([[gate, text("a")], [text("b")], [text("c")], [text("d")]])
    async with opened(model) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("last", "follow_up")
        await case.session.enqueue("last of all", "follow_up")
        await case.session.enqueue("next", "steering")
        gate.open()
        assert (await asyncio.wrap_future(run.future)).text == "d"
        assert [line for line in said(case) if line.startswith("u")] == [
            "u:one",
            "u:next",
            "u:last",
            "u:last of all",
        ]
        assert [len(request) for request in asked(model)] == [1, 3, 5, 7]
        assert case.types("turn.started", "run.settled") == ["turn.started", "run.settled"]


@pytest.mark.parametrize("mode", ["all", "one-at-a-time"])
async def test_each_queue_gives_all_or_one_at_a_boundary_by_its_mode(mode: Any) -> None:
    gate = Gate()
    model = ScriptedModel([[gate, text("a")], *([text("b")] for _ in range(4))])
    async with opened(model) as case:
        case.session.inputs.steering_mode = case.session.inputs.follow_up_mode = mode
        run = await case.session.send("one")
        await gate.reached.wait()
        for words in ("s1", "s2"):
            await case.session.enqueue(words, "steering")
        for words in ("f1", "f2"):
            await case.session.enqueue(words, "follow_up")
        gate.open()
        await asyncio.wrap_future(run.future)
        new = [request[len(old) + 1 :] for old, request in itertools.pairwise(asked(model))]
        each = {
            "all": [["s1", "s2"], ["f1", "f2"]],
            "one-at-a-time": [["s1"], ["s2"], ["f1"], ["f2"]],
        }
        assert new == each[mode]
        assert waiting(case) == []


async def test_what_a_store_refuses_to_apply_still_waits_and_nothing_is_asked() -> None:
    gate, store = Gate(), FailingStore(["input_applied"])
    model = ScriptedModel([[gate, text("a")], [text("b")]])
    async with opened(model, store=store) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("two", "steering")
        gate.open()
        result = await asyncio.wrap_future(run.future)
        assert (result.reason, result.error and result.error.code) == ("error", "STORAGE_ERROR")
        assert (waiting(case), len(model.requests)) == (["two"], 1)
        assert case.types("input.applied") == []
        store.kinds.clear()
        await case.send("three")
        assert asked(model)[1] == ["one", "a", "two", "three"]


async def test_what_was_asked_stays_said_when_the_model_fails_and_is_in_every_later_request() -> (
    None
):
    gate = Gate()
    model = ScriptedModel([[gate, text("a")], ModelError("network", "gone"), [text("c")]])
    async with opened(model) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("two", "steering")
        await case.session.enqueue("three", "follow_up")
        gate.open()
        assert (await asyncio.wrap_future(run.future)).reason == "error"
        assert (said(case), waiting(case)) == (["u:one", "a:a", "u:two"], ["three"])
        await case.send("four")
        assert asked(model)[2] == ["one", "a", "two", "four"]


# --- what waits can be changed ----------------------------------------------------------------


async def test_what_waits_can_be_edited_and_taken_back_until_it_is_used() -> None:
    gate = Gate()
    model = ScriptedModel([[gate, text("a")], [text("b")]])
    async with opened(model) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        kept = await case.session.enqueue("kept", "steering")
        gone = await case.session.enqueue("gone", "steering")
        await case.session.inputs.edit(kept, "changed")
        assert await case.session.inputs.withdraw([gone]) == ("gone",)
        assert waiting(case) == ["changed"]
        gate.open()
        await asyncio.wrap_future(run.future)
        assert asked(model)[1] == ["one", "a", "changed"]
        before = await case.records()
        for late in (
            case.session.inputs.edit(kept, "late"),
            case.session.inputs.withdraw([kept]),
            case.session.inputs.edit(gone, "late"),
            case.session.inputs.withdraw([gone, kept]),
        ):
            assert await code_of(late) == "INVALID_INPUT"
        assert await case.records() == before


async def test_clear_takes_all_back_in_one_record_and_gives_the_texts() -> None:
    gate = Gate()
    async with opened([[gate, text("a")]]) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("s", "steering")
        await case.session.enqueue("f", "follow_up")
        texts = await case.session.inputs.clear()
        assert texts == {"steering": ("s",), "follow_up": ("f",)}
        assert (await case.kinds()).count("input_withdrawn") == 1
        assert await case.session.inputs.clear() == {"steering": (), "follow_up": ()}
        assert (await case.kinds()).count("input_withdrawn") == 1
        gate.open()
        await asyncio.wrap_future(run.future)
        assert said(case) == ["u:one", "a:a"]


@pytest.mark.parametrize("queue", ["steering", "follow_up"])
@pytest.mark.parametrize("ticks", range(12))
async def test_what_is_taken_back_as_the_run_looks_for_it_leaves_nothing_to_ask(
    queue: Any, ticks: int
) -> None:
    gate = Gate()
    model = ScriptedModel([[gate, text("a")], [text("b")]])
    async with opened(model, store=MoodyStore(ticks=1)) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        row = await case.session.enqueue("two", queue)
        gate.open()
        for _ in range(ticks):
            await asyncio.sleep(0)
        was_taken_back = await code_of(case.session.inputs.withdraw([row])) is None
        assert (await asyncio.wrap_future(run.future)).reason == "completed"
        await case.session.wait_for_idle()
        assert asked(model) == [["one"]] + [["one", "a", "two"]] * (not was_taken_back)


# --- none is lost as a run ends ---------------------------------------------------------------


class Late:
    """Says something at one of many moments around the end of a run."""

    def __init__(self, case: Case, gate: Gate, how: str) -> None:
        self._case = case
        self._gate = gate
        self._how = how

    async def say(self, words: str, ticks: int) -> list[str]:
        """What was accepted, which is ``words`` or nothing."""
        await self._gate.reached.wait()
        for _ in range(ticks):
            await asyncio.sleep(0)
        session = self._case.session
        if self._how == "send":
            await session.send(words)
        elif self._how == "prompt":
            await session.prompt(words, "steering")
        else:
            was_running = session.run_id is not None
            await session.enqueue(words, "steering" if self._how == "steer" else "follow_up")
            if not was_running:  # it waits for a person, who comes now
                await session.wait_for_idle()
                if waiting(self._case):
                    await session.send("and?")
        return [words]


@pytest.mark.parametrize("max_steps", [1, 50])
@pytest.mark.parametrize("how", ["send", "prompt", "steer", "follow_up"])
async def test_what_is_said_as_a_run_ends_is_asked_exactly_once_and_in_order(
    how: str, max_steps: int
) -> None:
    for ticks in range(30):
        gate = Gate()
        gate.open()
        model = ScriptedModel([[gate, text("a")], *([text(f"b{n}")] for n in range(6))])
        store = MoodyStore(ticks=ticks % 3)
        options: dict[str, Any] = {"max_steps": max_steps, "while_running": "steer"}
        async with opened(model, store=store, **options) as case:
            late = Late(case, gate, how)
            await case.session.send("one")
            await asyncio.gather(late.say("two", ticks), late.say("three", ticks + ticks % 4))
            await case.session.wait_for_idle()
            requests = asked(model)
            assert waiting(case) == [], (ticks, requests)
            for before, request in itertools.pairwise([[], *requests]):
                assert request[: len(before)] == before, (ticks, requests)
            for words in ("two", "three"):
                assert requests[-1].count(words) == 1, (ticks, requests)
            assert requests[-1].index("two") < requests[-1].index("three"), (ticks, requests)
            assert all(request.messages[-1].role == "user" for request in model.requests)
            stored = Journal.of(await case.records())
            assert stored.open_run is None


async def test_steps_that_run_out_start_no_run_and_what_waits_waits() -> None:
    gate = Gate()
    model = ScriptedModel([[gate, call("look", {"name": "x"})], [text("b")]])
    async with opened(model, [look], max_steps=1) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("two", "steering")
        gate.open()
        assert (await asyncio.wrap_future(run.future)).reason == "max_steps"
        await case.session.wait_for_idle()
        assert (waiting(case), len(model.requests)) == (["two"], 1)


async def test_input_that_cannot_start_its_run_waits_and_the_person_is_told() -> None:
    gate, store = Gate(), FailingStore()
    model = ScriptedModel([[gate, text("a")], [text("b")]])
    async with opened(model, store=store, max_steps=1) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("two", "steering")
        store.kinds.add("run_admitted")
        gate.open()
        assert (await asyncio.wrap_future(run.future)).ok
        await case.session.wait_for_idle()
        assert (waiting(case), len(model.requests)) == (["two"], 1)
        assert [notice.code for notice in case.session.view.notices] == ["STORAGE_ERROR"]

"""Input while a run is under way: who may send, when it is used, and that none of it is lost."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent_widget import Handoff, tool
from agent_widget.core.errors import ModelError, SessionError
from agent_widget.core.events import Event, InputApplied, ToolFailed, TurnStarted
from agent_widget.core.journal import Journal
from agent_widget.engine.subagents import Agent
from agent_widget.policy.input import TOOL_NAME, PolicyChange, WhileRunning
from agent_widget.testing.doubles import Gate, ScriptedModel, ScriptItem, call, text
from agent_widget.view.model import SessionView
from tests.engine.stores import NO_SPACE, MoodyStore, stored
from tests.engine.support import Case, FailingStore, opened

pytestmark = pytest.mark.anyio

LEVELS: list[WhileRunning | None] = [None, "block", "steer"]


@tool(read_only=True)
def look(name: str) -> str:
    """Look at something."""
    return name


def said(case: Case) -> list[str]:
    return [f"{message.role[0]}:{message.text}" for message in case.session.messages]


def asked(model: ScriptedModel) -> list[list[str]]:
    """The texts of each request."""
    return [[message.text for message in request.messages] for request in model.requests]


def waiting(case: Case) -> list[str]:
    return [row.text for row in case.session.inputs.waiting]


async def code_of(work: Awaitable[Any]) -> str | None:
    """The code with which a command was refused, None when it was not."""
    try:
        await work
    except SessionError as refused:
        return refused.code
    return None


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


async def test_the_tool_of_an_agent_changes_nothing_once_another_one_has_the_session() -> None:
    writer = Agent(
        "writer", "Writes.", model=ScriptedModel([[set_policy("steer", "session")], [text("b")]])
    )
    async with opened(
        [[call("escalate", {"to": "writer"})]], [escalate], agents=[writer], input_control=True
    ) as case:
        await case.send("over")
        await case.send("go on")
        assert failures(case) == ["The session belongs to the agent 'writer' now."]
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

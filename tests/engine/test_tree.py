"""Branches: nothing is removed, nothing is mixed, and what is running is not left behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agent_widget import Handoff, tool
from agent_widget.core.events import SessionCheckpointed, SessionRestored, TreeNavigated
from agent_widget.core.journal import Journal
from agent_widget.engine.subagents import Agent
from agent_widget.policy.input import PolicyChange
from agent_widget.store.jsonl import JsonlStore
from agent_widget.testing.doubles import Gate, ScriptedModel, call, text
from agent_widget.view.model import Branch
from tests.engine.support import Case, FailingStore, asked, code_of, opened, said

pytestmark = pytest.mark.anyio


@tool(read_only=True)
async def look(name: str) -> str:
    """Look at something."""
    return name


def users(case: Case) -> list[str]:
    return [message.id for message in case.session.messages if message.role == "user"]


def answers(count: int) -> ScriptedModel:
    return ScriptedModel([[text(f"a{n}")] for n in range(count)])


async def edited(case: Case, message_id: str, words: str) -> str:
    """Say a message anew and wait for the answer; returns the id of the new one."""
    run, new_id = await case.session.tree.edit(message_id, words)
    await asyncio.wrap_future(run.future)
    return new_id


async def test_an_edited_message_is_a_branch_and_no_request_mixes_two() -> None:
    model = answers(6)
    async with opened(model) as case:
        await case.send("one")
        await case.send("two")
        first, second = users(case)
        other = await edited(case, second, "two anew")
        assert said(case) == ["u:one", "a:a0", "u:two anew", "a:a2"]
        assert case.session.view.branches == {other: Branch(1, 2)}
        await edited(case, first, "uno")
        assert said(case) == ["u:uno", "a:a3"]
        await case.send("due")
        await case.session.tree.switch(users(case)[0], 0)
        assert said(case) == ["u:one", "a:a0", "u:two anew", "a:a2"]
        assert case.session.view.branches == {first: Branch(0, 2), other: Branch(1, 2)}
        await case.session.tree.switch(other, 0)
        assert said(case) == ["u:one", "a:a0", "u:two", "a:a1"]
        await case.send("three")
        assert asked(model) == [
            ["one"],
            ["one", "a0", "two"],
            ["one", "a0", "two anew"],
            ["uno"],
            ["uno", "a3", "due"],
            ["one", "a0", "two", "a1", "three"],
        ]
        assert await code_of(case.session.tree.switch(other, 2)) == "INVALID_INPUT"
        texts = [words for _, words in await case.session.tree.user_messages()]
        assert texts == ["one", "two", "two anew", "uno", "due", "three"]


async def test_one_goes_back_to_before_a_message_and_says_another_beside_it() -> None:
    async with opened(answers(3)) as case:
        await case.send("one")
        await case.send("two")
        second = users(case)[1]
        gone = await case.session.tree.navigate(second, label="left here")
        assert (gone.text, said(case)) == ("two", ["u:one", "a:a0"])
        journal = Journal.of(await case.records())
        entry = journal.entry_of(second)
        assert entry is not None
        assert journal.labels == {entry.id: "left here"}
        await case.send("other")
        assert case.session.view.branches == {users(case)[1]: Branch(1, 2)}
        leaf = Journal.of(await case.records()).leaf
        assert leaf is not None
        before = await case.records()
        assert (await case.session.tree.navigate(leaf)).text is None  # it is there already
        assert await case.records() == before
        assert [type(event) for event in case.events].count(TreeNavigated) == 2


async def test_a_message_that_could_not_be_stored_beside_another_can_be_said_again() -> None:
    store = FailingStore()
    async with opened(answers(2), store=store) as case:
        await case.send("one")
        await case.session.tree.navigate(users(case)[0])
        store.kinds.add("run_admitted")
        assert await code_of(case.session.send("other")) == "STORAGE_ERROR"
        store.kinds.clear()
        await case.send("other")
        assert case.session.view.branches == {users(case)[0]: Branch(1, 2)}


async def test_a_checkpoint_is_a_place_and_to_restore_it_makes_one_of_where_one_was() -> None:
    async with opened(answers(3)) as case:
        start = await case.session.tree.checkpoint("start")
        await case.send("one")
        point = await case.session.tree.checkpoint()
        await case.send("two")
        await case.session.tree.restore(point)
        assert said(case) == ["u:one", "a:a0"]
        await case.session.tree.restore(start)
        assert said(case) == []
        made = [event for event in case.events if isinstance(event, SessionCheckpointed)]
        assert [(event.trigger, event.label, event.message_count) for event in made] == [
            ("manual", "start", 0),
            ("manual", None, 2),
            ("pre_restore", None, 4),
            ("pre_restore", None, 2),
        ]
        await case.session.tree.restore(made[2].checkpoint_id)
        assert said(case) == ["u:one", "a:a0", "u:two", "a:a1"]
        back = [event for event in case.events if isinstance(event, SessionRestored)]
        assert [(event.from_messages, event.to_messages) for event in back] == [
            (4, 2),
            (2, 0),
            (0, 4),
        ]
        assert await code_of(case.session.tree.restore("c-0")) == "checkpoint_not_found"


async def test_a_fork_goes_on_alone_and_its_parent_does_not_change_by_a_byte(
    tmp_path: Path,
) -> None:
    store = JsonlStore(tmp_path)
    model = answers(3)
    async with opened(model, store=store) as parent:
        start = await parent.session.tree.checkpoint("start")
        await parent.send("one")
        await parent.send("two")
        end = await parent.session.tree.checkpoint("end")
        await parent.session.enqueue("waits", "steering")
        own = parent.session.session_id
        before = (tmp_path / own / "records.jsonl").read_bytes()
        whole = await parent.session.tree.fork()
        part = await parent.session.tree.fork(parent.session.messages[1].id)
        assert len({own, whole, part}) == 3
        asking = answers(2)
        async with opened(asking, store=store, session_id=part, opening=2) as fork:
            header, *rest = await fork.records()
            assert header.data["session_id"] == part
            assert header.data["forked_from"]["session_id"] == own
            assert part not in repr(rest)
            assert own not in repr(rest)
            assert said(fork) == ["u:one", "a:a0"]
            assert fork.session.inputs.waiting == ()
            await fork.send("F")
            assert asked(asking) == [["one", "a0", "F"]]
            assert await code_of(fork.session.tree.restore(end)) == "checkpoint_not_found"
            await fork.session.tree.restore(start)
            assert said(fork) == []
            assert {event.session_id for event in fork.events} == {part}
        async with opened(answers(1), store=store, session_id=whole, opening=3) as fork:
            assert said(fork) == said(parent) == ["u:one", "a:a0", "u:two", "a:a1"]
            await fork.session.tree.restore(end)
        assert (tmp_path / own / "records.jsonl").read_bytes() == before
        assert (await parent.send("on")).ok
    await store.aclose()


async def test_a_fork_ends_with_its_message_even_where_steering_follows_and_after_a_reset() -> None:
    gate = Gate()
    model = ScriptedModel([[text("x")], [gate, call("look", {"name": "n"})], [text("b")]])
    async with opened(model, [look]) as case:
        await case.send("zero")
        await case.session.reset()
        run = await case.session.send("one")
        await gate.reached.wait()
        steered = await case.session.enqueue("steered", "steering")
        gate.open()
        await asyncio.wrap_future(run.future)
        assert said(case) == ["u:one", "a:", "u:steered", "a:b"]
        for message_id, kept in (
            (case.session.messages[1].id, ["u:one", "a:"]),
            (steered, ["u:one", "a:", "u:steered"]),
            (None, said(case)),
        ):
            forked = await case.session.tree.fork(message_id)
            again = ScriptedModel([[text("c")]])
            options: dict[str, Any] = {"store": case.store, "session_id": forked}
            async with opened(again, [look], opening=2, **options) as fork:
                assert said(fork) == kept
                assert (await fork.records())[0].data["version"] == 1
                assert (await fork.send("two")).ok
        assert await code_of(case.session.tree.fork("m-0")) == "tree.not_found"


async def test_while_a_run_is_under_way_its_branch_is_not_left() -> None:
    running, ran, hold = asyncio.Event(), list[str](), asyncio.Event()

    @tool(read_only=True)
    async def work(name: str) -> str:
        """Work."""
        ran.append(name)
        running.set()
        await hold.wait()
        return name

    model = ScriptedModel([[text("a")], [call("work", {"name": "x"})], [text("new")]])
    async with opened(model, [work]) as case:
        await case.send("one")
        point = await case.session.tree.checkpoint()
        run = await case.session.send("two")
        await running.wait()
        before = await case.records()
        first = users(case)[0]
        tree = case.session.tree
        for refused in (
            tree.edit(first, "anew"),
            tree.switch(first, 0),
            tree.navigate(first),
            tree.checkpoint(),
            tree.restore(point),
            case.session.reset(),
        ):
            assert await code_of(refused) == "SESSION_BUSY"
        assert await case.records() == before
        await case.session.abort()
        assert (await asyncio.wrap_future(run.future)).reason == "interrupted"
        await edited(case, first, "anew")
        assert (ran, said(case)) == (["x"], ["u:anew", "a:new"])
        await case.session.tree.switch(users(case)[0], 0)
        [part] = case.session.messages[-1].tool_calls
        assert part.state == "cancelled"


async def test_an_edit_that_cannot_be_stored_leaves_everything_as_it_is() -> None:
    store = FailingStore()
    async with opened(answers(2), store=store) as case:
        await case.send("one")
        store.kinds.add("run_admitted")
        before = (case.session.view, await case.records())
        assert await code_of(case.session.tree.edit(users(case)[0], "anew")) == "STORAGE_ERROR"
        assert await code_of(case.session.tree.edit("m-0", "anew")) == "tree.not_found"
        assert await code_of(case.session.tree.edit(users(case)[0], " ")) == "INVALID_INPUT"
        assert (case.session.view, await case.records()) == before
        store.kinds.clear()
        await edited(case, users(case)[0], "anew")


async def test_a_reset_starts_over_in_one_record_and_what_was_said_stays_stored() -> None:
    store = FailingStore()
    model = answers(2)
    async with opened(model, store=store) as case:
        await case.session.inputs.set_policy(PolicyChange("session", "steer"))
        await case.session.rename("kept")
        await case.send("one")
        await case.session.enqueue("waits", "follow_up")
        store.kinds.add("leaf")
        before = (case.session.view, await case.records())
        assert await code_of(case.session.reset()) == "STORAGE_ERROR"
        assert (case.session.view, await case.records()) == before
        store.kinds.clear()
        await case.session.reset()
        view, count = case.session.view, len(before[1])
        assert (said(case), view.input.waiting, view.branches) == ([], (), {})
        assert (view.name, view.input.session) == ("kept", "steer")
        assert (await case.records())[:count] == before[1]
        assert len(await case.records()) == count + 1
        await case.send("new")
        assert asked(model)[1] == ["new"]
        assert case.session.view.branches == {}
    options: dict[str, Any] = {"store": store, "session_id": case.session.session_id}
    async with opened([], opening=2, **options) as again:
        assert (said(again), again.session.view.input.waiting) == (["u:new", "a:a1"], ())


async def test_after_a_reset_the_sessions_own_agent_answers_also_when_it_is_opened_again() -> None:
    @tool(read_only=True)
    def escalate() -> Handoff:
        """Hand the conversation over."""
        return Handoff("writer")

    writer = Agent("writer", "Writes.", tools=[look], model=answers(0))
    model = ScriptedModel([[call("escalate")], [text("own")]])
    async with opened(model, [escalate], agents=[writer]) as case:
        await case.send("over")
        assert case.session.agent == "writer"
        await case.session.reset()
        assert case.session.agent == "main"
    options: dict[str, Any] = {"store": case.store, "session_id": case.session.session_id}
    async with opened(answers(1), [escalate], agents=[writer], opening=2, **options) as again:
        assert (again.session.agent, (await again.send("one")).text) == ("main", "a0")

"""Context of extensions, and input that is meant for one run alone."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest

from agent_widget.core.errors import SessionError
from agent_widget.core.journal import Journal
from agent_widget.core.wire import messages_to_wire
from agent_widget.policy.input import PolicyChange
from agent_widget.store.memory import MemoryStore
from agent_widget.testing.doubles import Gate, ScriptedModel, text
from agent_widget.view.history import view_of
from tests.engine.support import Case, FailingStore, opened

pytestmark = pytest.mark.anyio


def said(case: Case) -> list[str]:
    return [message.text for message in case.session.messages]


async def stored_is_live(case: Case) -> None:
    journal = Journal.of(await case.records())
    folded = view_of(journal, journal.leaf)
    assert (folded.chat, folded.notes) == (case.session.view.chat, case.session.view.notes)


async def test_at_rest_it_is_appended_and_may_start_a_run() -> None:
    model = ScriptedModel([[text("I see.")]])
    async with opened(model) as case:
        quiet = await case.session.context.add("memo", "The table changed.", display=False)
        assert quiet.run is None
        started = await case.session.context.add("memo", "Look at it.", start_run=True)
        assert started.run is not None
        assert (await asyncio.wrap_future(started.run.future)).text == "I see."
        assert said(case) == ["The table changed.", "Look at it.", "I see."]
        notes = case.session.view.notes
        assert [notes[each.message_id].is_shown for each in (quiet, started)] == [False, True]
        assert [m.text for m in model.requests[0].messages] == ["The table changed.", "Look at it."]
        await stored_is_live(case)


async def test_what_waits_for_the_next_run_stands_after_its_message() -> None:
    async with opened([[text("a")]]) as case:
        await case.session.context.add("memo", "By the way.", deliver="next_run")
        assert said(case) == []
        await case.send("one")
        assert said(case) == ["one", "By the way.", "a"]
        await stored_is_live(case)


async def test_what_could_not_be_stored_is_not_there_and_what_waits_still_waits() -> None:
    store = FailingStore(["custom_message", "run_admitted"])
    async with opened([[text("a")]], store=store) as case:
        with pytest.raises(SessionError):
            await case.session.context.add("memo", "lost")
        await case.session.context.add("memo", "kept", deliver="next_run")
        with pytest.raises(SessionError):
            await case.session.send("one")
        assert said(case) == []
        store.kinds.clear()
        await case.send("two")
        assert said(case) == ["two", "kept", "a"]


@pytest.mark.parametrize("deliver", ["steering", "follow_up"])
async def test_context_that_waits_for_a_run_is_that_and_no_message_of_the_user(
    deliver: Literal["steering", "follow_up"],
) -> None:
    gate = Gate()
    model = ScriptedModel([[gate, text("a")], [text("b")]])
    store = MemoryStore()
    async with opened(model, store=store) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        added = await case.session.context.add(
            "memo", "Hidden.", display=False, details={"from": 1}, deliver=deliver
        )
        assert [row.kind for row in case.session.inputs.waiting] == ["memo"]
        journal = Journal.of(await case.records())
        assert journal.waiting_inputs() == case.session.inputs.waiting
        gate.open()
        await asyncio.wrap_future(run.future)
        view = case.session.view
        assert said(case) == ["one", "a", "Hidden.", "b"]
        note = view.notes[added.message_id]
        assert (note.kind, note.is_shown, view.steered) == ("memo", False, frozenset())
        assert case.session.inputs.waiting == ()
        await stored_is_live(case)
        stored = [record for record in await case.records() if record.kind == "input_pending"]
        assert stored[0].data["details"] == {"from": 1}


async def test_strict_input_goes_into_the_run_under_way_or_nowhere() -> None:
    gate = Gate()
    async with opened([[gate, text("a")], [text("b")]]) as case:
        session = case.session
        assert (await session.context.submit_input("x")).state == "closed"
        await session.inputs.set_policy(PolicyChange("session", "steer"))
        run = await session.send("one")
        await gate.reached.wait()
        receipt = await session.context.submit_input("two")
        assert (receipt.state, receipt.target) == ("accepted", run.run_id)
        gate.open()
        await asyncio.wrap_future(run.future)
        assert said(case) == ["one", "a", "two", "b"]
        assert (await session.context.submit_input("three")).state == "closed"
        assert len(session.messages) == 4


async def test_strict_input_that_a_stopped_run_did_not_use_is_taken_back() -> None:
    gate = Gate()
    async with opened([[text("a"), gate, text("b")]]) as case:
        session = case.session
        await session.inputs.set_policy(PolicyChange("session", "steer"))
        run = await session.send("one")
        await gate.reached.wait()
        await session.context.submit_input("two")
        kept = await session.enqueue("three", "steering")
        await session.interrupt()
        await asyncio.wrap_future(run.future)
        await session.wait_for_idle()
        assert [row.message_id for row in session.inputs.waiting] == [kept]


async def test_a_run_that_takes_no_input_rejects_it() -> None:
    gate = Gate()
    async with opened([[gate, text("a")]]) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        receipt = await case.session.context.submit_input("two")
        assert receipt.state == "rejected"
        assert receipt.reason is not None
        assert receipt.reason.code == "INPUT_BLOCKED"
        gate.open()
        await asyncio.wrap_future(run.future)


async def test_a_conversation_may_begin_with_messages_of_elsewhere_as_they_are() -> None:
    open_call = {"type": "tool", "id": "c1", "name": "look", "input": {}, "state": "running"}
    history = [
        {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "before"}]},
        {"id": "a1", "role": "assistant", "parts": [open_call]},
    ]
    model = ScriptedModel([[text("after")]])
    async with opened(model) as case:
        await case.session.context.preload(history)
        assert messages_to_wire(case.session.messages) == history
        await case.send("now")
        assert [message.id for message in model.requests[0].messages][:2] == ["u1", "a1"]
        await stored_is_live(case)
        with pytest.raises(SessionError) as caught:
            await case.session.context.preload(history)
        assert caught.value.code == "SESSION_BUSY"


async def test_what_is_no_list_of_messages_is_refused_by_name() -> None:
    async with opened([]) as case:
        with pytest.raises(SessionError) as caught:
            await case.session.context.preload([{"id": "u1", "role": "robot", "parts": []}])
        assert caught.value.code == "INVALID_INPUT"
        assert "robot" in caught.value.message
        assert await case.kinds() == ["header"]

"""A session that was cut off at any record goes on: nothing is lost and nothing is run twice."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from agent_widget import tool
from agent_widget.core.errors import ModelError, SessionError
from agent_widget.core.events import Event, Todo
from agent_widget.core.journal import Journal
from agent_widget.core.messages import Conversation, ToolPart
from agent_widget.core.records import Record
from agent_widget.engine.recovery import NOT_STARTED, UNKNOWN
from agent_widget.engine.subagents import Agent
from agent_widget.policy.input import PolicyChange
from agent_widget.policy.permission import Decision
from agent_widget.providers._chat_request import ChatOptions, build_request
from agent_widget.providers._history import EncodedMessages
from agent_widget.store.base import LEASE_S, Lease, LeaseLost
from agent_widget.store.memory import MemoryStore
from agent_widget.store.urls import open_store
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, reasoning, text
from agent_widget.view.history import view_of
from agent_widget.view.model import SessionView
from tests.engine.stores import stored
from tests.engine.support import Case, FakeClock, opened
from tests.engine.victim import SESSION
from tests.providers.sendable import problems_of
from tests.support.virtualtime import VirtualTimeLoop

pytestmark = pytest.mark.anyio

FOLDED: Final = (
    "chat",
    "phase",
    "can_send",
    "revision",
    "input",
    "name",
    "todos",
    "facts",
    "marks",
    "steered",
    "branches",
    "notes",
    "usage",
)
"""What of a view is the fold of its records; the rest is of the process."""


class Tools:
    """The tools of a session, and how often each one ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

        @tool(read_only=True)
        async def look(name: str) -> str:
            """Look at something."""
            self.ran.append(f"look {name}")
            return name

        @tool
        async def change(name: str) -> str:
            """Change something."""
            self.ran.append(f"change {name}")
            return f"changed {name}"

        self.all = [look, change]


def look(name: str) -> Any:
    return call("look", {"name": name}, id=f"look-{name}")


def change(name: str) -> Any:
    return call("change", {"name": name}, id=f"change-{name}")


def helper(steps: Sequence[Step]) -> Agent:
    return Agent("helper", "Helps.", model=ScriptedModel(steps))


async def ended(case: Case, run: Any) -> None:
    await asyncio.wrap_future(run.future)
    await case.session.wait_for_idle()


async def lived(case: Case, gate: Gate, stopped: Gate) -> None:
    """A life with all that can be in one."""
    session = case.session
    run = await session.send("two looks, a change, a refusal")
    case.session.answer((await case.question()).permission_id, Decision("allow_once"))
    edit = Decision("edit", args={"name": "edited"})
    case.session.answer((await case.question()).permission_id, edit)
    case.session.answer((await case.question()).permission_id, Decision("deny", "no"))
    await ended(case, run)
    await session.show_todos((Todo("one", "in_progress"),))
    await session.rename("rich")
    await session.inputs.set_policy(PolicyChange("session", "steer"))

    run = await session.send("ask the helper")
    case.session.answer((await case.question()).permission_id, Decision("allow_once"))
    await ended(case, run)
    await case.send("ask it again, which fails")
    point = await session.tree.checkpoint("here")

    run = await session.send("wait")
    await gate.reached.wait()
    await session.send("steered")
    row = await session.enqueue("then", "follow_up")
    await session.inputs.edit(row, "then edited")
    await session.inputs.withdraw([await session.enqueue("never", "steering")])
    gate.open()
    await ended(case, run)

    assert (await case.send("fail")).reason == "error"
    await case.retry()
    run = await session.send("stop me")
    await stopped.reached.wait()
    await session.enqueue("left", "follow_up")
    await session.interrupt()
    await ended(case, run)

    first = session.messages[0].id
    run, again = await session.tree.edit(first, "anew")
    await ended(case, run)
    await session.tree.switch(again, 0)
    await session.tree.label(first, "first")
    await session.tree.restore(point)
    await session.reset()
    await case.send("fresh")


@pytest.fixture(scope="module")
def life() -> tuple[Record, ...]:
    """The records of such a life."""
    return asyncio.run(recorded())


async def recorded() -> tuple[Record, ...]:
    gate, stopped, tools = Gate(), Gate(), Tools()
    steps: list[Step] = [
        [reasoning("hm"), text("Let me."), look("a"), look("b")],
        [change("c"), change("d"), change("e")],
        [text("done")],
        [call("delegate_to_helper", {"task": "t"}, id="d1")],
        [text("helped")],
        [call("delegate_to_helper", {"task": "t"}, id="d2")],
        [text("it failed")],
        [gate, text("waited"), look("f")],
        [text("steered")],
        [text("then")],
        [look("g")],
        ModelError("network", "gone"),
        [text("went on")],
        [text("half "), stopped],
        [text("another way")],
        [text("hello")],
    ]
    gone = ModelError("network", "gone")
    agent = helper([[look("h"), change("i")], [text("I did")], gone])
    async with opened(ScriptedModel(steps), tools.all, agents=[agent]) as case:
        await lived(case, gate, stopped)
        return tuple(await case.records())


def calls_of(conversation: Conversation) -> Iterator[ToolPart]:
    """All calls, nested ones too."""
    for message in conversation:
        for part in message.tool_calls:
            yield part
            if part.agent is not None:
                yield from calls_of(part.agent.messages)


def outcomes(records: Sequence[Record]) -> dict[str, str]:
    """How a call that ``records`` leave without a result has to be told: by its id."""
    journal = Journal.of(records)
    if journal.open_run is None:
        return {}
    at = max(i for i, record in enumerate(records) if record.kind == "run_admitted")
    told: dict[str, str] = {}
    for record in records[at:]:
        data = record.data
        if record.kind == "message" and "message" in data:
            for part in data["message"].get("parts", ()):
                told |= {part["id"]: NOT_STARTED} if part["type"] == "tool" else {}
        if record.kind == "permission_decided" and data["decision"] == "allow":
            told[data["tool_call_id"]] = UNKNOWN
        if data.get("role") == "tool_result":
            told.pop(data["tool_call_id"], None)
    return told


def test_the_life_has_all_kinds_of_records(life: tuple[Record, ...]) -> None:
    assert {record.kind for record in life} == {
        "header",
        "run_admitted",
        "message",
        "permission_decided",
        "run_ended",
        "custom",
        "session_info",
        "policy",
        "agent_run",
        "checkpoint",
        "input_pending",
        "input_changed",
        "input_applied",
        "input_withdrawn",
        "stop_committed",
        "leaf",
        "label",
    }


async def test_a_session_cut_off_after_any_record_goes_on_with_one_result_for_each_call(
    life: tuple[Record, ...],
) -> None:
    for count in range(1, len(life) + 1):
        await opens_again(life[:count])


async def opens_again(records: tuple[Record, ...]) -> None:
    tools, agent = Tools(), helper([])
    model = ScriptedModel([[text("good")], *[[text("after")]] * 3])
    store, before = await stored(records), Journal.of(records)
    session_id = records[0].data["session_id"]
    options: dict[str, Any] = {"store": store, "session_id": session_id, "opening": 2}
    async with opened(model, tools.all, agents=[agent], **options) as case:
        view, now = case.session.view, await case.records()
        assert (tools.ran, model.requests, case.session.run_id) == ([], [], None)
        assert tuple(now[: len(records)]) == records
        assert len(now) <= len(records) + 1
        assert view.input.waiting == before.waiting_inputs()
        assert (view.can_send, view.question, view.stopping) == (True, None, False)
        assert is_the_fold_of(now, view)

        told = outcomes(records)
        for part in calls_of(view.chat.messages):
            assert not part.is_open
            if part.id in told:
                assert isinstance(part.error, dict)
                assert part.error["message"] == told[part.id]
                assert part.state == ("error" if told[part.id] == UNKNOWN else "cancelled")

        assert (await case.send("go on")).ok
        assert model.requests[0].messages[-1].text == "go on"
        await case.session.wait_for_idle()
        assert tools.ran == []
        for request in model.requests:
            assert request.messages[-1].role == "user"
            assert not any(part.is_open for part in calls_of(request.messages))
            assert problems_of(build_request(request, ChatOptions("m"), EncodedMessages())) == []
        ids = [message.id for message in case.session.messages]
        assert len(ids) == len({*ids})
        assert is_the_fold_of(await case.records(), case.session.view)


def is_the_fold_of(records: Sequence[Record], view: SessionView) -> bool:
    journal = Journal.of(records)
    folded = view_of(journal, journal.leaf)
    for name in FOLDED:
        assert getattr(view, name) == getattr(folded, name), name
    return True


async def test_a_session_that_is_opened_again_is_the_same_and_opening_it_writes_nothing(
    life: tuple[Record, ...],
) -> None:
    store, session_id = await stored(life), life[0].data["session_id"]
    options: dict[str, Any] = {"store": store, "session_id": session_id, "agents": [helper([])]}
    for opening in (2, 3):
        async with opened([], Tools().all, opening=opening, **options) as case:
            assert tuple(await case.records()) == life
            told = case.types("run.settled", "session.created", "session.resumed")
            assert told == ["session.created", "session.resumed"]


# --- a process that is killed -----------------------------------------------------------------


@pytest.mark.parametrize("store", ["chats.db", "chats"])
@pytest.mark.parametrize("moment", ["answer", "tool", "question"])
async def test_nothing_that_was_acknowledged_is_lost_when_the_process_is_killed(
    tmp_path: Path, store: str, moment: str
) -> None:
    place = str(tmp_path / store)
    acknowledged = killed(place, moment)
    kept = open_store(place)
    tools = Tools()
    try:
        model = ScriptedModel([[text("good")], [text("then")]])
        options: dict[str, Any] = {"store": kept, "session_id": SESSION, "opening": 2}
        async with opened(model, tools.all, **options) as case:
            records = await case.records()
            assert [record.id for record in records][: len(acknowledged)] == acknowledged
            assert [row.text for row in case.session.inputs.waiting] == ["waits"]
            assert tools.ran == []
            states = [part.state for part in calls_of(case.session.messages)]
            assert states == {"answer": [], "tool": ["error"], "question": ["cancelled"]}[moment]
            assert (await case.send("go on")).ok
            assert is_the_fold_of(await case.records(), case.session.view)
    finally:
        await kept.aclose()


def killed(place: str, moment: str) -> list[str]:
    """The ids of the records that a process acknowledged before it was killed."""
    command = [sys.executable, "-m", "tests.engine.victim", place, moment]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        process.kill()
        assert process.wait() == -signal.SIGKILL
    return said.split()


# --- two owners -------------------------------------------------------------------------------


async def test_who_opens_a_session_that_another_holds_reads_it_and_writes_nothing() -> None:
    store, gate = MemoryStore(), Gate()
    model = ScriptedModel([[text("a")], [gate, text("b")]])
    async with opened(model, store=store) as holder:
        await holder.send("one")
        run = await holder.session.send("two")
        await gate.reached.wait()
        before = await holder.records()
        session_id = holder.session.session_id
        async with opened([], store=store, session_id=session_id, opening=2) as reader:
            view = reader.session.view
            assert str(os.getpid()) in (view.storage.read_only or "")
            assert (view.phase, view.can_send, view.can_retry) == ("idle", False, False)
            assert [message.text for message in view.chat.messages] == ["one", "a", "two"]
            for work in (
                reader.session.send("three"),
                reader.session.enqueue("three", "steering"),
                reader.session.retry(),
                reader.session.rename("mine"),
                reader.session.reset(),
                reader.session.tree.checkpoint(),
            ):
                with pytest.raises(SessionError) as caught:
                    await work
                assert caught.value.code == "session_in_use"
            forked = await reader.session.tree.fork()
        assert await holder.records() == before
        async with opened([[text("c")]], store=store, session_id=forked, opening=3) as fork:
            assert (await fork.send("three")).ok
        gate.open()
        assert (await asyncio.wrap_future(run.future)).ok


async def test_who_loses_the_session_while_a_run_is_under_way_ends_it_and_is_told() -> None:
    clock, gate = FakeClock(), Gate()
    store = MemoryStore(clock=lambda: clock.now_ms / 1_000)
    async with opened([[text("half"), gate, text("whole")]], store=store) as slow:
        run = await slow.session.send("one")
        await gate.reached.wait()
        clock.now_ms += int(LEASE_S * 1_000)
        session_id = slow.session.session_id
        async with opened([[text("b")]], store=store, session_id=session_id, opening=2) as quick:
            assert (await quick.send("two")).ok
            records = await quick.records()
            gate.open()
            result = await asyncio.wrap_future(run.future)
            assert (result.reason, result.error and result.error.code) == (
                "error",
                "session_in_use",
            )
            view = slow.session.view
            assert (view.phase, view.can_send, view.can_retry) == ("error", False, False)
            assert "taken over" in (view.storage.read_only or "")
            with pytest.raises(SessionError) as caught:
                await slow.session.send("three")
            assert caught.value.code == "session_in_use"
            assert await quick.records() == records


async def test_a_reader_takes_over_once_the_owner_is_gone_and_sees_what_was_said() -> None:
    store = MemoryStore()
    options: dict[str, Any] = {"store": store, "session_id": "s-both"}
    holder = opened([[text("a")], [text("b")]], **options)
    case = await holder.__aenter__()
    await case.send("one")
    async with opened([[text("c")]], opening=2, **options) as reader:
        await case.send("two")
        with pytest.raises(SessionError, match=f"in use by process {os.getpid()}") as held:
            await reader.session.take_over()
        assert "read-only" not in str(held.value.advice)
        assert not reader.session.view.can_send
        forked = await reader.session.tree.told_fork()
        assert forked in reader.session.view.notices[-1].message
        await holder.__aexit__(None, None, None)
        await reader.session.take_over()
        view = reader.session.view
        assert (view.storage.read_only, view.can_send, view.phase) == (None, True, "idle")
        assert [message.text for message in view.chat.messages] == ["one", "a", "two", "b"]
        assert (await reader.send("three")).text == "c"
        await reader.session.take_over()
        journal = Journal.of(await reader.records())
        folded = view_of(journal, journal.leaf)
        assert folded.chat == reader.session.view.chat


class Taken(MemoryStore):
    """A store that outlives the process, whose session another process takes after a while."""

    @property
    def is_durable(self) -> bool:
        return True

    async def renew(self, lease: Lease) -> None:
        if asyncio.get_running_loop().time() >= 3:
            raise LeaseLost(lease.session_id)


@pytest.mark.parametrize("is_running", [True, False])
def test_a_loss_is_noticed_while_there_is_nothing_to_write(is_running: bool) -> None:
    async def live() -> None:
        gate, loop = Gate(), asyncio.get_running_loop()
        async with opened([[text("half"), gate]], store=Taken()) as case:
            lost = asyncio.Event()

            def watch(_event: Event, view: SessionView) -> None:
                if view.storage.read_only is not None and not view.can_send:
                    lost.set()

            case.session.subscribe(watch)
            if is_running:
                run = await case.session.send("one")
                result = await asyncio.wrap_future(run.future)
                assert (result.reason, result.text) == ("error", "half")
            else:
                await lost.wait()
            assert loop.time() == 3
            assert not case.session.view.can_send
            assert case.session.view.storage.read_only is not None

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(live())

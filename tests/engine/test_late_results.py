"""What a call does after a Stop is told truly, stored, and starts nothing."""

from __future__ import annotations

import asyncio
import threading
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest

from agent_widget import ToolContext, ToolOutput, tool
from agent_widget.core.events import ToolEndedLate
from agent_widget.core.journal import Journal
from agent_widget.core.messages import Message, ToolPart
from agent_widget.engine.subagents import Agent, agent_tools
from agent_widget.providers._parts import result_text
from agent_widget.store.jsonl import JsonlStore
from agent_widget.store.memory import MemoryStore
from agent_widget.testing.doubles import Gate, ScriptedModel, call, text
from agent_widget.tools import FunctionTool, ImageBlock, TextBlock, bash_tool, notebook_tools
from agent_widget.view.history import view_of
from agent_widget.view.schema import call_to_wire
from tests.engine.support import Case, opened

pytestmark = pytest.mark.anyio

FINISHED = "It finished anyway, after the Stop."
STILL = "Cancelled by the user; it was still running when the run ended."


class Work:
    """A sync tool that waits in its thread until the test lets it end."""

    def __init__(self, end: Callable[[ToolContext], Any] = lambda _: "the work is done") -> None:
        self.began, self.release = asyncio.Event(), threading.Event()
        loop = asyncio.get_running_loop()

        @tool(read_only=True)
        def work(context: ToolContext) -> Any:
            """Work."""
            loop.call_soon_threadsafe(self.began.set)
            assert self.release.wait(20)
            return end(context)

        self.tool: FunctionTool = work

    async def stopped(self, case: Case) -> None:
        """Say something, and stop the run while the tool is at work."""
        self.began.clear()
        run = await case.session.send("go")
        await asyncio.wait_for(self.began.wait(), 5)
        await case.session.interrupt()
        await asyncio.wait_for(asyncio.wrap_future(run.future), 5)

    async def end(self, case: Case) -> ToolEndedLate:
        """Let it end; what was told of that."""
        told: asyncio.Future[ToolEndedLate] = asyncio.get_running_loop().create_future()
        leave = case.session.subscribe(
            lambda event, _: told.set_result(event) if isinstance(event, ToolEndedLate) else None
        )
        self.release.set()
        event = await asyncio.wait_for(told, 5)
        leave()
        return event


def part_of(messages: Any, call_id: str) -> ToolPart:
    found: list[ToolPart] = []

    def look(message: Message) -> None:
        for part in message.tool_calls:
            found.extend([part] if part.id == call_id else [])
            for nested in part.agent.messages if part.agent else ():
                look(nested)

    for message in messages:
        look(message)
    [part] = found
    return part


def shown(case: Case, call_id: str = "w1") -> Any:
    return call_to_wire(part_of(case.session.messages, call_id), case.session.view)


async def stored_is_shown(case: Case) -> None:
    journal = Journal.of(await case.records())
    view, live = view_of(journal, journal.leaf), case.session.view
    for name in ("chat", "facts", "marks", "branches", "phase"):
        assert getattr(view, name) == getattr(live, name), name


def told_to_model(model: ScriptedModel, call_id: str = "w1") -> str:
    """What the last request says of the call; each call has one result there."""
    return result_text(part_of(model.requests[-1].messages, call_id))


async def test_a_thread_that_outlives_its_run_is_told_twice_and_starts_nothing() -> None:
    work = Work()
    model = ScriptedModel([[call("work", id="w1")], [text("ok")], [text("and?")]])
    async with opened(model, [work.tool]) as case:
        asked: list[Any] = []
        case.session.subscribe(
            lambda event, _: (
                asked.append(shown(case)["stop"]) if event.type == "session.stopping" else None
            )
        )
        await work.stopped(case)
        assert asked == ["asked"]
        card = shown(case)
        assert (card["state"], card["stop"]) == ("cancelled", "running_on")
        assert card["error"]["message"] == STILL
        assert (await case.send("still?")).text == "ok"
        assert told_to_model(model).startswith("Cancelled by the user: it was still running")
        await stored_is_shown(case)
        event = await work.end(case)
        card = shown(case)
        assert (card["state"], card["stop"]) == ("cancelled", "finished")
        assert card["output"] == [{"type": "text", "text": "the work is done"}]
        assert card["error"]["message"] == f"{STILL} {FINISHED} Its output:"
        assert card["duration_ms"] is not None
        assert event.run_id is not None
        assert event.agent_id is None
        assert len(model.requests) == 2
        assert case.session.run_id is None
        await stored_is_shown(case)
        await case.send("and now?")
        assert told_to_model(model).endswith(f"{FINISHED} Its output:\nthe work is done")
        assert case.types("tool.failed", "tool.completed") == ["tool.failed"]


def fails(_context: ToolContext) -> None:
    raise ValueError("no such row")


def notices(context: ToolContext) -> str:
    return "half of it" if context.cancelled.is_set() else "all of it"


def gives_up(context: ToolContext) -> None:
    if context.cancelled.is_set():
        raise InterruptedError("told to stop")


@pytest.mark.parametrize(
    ("end", "stop", "words"),
    [
        (fails, "finished", f"{FINISHED} Its output:\nValueError: no such row"),
        (notices, "stopped", "It ended because of the Stop. Its output:\nhalf of it"),
        (gives_up, "stopped", "Its output:\nInterruptedError: told to stop"),
    ],
)
async def test_a_late_end_is_stopped_only_if_the_tool_saw_the_stop(
    end: Callable[[ToolContext], Any], stop: str, words: str
) -> None:
    work = Work(end)
    model = ScriptedModel([[call("work", id="w1")], [text("ok")]])
    async with opened(model, [work.tool]) as case:
        await work.stopped(case)
        await work.end(case)
        assert shown(case)["stop"] == stop
        await case.send("and?")
        assert told_to_model(model).endswith(words)
        await stored_is_shown(case)


async def test_what_ends_at_once_at_the_stop_is_told_by_the_end_of_the_run() -> None:
    began = asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool(read_only=True)
    def waits(context: ToolContext) -> ToolOutput:
        """Wait for the Stop."""
        loop.call_soon_threadsafe(began.set)
        context.cancelled.wait(20)
        return ToolOutput((TextBlock("as far as it came"), ImageBlock("image/png", "A" * 20_000)))

    @tool(read_only=True)
    async def sleeps() -> None:
        """Sleep."""
        await asyncio.sleep(60)

    model = ScriptedModel([[call("waits", id="w1"), call("sleeps", id="w2")], [text("ok")]])
    async with opened(model, [waits, sleeps]) as case:
        run = await case.session.send("go")
        await asyncio.wait_for(began.wait(), 5)
        await case.session.interrupt()
        await asyncio.wrap_future(run.future)
        assert [shown(case, call_id)["stop"] for call_id in ("w1", "w2")] == ["stopped"] * 2
        assert shown(case)["output"][0] == {"type": "text", "text": "as far as it came"}
        assert shown(case, "w2")["error"]["message"] == "Cancelled by the user."
        assert "custom" not in await case.kinds()
        await stored_is_shown(case)
        await case.send("and?")
        assert "because of the Stop. Its output:\nas far as it came" in told_to_model(model)


@pytest.mark.parametrize("name", ["bash", "run_python"])
async def test_a_stopped_command_and_a_stopped_cell_say_so_with_their_output(
    name: str, tmp_path: Any
) -> None:
    python = next(each for each in notebook_tools() if each.name == "run_python")
    args = {
        "bash": {"command": "echo begun; sleep 60"},
        "run_python": {"code": "import time\nprint('begun')\nwhile True: time.sleep(.01)"},
    }[name]
    model = ScriptedModel([[call(name, args, id="w1")], [text("ok")]])
    mode = {"mode": "allow_all"}
    async with opened(model, [bash_tool(tmp_path), python], permission=mode) as case:
        begun = asyncio.Event()
        case.session.subscribe(
            lambda event, _: begun.set() if event.type == "tool.output.delta" else None
        )
        run = await case.session.send("go")
        await asyncio.wait_for(begun.wait(), 5)
        late = asyncio.Event()
        case.session.subscribe(
            lambda event, _: late.set() if event.type == "tool.ended_late" else None
        )
        await case.session.interrupt()
        await asyncio.wrap_future(run.future)
        if shown(case)["stop"] == "running_on":  # a busy machine: it takes longer than the grace
            await asyncio.wait_for(late.wait(), 5)
        assert shown(case)["stop"] == "stopped"
        await case.send("and?")
        assert "begun" in told_to_model(model)


async def test_a_late_end_beside_another_run_changes_only_its_own_call() -> None:
    work, gate = Work(), Gate()
    model = ScriptedModel(
        [[call("work", id="w1")], [text("one "), gate, text("two")], [call("work", id="w1")]]
    )
    async with opened(model, [work.tool]) as case:
        await work.stopped(case)
        run = await case.session.send("meanwhile")
        await gate.reached.wait()
        await work.end(case)
        assert case.session.run_id == run.run_id
        assert case.session.view.phase == "streaming"
        gate.open()
        assert (await asyncio.wrap_future(run.future)).text == "one two"
        assert shown(case)["stop"] == "finished"
        await stored_is_shown(case)
        work.release.clear()
        await work.stopped(case)  # the same tool, and from the model the same id
        assert shown(case)["stop"] == "finished"
        assert shown(case, "w1-2")["stop"] == "running_on"
        work.release.set()


async def test_a_late_end_on_a_branch_that_was_left_is_there_when_it_is_shown_again() -> None:
    work = Work()
    model = ScriptedModel([[text("hi")], [call("work", id="w1")], [text("hi again")]])
    async with opened(model, [work.tool]) as case:
        await case.send("first")
        await work.stopped(case)
        question = case.session.messages[2].id
        run, _ = await case.session.tree.edit(question, "otherwise")
        await asyncio.wrap_future(run.future)
        before = case.session.state
        await work.end(case)
        assert case.session.state == before
        await stored_is_shown(case)
        await case.session.tree.switch(question, 0)
        assert shown(case)["stop"] == "finished"
        await stored_is_shown(case)
        forked = await case.session.tree.fork()
        copied = Journal.of(await case.store.load(forked))
        assert view_of(copied, copied.leaf).chat == case.session.state


async def test_a_late_end_after_a_retry_and_after_a_reset_changes_nothing_that_is_shown() -> None:
    work = Work()
    model = ScriptedModel([[call("work", id="w1")], [text("without")], [call("work", id="w2")]])
    async with opened(model, [work.tool]) as case:
        await work.stopped(case)
        await case.retry()
        before = case.session.state
        await work.end(case)
        assert case.session.state == before
        await stored_is_shown(case)
        work.release.clear()
        await work.stopped(case)
        await case.session.reset()
        await work.end(case)
        assert len(case.session.messages) == 0
        assert case.session.view.facts == {}
        await stored_is_shown(case)


@pytest.mark.parametrize("depth", [1, 2])
async def test_a_late_end_in_a_helper_is_told_in_the_card_of_the_helper(depth: int) -> None:
    work = Work()
    steps = [[call(f"delegate_to_h{n}", {"task": "t"}, id=f"d{n}")] for n in range(depth)]
    model = ScriptedModel([*steps, [call("work", id="w1")], [text("ok")]])
    agent = Agent(f"h{depth - 1}", "Helps.", tools=[work.tool])
    for n in reversed(range(depth - 1)):
        agent = Agent(f"h{n}", "Helps.", tools=agent_tools([agent]))
    async with opened(model, [work.tool], agents=[agent]) as case:
        await work.stopped(case)
        assert (shown(case)["stop"], shown(case)["state"]) == ("running_on", "cancelled")
        await stored_is_shown(case)
        event = await work.end(case)
        assert event.agent_id == f"d{depth - 1}"
        assert shown(case)["stop"] == "finished"
        assert shown(case, "d0")["state"] == "cancelled"
        await stored_is_shown(case)


async def test_after_close_nothing_is_written_and_the_next_to_open_says_unknown() -> None:
    work, store = Work(), MemoryStore()
    model = ScriptedModel([[call("work", id="w1")]])
    async with opened(model, [work.tool], store=store) as case:
        await work.stopped(case)
        await case.session.close()
        before = await case.records()
        [late] = case.session.runs.late._calls.values()
        work.release.set()
        await asyncio.wait({late.work}, timeout=5)
        assert late.work.done()
        assert await case.records() == before
        session_id = case.session.session_id
    later = ScriptedModel([[text("ok")]])
    async with opened(later, [work.tool], store=store, session_id=session_id, opening=2) as case:
        card = shown(case)
        assert (card["state"], card["stop"]) == ("cancelled", "unknown")
        assert "not known" in card["error"]["message"]
        await stored_is_shown(case)
        await case.send("and?")
        assert "it was not run again" in told_to_model(later)
        count = len(await case.records())
    async with opened([], [work.tool], store=store, session_id=session_id, opening=3) as case:
        assert len(await case.records()) == count  # said once


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_picture_of_a_stopped_call_is_kept_beside_the_journal(
    is_late: bool, tmp_path: Any
) -> None:
    picture = b64encode(bytes(range(256)) * 60).decode()
    output = ToolOutput((ImageBlock("image/png", picture),))
    work, store = Work(lambda _: output), JsonlStore(tmp_path)
    async with opened([[call("work", id="w1")]], [work.tool], store=store) as case:
        if is_late:
            await work.stopped(case)
            await work.end(case)
        else:
            case.session.subscribe(
                lambda event, _: work.release.set() if event.type == "session.stopping" else None
            )
            await work.stopped(case)
        card = shown(case)
        assert card["output"] == [{"type": "image", "mime": "image/png", "data": picture}]
        session_id = case.session.session_id
    assert picture not in repr(await store.load(session_id))
    async with opened([], [work.tool], store=store, session_id=session_id) as case:
        assert shown(case) == card

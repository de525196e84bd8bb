"""Stop is final, keeps what was said, and leaves a session that goes on."""

from __future__ import annotations

import asyncio
import threading

import pytest

from agent_widget import tool
from agent_widget.core.errors import SessionError
from agent_widget.core.events import ToolProposed
from agent_widget.engine.subagents import Agent
from agent_widget.testing.doubles import Gate, ScriptedModel, call, text
from tests.engine.support import Case, FailingStore, opened

pytestmark = pytest.mark.anyio


@tool
def change(name: str) -> str:
    """Change something."""
    return name


def calls_of(case: Case) -> list[str]:
    return [part.state for message in case.session.messages for part in message.tool_calls]


async def test_stop_while_streaming_keeps_the_text_and_the_next_request_has_it() -> None:
    gate = Gate()
    model = ScriptedModel([[text("one two "), gate, text("three")], [text("four")]])
    async with opened(model) as case:
        run = await case.session.send("count")
        await gate.reached.wait()
        await case.session.interrupt()
        result = await asyncio.wrap_future(run.future)
        assert (result.reason, result.text) == ("interrupted", "one two ")
        view = case.session.view
        assert (view.phase, view.chat.status, view.error) == ("idle", "idle", None)
        assert list(view.marks.values()) == ["stopped"]
        assert view.can_send
        assert view.can_retry
        assert (await case.send("go on")).text == "four"
        texts = [message.text for message in model.requests[1].messages]
        assert texts == ["count", "one two ", "go on"]
        kinds = await case.kinds()
        assert kinds.index("stop_committed") < kinds.index("message") < kinds.index("run_ended")


@pytest.mark.parametrize("is_async", [True, False])
async def test_stop_while_a_tool_runs_cancels_it_and_starts_nothing_more(is_async: bool) -> None:
    started, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool(read_only=True)
    async def nap_async() -> str:
        """Sleep."""
        started.set()
        await asyncio.sleep(60)
        return "slept"

    @tool(read_only=True)
    def nap_sync() -> str:
        """Sleep."""
        loop.call_soon_threadsafe(started.set)
        release.wait(60)
        return "slept"

    nap = nap_async if is_async else nap_sync
    model = ScriptedModel([[call(nap.name)], [text("never")]])
    async with opened(model, [nap]) as case:
        run = await case.session.send("go")
        await started.wait()
        await case.session.interrupt()
        async with asyncio.timeout(2):
            result = await asyncio.wrap_future(run.future)
        release.set()
        assert result.reason == "interrupted"
        assert calls_of(case) == ["cancelled"]
        assert len(model.requests) == 1
        assert case.types("tool.failed") == ["tool.failed"]


async def test_stop_while_asking_denies_and_later_calls_of_the_answer_do_not_run() -> None:
    model = ScriptedModel([[call("change", {"name": "a"}), call("change", {"name": "b"})]])
    async with opened(model, [change]) as case:
        run = await case.session.send("go")
        question = await case.question()
        await case.session.interrupt()
        await asyncio.wrap_future(run.future)
        assert calls_of(case) == ["cancelled", "cancelled"]
        assert case.session.view.question is None
        assert "tool.started" not in case.types()
        with pytest.raises(SessionError, match="no longer open"):
            case.session.decide(question.permission_id, "allow_once")


async def test_finished_results_survive_a_stop_of_their_siblings() -> None:
    started = asyncio.Event()

    @tool(read_only=True)
    async def quick() -> str:
        """Be quick."""
        return "A"

    @tool(read_only=True)
    async def slow() -> str:
        """Be slow."""
        started.set()
        await asyncio.sleep(60)
        return "B"

    model = ScriptedModel([[call("quick"), call("slow")], [text("ok")]])
    finished = asyncio.Event()
    async with opened(model, [quick, slow]) as case:
        case.session.subscribe(
            lambda event, _view: finished.set() if event.type == "tool.completed" else None
        )
        run = await case.session.send("go")
        await started.wait()
        await asyncio.wait_for(finished.wait(), 5)
        await case.session.interrupt()
        await asyncio.wrap_future(run.future)
        assert calls_of(case) == ["done", "cancelled"]
        stored = [r.data for r in await case.records() if r.data.get("role") == "tool_result"]
        assert [data["output"]["content"][0]["text"] for data in stored] == ["A"]


async def test_stop_of_a_helper_closes_its_calls_too() -> None:
    started = asyncio.Event()

    @tool(read_only=True)
    async def nap() -> str:
        """Sleep."""
        started.set()
        await asyncio.sleep(60)
        return "slept"

    model = ScriptedModel([[call("delegate_to_h", {"task": "t"}, id="d1")], [call("nap", id="n1")]])
    async with opened(model, [nap], agents=[Agent("h", "Helps.")]) as case:
        run = await case.session.send("go")
        await started.wait()
        await case.session.interrupt()
        await asyncio.wrap_future(run.future)
        [delegate] = case.session.messages[1].tool_calls
        assert delegate.state == "cancelled"
        assert delegate.agent is not None
        assert [part.state for part in delegate.agent.messages[-1].tool_calls] == ["cancelled"]
        proposed = [e for e in case.events if isinstance(e, ToolProposed)]
        failed = case.types("tool.failed", "tool.completed")
        assert len(proposed) == len(failed) == 2


async def test_stop_when_nothing_runs_says_so_and_writes_nothing() -> None:
    async with opened([[text("a")]]) as case:
        await case.send("one")
        before = await case.kinds()
        with pytest.raises(SessionError) as caught:
            await case.session.stop()
        assert caught.value.code == "SESSION_NOT_RUNNING"
        assert await case.kinds() == before


async def test_a_second_stop_is_answered_and_writes_nothing() -> None:
    gate = Gate()
    async with opened([[text("a"), gate]]) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.interrupt()
        await case.session.interrupt()
        await asyncio.wrap_future(run.future)
        assert (await case.kinds()).count("stop_committed") == 1


async def test_a_stop_that_cannot_be_stored_lets_the_run_go_on() -> None:
    gate, store = Gate(), FailingStore(["stop_committed"])
    async with opened([[text("a"), gate, text("b")]], store=store) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        with pytest.raises(SessionError) as caught:
            await case.session.interrupt()
        assert caught.value.code == "STORAGE_ERROR"
        gate.open()
        assert (await asyncio.wrap_future(run.future)).text == "ab"


async def test_a_tool_that_ignores_cancellation_is_abandoned_and_its_late_work_dropped() -> None:
    started, ended, release = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def stubborn() -> str:
        """Refuse to end."""
        started.set()
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue
        ended.set()
        return "late"

    model = ScriptedModel([[call("stubborn")], [text("never")], [text("next")]])
    async with opened(model, [stubborn], abandon_s=0.05) as case:
        run = await case.session.send("go")
        await started.wait()
        await case.session.interrupt()
        assert (await asyncio.wrap_future(run.future)).reason == "abandoned"
        assert case.session.view.notices[0].code == "abandoned"
        assert calls_of(case) == ["cancelled"]
        release.set()
        await ended.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert calls_of(case) == ["cancelled"]
        assert case.types("turn.aborted") == ["turn.aborted"]
        assert len(model.requests) == 1


async def test_close_ends_a_run_and_then_the_session() -> None:
    gate = Gate()
    async with opened([[text("a"), gate]]) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.close()
        assert (await asyncio.wrap_future(run.future)).reason in ("interrupted", "closed")
        assert case.types("turn.aborted", "session.ended") == ["turn.aborted", "session.ended"]

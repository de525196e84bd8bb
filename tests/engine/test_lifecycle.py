"""A session ends once, whole, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

from agent_widget import tool
from agent_widget.core.errors import InvalidOptions, SessionClosed
from agent_widget.core.events import Event, SessionInfoChanged, Todo
from agent_widget.core.wire import messages_to_wire
from agent_widget.engine.commits import HistoryMeta
from agent_widget.engine.ending import Receipt
from agent_widget.engine.session import Session
from agent_widget.engine.subagents import Agent
from agent_widget.policy.input import PolicyChange
from agent_widget.policy.permission import Decision
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, text
from agent_widget.tools import register
from agent_widget.view.model import SessionView
from tests.engine.stores import MoodyStore
from tests.engine.support import opened

pytestmark = pytest.mark.anyio

Commanded = Callable[[Session], Awaitable[Any]]


def done(call: Callable[[Session], Any]) -> Commanded:
    """A method that is not async, as one that is."""

    async def called(session: Session) -> Any:
        return call(session)

    return called


COMMANDS: Final[dict[str, Commanded]] = {
    "send": lambda s: s.send("x"),
    "submit": lambda s: s.submit("x"),
    "prompt": lambda s: s.prompt("x"),
    "enqueue": lambda s: s.enqueue("x", "steering"),
    "retry": lambda s: s.retry(),
    "stop": lambda s: s.stop(),
    "interrupt": lambda s: s.interrupt(),
    "abort": lambda s: s.abort(),
    "reset": lambda s: s.reset(),
    "rename": lambda s: s.rename("x"),
    "wait_for_idle": lambda s: s.wait_for_idle(),
    "set_active_tools_by_name": lambda s: s.set_active_tools_by_name([]),
    "refresh_tools": lambda s: s.refresh_tools(register([])),
    "show_todos": lambda s: s.show_todos((Todo("x", "pending"),)),
    "subscribe": done(lambda s: s.subscribe(lambda _event, _view: None)),
    "decide": done(lambda s: s.decide("p", "deny")),
    "answer": done(lambda s: s.answer("p", Decision("deny"))),
    "dismiss": done(lambda s: s.dismiss("n")),
    "inputs.set_policy": lambda s: s.inputs.set_policy(PolicyChange("session", "steer")),
    "inputs.queue": lambda s: s.inputs.queue("x", "steering"),
    "inputs.edit": lambda s: s.inputs.edit("m", "x"),
    "inputs.withdraw": lambda s: s.inputs.withdraw([]),
    "inputs.clear": lambda s: s.inputs.clear(),
    "tree.edit": lambda s: s.tree.edit("m", "x"),
    "tree.switch": lambda s: s.tree.switch("m", 0),
    "tree.navigate": lambda s: s.tree.navigate("m"),
    "tree.label": lambda s: s.tree.label("m", "x"),
    "tree.checkpoint": lambda s: s.tree.checkpoint(),
    "tree.restore": lambda s: s.tree.restore("c"),
    "tree.user_messages": lambda s: s.tree.user_messages(),
    "tree.fork": lambda s: s.tree.fork(),
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_after_close_every_command_says_that_the_session_is_closed(name: str) -> None:
    async with opened([[text("a")]]) as case:
        await case.send("one")
        await case.session.close()
        view, records = case.session.view, await case.records()
        with pytest.raises(SessionClosed):
            await COMMANDS[name](case.session)
        assert (case.session.view, await case.records()) == (view, records)
        assert [message.text for message in case.session.messages] == ["one", "a"]
        assert (view.phase, view.can_send) == ("closed", False)


STATES: Final[dict[str, list[Step]]] = {
    "at rest": [],
    "answer": [[text("half"), Gate()]],
    "tool": [[call("work")]],
    "thread": [[call("toil")]],
    "question": [[call("change")]],
    "helper": [[call("delegate_to_helper", {"task": "t"})], [call("work")]],
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("times", [1, 2])
async def test_closing_ends_what_runs_tells_the_end_last_and_leaves_no_task(
    state: str, times: int
) -> None:
    before, release, started = asyncio.all_tasks(), threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    @tool(read_only=True)
    async def work() -> str:
        """Work."""
        started.set()
        await asyncio.Event().wait()
        return "worked"

    @tool(read_only=True)
    def toil() -> str:
        """Work in a thread."""
        loop.call_soon_threadsafe(started.set)
        release.wait(5)
        return "toiled"

    @tool
    async def change() -> str:
        """Change something."""
        return "changed"

    model, store = ScriptedModel(STATES[state]), MoodyStore(ticks=1)
    options: dict[str, Any] = {"store": store, "agents": [Agent("helper", "Helps.")]}
    async with opened(model, [work, toil, change], **options) as case:
        run = None
        if state != "at rest":
            marks = {"answer": "msg.text.delta", "question": "tool.permission.requested"}
            reached = asyncio.Event()
            case.session.subscribe(
                lambda event, _view: reached.set() if event.type == marks.get(state) else None
            )
            run = await case.session.send("one")
            await (reached if state in marks else started).wait()
        receipts = await asyncio.gather(*(case.session.close() for _ in range(times)))
        release.set()
        assert receipts == [Receipt("completed")] * times
        assert await case.session.close() == Receipt("completed")
        if run is not None:
            assert (await asyncio.wrap_future(run.future)).reason == "closed"
            assert case.types("turn.aborted") == ["turn.aborted"]
        assert (case.events[-1].type, case.types("session.ended")) == (
            "session.ended",
            ["session.ended"],
        )
        assert model.is_closed
    left = asyncio.all_tasks() - before
    if state == "thread" and left:  # a thread cannot be ended: what waits for it ends with it
        left = (await asyncio.wait(left, timeout=5))[1]
    assert left == set()


@pytest.mark.parametrize("ticks", range(10))
async def test_closing_while_a_message_is_admitted_runs_nothing_after_it(ticks: int) -> None:
    model = ScriptedModel([[text("a")], [text("b")]])
    async with opened(model, store=MoodyStore(ticks=2)) as case:
        sending = asyncio.ensure_future(case.session.send("one"))
        for _ in range(ticks):
            await asyncio.sleep(0)
        assert await case.session.close() == Receipt("completed")
        requests = len(model.requests)
        [outcome] = await asyncio.gather(sending, return_exceptions=True)
        if isinstance(outcome, BaseException):
            assert isinstance(outcome, SessionClosed)
        else:
            assert (await asyncio.wrap_future(outcome.future)).reason in ("closed", "completed")
        assert len(model.requests) == requests
        assert case.events[-1].type == "session.ended"
        kinds = await case.kinds()
        assert kinds.count("run_admitted") == kinds.count("run_ended")


async def test_a_session_closed_during_a_run_can_send_when_it_is_opened_again() -> None:
    gate, store = Gate(), MoodyStore()
    async with opened([[text("half"), gate]], store=store) as case:
        await case.session.send("one")
        await gate.reached.wait()
    options: dict[str, Any] = {"store": store, "session_id": case.session.session_id}
    async with opened([[text("whole")]], opening=2, **options) as again:
        view = again.session.view
        assert (view.phase, view.can_send, list(view.marks.values())) == ("idle", True, ["stopped"])
        assert (await again.retry()).text == "whole"


async def test_waiting_for_idle_waits_for_the_runs_that_follow_by_themselves() -> None:
    gate = Gate()
    model = ScriptedModel([[gate, text("a")], [text("b")], [text("c")]])
    async with opened(model, max_steps=1) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("two", "steering")
        await case.session.enqueue("three", "follow_up")
        waiting = [asyncio.ensure_future(case.session.wait_for_idle()) for _ in range(2)]
        gate.open()
        await asyncio.gather(*waiting)
        assert run.future.done()
        assert case.types("run.settled") == ["run.settled"] * 3
        assert [m.text for m in case.session.messages] == ["one", "a", "two", "b", "three", "c"]
        await case.session.wait_for_idle()
        assert await case.session.drain() == Receipt("completed")


async def test_drain_waits_no_longer_than_it_may_and_changes_nothing() -> None:
    gate = Gate()
    async with opened([[gate, text("a")]]) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        assert await case.session.drain(timeout_s=0) == Receipt("timeout", 0, is_running=True)
        gate.open()
        assert (await asyncio.wrap_future(run.future)).ok


async def test_a_session_cannot_be_copied() -> None:
    async with opened([]) as case:
        for copied in (copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="Fork it instead"):
                copied(case.session)


# --- listeners --------------------------------------------------------------------------------


async def test_listeners_that_raise_leave_or_speak_disturb_neither_the_others_nor_the_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[tuple[int, str]] = []
    left: list[str] = []
    async with opened([[text("a")]]) as case:

        def broken(_event: Event, _view: SessionView) -> None:
            raise ValueError("mine")

        def leaving(event: Event, _view: SessionView) -> None:
            left.append(event.type)
            leave()
            leave_later()

        def speaking(event: Event, _view: SessionView) -> None:
            if event.type == "turn.started":
                case.session.dismiss("n-0")

        case.session.subscribe(broken)
        leave = case.session.subscribe(leaving)
        leave_later = case.session.subscribe(lambda event, _view: left.append(event.type))
        case.session.subscribe(speaking)
        case.session.subscribe(lambda event, _view: heard.append((event.seq, event.type)))
        assert (await case.send("one")).text == "a"
        assert left == ["input.received"]
        seqs = [seq for seq, _ in heard]
        assert seqs == [*range(seqs[0], seqs[0] + len(seqs))]
        types = [name for _, name in heard]
        assert types.index("turn.started") < types.index("notice.dismissed")
        assert "a listener failed" in caplog.text


async def test_the_same_listener_twice_is_called_twice_and_leaves_once() -> None:
    heard: list[str] = []
    async with opened([]) as case:

        def listen(event: Event, _view: SessionView) -> None:
            heard.append(event.type)

        leave = case.session.subscribe(listen)
        case.session.subscribe(listen)
        await case.session.rename("one")
        leave()
        leave()
        await case.session.rename("two")
        assert heard == ["session.info.changed"] * 3


# --- what a host is told ----------------------------------------------------------------------


async def test_a_name_is_on_one_line_and_goes_with_an_empty_one() -> None:
    store = MoodyStore()
    async with opened([], store=store) as case:
        await case.session.rename(" two\n\rlines ")
        await case.session.rename("")
        await case.session.rename("kept")
        names = [event.name for event in case.events if isinstance(event, SessionInfoChanged)]
        assert names == ["two lines", None, "kept"]
    options: dict[str, Any] = {"store": store, "session_id": case.session.session_id}
    async with opened([], opening=2, **options) as again:
        assert again.session.view.name == "kept"


async def test_after_each_run_the_host_gets_the_history_and_learns_if_it_was_rewritten() -> None:
    commits: list[tuple[list[Any], HistoryMeta]] = []

    async def keep(history: list[Any], meta: HistoryMeta) -> None:
        commits.append((copy.deepcopy(history), meta))
        history.clear()

    model = ScriptedModel([[text(f"a{n}")] for n in range(4)])
    store = MoodyStore()
    async with opened(model, store=store, on_history_commit=keep, max_steps=1) as case:
        histories = []
        await case.send("one")
        histories.append(messages_to_wire(case.session.messages))
        await case.send("two")
        histories.append(messages_to_wire(case.session.messages))
        run, _ = await case.session.tree.edit(case.session.messages[2].id, "two anew")
        await asyncio.wrap_future(run.future)
        histories.append(messages_to_wire(case.session.messages))
        await case.session.drain()
        assert [history for history, _ in commits] == histories
        assert [meta.rewritten for _, meta in commits] == [False, False, True]
    options: dict[str, Any] = {"store": store, "session_id": case.session.session_id}
    async with opened([[text("b")]] * 2, opening=2, on_history_commit=keep, **options) as again:
        await again.send("three")
        run, _ = await again.session.tree.edit(again.session.messages[0].id, "one anew")
        await asyncio.wrap_future(run.future)
        await again.session.drain()
        assert [meta.rewritten for _, meta in commits[3:]] == [False, True]


async def test_a_host_that_fails_to_keep_a_history_ends_no_run_and_the_person_is_told() -> None:
    def fail(_history: list[Any], _meta: HistoryMeta) -> None:
        raise OSError(28, "No space left on device")

    async with opened([[text("a")]], on_history_commit=fail) as case:
        assert (await case.send("one")).ok
        await case.session.drain()
        [notice] = case.session.view.notices
        assert (notice.code, "No space" in notice.message) == ("on_history_commit", True)


async def test_what_waits_and_what_was_said_are_values_that_nobody_can_change() -> None:
    gate = Gate()
    async with opened([[gate, text("a")]]) as case:
        await case.session.send("one")
        await gate.reached.wait()
        await case.session.enqueue("s", "steering")
        await case.session.enqueue("f", "follow_up")
        waiting, messages = case.session.inputs.waiting, case.session.messages
        assert [(row.text, row.queue) for row in waiting] == [("s", "steering"), ("f", "follow_up")]
        await case.session.inputs.clear()
        gate.open()
        await case.session.wait_for_idle()
        assert (len(waiting), len(case.session.inputs.waiting)) == (2, 0)
        assert ([m.text for m in messages], len(case.session.messages)) == (["one"], 2)


async def test_a_session_tells_what_it_is_made_of_and_is_not_made_without_a_model() -> None:
    async with opened([]) as case:
        session = case.session
        assert (session.cwd, session.store) == (str(Path.cwd()), case.store)
        assert not session.hooks.has("before_tool")
    with pytest.raises(InvalidOptions, match="needs a model, and got None"):
        async with opened(None):  # type: ignore[arg-type]
            raise AssertionError("it was made")

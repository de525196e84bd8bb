"""What a session does while its store refuses, hangs or comes back."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.errors import SessionError
from agent_widget.core.events import Event, StorageChanged
from agent_widget.core.journal import Journal
from agent_widget.engine.ending import Receipt
from agent_widget.engine.recorder import RETRY_S
from agent_widget.engine.subagents import Agent
from agent_widget.store.files import Files
from agent_widget.store.jsonl import JsonlStore
from agent_widget.store.urls import open_store
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, text
from agent_widget.view.history import view_of
from agent_widget.view.model import SessionView
from tests.engine.stores import NO_SPACE, MoodyStore
from tests.engine.support import Case, FailingStore, opened
from tests.support.virtualtime import VirtualTimeLoop

pytestmark = pytest.mark.anyio


def banners(case: Case) -> list[tuple[str | None, int]]:
    """The trouble and how much waits, as the page was told."""
    return [
        (event.trouble, event.waiting_count)
        for event in case.events
        if isinstance(event, StorageChanged)
    ]


def in_virtual_time(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(work())


def test_what_happened_waits_in_order_the_banner_comes_and_goes_and_nobody_does_anything() -> None:
    async def live() -> None:
        store, gate, loop = MoodyStore(), Gate(), asyncio.get_running_loop()
        model = ScriptedModel([[text("a"), gate, call("look")], [text("b")], [text("c")]])

        @tool(read_only=True)
        async def look() -> str:
            """Look."""
            return "seen"

        async with opened(model, [look], store=store, permission={"mode": "allow_all"}) as case:
            run = await case.session.send("one")
            await gate.reached.wait()
            store.trouble = NO_SPACE
            gate.open()
            # A decision that cannot be stored lets nothing run, so the run ends with that.
            result = await asyncio.wrap_future(run.future)
            assert (result.reason, result.error and result.error.code) == (
                "error",
                "STORAGE_ERROR",
            )
            assert [count for _, count in banners(case)] == [0, 1, 2]
            assert case.session.view.storage.trouble == "[Errno 28] No space left on device"
            with pytest.raises(SessionError) as caught:
                await case.session.send("refused")
            assert caught.value.code == "STORAGE_ERROR"
            waiting = ["message", "run_ended"]
            assert (await case.kinds())[-1] not in waiting
            began_s = loop.time()
            healed = asyncio.Event()
            case.session.subscribe(
                lambda _event, view: healed.set() if view.storage.trouble is None else None
            )
            store.trouble = None
            await healed.wait()
            assert loop.time() - began_s <= RETRY_S
            assert banners(case)[-1] == (None, 0)
            assert (await case.kinds())[-2:] == waiting
            assert (await case.send("two")).ok

    in_virtual_time(live)


class Disk(Files):
    """A disk on which half of what is written still fits while it is full."""

    is_full = False

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.is_full:
            super().write(fd, data[: len(data) // 2])
            raise NO_SPACE
        return super().write(fd, data)


async def test_three_runs_without_space_are_all_there_once_there_is_space_again(
    tmp_path: Path,
) -> None:
    disk = Disk()
    store = JsonlStore(tmp_path, files=disk)
    gates = [Gate() for _ in range(3)]
    steps: list[Step] = [[text(f"a{n}"), gate] for n, gate in enumerate(gates)]
    model = ScriptedModel([*steps, [text("b")]])
    async with opened(model, store=store) as case:
        session_id = case.session.session_id
        for n, gate in enumerate(gates):
            run = await case.session.send(f"q{n}")
            await gate.reached.wait()
            disk.is_full = True
            gate.open()
            assert (await asyncio.wrap_future(run.future)).ok
            assert case.session.view.storage.trouble is not None
            with pytest.raises(SessionError):
                await case.session.send("refused")
            disk.is_full = False
        assert (await case.send("last")).ok
    again = JsonlStore(tmp_path)
    async with opened([], store=again, session_id=session_id, opening=2) as case:
        texts = [message.text for message in case.session.messages]
        assert texts == ["q0", "a0", "q1", "a1", "q2", "a2", "last", "b"]
    await store.aclose()
    await again.aclose()
    lines = (tmp_path / session_id / "records.jsonl").read_bytes().splitlines()
    assert all(line.startswith(b"{") and line.endswith(b"}") for line in lines)


@pytest.mark.parametrize("is_parallel", [False, True])
@pytest.mark.parametrize("is_nested", [False, True])
async def test_a_call_whose_decision_cannot_be_stored_does_not_run(
    is_parallel: bool, is_nested: bool
) -> None:
    ran: list[str] = []

    @tool(read_only=True)
    async def look(name: str) -> str:
        """Look."""
        ran.append(name)
        return name

    looks = [call("look", {"name": name}) for name in ("x", "y")[: 1 + is_parallel]]
    outer: list[Step] = [[call("delegate_to_helper", {"task": "t"})], [text("sorry")]]
    helper = Agent("helper", "Helps.", model=ScriptedModel([looks]))
    store = FailingStore()
    async with opened(
        outer if is_nested else [looks], [look], agents=[helper], store=store
    ) as case:

        def from_now_on(event: Event, _view: SessionView) -> None:
            if event.type == ("agent.spawned" if is_nested else "turn.started"):
                store.kinds.add("permission_decided")

        case.session.subscribe(from_now_on)
        result = await case.send("one")
        assert (result.reason, ran) == ("completed" if is_nested else "error", [])
        calls = case.session.messages[1].tool_calls
        if is_nested:
            [part] = calls
            assert part.agent is not None
            assert (part.state, part.agent.status) == ("error", "error")
            calls = part.agent.messages[0].tool_calls
        assert {part.state for part in calls} == {"error"}


# --- closing ----------------------------------------------------------------------------------


async def test_what_waits_is_stored_when_the_session_is_closed() -> None:
    store, gate = MoodyStore(), Gate()
    async with opened([[text("a"), gate]], store=store) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        store.trouble = NO_SPACE
        gate.open()
        await asyncio.wrap_future(run.future)
        assert await case.session.drain() == Receipt("failed", 2, problem=str(NO_SPACE))
        store.trouble = None
        assert await case.session.close() == Receipt("completed")
        assert (await case.kinds())[-2:] == ["message", "run_ended"]


async def test_closing_says_what_could_not_be_stored() -> None:
    store, gate = MoodyStore(), Gate()
    async with opened([[text("a"), gate]], store=store) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        store.trouble = NO_SPACE
        gate.open()
        await asyncio.wrap_future(run.future)
        receipt = Receipt("failed", 2, problem=str(NO_SPACE))
        assert await case.session.close() == receipt
        assert await case.session.close() == receipt
        assert case.session.view.phase == "closed"


def test_closing_a_session_whose_store_hangs_ends_in_time_and_drain_tells_when_it_is_done() -> None:
    async def live() -> None:
        store, gate, loop = MoodyStore(), Gate(), asyncio.get_running_loop()
        async with opened([[text("a"), gate]], store=store) as case:
            run = await case.session.send("one")
            await gate.reached.wait()
            store.open.clear()
            gate.open()
            began_s = loop.time()
            receipt = await case.session.close(timeout_s=3)
            assert (receipt, loop.time() - began_s) == (Receipt("timeout", 0, True), 3)
            assert (case.session.view.phase, case.events[-1].type) == ("closed", "session.ended")
            store.open.set()
            assert await case.session.drain() == Receipt("completed")
            assert case.events[-1].type == "session.ended"
            assert (await asyncio.wrap_future(run.future)).reason == "closed"
            assert (await case.kinds())[-1] == "run_ended"

    in_virtual_time(live)


# --- a real database --------------------------------------------------------------------------


async def test_a_database_that_is_locked_for_a_while_delays_records_and_shows_nothing(
    tmp_path: Path,
) -> None:
    path, gate = tmp_path / "chats.db", Gate()
    store, is_locked, lag = open_store(str(path)), threading.Event(), [0.0]

    def hold() -> None:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        is_locked.set()
        threading.Event().wait(0.3)
        other.execute("COMMIT")
        other.close()

    async def beat() -> None:
        loop = asyncio.get_running_loop()
        while True:
            before_s = loop.time()
            await asyncio.sleep(0.005)
            lag[0] = max(lag[0], loop.time() - before_s)

    async with opened([[text("a"), gate, text("b")]], store=store) as case:
        run = await case.session.send("one")
        await gate.reached.wait()
        holder = threading.Thread(target=hold)
        holder.start()
        await asyncio.to_thread(is_locked.wait)
        heart = asyncio.create_task(beat())
        gate.open()
        assert (await asyncio.wrap_future(run.future)).text == "ab"
        heart.cancel()
        await asyncio.to_thread(holder.join)
        assert [trouble for trouble, _ in banners(case)] == [None]
        assert (await case.kinds())[-3:] == ["run_admitted", "message", "run_ended"]
        assert lag[0] < 0.1
    await store.aclose()


def test_a_store_that_hangs_refuses_commands_in_time_and_what_it_kept_of_them_is_void() -> None:
    async def live() -> None:
        store, loop = MoodyStore(), asyncio.get_running_loop()
        async with opened([[text("a")], [text("b")]], store=store, store_grace_s=5) as case:
            await case.send("one")
            store.open.clear()
            for name, waited_s in (("first", 5), ("second", 0)):
                begun = loop.time()
                with pytest.raises(SessionError, match="not answered for 5 s") as refused:
                    await case.session.send(name)
                assert (refused.value.code, loop.time() - begun) == ("STORAGE_ERROR", waited_s)
            assert (case.session.view.phase, case.session.run_id) == ("idle", None)
            assert "not answered" in (banners(case)[-1][0] or "")
            store.open.set()
            await asyncio.sleep(RETRY_S * 2)
            assert banners(case)[-1] == (None, 0)
            assert (await case.send("third")).text == "b"
            await stored_is_live(case)
            texts = [message.text for message in case.session.messages]
            assert texts == ["one", "a", "third", "b"]

    in_virtual_time(live)


def test_what_happens_while_a_store_hangs_is_written_in_order_once_it_answers() -> None:
    async def live() -> None:
        store, gate = MoodyStore(), Gate()
        async with opened([[text("a"), gate, text("b")]], store=store, store_grace_s=5) as case:
            run = await case.session.send("one")
            await gate.reached.wait()
            store.open.clear()
            gate.open()
            assert (await asyncio.wrap_future(run.future)).text == "ab"
            assert [count for _, count in banners(case)][-1] == 2
            store.open.set()
            await asyncio.sleep(RETRY_S * 2)
            assert case.session.view.storage.waiting_count == 0
            assert (await case.kinds())[-2:] == ["message", "run_ended"]
            await stored_is_live(case)

    in_virtual_time(live)


async def stored_is_live(case: Case) -> None:
    journal = Journal.of(await case.records())
    assert view_of(journal, journal.leaf).chat == case.session.view.chat
    assert journal.open_run is None

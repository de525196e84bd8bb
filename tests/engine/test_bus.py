"""Telling events: a reader gets all of them or is told what it lost; nobody holds up others."""

from __future__ import annotations

import asyncio
import gc
import logging
import math
import threading
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.events import (
    Event,
    EventsDropped,
    MsgTextDelta,
    SessionEnded,
    SessionReset,
    SessionStopping,
)
from agent_widget.engine.bus import Bus, BusStatistics, EventStream, size_bytes
from agent_widget.engine.eventqueue import EventQueue
from agent_widget.policy.events import EventOptions, event_options
from agent_widget.view.model import SessionView

pytestmark = pytest.mark.anyio


def event(seq: int) -> Event:
    return SessionStopping(session_id="s-1", seq=seq, ts=seq)


def small(pending: float = 3) -> Bus:
    options = EventOptions(max_backlog_events=3, max_pending_events=pending)
    return Bus(options, size_bytes=lambda _: 10)


async def rest(stream: EventStream) -> list[int | tuple[int, int]]:
    """What is left to read: the number of an event, the first and last of those dropped."""
    return [
        (event.first_dropped_seq, event.last_dropped_seq)
        if isinstance(event, EventsDropped)
        else event.seq
        async for event in stream
    ]


# --- readers ----------------------------------------------------------------------------------


async def test_a_reader_waits_for_what_comes_and_ends_with_the_session() -> None:
    bus = Bus()
    read = asyncio.create_task(rest(bus.events()))
    for seq in range(3):
        await asyncio.sleep(0)
        bus.publish(event(seq))
    bus.publish(SessionEnded(seq=3))
    bus.publish(event(4))
    assert await read == [0, 1, 2, 3]
    assert await rest(bus.events()) == []


async def test_a_session_that_has_ended_unread_can_still_be_read() -> None:
    bus = Bus()
    bus.publish(event(0))
    bus.publish(SessionEnded(seq=1))
    assert await rest(bus.events()) == [0, 1]


async def test_a_slow_reader_loses_the_oldest_and_is_told_so_once_each_time() -> None:
    bus = small()
    slow, fast = bus.events(), bus.events()
    for seq in range(6):
        bus.publish(event(seq))
        assert (await anext(fast)).seq == seq
    report = await anext(slow)
    assert isinstance(report, EventsDropped)
    assert (report.session_id, report.seq, report.source) == ("s-1", 0, "sdk")
    assert (report.dropped_count, report.reason, report.max_events) == (3, "count_limit", 3)
    assert [(await anext(slow)).seq for _ in range(3)] == [3, 4, 5]
    for seq in range(6, 10):
        bus.publish(event(seq))
    bus.publish(SessionEnded(seq=10))
    assert await rest(slow) == [(6, 7), 8, 9, 10]
    assert await rest(fast) == [(6, 7), 8, 9, 10]


async def test_the_backlog_is_whole_for_a_reader_whatever_its_own_bound() -> None:
    bus = small(pending=1)
    for seq in range(5):
        bus.publish(event(seq))
    stream = bus.events()
    bus.publish(event(5))
    bus.publish(SessionEnded(seq=6))
    assert await rest(stream) == [(0, 1), 2, 3, 4, (5, 5), 6]


async def test_a_reader_that_breaks_out_is_unsubscribed() -> None:
    bus = Bus()
    bus.publish(event(0))
    async for _ in bus.events():
        break
    gc.collect()
    assert bus.statistics().reader_count == 0
    async with aclosing(bus.events()) as stream:
        async for _ in stream:
            break
        assert bus.statistics().reader_count == 1
    assert bus.statistics().reader_count == 0


async def test_a_reader_that_is_cancelled_loses_nothing_and_can_go_on() -> None:
    bus = Bus()
    stream = bus.events()
    waiting = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    waiting.cancel()
    bus.publish(event(0))
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await anext(stream)).seq == 0


async def test_one_stream_has_one_reader() -> None:
    stream = Bus().events()
    first = asyncio.create_task(anext(stream))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match=r"Call events\(\) for each reader"):
        await anext(stream)
    await stream.aclose()
    with pytest.raises(StopAsyncIteration):
        await first


async def test_readers_on_other_loops_get_all_of_it_in_order() -> None:
    bus = Bus()
    streams = [bus.events() for _ in range(2)]
    results: list[Any] = [None, None]

    def read(at: int) -> None:
        results[at] = asyncio.run(rest(streams[at]))

    threads = [threading.Thread(target=read, args=(at,)) for at in range(2)]
    for thread in threads:
        thread.start()
    for seq in range(500):
        bus.publish(event(seq))
    bus.publish(SessionEnded(seq=500))
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert results == [[*range(501)]] * 2


def test_a_reader_whose_loop_is_gone_holds_nobody_up() -> None:
    bus = small()
    stream = bus.events()

    loop = asyncio.new_event_loop()
    waiting = loop.create_task(anext(stream))
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    other = bus.events()
    for seq in range(2):
        bus.publish(event(seq))
    bus.publish(SessionEnded(seq=2))
    assert asyncio.run(rest(other)) == [0, 1, 2]
    assert not waiting.done()


async def test_what_waits_is_counted() -> None:
    bus = small()
    for seq in range(4):
        bus.publish(event(seq))
    assert bus.statistics() == BusStatistics(0, 4, 30, 1)
    stream = bus.events()
    bus.publish(event(4))
    await anext(stream)
    assert bus.statistics() == BusStatistics(1, 4, 10, 0)


@given(
    st.lists(st.integers(1, 9), max_size=30),
    st.sampled_from([1, 3, math.inf]),
    st.sampled_from([1, 20, math.inf]),
    st.lists(st.integers(0, 4), max_size=10),
)
def test_each_event_is_read_or_reported_once_and_in_order(
    sizes: list[int], max_events: float, max_bytes: float, reads: list[int]
) -> None:
    queue = EventQueue(max_events, max_bytes, "test")
    got: list[int] = []

    def read(count: float) -> None:
        while count > 0 and (taken := queue.take()) is not None:
            count -= 1
            if isinstance(taken, EventsDropped):
                got.extend(range(taken.first_dropped_seq, taken.last_dropped_seq + 1))
                assert taken.dropped_count == 1 + taken.last_dropped_seq - taken.first_dropped_seq
                assert taken.dropped_bytes == sum(
                    sizes[taken.first_dropped_seq : taken.last_dropped_seq + 1]
                )
            else:
                got.append(taken.seq)

    for seq, size in enumerate(sizes):
        queue.put(event(seq), size)
        assert len(queue) <= max_events + 1
        assert queue.size_bytes <= max(max_bytes, size)
        read(reads[seq % len(reads)] if reads and seq % 3 == 0 else 0)
    read(math.inf)
    assert got == [*range(len(sizes))]
    assert (len(queue), queue.size_bytes) == (0, 0)


def test_an_event_is_as_big_as_its_json_even_with_half_a_character() -> None:
    for text in ("x" * 5000, "\ud800" * 5000):
        size = size_bytes(MsgTextDelta(message_id="a", index=0, text=text))
        assert 5000 <= size <= 5000 * 7


# --- listeners --------------------------------------------------------------------------------


async def test_listeners_are_called_in_order_and_one_that_fails_harms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus, heard = Bus(), []

    def listener(name: str) -> Callable[[Event, SessionView], None]:
        return lambda event, view: heard.append((name, event.seq, view.session_id))

    def fails(_event: Event, _view: SessionView) -> None:
        raise ValueError("a listener's own fault")

    bus.subscribe(listener("first"))
    bus.subscribe(fails)
    leave = bus.subscribe(listener("last"))
    view = SessionView(session_id="s-1")
    with caplog.at_level(logging.ERROR):
        bus.publish(event(0), view)
    leave()
    leave()
    bus.publish(event(1), view)
    assert heard == [("first", 0, "s-1"), ("last", 0, "s-1"), ("first", 1, "s-1")]
    assert "a listener failed on session.stopping" in caplog.text


async def test_a_listener_may_call_back() -> None:
    bus, heard = Bus(), []
    stream = bus.events()

    def answers(event: Event, _view: SessionView) -> None:
        if event.seq == 0:
            bus.publish(SessionReset(seq=1))
            bus.subscribe(lambda event, _view: heard.append(("late", event.seq)))
            bus.events()

    bus.subscribe(answers)
    bus.subscribe(lambda event, _view: heard.append(("other", event.seq)))
    bus.publish(event(0))
    bus.publish(SessionEnded(seq=2))
    assert heard == [("other", 0), ("other", 1), ("late", 1), ("other", 2), ("late", 2)]
    assert await rest(stream) == [0, 1, 2]


# --- hooks ------------------------------------------------------------------------------------


async def test_a_producer_goes_on_when_the_hooks_are_through_in_their_order(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus, log = Bus(), []
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(event: Event) -> None:
        log.append(("slow begins", event.seq))
        begun.set()
        await go.wait()
        log.append(("slow", event.seq))

    async def fails(_event: Event) -> None:
        raise ValueError("a hook's own fault")

    async def last(event: Event) -> None:
        log.append(("last", event.seq))

    bus.subscribe(lambda event, _view: log.append(("listener", event.seq)))
    ids = [bus.add_hook(hook) for hook in (slow, fails, last)]

    async def produce() -> None:
        for seq in range(2):
            bus.publish(event(seq))
            await bus.relieved()

    producer = asyncio.create_task(produce())
    await begun.wait()
    assert log == [("listener", 0), ("slow begins", 0)]
    go.set()
    with caplog.at_level(logging.ERROR):
        await producer
    assert log[2:5] == [("slow", 0), ("last", 0), ("listener", 1)]
    assert "a hook failed on session.stopping" in caplog.text
    assert [bus.remove_hook(hook_id) for hook_id in (*ids, ids[0])] == [True, True, True, False]
    before = len(log)
    bus.publish(event(2))
    await bus.relieved()
    assert log[before:] == [("listener", 2)]


async def test_a_hook_that_makes_events_or_waits_for_hooks_holds_nobody_up_for_ever() -> None:
    bus, seen = Bus(), []

    async def echo(event: Event) -> None:
        seen.append(event.seq)
        bus.publish(SessionReset(seq=event.seq + 1))
        await bus.relieved()

    bus.add_hook(echo)
    bus.publish(event(0))
    await asyncio.wait_for(bus.relieved(), 5)
    assert seen == [0]
    await asyncio.wait_for(bus.relieved(), 5)
    assert seen == [0, 1]


async def test_a_stop_ends_waiting_for_a_hook_and_the_next_event_is_hooked_again() -> None:
    bus, seen, begun = Bus(), [], asyncio.Event()

    async def hook(event: Event) -> None:
        seen.append(event.seq)
        begun.set()
        if event.seq == 0:
            await asyncio.Event().wait()

    bus.add_hook(hook)
    bus.publish(event(0))
    waiting = asyncio.create_task(bus.relieved())
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    bus.publish(event(1))
    await asyncio.wait_for(bus.relieved(), 5)
    assert seen == [0, 1]


# --- options ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ({"max_backlog_events": -1}, "max_backlog_events is -1, expected a positive number"),
        ({"max_pending_bytes": math.nan}, "max_pending_bytes is nan"),
        ({"max_pending_events": None}, "max_pending_events is None"),
        ({"max_backlog": 3}, "an option of events is 'max_backlog', expected one of"),
        (["max_backlog_events"], "expected a mapping"),
    ],
)
def test_wrong_bounds_are_refused_by_name(option: Any, problem: str) -> None:
    with pytest.raises(InvalidOptions, match=problem):
        event_options(option)


def test_bounds_have_defaults() -> None:
    assert event_options(None) == event_options({}) == event_options(EventOptions())
    assert (EventOptions().max_backlog_events, EventOptions().max_backlog_bytes) == (1000, 2**21)

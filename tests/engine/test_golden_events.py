"""What sessions tell, event by event; and that a view folded from it is the session's own."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from agent_widget.core.events import Event
from agent_widget.core.eventwire import event_from_wire, event_to_wire
from agent_widget.view.live import Delivery, LiveView
from agent_widget.view.model import SessionView
from agent_widget.view.project import project
from tests.engine.support import Case
from tests.support.goldenevents import FOLDER, NAMES, played, told

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", NAMES)
async def test_a_session_tells_exactly_these_events(name: str) -> None:
    expected = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    events = await told(name)
    for number, (event, wanted) in enumerate(zip(events, expected, strict=False)):
        assert event == wanted, f"event {number} of {name}"
    assert len(events) == len(expected), "Run: python -m tests.support.goldenevents"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "branches"])
async def test_the_fold_of_the_events_on_the_wire_is_the_view_of_the_session(name: str) -> None:
    async with played(name) as case:
        pass
    wires = [json.loads(json.dumps(event_to_wire(event))) for event in case.events]
    events = [event for event in map(event_from_wire, wires) if event is not None]
    assert events == case.events
    assert functools.reduce(project, events, SessionView()) == case.session.view


@pytest.mark.parametrize("name", NAMES)
async def test_a_view_of_ones_own_is_that_of_the_session_after_every_event(name: str) -> None:
    different: list[tuple[str, Any]] = []

    async def watch(case: Case) -> None:
        live = LiveView(case.session.view)

        def push(event: Event, view: SessionView) -> None:
            if live.push(event, view) != view:
                different.append((event.type, event.seq))

        case.session.subscribe(push)

    async with played(name, watch):
        pass
    assert different == []


def parts(live: LiveView) -> list[Any]:
    """The parts of all messages, those of sub-agents too."""
    snapshot = live.snapshot()
    runs = (snapshot, *snapshot["agents"].values())
    return [message["parts"] for run in runs for message in run["messages"]]


@pytest.mark.parametrize("name", NAMES)
async def test_at_rest_delivery_has_only_decided_whether_thinking_is_there(name: str) -> None:
    own, *others = lives = [
        LiveView(delivery=delivery)
        for delivery in (
            Delivery(),
            Delivery(text="final"),
            Delivery(thinking="final"),
            Delivery(thinking="off"),
        )
    ]

    def push(event: Event, view: SessionView) -> None:
        for live in lives:
            live.push(event, view)

    async def watch(case: Case) -> None:
        for event in case.events:
            push(event, case.session.view)
        case.session.subscribe(push)

    async with played(name, watch):
        pass
    unthought = [[part for part in each if part["type"] != "reasoning"] for each in parts(own)]
    assert [parts(live) for live in others] == [parts(own), parts(own), unthought]

"""Laws of the view: projection and patches agree for every history."""

from __future__ import annotations

import functools
import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent_widget.core.events import BlockStart, Event, MsgTextDelta, TurnError
from agent_widget.core.eventwire import event_to_wire
from agent_widget.core.feed import actions_of
from agent_widget.core.reducer import session_reducer
from agent_widget.core.state import empty_state
from agent_widget.view.model import MAX_NOTICES, Notice, SessionView
from agent_widget.view.patch import apply, diff
from agent_widget.view.project import project
from agent_widget.view.schema import view_to_wire
from agent_widget.view.snapshot import snapshot_of
from tests.support.strategies import EVENTS

SESSIONS = st.lists(EVENTS, max_size=30)
CUTS = st.lists(st.integers(0, 30), max_size=6)


def views_of(events: list[Event]) -> list[SessionView]:
    views = [SessionView()]
    for event in events:
        views.append(project(views[-1], event))
    return views


@given(SESSIONS, CUTS)
def test_applying_differences_gives_the_wire_form_of_the_new_view(
    events: list[Event], cuts: list[int]
) -> None:
    views = views_of(events)
    stops = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    wire: Any = view_to_wire(views[0])
    for before, after in itertools.pairwise(stops):
        wire = apply(wire, diff(views[before], views[after]))
        assert wire == view_to_wire(views[after])


@given(SESSIONS, st.integers(0, 30), st.integers(0, 30))
def test_any_two_views_of_a_session_can_be_bridged(
    events: list[Event], one: int, other: int
) -> None:
    views = views_of(events)
    before, after = views[min(one, len(events))], views[min(other, len(events))]
    wire: Any = view_to_wire(before)
    assert apply(wire, diff(before, after)) == view_to_wire(after)


@given(SESSIONS)
def test_chat_of_the_view_is_the_fold_of_the_actions(events: list[Event]) -> None:
    actions = [action for event in events for action in actions_of(event)]
    state = functools.reduce(session_reducer, actions, empty_state())
    assert views_of(events)[-1].chat == state


@given(SESSIONS)
def test_earlier_views_stay_what_they_were(events: list[Event]) -> None:
    views = [SessionView()]
    wires = [view_to_wire(views[0])]
    for event in events:
        views.append(project(views[-1], event))
        wires.append(view_to_wire(views[-1]))
    assert [view_to_wire(view) for view in views] == wires


@given(SESSIONS)
def test_view_and_events_are_json(events: list[Event]) -> None:
    wire = view_to_wire(views_of(events)[-1])
    assert json.loads(json.dumps(wire)) == wire
    for event in events:
        flat = event_to_wire(event)
        assert json.loads(json.dumps(flat)) == flat
        assert flat["type"] == event.type


def test_a_delta_costs_one_small_operation_whatever_came_before() -> None:
    view = SessionView()
    for size in (10, 10_000, 100_000):
        start = MsgTextDelta(message_id="a-1", index=0, text="x" * size)
        view = project(_with_message(view), start)
        after = project(view, MsgTextDelta(message_id="a-1", index=0, text="more"))
        [op] = diff(view, after)
        assert op == ["append", ["messages", 0, "parts", 0, "text"], "more"]


def _with_message(view: SessionView) -> SessionView:
    return project(view, BlockStart(message_id="a-1", index=0, block_type="text"))


@given(SESSIONS, st.sampled_from(["model", "persistence", "hook"]), st.text(max_size=6))
def test_a_recoverable_error_is_a_notice_and_nothing_else(
    events: list[Event], scope: str, message: str
) -> None:
    """The session is open, whatever it is: what may be sent or tried again is as it was."""
    before = views_of(events)[-1]
    after = project(before, TurnError(seq=99, scope=scope, message=message, recoverable=True))
    kept = before.notices[1:] if len(before.notices) == MAX_NOTICES else before.notices
    assert after == replace(before, notices=(*kept, Notice("n-99", scope, message)))


@given(SESSIONS)
def test_the_error_of_a_view_always_says_whether_it_is_recoverable(events: list[Event]) -> None:
    for view in views_of(events):
        error = snapshot_of(view)["last_error"]
        assert error is None or isinstance(error["recoverable"], bool)

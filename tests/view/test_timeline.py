"""Timelines: a file folds into the live states, the diagram is the reducer, what if is its fold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

import pytest

from agent_widget.core.actions import (
    Action,
    ApplyPart,
    Finish,
    MessageStart,
    Reset,
    Retry,
    Send,
    StepFinish,
    Stop,
    StreamError,
    TextDelta,
    ToolCall,
    ToolError,
    ToolPhase,
    ToolResult,
)
from agent_widget.core.errors import SessionError
from agent_widget.core.events import Event, MsgRetracted
from agent_widget.core.machine import NONE, action_name, call_edges, session_edges
from agent_widget.core.messages import Message, ToolPart, ToolState, user_message
from agent_widget.core.records import Record
from agent_widget.core.reducer import session_reducer
from agent_widget.core.state import SessionState, Status, empty_state
from agent_widget.core.toolevents import denial
from agent_widget.core.wire import state_to_wire
from agent_widget.view.model import SessionView
from agent_widget.view.timeline import Timeline, timeline_of
from agent_widget.view.timelinewire import (
    TimelineWriter,
    lane_to_wire,
    machines_to_wire,
)
from agent_widget.view.whatif import folded_again, read_change
from tests.engine.support import Case
from tests.support.goldenevents import NAMES, played

anyio = pytest.mark.anyio


def applied(value: Any, ops: Sequence[Any]) -> Any:
    """What a page makes of the operations."""
    value = json.loads(json.dumps(value))
    for path, *rest in ops:
        *way, last = path
        place = value
        for key in way:
            place = place[key]
        if not rest:
            del place[last if isinstance(place, dict) else slice(last, None)]
        elif len(rest) == 2:
            place[last] += rest[0]
        elif isinstance(place, list) and last == len(place):
            place.append(rest[0])
        else:
            place[last] = rest[0]
    return value


async def lived(name: str) -> tuple[Timeline, list[SessionState], Sequence[Record]]:
    """A golden session: its timeline, its state after each event, its records."""
    timeline, states = Timeline(), [empty_state()]

    async def watch(case: Case) -> None:
        def told(event: Event, view: SessionView) -> None:
            timeline.push(event, view.chat)
            states.append(view.chat)

        case.session.subscribe(told)

    async with played(name, watch) as case:
        pass
    return timeline, states, await case.records()


def distinct(states: Sequence[SessionState]) -> list[SessionState]:
    """The states without those that only repeat the one before."""
    found: list[SessionState] = []
    for state in states:
        if not found or state != found[-1]:
            found.append(state)
    return found


def is_unstored(state: SessionState) -> bool:
    """Whether a question is open: a journal has the answer alone."""
    return any(
        call.state == "awaiting-confirmation"
        for message in state.messages
        for call in message.tool_calls
    )


@anyio
@pytest.mark.parametrize("name", NAMES)
async def test_each_state_in_the_fold_of_a_file_was_the_live_state_in_that_order(name: str) -> None:
    live, states, records = await lived(name)
    file = timeline_of(records)
    wanted = iter(distinct(states))
    for state in distinct([step.state for step in file.steps]):
        assert any(state == other for other in wanted), state
    assert file.state == live.state
    # No other state of the live one is missing but open questions and what was taken back.
    stored = distinct([step.state for step in file.steps])
    missing = [step.state for step in live.steps if step.state not in [empty_state(), *stored]]
    gone = {step.event.message_id for step in live.steps if isinstance(step.event, MsgRetracted)}
    assert all(is_unstored(state) or state.messages[-1].id in gone for state in missing)


@anyio
@pytest.mark.parametrize("name", NAMES)
async def test_the_wire_folds_into_every_state_and_every_request(name: str) -> None:
    live, _, _ = await lived(name)
    writer = TimelineWriter(live)
    state: Any = state_to_wire(empty_state())
    for wire, step in zip(json.loads(json.dumps(writer.steps())), live.steps, strict=True):
        state = applied(state, wire["ops"])
        assert state == state_to_wire(step.state)
    assert writer.steps(len(live.steps) - 1) == writer.steps()[-1:]
    rows = writer.requests()["rows"]
    assert len(rows) == len(live.requests) > 0
    assert all(row["messages"] is None for row in rows)  # each is what the state before it holds


def call_in(state: ToolState) -> SessionState:
    call = ToolPart("c", "look", {}, state)
    message = Message("a", "assistant", (call,))
    return SessionState.of((user_message("u", "hi"), message), "streaming")


ACTIONS: tuple[Action, ...] = (
    Send("u-2", "again"),
    Retry(),
    Stop(),
    Reset(),
    ToolPhase("look", "running"),
    ToolPhase("look", "awaiting-confirmation"),
    *(
        ApplyPart(part)
        for part in (
            MessageStart("a-2"),
            TextDelta("a", "more"),
            ToolCall("a", "new", "look", {}),
            ToolResult("c", 1),
            ToolError("c", {"code": "boom"}),
            ToolError("c", {"code": "cancelled"}),
            StepFinish(),
            Finish(),
            Finish("aborted"),
            StreamError("gone"),
        )
    ),
)


def test_the_diagram_of_a_session_is_what_the_reducer_does() -> None:
    taken = set()
    for status in get_args(Status):
        before = SessionState.of(call_in("running").messages, status)
        for action in ACTIONS:
            after, name = session_reducer(before, action), action_name(action)
            edges = [e for e in session_edges() if (e.source, e.action) == (status, name)]
            assert [edge.target for edge in edges] in ([], [after.status]), name
            assert edges or after.status == status
            taken |= {*edges}
    assert taken == {*session_edges()}


def test_the_diagram_of_a_call_is_what_the_reducer_does() -> None:
    taken = set()
    for source in get_args(ToolState):
        before = call_in(source)
        for action in ACTIONS:
            if isinstance(action, Reset | Retry):
                continue  # they drop calls; no state of one changes
            after = session_reducer(before, action)
            for call in (call for message in after.messages for call in message.tool_calls):
                was = source if call.id == "c" else NONE
                way = [
                    edge
                    for edge in call_edges()
                    if (edge.source, edge.target, edge.action)
                    == (was, call.state, action_name(action))
                ]
                assert way or was == call.state, (was, call.state, action)
                taken |= {*way}
    assert taken == {*call_edges()}
    drawn = {machine["name"]: machine["edges"] for machine in machines_to_wire()}
    assert [len(drawn["session"]), len(drawn["call"])] == [len(session_edges()), len(call_edges())]


@anyio
@pytest.mark.parametrize("name", NAMES)
async def test_to_fold_again_with_the_same_actions_changes_nothing(name: str) -> None:
    live, _, _ = await lived(name)
    for at in range(len(live.steps)):
        if live.steps[at].actions:
            wire = TimelineWriter(live).steps()[at]["actions"]
            lane = folded_again(live.steps, at, read_change({"kind": "actions", "actions": wire}))
            assert lane.first is None, (at, wire)
            assert [step.state for step in lane.steps] == [step.state for step in live.steps[at:]]


@anyio
async def test_another_decision_changes_what_follows_and_nothing_that_was() -> None:
    live, _, _ = await lived("permission")
    before = [step.state for step in live.steps]
    decided = [
        index
        for index, step in enumerate(live.steps)
        if step.event.type == "tool.permission.decided"
    ]
    allowed = folded_again(live.steps, decided[0], read_change({"kind": "deny", "reason": "no"}))
    assert allowed.first == decided[0]
    call = allowed.steps[-1].state.messages[1].tool_calls[0]
    assert (call.state, call.error) == ("cancelled", {"code": "cancelled", "message": denial("no")})
    assert any(step.is_left_out for step in allowed.steps)
    denied = next(
        index for index in decided if "deny" in getattr(live.steps[index].event, "decision", "")
    )
    other = folded_again(live.steps, denied, read_change({"kind": "allow", "output": "fine"}))
    assert ("done", "fine") in [
        (call.state, call.output) for call in other.steps[-1].state.messages[1].tool_calls
    ]
    wire = lane_to_wire(other, live.steps)
    state: Any = state_to_wire(live.state_before(denied))
    for row in wire["steps"]:
        state = applied(state, row["ops"])
    assert state == state_to_wire(other.steps[-1].state)
    assert [step.state for step in live.steps] == before


@anyio
async def test_a_change_that_cannot_be_says_why() -> None:
    live, _, _ = await lived("permission")
    with pytest.raises(SessionError, match="decides no question"):
        folded_again(live.steps, 0, read_change({"kind": "deny"}))
    with pytest.raises(SessionError, match="no step 10000"):
        folded_again(live.steps, 10_000, read_change({"kind": "skip"}))
    with pytest.raises(SessionError, match="no action: 'jump'"):
        read_change({"kind": "actions", "actions": [{"type": "jump"}]})
    with pytest.raises(SessionError, match="no change"):
        read_change({"kind": "else"})

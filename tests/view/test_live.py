"""A view of one's own: how answers are delivered, what is taken back, and what it is as data."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.events import (
    AgentCompleted,
    AgentProgress,
    AgentSpawned,
    BlockEnd,
    BlockStart,
    BlockType,
    Event,
    InputReceived,
    MsgRetracted,
    MsgTextDelta,
    MsgThinkingDelta,
    PermissionDecided,
    SessionCreated,
    SessionEnded,
    ToolCompleted,
    ToolProposed,
    TurnAborted,
    TurnError,
    TurnStarted,
)
from agent_widget.core.eventwire import event_from_wire
from agent_widget.view.live import Delivery, LiveView, delivery_of
from agent_widget.view.model import MAX_NOTICES, SessionView
from agent_widget.view.project import project
from tests.support.strategies import EVENTS


def start(index: int, kind: BlockType = "text", agent_id: str | None = None) -> Event:
    return BlockStart(message_id="a-1", index=index, block_type=kind, agent_id=agent_id)


def delta(index: int, text: str, agent_id: str | None = None) -> Event:
    return MsgTextDelta(message_id="a-1", index=index, text=text, agent_id=agent_id)


def thought(index: int, text: str) -> Event:
    return MsgThinkingDelta(message_id="a-1", index=index, text=text)


def end(index: int, kind: BlockType = "text", text: str | None = None) -> Event:
    return BlockEnd(message_id="a-1", index=index, block_type=kind, text=text)


def proposed(call_id: str, agent_id: str | None = None) -> Event:
    return ToolProposed(
        message_id="a-1", tool_call_id=call_id, name="look", args={}, agent_id=agent_id
    )


def shown(live: LiveView) -> list[str]:
    """The parts of the last message, in short."""
    [*_, message] = live.snapshot()["messages"]
    return [f"{part['type']}:{part.get('text', part.get('id'))}" for part in message["parts"]]


def after(*events: Event, delivery: Delivery | None = None) -> LiveView:
    live = LiveView(delivery=delivery)
    for event in events:
        live.push(event)
    return live


@given(st.lists(EVENTS, max_size=30))
def test_with_the_default_delivery_it_is_the_fold_of_the_events(events: list[Event]) -> None:
    live, folded = LiveView(), SessionView()
    for event in events:
        folded = project(folded, event)
        assert live.push(event) == folded


@given(st.lists(EVENTS, max_size=12))
def test_a_snapshot_is_json_and_shares_nothing_with_later_ones(events: list[Event]) -> None:
    live = LiveView()
    snapshots = []
    for event in events:
        live.push(event)
        snapshots.append((live.snapshot(), json.dumps(live.snapshot())))
    for snapshot, text in snapshots:
        assert json.loads(text) == snapshot
        assert json.dumps(snapshot) == text


# --- delivery ---------------------------------------------------------------------------------


def test_thinking_streams_is_shown_at_the_end_of_its_block_or_never() -> None:
    events = [start(0, "thinking"), thought(0, "so "), thought(0, "what")]
    ending = end(0, "thinking", "so what")
    for mode, during, later in [
        ("stream", ["reasoning:so what"], ["reasoning:so what"]),
        ("final", [], ["reasoning:so what"]),
        ("off", [], []),
    ]:
        live = after(*events, delivery=delivery_of({"thinking": mode}))
        assert shown(live) == during
        live.push(ending)
        assert shown(live) == later


def test_another_delivery_holds_from_the_next_block_on() -> None:
    live = after(start(0), delta(0, "a"))
    live.set_delivery(Delivery(text="final"))
    live.push(delta(0, "b"))
    assert shown(live) == ["text:ab"]
    for event in (end(0), start(1), delta(1, "c")):
        live.push(event)
    live.set_delivery(Delivery())
    live.push(delta(1, "d"))
    assert shown(live) == ["text:ab"]
    live.push(end(1))
    assert shown(live) == ["text:abcd"]


@pytest.mark.parametrize(
    "ending",
    [
        TurnAborted(reason="interrupted"),
        TurnError(scope="model", message="gone", recoverable=False),
    ],
)
def test_text_that_was_held_back_is_there_once_its_run_has_ended(ending: Event) -> None:
    live = after(start(0), delta(0, "half"), delivery=Delivery(text="final"))
    assert shown(live) == []
    live.push(ending)
    assert shown(live) == ["text:half"]


def test_a_reader_that_comes_in_the_middle_of_a_block_gets_its_text() -> None:
    before = after(start(0), delta(0, "a")).view
    live = LiveView(before)
    live.push(delta(0, "b"))
    assert shown(live) == ["text:ab"]


@pytest.mark.parametrize(
    "option", [{"text": "off"}, {"thinking": "never"}, {"txt": "final"}, "final", {"text": None}]
)
def test_a_wrong_delivery_is_refused(option: Any) -> None:
    with pytest.raises(InvalidOptions, match="expected"):
        delivery_of(option)


# --- what is taken back -----------------------------------------------------------------------


def test_a_block_that_is_taken_back_leaves_the_others_and_what_follows_is_added() -> None:
    blocks = [
        *(start(0), delta(0, "one "), end(0)),
        *(start(1, "thinking"), thought(1, "hm"), end(1, "thinking", "hm")),
        *(start(2), delta(2, "two "), end(2)),
        *(start(3, "tool_call"), proposed("c1")),
        *(start(4), delta(4, "three")),
    ]
    for index, left in [
        (0, ["text:two three", "reasoning:hm", "tool:c1"]),
        (1, ["text:one two three", "tool:c1"]),
        (2, ["text:one three", "reasoning:hm", "tool:c1"]),
        (3, ["text:one two three", "reasoning:hm"]),
        (4, ["text:one two ", "reasoning:hm", "tool:c1"]),
        (9, ["text:one two three", "reasoning:hm", "tool:c1"]),
    ]:
        live = after(*blocks, MsgRetracted(message_id="a-1", index=index))
        assert shown(live) == left
    live = after(*blocks, *(MsgRetracted(message_id="a-1", index=i) for i in (0, 4, 2, 1, 3)))
    assert shown(live) == []
    for event in (start(5), delta(5, "again")):
        live.push(event)
    assert shown(live) == ["text:again"]


def test_a_block_of_a_sub_agent_is_taken_back_in_its_run() -> None:
    live = after(
        *(start(0), delta(0, "own"), proposed("d1")),
        AgentSpawned(tool_call_id="d1", name="helper"),
        *(start(0, agent_id="d1"), delta(0, "oops", "d1")),
        MsgRetracted(message_id="a-1", index=0, agent_id="d1"),
    )
    assert shown(live) == ["text:own", "tool:d1"]
    [message] = live.snapshot()["agents"]["d1"]["messages"]
    assert message["parts"] == []


# --- what a snapshot holds --------------------------------------------------------------------


def test_a_sub_agent_is_followed_until_it_ends_or_its_run_does() -> None:
    live = after(start(0), proposed("d1"), proposed("d2"))
    for event in (
        AgentSpawned(tool_call_id="d1", name="helper"),
        AgentSpawned(tool_call_id="d2", name="other"),
        AgentProgress(tool_call_id="d1", message="reading"),
    ):
        live.push(event)
    agents = live.snapshot()["agents"]
    assert agents["d1"] == {
        "name": "helper", "state": "running", "message": "reading", "messages": []
    }  # fmt: skip
    live.push(AgentCompleted(tool_call_id="d1", outcome="completed"))
    live.push(TurnAborted(reason="interrupted"))
    states = {key: agent["state"] for key, agent in live.snapshot()["agents"].items()}
    assert states == {"d1": "completed", "d2": "aborted"}


def test_a_card_says_what_became_of_its_call() -> None:
    denied = PermissionDecided(
        tool_call_id="c2", name="look", decision="deny", decision_source="user"
    )
    live = after(
        *(start(0), proposed("c1"), proposed("c2")),
        ToolCompleted(tool_call_id="c1", output={"content": []}, duration_ms=5),
        denied,
    )
    assert live.snapshot()["tools"] == {
        "c1": {
            "name": "look", "state": "completed", "input": {}, "is_edited": False,
            "duration_ms": 5, "output": {"content": []},
        },
        "c2": {"name": "look", "state": "denied", "input": {}, "is_edited": False},
    }  # fmt: skip


def test_notices_are_the_newest_twenty_and_the_connection_is_said() -> None:
    live = LiveView()
    assert live.snapshot()["connection"] == "none"
    live.push(SessionCreated(session_id="s-1", cwd="/"))
    assert live.snapshot()["connection"] == "open"
    for number in range(MAX_NOTICES + 5):
        live.push(TurnError(seq=number, scope="x", message=str(number), recoverable=True))
    notices = [notice["message"] for notice in live.snapshot()["notices"]]
    assert notices == [str(number) for number in range(5, MAX_NOTICES + 5)]
    assert live.snapshot()["last_error"] is None
    live.push(SessionEnded())
    assert live.snapshot()["connection"] == "closed"


# --- events of others -------------------------------------------------------------------------


def test_events_that_name_their_message_only_once_are_understood() -> None:
    wires: list[dict[str, Any]] = [
        {"type": "turn.started"},
        {"type": "msg.block.start", "index": 0, "blockType": "thinking", "messageId": "x"},
        {"type": "msg.thinking.delta", "index": 0, "text": "hm"},
        {"type": "msg.block.end", "index": 0},
        {"type": "msg.block.start", "index": 1, "blockType": "text"},
        {"type": "msg.text.delta", "index": 1, "text": "first"},
        {"type": "msg.block.end", "index": 1},
        {"type": "tool.proposed", "toolCallId": "c1", "name": "look", "args": {}},
        {"type": "tool.permission.requested", "toolCallId": "c1", "name": "look"},
        {"type": "tool.permission.decided", "toolCallId": "c1", "decision": "allow"}
        | {"decisionSource": "someone new"},
        {"type": "msg.block.start", "index": 0, "blockType": "text"},
        {"type": "msg.text.delta", "index": 0, "text": "second"},
        {"type": "msg.retracted", "index": 0},
        {"type": "turn.completed", "reason": "completed"},
    ]
    live = LiveView()
    live.push(InputReceived(message_id="u", text="go"))
    live.push(TurnStarted(trigger="send"))
    for wire in wires:
        event = event_from_wire(wire)
        assert event is not None
        live.push(event)
    _, first, second = live.snapshot()["messages"]
    assert [part["type"] for part in first["parts"]] == ["reasoning", "text", "tool"]
    assert first["id"] == "x"
    assert second["parts"] == []
    assert live.snapshot()["tools"]["c1"]["state"] == "running"

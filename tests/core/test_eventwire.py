"""The wire form of events: nothing is lost, and what is not known is ignored."""

from __future__ import annotations

import json
from typing import Any, Literal, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import NODEFAULT
from msgspec.structs import fields

from agent_widget.core.errors import SessionError
from agent_widget.core.events import Event, PermissionDecided, TodoUpdated, TurnStarted
from agent_widget.core.eventwire import EVENT_KINDS, event_from_wire, event_to_wire
from tests.support.eventstrategies import ANY_EVENT
from tests.support.strategies import JSON

NEW_KEYS = st.dictionaries(st.text(max_size=4).map(lambda name: f"new {name}"), JSON, max_size=3)


@given(ANY_EVENT, NEW_KEYS)
def test_an_event_comes_back_from_the_wire_whatever_else_is_there(
    event: Event, added: dict[str, Any]
) -> None:
    wire = json.loads(json.dumps(event_to_wire(event)))
    assert event_from_wire({**wire, **added}) == event


@given(st.text(), st.dictionaries(st.text(max_size=4), JSON, max_size=3))
def test_an_unknown_type_is_no_event(name: str, payload: dict[str, Any]) -> None:
    assert event_from_wire({**payload, "type": f"galaxy.{name}"}) is None
    assert event_from_wire({**payload, "type": 3}) is None
    assert event_from_wire({key: payload[key] for key in payload if key != "type"}) is None


@pytest.mark.parametrize("kind", EVENT_KINDS.values(), ids=lambda kind: kind.type)
def test_a_word_that_is_new_is_taken_and_what_lacks_is_empty(kind: type[Event]) -> None:
    decides = {
        field.name: "brand_new"
        for field in fields(kind)
        if field.default is NODEFAULT and get_origin(get_type_hints(kind)[field.name]) is Literal
    }
    wire = {"type": kind.type, **{_camel(name): word for name, word in decides.items()}}
    event = event_from_wire(wire)
    assert type(event) is kind
    assert {name: getattr(event, name) for name in decides} == decides


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_a_word_that_decides_is_never_guessed() -> None:
    with pytest.raises(SessionError, match="lacks 'decision'") as raised:
        event_from_wire({"type": "tool.permission.decided", "toolCallId": "c1"})
    assert raised.value.code == "invalid_event"
    assert event_from_wire({"type": "turn.started"}) == TurnStarted(trigger="send")


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        ({"type": "turn.started", "seq": "3"}, r"turn\.started\.seq is '3', expected a number"),
        ({"type": "turn.started", "seq": True}, "seq is True"),
        ({"type": "turn.started", "trigger": 1}, "trigger is 1, expected text"),
        ({"type": "plan.todo.updated", "items": {}}, "items is {}, expected a list"),
        ({"type": "plan.todo.updated", "items": [3]}, r"items\[0\] is 3, expected an object"),
        ({"type": "run.settled", "aborted": 0}, "aborted is 0, expected true or false"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(wire: dict[str, Any], problem: str) -> None:
    with pytest.raises(SessionError, match=problem):
        event_from_wire(wire)


def test_an_event_is_flat_in_camel_case_and_absent_where_there_is_nothing() -> None:
    event = PermissionDecided(
        session_id="s-1",
        seq=3,
        ts=5,
        run_id="r-1",
        tool_call_id="c1",
        name="look",
        decision="allow",
        decision_source="rule",
        matched_rule="look(*)",
    )
    assert event_to_wire(event) == {
        "type": "tool.permission.decided",
        "v": 1,
        "sessionId": "s-1",
        "seq": 3,
        "ts": 5,
        "source": "kernel",
        "turnId": "r-1",
        "toolCallId": "c1",
        "name": "look",
        "decision": "allow",
        "decisionSource": "rule",
        "matchedRule": "look(*)",
    }
    todo = {"id": "1", "content": "a", "status": "pending"}
    update = event_from_wire({"type": "plan.todo.updated", "items": [todo]})
    assert isinstance(update, TodoUpdated)
    assert event_to_wire(update)["items"] == [todo]

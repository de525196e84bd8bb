"""Laws of the reducer that hold for every history."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_widget.core import SessionState, empty_state, resumable, session_reducer
from agent_widget.core.actions import Action, Stop, ToolPhase
from agent_widget.core.messages import Conversation, TextPart
from agent_widget.core.wire import state_from_wire, state_to_wire
from tests.support.strategies import ACTIONS, HISTORIES, JSON, NAMES, PHASES, TEXTS


def fold(actions: list[Action]) -> SessionState:
    return functools.reduce(session_reducer, actions, empty_state())


def open_calls(messages: Conversation) -> int:
    return sum(
        call.is_open + (open_calls(call.agent.messages) if call.agent else 0)
        for message in messages
        for call in message.tool_calls
    )


@given(HISTORIES)
def test_earlier_states_stay_what_they_were(actions: list[Action]) -> None:
    states, wires = [empty_state()], [state_to_wire(empty_state())]
    for action in actions:
        states.append(session_reducer(states[-1], action))
        wires.append(state_to_wire(states[-1]))
    assert [state_to_wire(state) for state in states] == wires


@given(HISTORIES, ACTIONS, ACTIONS)
def test_two_futures_of_one_state_do_not_meet(
    actions: list[Action], one: Action, other: Action
) -> None:
    start = fold(actions)
    alone = state_to_wire(session_reducer(state_from_wire(state_to_wire(start)), other))
    session_reducer(session_reducer(start, one), one)
    assert state_to_wire(session_reducer(start, other)) == alone


@given(HISTORIES)
def test_same_actions_give_equal_states(actions: list[Action]) -> None:
    assert fold(actions) == fold(actions)
    assert hash(fold(actions).messages) == hash(fold(actions).messages)


@given(HISTORIES)
def test_wire_form_loses_nothing(actions: list[Action]) -> None:
    state = fold(actions)
    again = state_from_wire(state_to_wire(state))
    assert again == state
    assert not again != state  # noqa: SIM202  # an operator of its own, and msgspec has another one


@given(HISTORIES)
def test_stop_is_idempotent_and_leaves_nothing_open(actions: list[Action]) -> None:
    stopped = session_reducer(fold(actions), Stop())
    assert session_reducer(stopped, Stop()) == stopped
    assert stopped.status == "idle"
    assert open_calls(stopped.messages) == 0


@given(HISTORIES)
def test_resumable_of_resumable_is_itself(actions: list[Action]) -> None:
    kept = resumable(fold(actions).messages)
    assert resumable(kept) == kept


@given(HISTORIES)
def test_resumable_keeps_a_start_of_the_conversation(actions: list[Action]) -> None:
    messages = fold(actions).messages
    kept = resumable(messages)
    assert len(kept) <= len(messages)
    for index, message in enumerate(kept):
        whole = messages[index]
        assert (message.id, message.role) == (whole.id, whole.role)
        assert message.parts == whole.parts[: len(message.parts)]


@given(HISTORIES, NAMES, PHASES, st.none() | TEXTS)
def test_a_repeated_tool_phase_returns_the_same_object(
    actions: list[Action], name: str, phase: Any, prompt: str | None
) -> None:
    action = ToolPhase(name, phase, prompt)
    once = session_reducer(fold(actions), action)
    assert session_reducer(once, action) is once


@given(HISTORIES, st.dictionaries(TEXTS | st.just("type"), JSON, max_size=4) | JSON)
def test_anything_may_come_and_nothing_raises(actions: list[Action], junk: Any) -> None:
    state = fold(actions)
    assert session_reducer(state, junk) is state
    assert session_reducer(state, {"type": "part", "part": junk}) is state


@given(st.lists(TEXTS, max_size=8), st.integers(0, 8), st.lists(TEXTS, max_size=8))
def test_text_branches_do_not_share_what_they_add(
    start: list[str], at: int, other: list[str]
) -> None:
    versions = [TextPart.of("")]
    for delta in start:
        versions.append(versions[-1].grow(delta))
    base = versions[min(at, len(versions) - 1)]
    branch = functools.reduce(TextPart.grow, other, base)
    assert branch.text == base.text + "".join(other)
    assert branch.size_chars == len(branch.text)
    assert branch.since(base) == "".join(other)
    assert versions[-1].text == "".join(start)

"""The exercise: a right reducer holds every vector, and each kind of mistake is said."""

from __future__ import annotations

from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.reducer import session_reducer
from agent_widget.core.wire import state_from_wire, state_to_wire
from agent_widget.teaching import grade
from tests.support.gradevectors import SHIPPED, shipped_text


def reference(state: Any, action: Any) -> Any:
    before = state_from_wire(state)
    after = session_reducer(before, action)
    return state if after is before else state_to_wire(after)


def first_try(state: Any, action: Any) -> Any:
    """What a student has after a quarter of an hour."""
    if action["type"] == "send":
        part = {"type": "text", "text": action["text"]}
        message = {"id": action["id"], "role": "user", "parts": [part]}
        return {**state, "messages": [*state["messages"], message], "status": "streaming"}
    if action["type"] == "reset":
        state["messages"].clear()
    if action["type"] == "stop":
        return None
    if action["type"] == "retry":
        raise KeyError("later")
    return state


def test_the_shipped_vectors_are_those_of_the_reducer_and_its_fold_holds_them_all() -> None:
    assert SHIPPED.read_text("utf-8") == shipped_text(), "python -m tests.support.gradevectors"
    done = grade(reference)
    assert done.is_complete, str(done)
    assert done.passed == 93


def test_a_reducer_with_mistakes_is_told_which_rule_and_what_is_wrong() -> None:
    done = grade(first_try)
    wrong = {failure.topic: failure.problems[0] for failure in done.failures}
    assert wrong["reset"] == "action 1 (reset) changed the state it was given"
    assert wrong["stop"] == "action 1 (stop) gave None, expected a state (a dict)"
    assert wrong["retry"] == "action 1 (retry) raised KeyError: 'later'"
    assert wrong["send"].endswith("expected absent")  # an error that a new message clears
    text = repr(done)
    assert text.startswith(f"{done.passed} of 93 rules hold")
    assert "✗ RED-003 (send): send clears error" in text
    assert "<script>" not in done._repr_html_()
    sends = grade(first_try, topic="send")
    assert (sends.passed, sends.total) == (6, 7)
    with pytest.raises(ValueError, match="There is send, message-start"):
        grade(first_try, topic="sends")
    for wrong in (None, lambda state: state):
        with pytest.raises(InvalidOptions, match=r"a reducer.*reducer\(state, action\)"):
            grade(wrong)  # type: ignore[arg-type]

"""The narrator: one plain sentence, on one line, for whatever happens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_widget.core.events import (
    AgentSpawned,
    BlockEnd,
    BlockStart,
    Event,
    MsgRetracted,
    MsgTextDelta,
    SessionReset,
    Todo,
    TodoUpdated,
    ToolCompleted,
    ToolFailed,
    ToolProposed,
    TurnError,
)
from agent_widget.core.eventwire import event_from_wire
from agent_widget.view.narrate import SILENT, Narrator
from agent_widget.view.quoting import MAX_CHARS, quoted
from tests.support.eventstrategies import ANY_EVENT

GOLDEN = Path(__file__).parents[1] / "vectors" / "events"


@given(st.lists(ANY_EVENT, max_size=8))
def test_every_line_is_one_printable_line_of_bounded_length(events: list[Event]) -> None:
    narrator = Narrator()
    for event in events:
        line = narrator.line(event)
        if line is not None:
            assert line.isprintable()
            assert line.strip()
        assert line is None or type(event) not in SILENT


@given(st.text(max_size=1000))
def test_a_quoted_text_is_short_printable_and_on_one_line(text: str) -> None:
    line = quoted(text)
    assert line.isprintable()
    assert len(line) <= 6 * MAX_CHARS
    if text.isprintable() and len(text) <= MAX_CHARS:
        assert line == " ".join(text.split())


def lines(*events: Event) -> list[str | None]:
    narrator = Narrator()
    return [narrator.line(event) for event in events]


def test_a_session_reads_like_this() -> None:
    narrator = Narrator()
    wires = json.loads((GOLDEN / "tools.json").read_text(encoding="utf-8"))
    events = [event for event in map(event_from_wire, wires) if event is not None]
    said = [line for event in events if (line := narrator.line(event)) is not None]
    assert said[5:12] == [
        "User: look around",
        "Run started",
        "Model: Let me look.",
        'look wants to run: {"name": "a"}',
        "look was allowed by mode",
        "look started",
        "look reports: looking",
    ]


def test_a_tool_and_a_sub_agent_keep_their_names_and_whose_event_it_is_is_said() -> None:
    assert lines(
        ToolProposed(message_id="a", tool_call_id="d1", name="ask_h", args={"task": "t"}),
        AgentSpawned(tool_call_id="d1", name="h"),
        ToolProposed(
            message_id="b", tool_call_id="c1", name="look", args={}, text="x\n  y", agent_id="d1"
        ),
        ToolFailed(
            tool_call_id="c1", error_type="timeout", message="Too slow.", duration_ms=2100,
            agent_id="d1",
        ),
        ToolCompleted(tool_call_id="d1", output="no", is_error=True, duration_ms=50),
        ToolCompleted(tool_call_id="zz", output=None),
    ) == [
        'ask_h wants to run: {"task": "t"}',
        "Sub-agent h started",
        "[h] look wants to run: x y",
        "[h] look failed (timeout) after 2.1 s: Too slow.",
        'ask_h ended with an error after 0.1 s: "no"',
        "A tool completed after 0.0 s",
    ]  # fmt: skip


def test_what_the_model_says_is_said_when_it_is_whole_and_only_if_it_stayed() -> None:
    def block(index: int, *rest: Event) -> list[Event]:
        start = BlockStart(message_id="a", index=index, block_type="text")
        return [start, MsgTextDelta(message_id="a", index=index, text="a\u202eb "), *rest]

    end = BlockEnd(message_id="a", index=0, block_type="text")
    assert lines(*block(0, end))[-1] == "Model: a\\u202eb"
    assert lines(*block(0, MsgRetracted(message_id="a", index=0), end))[-1] is None
    assert lines(*block(0, SessionReset(), end))[-1] is None
    long = MsgTextDelta(message_id="a", index=0, text="word " * 4000)
    said = lines(*block(0, long, long, end))[-1]
    assert said is not None
    assert len(said) <= MAX_CHARS + len("Model: \\u202e")
    assert said.endswith("…")


@pytest.mark.parametrize(
    ("recoverable", "line"),
    [
        (True, "error [model]: upstream 500 — recoverable, session continues"),
        (False, "error [model]: upstream 500"),
    ],
)
def test_an_error_promises_nothing(recoverable: bool, line: str) -> None:
    error = TurnError(scope="model", message="upstream\n500", recoverable=recoverable)
    assert lines(error) == [line]


def test_a_plan_is_told_by_what_is_done_and_what_is_under_way() -> None:
    items = (Todo("a", "completed"), Todo("b", "in_progress"), Todo("c", "pending"))
    assert lines(TodoUpdated(items=items)) == ["Plan: 1 of 3 done, now at b"]
    assert lines(TodoUpdated(items=())) == ["Plan: 0 of 0 done"]

"""Appending a delta costs O(delta): what one token costs in ever longer answers and sessions."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Final

from agent_widget.core.actions import ApplyPart, TextDelta
from agent_widget.core.events import MsgTextDelta
from agent_widget.core.messages import Message, user_message
from agent_widget.core.reducer import session_reducer
from agent_widget.core.state import SessionState
from agent_widget.view.model import SessionView
from agent_widget.view.patch import diff
from agent_widget.view.project import project

from .rows import short, table

TOKEN: Final = "word"
ANSWER: Final = "a-1"
EVENTS: Final = 2_000
REPETITIONS: Final = 7
SIZES: Final = (
    (0, 1_000),
    (0, 10_000),
    (0, 100_000),
    (0, 1_000_000),
    (100, 1_000),
    (1_000, 1_000),
    (10_000, 1_000),
    (10_000, 1_000_000),
)
"""Earlier messages of 400 characters, and characters of the answer so far."""


def growth_table() -> str:
    """ns for one token: the reducer; the projection with it; and a patch for it as well."""
    lines = []
    for earlier, chars in SIZES:
        state = _streaming(earlier, chars)
        costs = (_least_ns(fold, state) for fold in (_reduced, _projected, _patched))
        lines.append([f"{earlier:,}", f"{chars:,}", *(short(ns) for ns in costs)])
    head = ["messages before", "characters so far", "reducer", "+ projection", "+ patch"]
    return f"### One token of 4 characters, ns\n\n{table(head, lines)}\n"


def _streaming(earlier: int, chars: int) -> SessionState:
    """A session in which an answer grows that came in tokens."""
    messages = [user_message(f"m-{index}", "x" * 400) for index in range(earlier)]
    state = SessionState.of([*messages, Message(ANSWER, "assistant")], "streaming")
    action = ApplyPart(TextDelta(ANSWER, TOKEN))
    for _ in range(chars // len(TOKEN)):
        state = session_reducer(state, action)
    return state


def _reduced(state: SessionState) -> None:
    action = ApplyPart(TextDelta(ANSWER, TOKEN))
    for _ in range(EVENTS):
        state = session_reducer(state, action)


def _projected(state: SessionState) -> None:
    view = SessionView(chat=state, phase="streaming")
    event = MsgTextDelta(message_id=ANSWER, index=0, text=TOKEN)
    for _ in range(EVENTS):
        view = project(view, event)


def _patched(state: SessionState) -> None:
    view = SessionView(chat=state, phase="streaming")
    event = MsgTextDelta(message_id=ANSWER, index=0, text=TOKEN)
    for _ in range(EVENTS):
        before, view = view, project(view, event)
        diff(before, view)


def _least_ns(fold: Callable[[SessionState], None], state: SessionState) -> float:
    """ns an event, the least of some repetitions: what disturbs only adds.

    Every repetition starts from a state whose text nobody has grown: a state that is grown twice
    copies its list of pieces once.
    """
    best = float("inf")
    for _ in range(REPETITIONS):
        fresh = session_reducer(state, ApplyPart(TextDelta(ANSWER, TOKEN)))
        gc.collect()
        start_ns = time.perf_counter_ns()
        fold(fresh)
        best = min(best, (time.perf_counter_ns() - start_ns) / EVENTS)
    return best

"""The reducer that folds a session, one text delta at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perfbench.state.adapters import HTEXT, Base

from agent_widget.core.actions import Action, ApplyPart, TextDelta
from agent_widget.core.messages import Message, TextPart, user_message
from agent_widget.core.reducer import session_reducer
from agent_widget.core.state import SessionState

NAME = "agent_widget"
ANSWER: Final = "a-1"


class Adapter(Base):
    NAME = NAME

    def __init__(self, h: int, chars: int) -> None:
        earlier = [user_message(f"m-{index}", HTEXT) for index in range(h)]
        answer = Message(ANSWER, "assistant", (TextPart.of("x" * chars),))
        self._state = SessionState.of([*earlier, answer], "streaming")

    def prepare(self, deltas: Sequence[str]) -> list[Action]:
        return [ApplyPart(TextDelta(ANSWER, delta)) for delta in deltas]

    def run(self, events: Sequence[Action]) -> None:
        state = self._state
        for action in events:
            state = session_reducer(state, action)
        self._state = state

    def text(self) -> str:
        return self._state.messages[-1].text

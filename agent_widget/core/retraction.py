"""A failed answer is taken back as a whole: it is no part of the conversation any more."""

from __future__ import annotations

from .state import SessionState


def without_answer(state: SessionState, message_id: str) -> SessionState:
    """``state`` without the answer of that id, if it is the last message; else the same object."""
    last = state.messages.last
    if last is None or last.id != message_id or last.role != "assistant":
        return state
    return SessionState.of(state.messages.without_last(), state.status, state.error)

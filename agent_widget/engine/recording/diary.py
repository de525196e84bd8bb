"""What a recording says of a chat beside its exchanges: who said what and when, what was decided.

A replay of the chat needs none of it: whoever runs it says the same again. An explorer of the file
has nobody but these lines to say it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ...core.events import (
    Event,
    HistoryLoaded,
    InputReceived,
    ModelChanged,
    MsgTextDelta,
    MsgThinkingDelta,
    PermissionDecided,
    PermissionRequested,
    SessionReset,
    SessionStopping,
    ToolCompleted,
    ToolDrafted,
    ToolFailed,
    ToolOutputDelta,
    ToolProgress,
    ToolProposed,
    ToolsChanged,
    ToolStarted,
    TreeNavigated,
    TurnStarted,
)
from ...view.model import SessionView
from . import wire
from .file import Fact

BEATS: Final = (
    MsgTextDelta,
    MsgThinkingDelta,
    ToolDrafted,
    ToolProposed,
    PermissionRequested,
    PermissionDecided,
    ToolStarted,
    ToolProgress,
    ToolOutputDelta,
    ToolCompleted,
    ToolFailed,
)
"""Events that a run is counted by: ``after`` says how many of them had been told."""
ELSEWHERE: Final = (TreeNavigated, HistoryLoaded, ModelChanged, ToolsChanged)
"""What else may happen to a chat at rest, of which a recording only says that it did."""
_PLAIN: Final = (
    {"verdict": "ask", "reason": None},
    {"verdict": "allow", "source": "mode", "rule": None, "reason": None},
)
"""What is not written down: whether somebody was asked is known, and what a mode allows runs."""


class Diary:
    """Writes lines about the chat ``number`` (from 1) of a recording with ``note``."""

    def __init__(self, note: Callable[[Fact], None], number: int) -> None:
        self._write = note
        self._number = number
        self._is_begun = False
        self._waiting: set[str] = set()
        self._proposed: dict[str, ToolProposed] = {}
        self._asked: dict[str, PermissionRequested] = {}

    def heard(self, event: Event, view: SessionView, beats: int | None) -> None:
        """``event`` was told, after so many beats of its run; None: at rest."""
        match event:
            case InputReceived():
                self._received(event, view, beats)
            case TurnStarted(trigger="retry"):
                self._note("retry")
            case SessionStopping():
                self._note("stop", after=beats)
            case SessionReset():
                self._note("reset")
            case _ if isinstance(event, ELSEWHERE) and beats is None:
                if self._is_begun or isinstance(event, HistoryLoaded):
                    self._note("other", event=event.type)
            case _:
                self._heard_of_call(event)

    def _heard_of_call(self, event: Event) -> None:
        match event:
            case ToolProposed():
                self._proposed[event.tool_call_id] = event
            case PermissionRequested(is_form=None):
                self._asked[event.tool_call_id] = event
            case PermissionDecided():
                self._decided(event)

    def _received(self, event: InputReceived, view: SessionView, beats: int | None) -> None:
        if event.message_id in self._waiting:  # a follow-up that is used now
            return
        self._is_begun = True
        told: wire.Wire = {"text": event.text}
        if event.images:
            told["images"] = [wire.digested(image.block) for image in event.images]
        if event.queue is not None:
            self._waiting.add(event.message_id)
            told |= {"queue": event.queue, "context": event.kind, "after": beats}
        else:
            told["while_running"] = view.input.agent
        self._note("input", **told)

    def _decided(self, event: PermissionDecided) -> None:
        """What decided about a call, and how it was shown, where that is not plain."""
        proposed = self._proposed.pop(event.tool_call_id, None)
        asked = self._asked.pop(event.tool_call_id, None)
        told: wire.Wire = {
            "verdict": event.decision,
            "source": event.decision_source,
            "rule": event.matched_rule,
            "reason": event.reason,
        }
        if asked is not None:
            told = {"verdict": "ask", "reason": asked.reason}
        if told in _PLAIN:
            told = {}
        if proposed is not None and proposed.text != plain_text(proposed.args):
            told |= {"text": proposed.text, "language": proposed.language}
        if any(value is not None for value in told.values()):
            self._note("call", call=event.tool_call_id, tool=event.name, **told)

    def _note(self, kind: str, **told: Any) -> None:
        if self._number > 1:
            told["chat"] = self._number
        self._write(Fact(kind, {name: each for name, each in told.items() if each is not None}))


def plain_text(args: Any) -> str | None:
    """How a call is shown where its tool does not say."""
    from ...tools.schema import arguments_text

    return arguments_text(args) or None if isinstance(args, Mapping) else None

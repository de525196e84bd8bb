"""A session step by step: each event, the actions it stood for, and the state after it.

Live and from stored records it is the same fold as everywhere. Events that bring a little more of
the same text are one step, so that a step is something that happened and not a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.actions import Action, ApplyPart, MessageStart
from ..core.events import (
    Event,
    MsgTextDelta,
    MsgThinkingDelta,
    SessionReset,
    ToolDrafted,
    ToolOutputDelta,
    TreeNavigated,
)
from ..core.feed import actions_of
from ..core.journal import Journal, leaf_after
from ..core.messages import Conversation, Json
from ..core.records import Record
from ..core.replay import events_of
from ..core.state import SessionState, empty_state
from .history import view_of
from .model import SessionView
from .narrate import Narrator
from .project import project

_GROWING: Final[dict[type[Event], tuple[str, tuple[str, ...]]]] = {
    MsgTextDelta: ("text", ("message_id", "index")),
    MsgThinkingDelta: ("text", ("message_id", "index")),
    ToolDrafted: ("arguments", ("index", "name")),
    ToolOutputDelta: ("chunk", ("tool_call_id",)),
}
"""Events that bring a piece of a text: its field, and what tells one text from another."""


class Request(Struct, frozen=True):
    """What was asked of the model before step ``at``.

    ``system`` and ``tools`` (``{"name", "description", "parameters"}`` each) are None where nobody
    wrote them down: a journal keeps the conversation alone. ``agent_id`` is the call whose agent
    asked, None for the session's own.
    """

    at: int
    messages: Conversation
    system: str | None = None
    tools: tuple[dict[str, Json], ...] | None = None
    agent_id: str | None = None
    is_exact: bool = False


class Step(Struct):
    """One step; ``state`` is after it, ``said`` a sentence about it.

    ``events`` are the pieces of one text, or a single event. ``is_jump``: the state is that of
    another branch, not a fold of the one before.
    """

    events: list[Event]
    state: SessionState
    said: str | None = None
    is_jump: bool = False

    @property
    def event(self) -> Event:
        """The event, its text whole."""
        last = self.events[-1]
        if len(self.events) == 1:
            return last
        name, _ = _GROWING[type(last)]
        return replace(last, **{name: "".join(getattr(event, name) for event in self.events)})

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions that the reducer got, in order."""
        return actions_of(self.event)


class Timeline:
    """The steps of a session and the requests made in it; grows by ``push``."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.requests: list[Request] = []
        self._narrator = Narrator()
        self._asked: set[str | None] = set()

    @property
    def state(self) -> SessionState:
        """The state after the last step."""
        return self.state_before(len(self.steps))

    def state_before(self, index: int) -> SessionState:
        """The state that step ``index`` began with."""
        return self.steps[index - 1].state if index else empty_state()

    def push(self, event: Event, state: SessionState, *, is_jump: bool = False) -> int:
        """Add ``event``, after which the state is ``state``; the index of its step."""
        said = self._narrator.line(event)
        if self.steps and _grows(self.steps[-1].events[-1], event):
            self.steps[-1].events.append(event)
            self.steps[-1].state = state
            return len(self.steps) - 1
        before = self.state
        self.steps.append(Step([event], state, said, is_jump or isinstance(event, TreeNavigated)))
        if state is not before:
            self._infer_request(event, before)
        return len(self.steps) - 1

    def settle(self, state: SessionState) -> None:
        """Let the last step end with ``state``: what is known beside the steps."""
        if self.steps:
            self.steps[-1].state = state

    def asked(self, request: Request) -> None:
        """Note a request as it was sent, before its answer begins."""
        self.requests.append(request)
        self._asked.add(request.agent_id)

    def _infer_request(self, event: Event, before: SessionState) -> None:
        """An answer begins: note what it answers, where nobody noted the request itself."""
        for action in actions_of(event):
            if isinstance(action, ApplyPart) and isinstance(action.part, MessageStart):
                if action.within in self._asked:
                    self._asked.discard(action.within)
                    continue
                messages = conversation_in(before, action.within)
                if messages is not None and not _has(messages, action.part.message_id):
                    request = Request(len(self.steps) - 1, messages, agent_id=action.within)
                    self.requests.append(request)


def timeline_of(records: Iterable[Record]) -> Timeline:
    """The timeline that stored records add up to, in the order in which they were written.

    Where a session went to another branch, so does this. Raises SessionError
    ``session_store_corrupted``.
    """
    timeline, read = Timeline(), Reading()
    for record in records:
        read.record(record, timeline)
    return timeline


def timeline_of_events(events: Iterable[Event]) -> Timeline:
    """The timeline of events in the order they were told."""
    timeline, view = Timeline(), SessionView()
    for event in events:
        view = project(view, event)
        timeline.push(event, view.chat)
    return timeline


class Reading:
    """Reads the records of one session into a timeline; ``view`` is what they come to so far."""

    def __init__(self) -> None:
        self.view = SessionView()
        self._read: list[Record] = []
        self._leaf: str | None = None

    def record(self, record: Record, timeline: Timeline) -> None:
        """Fold the next record."""
        events: Sequence[Event] = events_of(record)
        after = record.parent_id
        if record.kind == "leaf":
            after = record.data["entry_id"]
            if after is None:
                after, events = self._leaf, (SessionReset(ts=record.ts),)
        if after != self._leaf:
            moved = TreeNavigated(new_leaf_id=after, old_leaf_id=self._leaf, ts=record.ts)
            self.view = view_of(Journal.of(self._read), after)
            timeline.push(moved, self.view.chat, is_jump=True)
        self._read.append(record)
        self._leaf = leaf_after(record)
        for event in events:
            self.view = project(self.view, event)
            timeline.push(event, self.view.chat)


def conversation_in(state: SessionState, agent_id: str | None) -> Conversation | None:
    """The conversation of the session, or of the agent that the call ``agent_id`` started."""
    if agent_id is None:
        return state.messages
    for message in reversed(state.messages):
        for call in message.tool_calls:
            if call.id == agent_id:
                return Conversation.of(()) if call.agent is None else call.agent.messages
            if call.agent is not None:
                found = conversation_in(call.agent, agent_id)
                if found is not None:
                    return found
    return None


def _has(messages: Conversation, message_id: str) -> bool:
    return any(message.id == message_id for message in reversed(messages))


def _grows(event: Event, more: Event) -> bool:
    """Whether ``more`` is a further piece of the text of ``event``."""
    known = _GROWING.get(type(more))
    if known is None or type(event) is not type(more) or event.agent_id != more.agent_id:
        return False
    return all(getattr(event, name) == getattr(more, name) for name in known[1])

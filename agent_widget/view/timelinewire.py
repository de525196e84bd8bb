"""Wire form of a timeline: what an explorer shows, each state as its difference to the one before.

A difference is a list of operations in order, each on a path into the wire form of the state:
``[path, value]`` sets, ``[path, text, 1]`` puts text after a text, ``[path]`` removes a key or cuts
a list off there. So a session of hundreds of steps stays small enough to be saved in a notebook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import msgspec

from ..core.actions import Action, ApplyPart
from ..core.events import Event
from ..core.eventwire import event_to_wire
from ..core.machine import NONE, STATUS_AFTER, action_name, machines
from ..core.messages import Conversation, ToolPart
from ..core.state import SessionState, empty_state
from ..core.wire import message_to_wire, messages_to_wire, state_to_wire
from .timeline import Request, Step, Timeline, conversation_in
from .whatif import Lane, action_to_wire

MAX_TEXT_CHARS: Final = 4_000
"""Longer texts are cut in what is shown; what is folded is always whole."""
MAX_EVENT_CHARS: Final = 600
"""The same for events, whose texts are in the state too."""
VERSION: Final = 1

Wire: TypeAlias = dict[str, Any]
Op: TypeAlias = list[Any]
_ENVELOPE: Final = frozenset({"v", "sessionId", "turnId", "seq", "ts", "source", "type"})


class TimelineWriter:
    """Writes a timeline that grows; used by one thread at a time.

    All steps but the last are written once: only the last one can still change.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._done: list[Wire] = []
        self._state = empty_state()
        self._wire = state_to_wire(self._state)
        self._requests: list[Wire] = []
        self._systems: list[str] = []
        self._toolsets: list[Any] = []

    def requests(self) -> Wire:
        """The requests so far, each system text and each set of tools once.

        ``messages`` is null where they are those of the state before step ``at``.
        """
        for request in self._timeline.requests[len(self._requests) :]:
            self._requests.append(self._request(request))
        return {
            "rows": [*self._requests],
            "systems": [*self._systems],
            "toolsets": [*self._toolsets],
        }

    def steps(self, start: int = 0) -> list[Wire]:
        """The steps from ``start`` on."""
        steps = [*self._timeline.steps]
        while len(self._done) < len(steps) - 1:
            step = steps[len(self._done)]
            wire = _shown_state(step.state, self._state, self._wire)
            self._done.append(self._step(step, wire))
            self._state, self._wire = step.state, wire
        if not steps:
            return []
        wire = _shown_state(steps[-1].state, self._state, self._wire)
        return [*self._done[start:], self._step(steps[-1], wire)]

    def _step(self, step: Step, wire: Wire) -> Wire:
        event = event_to_wire(step.event)
        actions = [shortened(action_to_wire(action)) for action in step.actions]
        begun = self._timeline.steps[0].events[0].ts
        written: Wire = {
            "type": event["type"],
            "t": step.event.ts - begun,
            "event": shortened(
                {key: value for key, value in event.items() if key not in _ENVELOPE},
                MAX_EVENT_CHARS,
            ),
            "actions": actions,
            "ops": changes(self._wire, wire),
            "moves": moves(step, self._state),
        }
        if step.said is not None:
            written["said"] = step.said
        if len(step.events) > 1:
            written["pieces"] = len(step.events)
        if step.is_jump:
            written["jump"] = True
        return written

    def _request(self, request: Request) -> Wire:
        timeline = self._timeline
        state = timeline.state_before(min(request.at, len(timeline.steps)))
        is_state = conversation_in(state, request.agent_id) == request.messages
        system, tools = request.system, request.tools
        return {
            "at": request.at,
            "agent": request.agent_id,
            "exact": request.is_exact,
            "system": None if system is None else _place(self._systems, shortened(system)),
            "tools": None if tools is None else _place(self._toolsets, shortened(tools)),
            "messages": None if is_state else shortened(messages_to_wire(request.messages)),
        }


def machines_to_wire() -> list[Wire]:
    """The state machines that a diagram shows."""
    wire: list[Wire] = msgspec.to_builtins(machines())
    return wire


def lane_to_wire(lane: Lane, steps: Sequence[Step]) -> Wire:
    """A lane: the operations of each step from ``at`` on, the first ones on the recorded state."""
    state = steps[lane.at - 1].state if lane.at else empty_state()
    wire = _shown_state(state, empty_state(), state_to_wire(empty_state()))
    rows: list[Wire] = []
    for step, recorded in zip(lane.steps, steps[lane.at :], strict=False):
        after = _shown_state(step.state, state, wire)
        row: Wire = {"ops": changes(wire, after), "same": step.state == recorded.state}
        if step.is_left_out:
            row["left_out"] = True
        if len(rows) == 0:
            row["actions"] = [action_to_wire(action) for action in step.actions]
        rows.append(row)
        state, wire = step.state, after
    return {
        "at": lane.at,
        "first": lane.first,
        "answered": lane.answered,
        "rejoined": lane.rejoined,
        "steps": rows,
    }


def shortened(value: Any, limit: int = MAX_TEXT_CHARS) -> Any:
    """``value`` with long texts cut; the same object when there is none."""
    if isinstance(value, str):
        if len(value) <= limit:
            return value
        return f"{value[:limit]}… ({len(value) - limit:,} more characters)"
    if isinstance(value, Mapping):
        return {key: shortened(item, limit) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [shortened(item, limit) for item in value]
    return value


def changes(before: Any, after: Any, path: tuple[str | int, ...] = ()) -> list[Op]:
    """The operations that make ``after`` of ``before``, two values of JSON data."""
    if before is after:
        return []
    if isinstance(before, dict) and isinstance(after, dict):
        return _dict_changes(before, after, path)
    if isinstance(before, list) and isinstance(after, list):
        return _list_changes(before, after, path)
    if type(before) is type(after) and before == after:
        return []
    if isinstance(before, str) and isinstance(after, str) and before and after.startswith(before):
        return [[[*path], after[len(before) :], 1]]
    return [[[*path], after]]


def _dict_changes(before: Wire, after: Wire, path: tuple[str | int, ...]) -> list[Op]:
    ops: list[Op] = [[[*path, key]] for key in before if key not in after]
    for key, value in after.items():
        if key in before:
            ops += changes(before[key], value, (*path, key))
        else:
            ops.append([[*path, key], value])
    return ops


def _list_changes(before: list[Any], after: list[Any], path: tuple[str | int, ...]) -> list[Op]:
    ops: list[Op] = []
    if len(after) < len(before):
        ops.append([[*path, len(after)]])
    for index, value in enumerate(after):
        if index < len(before):
            ops += changes(before[index], value, (*path, index))
        else:
            ops.append([[*path, index], value])
    return ops


class Happening(Protocol):
    """An event, the actions that were folded for it, and the state they led to."""

    @property
    def event(self) -> Event: ...
    @property
    def actions(self) -> tuple[Action, ...]: ...
    @property
    def state(self) -> SessionState: ...


def moves(step: Happening, before: SessionState) -> list[Wire]:
    """Which machines took which way in this step: ``{"machine", "from", "to", "by"}``.

    A call's also has its ``id`` and ``name``. A way may lead back to where it began.
    """
    after, kind = step.state, step.event.type
    own = [action for action in step.actions if not _is_nested(action)]
    by = action_name(own[-1]) if own else kind
    found: list[Wire] = []
    moving = {name for name in (action_name(action) for action in own) if name in _MOVING}
    if before.status != after.status or (moving and before is not after):
        name = next(iter(moving), by)
        found.append({"machine": "session", "from": before.status, "to": after.status, "by": name})
    names = [action_name(action) for action in step.actions]
    said = names[-1] if names else kind
    old = {call.id: call.state for call in _changed_calls(before.messages, after.messages)}
    for call in _changed_calls(after.messages, before.messages):
        was = old.get(call.id, NONE)
        if was != call.state:
            way = {"machine": "call", "from": was, "to": call.state, "by": said}
            found.append({**way, "id": call.id, "name": call.name})
    return found


_MOVING: Final = frozenset(str(kind.__struct_config__.tag) for kind in STATUS_AFTER)


def _is_nested(action: object) -> bool:
    return isinstance(action, ApplyPart) and action.within is not None


def _changed_calls(messages: Conversation, other: Conversation) -> list[ToolPart]:
    """The calls of those messages that are not the very same in ``other``, nested ones too."""
    start = messages.shared_with(other)
    found: list[ToolPart] = []
    for index in range(start, len(messages)):
        if index < len(other) and messages[index] is other[index]:
            continue
        for call in messages[index].tool_calls:
            found.append(call)
            if call.agent is not None:
                found += _changed_calls(call.agent.messages, Conversation.of(()))
    return found


def _shown_state(state: SessionState, before: SessionState, wire: Wire) -> Wire:
    """The wire form of ``state``; what it shares with ``before`` is the same object in ``wire``."""
    if state is before:
        return wire
    new, old = state.messages, before.messages
    shared = new.shared_with(old)
    messages = [*wire["messages"][:shared]]
    for index in range(shared, len(new)):
        is_same = index < len(old) and new[index] is old[index]
        messages.append(
            wire["messages"][index] if is_same else shortened(message_to_wire(new[index]))
        )
    after = {**state_to_wire(SessionState.of((), state.status, state.error)), "messages": messages}
    return {"status": after.pop("status"), **after}


def _place(known: list[Any], value: Any) -> int:
    """Where ``value`` is in ``known``, put there if it is not."""
    if value not in known:
        known.append(value)
    return known.index(value)

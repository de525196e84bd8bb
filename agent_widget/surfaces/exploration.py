"""What an explorer shows: a timeline, its wire form, and how it follows a running session.

A timeline is pushed on the engine's thread and read on others, one at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from ..core.actions import Action
from ..core.events import Event, RunSettled, SessionEnded, SessionReset, TreeNavigated
from ..core.machine import NONE
from ..core.state import SessionState, empty_state
from ..engine.session import Session
from ..providers.base import ModelRequest
from ..view.model import SessionView
from ..view.timeline import Reading, Request, Step, Timeline
from ..view.timelinewire import (
    VERSION,
    Happening,
    TimelineWriter,
    lane_to_wire,
    machines_to_wire,
    moves,
)
from ..view.whatif import Lane, folded_again, read_change

FLUSH_S: Final = 0.1
MAX_ROWS: Final = 200
"""Bound of the textual table: it is saved with the notebook at every display."""
BOUNDARIES: Final = (RunSettled, SessionReset, SessionEnded, TreeNavigated)
"""Events after which all of it goes into the synced state, so that it is saved."""


class Exploration:
    """A timeline and its wire form; any thread may use it.

    ``notes`` say what has to be known of where it comes from.
    """

    def __init__(self, timeline: Timeline, label: str, *, is_live: bool) -> None:
        self.label = label
        self.notes: tuple[str, ...] = ()
        self.is_live = is_live
        self.lock = threading.RLock()
        self.timeline = timeline
        self._writer = TimelineWriter(timeline)
        self._lane = ""  # the other lane, as it is printed

    @property
    def steps(self) -> Sequence[Step]:
        with self.lock:
            return (*self.timeline.steps,)

    def wire(self) -> dict[str, Any]:
        """All of it."""
        with self.lock:
            return {
                "v": VERSION,
                "label": self.label,
                "live": self.is_live,
                "notes": [*self.notes],
                "machines": machines_to_wire(),
                "steps": self._writer.steps(),
                "requests": self._writer.requests(),
            }

    def since(self, start: int, known_requests: int = -1) -> dict[str, Any]:
        """The steps from ``start`` on, as a message; all requests, if there are not so many."""
        with self.lock:
            steps = self._writer.steps(start)
            message: dict[str, Any] = {"kind": "steps", "from": start, "steps": steps}
            if len(self.timeline.requests) != known_requests:
                message["requests"] = self._writer.requests()
            return message

    def lane(self, at: int, change: Mapping[str, Any] | None) -> dict[str, Any]:
        """The lane that begins with ``change`` at step ``at``; None: there is none any more.

        Raises SessionError.
        """
        if change is None:
            self._lane = ""
            return {}
        steps, wanted = self.steps, read_change(change)
        made = folded_again(steps, at, wanted)
        title = f"What if · {steps[at].event.type} · {wanted.kind}"
        self._lane = "\n\n" + _table(title, _folded(made, steps), _state_before(steps, at))
        return {**lane_to_wire(made, steps), "change": dict(change)}

    def table(self) -> str:
        """The steps that changed something, as text without ids and times; then the other lane."""
        title = f"SessionExplorer · {self.label}"
        table = _table(title, self.steps, self.timeline.state_before(0))
        return "\n".join((table, *self.notes)) + self._lane


class _Folded(Struct, frozen=True):
    """A step of the other lane beside the event it stands for."""

    event: Event
    actions: tuple[Action, ...]
    state: SessionState


def _folded(lane: Lane, steps: Sequence[Step]) -> list[_Folded]:
    pairs = zip(steps[lane.at :], lane.steps, strict=False)
    return [_Folded(step.event, made.actions, made.state) for step, made in pairs]


def _state_before(steps: Sequence[Step], at: int) -> SessionState:
    return steps[at - 1].state if at else empty_state()


def _table(title: str, steps: Iterable[Happening], before: SessionState) -> str:
    rows = [("event", "actions", "session", "calls")]
    for step in steps:
        if step.state is not before:
            rows.append(_row(step, before))
        before = step.state
    title = f"{title} · {len(rows) - 1} changes · {before.status}"
    left_out = max(0, len(rows) - 1 - MAX_ROWS)
    shown = [rows[0], *rows[1 + left_out :]]
    widths = [max(len(row[column]) for row in shown) for column in range(3)]
    lines = [
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]))
        for row in shown
    ]
    note = [f"({left_out} earlier changes)"] if left_out else []
    return "\n".join([title, *note, *(line.rstrip() for line in lines)])


def _row(step: Happening, before: SessionState) -> tuple[str, str, str, str]:
    ways = moves(step, before)
    actions = ", ".join(_action_name(action) for action in step.actions)
    session = next((way for way in ways if way["machine"] == "session"), None)
    status: str = step.state.status
    if session is not None and session["from"] != session["to"]:
        status = f"{session['from']} → {session['to']}"
    calls = (way for way in ways if way["machine"] == "call")
    return step.event.type, actions, status, ", ".join(map(_call_in_words, calls))


def _action_name(action: object) -> str:
    wire = msgspec.to_builtins(action)
    return str(wire["part"]["type"] if "part" in wire else wire["type"])


def _call_in_words(way: Mapping[str, Any]) -> str:
    before = "" if way["from"] == NONE else f"{way['from']} → "
    return f"{way['name']}: {before}{way['to']}"


class Following:
    """Follows a running session into an exploration; lives on the engine's loop.

    ``send`` gets messages for the pages, ``save`` is called at boundaries.
    """

    def __init__(
        self,
        session: Session,
        loop: asyncio.AbstractEventLoop,
        label: str,
        *,
        is_live: bool = True,
    ) -> None:
        self.exploration = Exploration(Timeline(), label, is_live=is_live)
        self.send: Callable[[dict[str, Any]], None] = lambda _message: None
        self.save: Callable[[], None] = lambda: None
        self.is_watched = False
        self._session = session
        self._loop = loop
        self._dirty: int | None = None
        self._sent_requests = 0
        self._is_at_boundary = False

    async def begin(self) -> None:
        """Read what was, then follow. Raises StoreError."""
        records, view = await self._session.runs.watching.begin(self)
        timeline, reading = self.exploration.timeline, Reading()
        for record in records:
            reading.record(record, timeline)
        timeline.settle(view.chat)

    def end(self) -> None:
        """Let go of the session."""
        self._flush()
        self._session.runs.watching.end(self)

    def event(self, event: Event, view: SessionView) -> None:
        with self.exploration.lock:
            index = self.exploration.timeline.push(event, view.chat)
        self._is_at_boundary = self._is_at_boundary or isinstance(event, BOUNDARIES)
        if self._dirty is None:
            self._dirty = index
            self._loop.call_later(FLUSH_S, self._flush)

    def request(self, agent_id: str | None, request: ModelRequest) -> None:
        tools: list[dict[str, Any]] = [msgspec.to_builtins(tool) for tool in request.tools]
        with self.exploration.lock:
            timeline = self.exploration.timeline
            timeline.asked(
                Request(
                    len(timeline.steps),
                    request.messages,
                    request.system,
                    tuple(tools),
                    agent_id,
                    is_exact=True,
                )
            )

    def _flush(self) -> None:
        start, self._dirty = self._dirty, None
        if start is None:
            return
        if self.is_watched:
            self.send(self.exploration.since(start, self._sent_requests))
            self._sent_requests = len(self.exploration.timeline.requests)
        if self._is_at_boundary:
            self._is_at_boundary = False
            self.save()

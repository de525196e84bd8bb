"""The state machine of a session and of its tool calls, as tables.

The reducer runs on these tables, and a diagram is drawn from them: what it shows is what happens.
Actions that are in none of them (text, reasoning, the end of a step) change no state of either
machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args

from msgspec import Struct

from .actions import (
    Action,
    ApplyPart,
    Finish,
    Reset,
    Retry,
    Send,
    Stop,
    StreamError,
    StreamPart,
    ToolCall,
    ToolError,
    ToolPhase,
    ToolResult,
)
from .messages import OPEN_STATES, ToolState
from .state import Status

Kind = type[Action] | type[StreamPart]

STATUS_AFTER: Final[Mapping[Kind, Status]] = {
    Send: "streaming",
    Retry: "streaming",
    Finish: "idle",
    Stop: "idle",
    Reset: "idle",
    StreamError: "error",
}
"""The status of a session after an action, whatever it was before."""

CALL_BEGINS: Final[ToolState] = "running"
"""The state of a call that the model has just asked for (``ToolCall``)."""
CALL_WAITS: Final[tuple[ToolState, ...]] = ("awaiting-confirmation", "running")
"""The states that ``ToolPhase`` may give an open call: it names the one."""
CALL_ENDS: Final[Mapping[Kind, tuple[ToolState, ...]]] = {
    ToolResult: ("done",),
    ToolError: ("error", "cancelled"),
}
"""How a call ends; an error that says so (``is_cancelled``) is a cancellation."""
CALL_CUT: Final[ToolState] = "cancelled"
"""The state of open calls when nothing runs any more."""
CUTTING: Final[tuple[Kind, ...]] = (Stop, StreamError, Finish)
"""What cuts open calls off; ``Finish`` only with the reason ``aborted``."""

NONE: Final = "none"
"""Stands for a call that is not there yet."""


class Edge(Struct, frozen=True):
    """A way from one state to another, by the wire name of the action that takes it.

    ``late``: the call had ended before; a result that comes after its run replaces that end.
    """

    source: str
    target: str
    action: str
    late: bool = False


def wire_name(kind: Kind) -> str:
    """The name of an action on the wire, for example ``tool-call``."""
    return str(kind.__struct_config__.tag)


def action_name(action: Action) -> str:
    """The wire name of an action; that of its part, where it brings one."""
    return wire_name(type(action.part if isinstance(action, ApplyPart) else action))


def session_edges() -> tuple[Edge, ...]:
    """All ways between the states of a session."""
    return tuple(
        Edge(source, target, wire_name(kind))
        for source in get_args(Status)
        for kind, target in STATUS_AFTER.items()
    )


def call_edges() -> tuple[Edge, ...]:
    """All ways between the states of a tool call; ``none`` is before it."""
    return tuple(_call_edges())


def _call_edges() -> Iterator[Edge]:
    yield Edge(NONE, CALL_BEGINS, wire_name(ToolCall))
    for source in get_args(ToolState):
        is_open = source in OPEN_STATES
        if is_open:
            for target in CALL_WAITS:
                yield Edge(source, target, wire_name(ToolPhase))
        for kind, targets in CALL_ENDS.items():
            for target in targets:
                yield Edge(source, target, wire_name(kind), late=not is_open)
        if is_open:
            for kind in CUTTING:
                yield Edge(source, CALL_CUT, wire_name(kind))


class Machine(Struct, frozen=True):
    """One machine as a diagram shows it."""

    name: Literal["session", "call"]
    states: tuple[str, ...]
    edges: tuple[Edge, ...]


def machines() -> tuple[Machine, Machine]:
    """The machine of a session, and that of a tool call."""
    return (
        Machine("session", get_args(Status), session_edges()),
        Machine("call", (NONE, *get_args(ToolState)), call_edges()),
    )

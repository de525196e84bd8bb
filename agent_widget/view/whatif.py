"""What if: a timeline folded again from a step that went otherwise. Pure; nothing of it is live.

The fold is the one of the session. What the model said later stays as it was recorded: nobody asked
it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from ..core.actions import (
    Action,
    ApplyPart,
    MessageStart,
    ToolError,
    ToolPhase,
    ToolResult,
    read_action,
)
from ..core.errors import CANCELLED, SessionError
from ..core.events import (
    AgentCompleted,
    AgentSpawned,
    Event,
    PermissionDecided,
    ToolCompleted,
    ToolFailed,
    ToolOutputDelta,
    ToolProgress,
    ToolStarted,
)
from ..core.messages import Json
from ..core.reducer import session_reducer
from ..core.state import SessionState
from ..core.toolevents import denial
from .model import SessionView
from .project import project
from .timeline import Step

_OF_A_CALL: Final = (
    ToolStarted,
    ToolProgress,
    ToolOutputDelta,
    ToolCompleted,
    ToolFailed,
    AgentSpawned,
    AgentCompleted,
)
"""What does not happen to a call that was denied."""
_PERMITTED: Final = "allow"


class Change(Struct, frozen=True):
    """What goes otherwise at a step; make one with ``read_change``.

    ``actions`` folds these instead, ``skip`` nothing; ``deny`` and ``allow`` answer a permission
    question the other way: with the reason that the model reads, or the output the call would give.
    """

    kind: Literal["actions", "skip", "deny", "allow"]
    actions: tuple[Action, ...] = ()
    reason: str = ""
    output: Json | UnsetType = UNSET


class WhatIfStep(Struct, frozen=True):
    """A step of the other lane: its state, the actions folded, whether it did not happen at all."""

    state: SessionState
    actions: tuple[Action, ...]
    is_left_out: bool = False


class Lane(Struct, frozen=True):
    """The steps from ``at`` on, as they would have been.

    ``first`` is the first one whose state differs, None when none does. From ``answered`` on the
    lane holds answers of a model that was not asked again; from ``rejoined`` on it is the recorded
    one, for the session went to another branch there.
    """

    at: int
    steps: tuple[WhatIfStep, ...]
    first: int | None
    answered: int | None
    rejoined: int | None


def read_change(data: object) -> Change:
    """The change that JSON data asks for. Raises SessionError INVALID_INPUT naming what is wrong.

    ``{"kind": "actions", "actions": [...]}``, ``{"kind": "skip"}``, ``{"kind": "deny", "reason":
    ...}`` or ``{"kind": "allow", "output": ...}``.
    """
    match data:
        case {"kind": "skip"}:
            return Change("skip")
        case {"kind": "deny", **rest}:
            return Change("deny", reason=str(rest.get("reason") or ""))
        case {"kind": "allow", **rest}:
            return Change("allow", output=rest.get("output"))
        case {"kind": "actions", "actions": [*actions]}:
            return Change("actions", tuple(_action(action) for action in actions))
    raise _refused(f"{data!r} is no change.", "Use actions, skip, deny or allow.")


def folded_again(steps: Sequence[Step], at: int, change: Change) -> Lane:
    """The lane that begins with ``change`` at step ``at``. ``steps`` stay as they are.

    Raises SessionError INVALID_INPUT for a step that there is not, and for an answer to a question
    that the step does not decide.
    """
    if not 0 <= at < len(steps):
        raise _refused(f"There is no step {at}.", f"There are {len(steps)}, from 0.")
    decided = steps[at].event
    _require_fit(change, decided, at)
    view = _view_before(steps, at)
    lane: list[WhatIfStep] = []
    rejoined = answered = first = None
    for index in range(at, len(steps)):
        step = steps[index]
        if index > at and step.is_jump:
            rejoined = index
        if rejoined is not None:
            lane.append(WhatIfStep(step.state, step.actions))
            continue
        if index > at and answered is None and _is_answer(step):
            answered = index
        instead = _instead(step, index == at, change, decided)
        if instead is None:
            view = project(view, step.event)
            lane.append(WhatIfStep(view.chat, step.actions))
        else:
            shown = project(view, step.event) if instead else view
            view = replace(shown, chat=_fold(view.chat, instead))
            lane.append(WhatIfStep(view.chat, instead, not instead))
        if first is None and view.chat != step.state:
            first = index
    return Lane(at, tuple(lane), first, None if first is None else answered, rejoined)


def _view_before(steps: Sequence[Step], at: int) -> SessionView:
    """The view that step ``at`` began with: events also fold on what is not in the state."""
    view = SessionView()
    for step in steps[:at]:
        view = replace(project(view, step.event), chat=step.state)
    return view


def _require_fit(change: Change, decided: Event, at: int) -> None:
    if change.kind not in ("deny", "allow"):
        return
    if not isinstance(decided, PermissionDecided):
        raise _refused(f"Step {at} decides no question.", "Choose a step tool.permission.decided.")
    if (decided.decision == _PERMITTED) == (change.kind == "allow"):
        raise _refused(f"That is what was answered: {decided.decision}.", "Try the other one.")


def _instead(
    step: Step, is_here: bool, change: Change, decided: Event
) -> tuple[Action, ...] | None:
    """What is folded in the place of a step's own event; None: that event."""
    if change.kind in ("actions", "skip"):
        return change.actions if is_here else None
    assert isinstance(decided, PermissionDecided)
    call_id, event = decided.tool_call_id, step.event
    if change.kind == "deny":
        if is_here:
            error = {"code": CANCELLED, "message": denial(change.reason)}
            phase = ToolPhase(decided.name, "running", None, call_id)
            return (phase, ApplyPart(ToolError(call_id, error), decided.agent_id))
        is_its = isinstance(event, _OF_A_CALL) and event.tool_call_id == call_id
        return () if is_its or event.agent_id == call_id else None
    if isinstance(event, ToolFailed) and event.tool_call_id == call_id:
        output = None if change.output is UNSET else change.output
        return (ApplyPart(ToolResult(call_id, output), event.agent_id),)
    return None


def _fold(state: SessionState, actions: Sequence[Action]) -> SessionState:
    for action in actions:
        state = session_reducer(state, action)
    return state


def _is_answer(step: Step) -> bool:
    return any(
        isinstance(action, ApplyPart) and isinstance(action.part, MessageStart)
        for action in step.actions
    )


def _action(data: object) -> Action:
    action = read_action(data)
    if action is None:
        name = data.get("type") if isinstance(data, Mapping) else data
        raise _refused(
            f"This is no action: {name!r}.",
            'Write for example {"type": "stop"}; fields and names are those of the recorded ones.',
        )
    return action


def action_to_wire(action: Action) -> dict[str, Any]:
    """``action`` as JSON data, without what it leaves open."""
    wire: dict[str, Any] = msgspec.to_builtins(action)
    return {key: _bare(value) for key, value in wire.items() if value is not None}


def _bare(value: Any) -> Any:
    if isinstance(value, dict) and "type" in value:
        return {key: item for key, item in value.items() if item is not None or key == "output"}
    return value


def _refused(message: str, advice: str) -> SessionError:
    return SessionError("INVALID_INPUT", message, advice=advice)

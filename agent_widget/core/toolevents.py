"""Events of calls: proposed, asked about, decided, carried out, delegated to a sub-agent."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .envelope import Event
from .messages import Json

DecisionSource = Literal["user", "rule", "mode", "guard", "hook", "adjudicator", "none"]
ToolErrorType = Literal[
    "invalid_args",
    "unknown_tool",
    "denied",
    "hook_blocked",
    "timeout",
    "cancelled",
    "exception",
    "unknown",  # the kernel ended while it ran: nobody knows whether it did its work
]


CallStop = Literal["asked", "running_on", "finished", "stopped", "unknown"]
"""How a call took a Stop: it was asked to end; its run ended before it did; it finished anyway, or
ended because of the Stop; the kernel ended first, so that nobody knows.
"""


class ToolDrafted(Event, frozen=True, kw_only=True):
    """A call whose arguments are still arriving: shown, never run, never stored."""

    type = "tool.drafted"
    index: int
    name: str
    arguments: str


class ToolProposed(Event, frozen=True, kw_only=True):
    """The model asked for a call. ``text`` is what will run, ``language`` how to show it."""

    type = "tool.proposed"
    message_id: str
    tool_call_id: str
    name: str
    args: Json
    text: str | None = None
    language: str | None = None


class QueuedCall(Struct, frozen=True):
    """A call that will ask once the ones before it are answered."""

    tool_call_id: str
    name: str
    text: str
    agent: str | None = None


class PermissionRequested(Event, frozen=True, kw_only=True):
    """A call waits for a decision; with an empty ``permission_id`` code decides, not a page.

    ``options`` are the answers on offer, ``rules`` the allow rules that would cover the call,
    ``project_file`` where those of the project are kept, ``queue`` the calls that ask next.
    ``is_form``: the call runs already, and ``name`` asks for what is in ``args``.
    """

    type = "tool.permission.requested"
    tool_call_id: str
    name: str
    prompt: str
    permission_id: str
    text: str = ""
    language: str | None = None
    agent: str | None = None
    reason: str | None = None
    args: Json = None
    options: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    project_file: str | None = None
    queue: tuple[QueuedCall, ...] = ()
    is_form: bool | None = None


class ToolAnswered(Event, frozen=True, kw_only=True):
    """What a running call asked the person is answered, or will never be."""

    type = "tool.answered"
    tool_call_id: str
    name: str
    is_given: bool


class PermissionDecided(Event, frozen=True, kw_only=True):
    """Whether a call may run, and what decided it.

    With ``edited_args`` a person changed what runs; ``text`` is then what they read.
    """

    type = "tool.permission.decided"
    tool_call_id: str
    name: str
    decision: Literal["allow", "deny"]
    decision_source: DecisionSource
    matched_rule: str | None = None
    reason: str | None = None
    edited_args: Json = None
    text: str | None = None


class ToolStarted(Event, frozen=True, kw_only=True):
    """A call is being carried out."""

    type = "tool.started"
    tool_call_id: str
    name: str


class ToolProgress(Event, frozen=True, kw_only=True):
    """``message`` replaces the progress line; None clears it."""

    type = "tool.progress"
    tool_call_id: str
    message: str | None


class ToolOutputDelta(Event, frozen=True, kw_only=True):
    """New output of a running call."""

    type = "tool.output.delta"
    tool_call_id: str
    chunk: str


class ToolCompleted(Event, frozen=True, kw_only=True):
    """A call was carried out; ``is_error`` tells that the tool reports a failure of its own."""

    type = "tool.completed"
    tool_call_id: str
    output: Json
    is_error: bool = False
    duration_ms: int = 0


class ToolFailed(Event, frozen=True, kw_only=True):
    """A call did not complete; without ``duration_ms`` it never started, or its run left it open.

    ``stop`` says how it took a Stop, ``output`` what it had to show by then.
    """

    type = "tool.failed"
    tool_call_id: str
    error_type: ToolErrorType
    message: str
    duration_ms: int | None = None
    stop: CallStop | None = None
    output: Json = None


class ToolEndedLate(Event, frozen=True, kw_only=True):
    """A call that went on after its run has ended: its result is this now, and starts nothing.

    The fields are those of tool.failed. It comes outside of runs, and beside later ones.
    """

    type = "tool.ended_late"
    tool_call_id: str
    error_type: ToolErrorType
    message: str
    stop: CallStop
    duration_ms: int | None = None
    output: Json = None


class AgentSpawned(Event, frozen=True, kw_only=True):
    """A sub-agent begins the work of a call."""

    type = "agent.spawned"
    tool_call_id: str
    name: str


class AgentProgress(Event, frozen=True, kw_only=True):
    """What a sub-agent is at; ``message`` replaces the one before."""

    type = "agent.progress"
    tool_call_id: str
    message: str


class AgentCompleted(Event, frozen=True, kw_only=True):
    """A sub-agent has ended, and how."""

    type = "agent.completed"
    tool_call_id: str
    outcome: Literal["completed", "aborted", "error"]
    message: str | None = None


def denial(reason: str | None) -> str:
    """What the model reads of a call that a person did not allow."""
    said = "The user did not allow this call."
    return f"{said} Reason: {reason}" if reason else said

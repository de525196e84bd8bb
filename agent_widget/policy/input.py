"""May input come in while a run is under way, and who may change that?

``run`` overrides ``session`` overrides ``agent``; where none is set, input is blocked. On the wire
a run is called a turn. Source: session steering document, "Input policy" to "Public interaction
state".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidArgs
from ..core.events import WhileRunning
from ..view.interaction import Interaction

Scope = Literal["turn", "session"]
SessionStatus = Literal["idle", "running", "failed"]
Origin = Literal["user", "program"]
Ending = Literal["completion", "stop", "failure", "recovery", "handoff"]
RefusalCode = Literal["session_closed", "STORAGE_ERROR", "SESSION_BUSY", "INPUT_BLOCKED"]

WHILE_RUNNING: Final[tuple[WhileRunning, ...]] = get_args(WhileRunning)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
STEERING_TRAIT: Final = "wippy.session.traits:steering"
INPUT_CONTROL_TRAIT: Final = "wippy.session.traits:input_control"

TOOL_NAME: Final = "set_session_input_policy"
TOOL_DESCRIPTION: Final = (
    "Set whether the user may send messages while you work. 'steer' takes them into this run "
    "before your next step, 'block' refuses them, 'inherit' removes what was set at the scope."
)
TOOL_PARAMETERS: Final[Mapping[str, object]] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": [*WHILE_RUNNING, "inherit"]},
        "scope": {"type": "string", "enum": [*SCOPES], "default": "turn"},
    },
    "required": ["mode"],
}
"""JSON Schema of the tool's arguments: it always means the session and agent that call it."""


class InputPolicy(Struct, frozen=True):
    """What is set, at each of the three levels; None where nothing is."""

    run: WhileRunning | None = None
    session: WhileRunning | None = None
    agent: WhileRunning | None = None

    @property
    def mode(self) -> WhileRunning:
        """What holds now."""
        return self.run or self.session or self.agent or "block"


class Standing(Struct, frozen=True, kw_only=True):
    """Where a session stands, as stored.

    ``status`` is ``running`` without an active run while its history is being replaced (a
    compaction by hand, a branch summary). ``stop_committed`` counts while the run is active.
    """

    status: SessionStatus = "idle"
    run_active: bool = False
    stop_committed: bool = False
    is_closed: bool = False


class Refusal(Struct, frozen=True):
    """Why input is not taken now: a code for programs, a sentence for people."""

    code: RefusalCode
    message: str


class PolicyChange(Struct, frozen=True):
    """A new override at ``scope``; None removes the one that is there."""

    scope: Scope
    while_running: WhileRunning | None


def stored_setting(value: object) -> WhileRunning | None:
    """The setting that a stored value is; anything but block and steer sets nothing."""
    return next((setting for setting in WHILE_RUNNING if setting == value), None)


def agent_default(traits: Iterable[str]) -> WhileRunning | None:
    """What an agent with these traits sets by itself."""
    return "steer" if STEERING_TRAIT in traits else None


def input_refusal(
    policy: InputPolicy, standing: Standing, origin: Origin = "user"
) -> Refusal | None:
    """Why a message may not come in now, None when it may; the first check that fails speaks.

    ``user`` is who types or calls ``send``. A ``program`` that calls ``steer`` or ``follow_up``
    is not bound by block, but by Stop and by the end of the session.
    """
    if standing.is_closed:
        return Refusal("session_closed", "This session is closed.")
    if standing.status == "failed":
        return Refusal("STORAGE_ERROR", "The session cannot be stored; recover it first.")
    if not standing.run_active:
        if standing.status == "idle":
            return None
        return Refusal("SESSION_BUSY", "The conversation is being summarised.")
    if standing.stop_committed:
        return Refusal("INPUT_BLOCKED", "The run is being stopped.")
    if origin == "user" and policy.mode == "block":
        return Refusal("INPUT_BLOCKED", "A run is under way and takes no messages.")
    return None


def can_send(policy: InputPolicy, standing: Standing) -> bool:
    """Whether a person may send now: what is published once ``standing`` is stored."""
    return input_refusal(policy, standing) is None


def next_interaction(committed: Interaction | None, can_send: bool) -> Interaction:
    """What is published once ``can_send`` is stored; revisions start at 1.

    The same object, and so the same revision, when ``can_send`` did not change.
    """
    if committed is None:
        return Interaction(can_send, 1)
    if committed.can_send == can_send:
        return committed
    return Interaction(can_send, committed.revision + 1)


def requested_change(args: object) -> PolicyChange:
    """The change that the tool's arguments ask for. Raises InvalidArgs with all problems.

    Arguments it does not have, such as a session, are ignored.
    """
    given: Mapping[object, object] = args if isinstance(args, Mapping) else {}
    mode, scope = given.get("mode"), given.get("scope", "turn")
    problems: list[str] = []
    if "mode" not in given:
        problems.append("mode: is missing, expected 'block', 'steer' or 'inherit'")
    elif mode not in (*WHILE_RUNNING, "inherit"):
        problems.append(f"mode: is {mode!r}, expected 'block', 'steer' or 'inherit'")
    known = next((known for known in SCOPES if known == scope), None)
    if known is None:
        problems.append(f"scope: is {scope!r}, expected 'turn' or 'session'")
    if known is None or problems:
        raise InvalidArgs(TOOL_NAME, tuple(problems))
    return PolicyChange(known, stored_setting(mode))


def change_refusal(
    change: PolicyChange,
    standing: Standing,
    *,
    has_input_control: bool,
    caller_agent: str,
    owner_agent: str,
) -> str | None:
    """Why the calling agent may not make ``change``, None when it may.

    Ask again right before the change is stored: the session may have got another agent, or a Stop.
    """
    if standing.is_closed:
        return "The session is closed."
    if not has_input_control:
        return f"This agent does not have the trait {INPUT_CONTROL_TRAIT}."
    if caller_agent != owner_agent:
        return f"The session belongs to the agent {owner_agent!r} now."
    if change.scope == "turn":
        if not standing.run_active:
            return "No run is under way that the change could hold for."
        if standing.stop_committed:
            return "The run is being stopped."
    return None


def changed_policy(policy: InputPolicy, change: PolicyChange) -> InputPolicy:
    """``policy`` with ``change`` made, to be kept once it is stored; other levels stay."""
    if change.scope == "turn":
        return replace(policy, run=change.while_running)
    return replace(policy, session=change.while_running)


def policy_after_run(policy: InputPolicy, agent: WhileRunning | None) -> InputPolicy:
    """The policy once a run ended or was stopped, in whatever way: the run override is gone.

    ``agent`` is the default of the agent that is active from now on; the session override stays.
    """
    return InputPolicy(None, policy.session, agent)


def carries_over(ending: Ending, waiting: bool) -> bool:
    """Whether input that came in as a run ended starts the next run by itself.

    Only after a natural end; after any other, what waits stays until a person starts a run.
    """
    return ending == "completion" and waiting

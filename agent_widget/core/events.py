"""What happened in a session, as flat typed events.

Every event carries the envelope (``session_id``, ``seq`` strictly increasing per session, ``ts`` in
ms, ``run_id`` inside a run, ``agent_id`` = id of the delegate call inside a sub-agent's run); the
writer stamps it. Names and payloads follow the SDK's session event contract; ``to_wire`` gives
its camelCase form, where a run is called a turn.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

from msgspec import UNSET, Struct, UnsetType, to_builtins

from .messages import Json

CONTRACT_VERSION: Final = 1
BlockType = Literal["text", "thinking", "tool_call"]
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


class Event(Struct, frozen=True, kw_only=True):
    """Envelope of all events; unstamped until the writer gives ``seq`` (then ≥ 0)."""

    type: ClassVar[str] = ""
    session_id: str = ""
    seq: int = -1
    ts: int = 0
    run_id: str | None = None
    agent_id: str | None = None
    source: Literal["kernel", "sdk", "hook", "extension"] = "kernel"


class SessionCreated(Event, frozen=True, kw_only=True):
    type = "session.created"
    cwd: str


class SessionResumed(Event, frozen=True, kw_only=True):
    """A stored session goes on: nothing is started by that."""

    type = "session.resumed"
    message_count: int
    pending_count: int = 0


class SessionInfoChanged(Event, frozen=True, kw_only=True):
    """The session's display name."""

    type = "session.info.changed"
    name: str | None


class SessionCheckpointed(Event, frozen=True, kw_only=True):
    """A named place in the conversation was stored."""

    type = "session.checkpointed"
    checkpoint_id: str
    trigger: Literal["manual", "pre_compaction", "pre_restore"]
    label: str | None
    message_count: int


class SessionRestored(Event, frozen=True, kw_only=True):
    """The conversation is that of a checkpoint again."""

    type = "session.restored"
    checkpoint_id: str
    from_messages: int
    to_messages: int


class TreeNavigated(Event, frozen=True, kw_only=True):
    """The conversation is another path of the tree; listeners get the view of that path."""

    type = "tree.navigated"
    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry_id: str | None = None


class SessionReset(Event, frozen=True, kw_only=True):
    """The conversation starts over in the same session."""

    type = "session.reset"


class SessionStopping(Event, frozen=True, kw_only=True):
    """A Stop is stored; the run ends at once or at its next boundary."""

    type = "session.stopping"


class SessionEnded(Event, frozen=True, kw_only=True):
    type = "session.ended"


class PhaseChanged(Event, frozen=True, kw_only=True):
    """What the session is busy with outside of a run, or that it rests again."""

    type = "session.phase.changed"
    phase: Literal["idle", "summarizing"]


class InteractionChanged(Event, frozen=True, kw_only=True):
    type = "session.interaction.changed"
    can_send: bool
    revision: int


class ModelChanged(Event, frozen=True, kw_only=True):
    """The model of later runs; ``notice`` is a line the view shows with it."""

    type = "model.changed"
    label: str
    offline: bool = False
    notice: str | None = None


class PermissionModeChanged(Event, frozen=True, kw_only=True):
    """The mode that decides about calls; ``warning`` stays in sight while it lasts."""

    type = "permission.mode.changed"
    mode: str
    warning: str | None = None


class ToolsChanged(Event, frozen=True, kw_only=True):
    """The tools the model has from its next step on, by name, and those it had."""

    type = "tools.changed"
    names: tuple[str, ...]
    previous: tuple[str, ...]


class Todo(Struct, frozen=True):
    """One entry of the plan; the whole ledger is replaced by each update."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


class TodoUpdated(Event, frozen=True, kw_only=True):
    type = "plan.todo.updated"
    items: tuple[Todo, ...]


QueueName = Literal["steering", "follow_up"]
WhileRunning = Literal["block", "steer"]


class QueuedInput(Struct, frozen=True):
    """Input that is stored and waits: ``steering`` for the next step, ``follow_up`` for the end."""

    message_id: str
    text: str
    queue: QueueName


class InputReceived(Event, frozen=True, kw_only=True):
    """A user message is stored. With ``queue`` it waits there and is not part of the chat yet."""

    type = "input.received"
    message_id: str
    text: str
    queue: QueueName | None = None


class InputChanged(Event, frozen=True, kw_only=True):
    """Waiting input was edited before it was used."""

    type = "input.changed"
    message_id: str
    text: str


class InputApplied(Event, frozen=True, kw_only=True):
    """Waiting input entered the conversation, in this order, after ``after_message_id``.

    None stands for the place before the first message.
    """

    type = "input.applied"
    message_ids: tuple[str, ...]
    after_message_id: str | None
    inputs: tuple[QueuedInput, ...] = ()


class InputWithdrawn(Event, frozen=True, kw_only=True):
    """Waiting input was taken back; its texts were given to whoever did that."""

    type = "input.withdrawn"
    message_ids: tuple[str, ...]


class EntryAppended(Event, frozen=True, kw_only=True):
    """Context that nobody typed entered the conversation, at its end.

    ``kind`` is ``branch_summary`` or the type that an extension gave it; the model reads it as a
    user message, a person sees it if ``display``.
    """

    type = "entry.appended"
    message_id: str
    kind: str
    text: str
    display: bool = True


class QueueUpdated(Event, frozen=True, kw_only=True):
    """What waits now: the texts of each queue, oldest first."""

    type = "queue.updated"
    steering: tuple[str, ...]
    follow_up: tuple[str, ...]


class InputPolicyChanged(Event, frozen=True, kw_only=True):
    """What happens to a message while a run is under way: ``block`` refuses, ``steer`` takes it.

    ``run`` overrides ``session`` overrides ``agent``; where none is set, input is blocked.
    """

    type = "session.input_policy.changed"
    run: WhileRunning | None = None
    session: WhileRunning | None = None
    agent: WhileRunning | None = None


class StorageChanged(Event, frozen=True, kw_only=True):
    """Where the session is kept, and what is wrong with that.

    ``trouble`` says why ``waiting_count`` records are not stored yet, ``read_only`` why this
    session can only be looked at.
    """

    type = "session.storage.changed"
    label: str
    is_durable: bool
    trouble: str | None = None
    waiting_count: int = 0
    read_only: str | None = None


class TurnStarted(Event, frozen=True, kw_only=True):
    type = "turn.started"
    trigger: Literal["send", "retry", "carry_over", "program"]


class TurnCompleted(Event, frozen=True, kw_only=True):
    """A run ended by itself: completed, handoff, max_steps, max_output or refusal."""

    type = "turn.completed"
    reason: str


class TurnAborted(Event, frozen=True, kw_only=True):
    """A run was ended; ``reason`` is interrupted, error, abandoned or closed."""

    type = "turn.aborted"
    reason: str


class TurnError(Event, frozen=True, kw_only=True):
    """A failure. Recoverable ones are notices; the session is open in both cases."""

    type = "turn.error"
    scope: str
    message: str
    recoverable: bool
    error_kind: str | None = None
    advice: str | None = None


class NoticeDismissed(Event, frozen=True, kw_only=True):
    """A person has read a notice and put it away."""

    type = "notice.dismissed"
    nid: str


class RunSettled(Event, frozen=True, kw_only=True):
    """Nothing of the run is left; once for each admitted input."""

    type = "run.settled"
    aborted: bool


class BlockStart(Event, frozen=True, kw_only=True):
    type = "msg.block.start"
    message_id: str
    index: int
    block_type: BlockType


class MsgTextDelta(Event, frozen=True, kw_only=True):
    type = "msg.text.delta"
    message_id: str
    index: int
    text: str


class MsgThinkingDelta(Event, frozen=True, kw_only=True):
    type = "msg.thinking.delta"
    message_id: str
    index: int
    text: str


class BlockEnd(Event, frozen=True, kw_only=True):
    """``text`` is the whole text of a thinking block, for what keeps it in history."""

    type = "msg.block.end"
    message_id: str
    index: int
    block_type: BlockType
    text: str | None = None


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
    type = "tool.started"
    tool_call_id: str
    name: str


class ToolProgress(Event, frozen=True, kw_only=True):
    """``message`` replaces the progress line; None clears it."""

    type = "tool.progress"
    tool_call_id: str
    message: str | None


class ToolOutputDelta(Event, frozen=True, kw_only=True):
    type = "tool.output.delta"
    tool_call_id: str
    chunk: str


class ToolCompleted(Event, frozen=True, kw_only=True):
    type = "tool.completed"
    tool_call_id: str
    output: Json
    is_error: bool = False
    duration_ms: int = 0


class ToolFailed(Event, frozen=True, kw_only=True):
    """A call did not complete; without ``duration_ms`` it never started."""

    type = "tool.failed"
    tool_call_id: str
    error_type: ToolErrorType
    message: str
    duration_ms: int | None = None


class AgentSpawned(Event, frozen=True, kw_only=True):
    type = "agent.spawned"
    tool_call_id: str
    name: str


class AgentCompleted(Event, frozen=True, kw_only=True):
    type = "agent.completed"
    tool_call_id: str
    outcome: Literal["completed", "aborted", "error"]
    message: str | None = None


class UsageUpdated(Event, frozen=True, kw_only=True):
    """Tokens of one model call; the four kinds do not overlap."""

    type = "cost.usage.updated"
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


_WIRE_NAMES: Final = {
    "session_id": "sessionId",
    "run_id": "turnId",
    "agent_id": "agentId",
    "message_id": "messageId",
    "tool_call_id": "toolCallId",
    "permission_id": "permissionId",
    "block_type": "blockType",
    "decision_source": "decisionSource",
    "matched_rule": "matchedRule",
    "error_kind": "errorKind",
    "error_type": "errorType",
    "is_error": "isError",
    "duration_ms": "durationMs",
    "edited_args": "editedArgs",
    "project_file": "projectFile",
    "follow_up": "followUp",
    "checkpoint_id": "checkpointId",
    "message_count": "messageCount",
    "pending_count": "pendingCount",
    "from_messages": "fromMessages",
    "to_messages": "toMessages",
    "new_leaf_id": "newLeafId",
    "old_leaf_id": "oldLeafId",
    "summary_entry_id": "summaryEntryId",
}
_USAGE_NAMES: Final = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_read_tokens": "cacheReadInputTokens",
    "cache_write_tokens": "cacheCreationInputTokens",
}


def event_to_wire(event: Event) -> dict[str, Any]:
    """``event`` as one flat JSON object; absent values are absent keys."""
    wire: dict[str, Any] = {"type": event.type, "v": CONTRACT_VERSION}
    usage: dict[str, Any] = {}
    for name in event.__struct_fields__:
        value: Json | UnsetType = getattr(event, name, UNSET)
        if value is None or value is UNSET:
            continue
        if name in _USAGE_NAMES:
            usage[_USAGE_NAMES[name]] = value
        elif name == "output":
            wire["content"] = value
        elif isinstance(value, tuple):
            wire[_WIRE_NAMES.get(name, name)] = [to_builtins(item) for item in value]
        elif name in ("can_send", "revision"):  # this object keeps the casing of its owner
            wire.setdefault("interaction", {})[name] = value
        else:
            wire[_WIRE_NAMES.get(name, name)] = value
    if usage:
        wire["usage"] = usage
    return wire

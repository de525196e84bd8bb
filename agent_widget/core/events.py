"""What happened in a session, as flat typed events.

Every event carries the envelope (``session_id``, ``seq`` strictly increasing per session, ``ts`` in
ms, ``run_id`` inside a run, ``agent_id`` = id of the delegate call inside a sub-agent's run); the
writer stamps it. Names and payloads follow the SDK's session event contract; ``core.eventwire``
gives its camelCase form, where a run is called a turn. ``events.md`` lists all of them, made from
the docstrings here.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .bashevents import BashCompleted, BashOutputDelta, BashStarted
from .contextevents import (
    CompactionEnded,
    CompactionResult,
    CompactionStarted,
    CompactReason,
    EntryAppended,
    HistoryLoaded,
    SessionCompacted,
)
from .display import LocaleChanged
from .envelope import Event
from .hookevents import HookBlocked, HookCompleted, HookTriggered
from .mcpevents import McpClosed, McpConnected, McpConnectFailed, McpConnecting, McpDiscovered
from .messages import Images, Json
from .modelevents import (
    ModelChanged,
    ProviderSwitched,
    RetryEnded,
    RetryScheduled,
    RetryStarted,
    ThinkingChanged,
    UsageUpdated,
)
from .toolevents import (
    AgentCompleted,
    AgentProgress,
    AgentSpawned,
    CallStop,
    DecisionSource,
    PermissionDecided,
    PermissionRequested,
    QueuedCall,
    ToolAnswered,
    ToolCompleted,
    ToolDrafted,
    ToolEndedLate,
    ToolErrorType,
    ToolFailed,
    ToolOutputDelta,
    ToolProgress,
    ToolProposed,
    ToolStarted,
)

__all__ = [
    "AgentCompleted",
    "AgentProgress",
    "AgentSpawned",
    "BashCompleted",
    "BashOutputDelta",
    "BashStarted",
    "BlockEnd",
    "BlockStart",
    "BlockType",
    "CallStop",
    "CompactReason",
    "CompactionEnded",
    "CompactionResult",
    "CompactionStarted",
    "DecisionSource",
    "EntryAppended",
    "Event",
    "EventsDropped",
    "HistoryLoaded",
    "HookBlocked",
    "HookCompleted",
    "HookTriggered",
    "InputApplied",
    "InputChanged",
    "InputPolicyChanged",
    "InputReceived",
    "InputWithdrawn",
    "InteractionChanged",
    "LocaleChanged",
    "McpClosed",
    "McpConnectFailed",
    "McpConnected",
    "McpConnecting",
    "McpDiscovered",
    "ModelChanged",
    "MsgRetracted",
    "MsgTextDelta",
    "MsgThinkingDelta",
    "NoticeDismissed",
    "PermissionDecided",
    "PermissionModeChanged",
    "PermissionRequested",
    "PhaseChanged",
    "ProviderSwitched",
    "QueueName",
    "QueueUpdated",
    "QueuedCall",
    "QueuedInput",
    "RetryEnded",
    "RetryScheduled",
    "RetryStarted",
    "RunSettled",
    "SessionCheckpointed",
    "SessionCompacted",
    "SessionCreated",
    "SessionEnded",
    "SessionInfoChanged",
    "SessionReset",
    "SessionRestored",
    "SessionResumed",
    "SessionStopping",
    "StorageChanged",
    "ThinkingChanged",
    "Todo",
    "TodoUpdated",
    "ToolAnswered",
    "ToolCompleted",
    "ToolDrafted",
    "ToolEndedLate",
    "ToolErrorType",
    "ToolFailed",
    "ToolOutputDelta",
    "ToolProgress",
    "ToolProposed",
    "ToolStarted",
    "ToolsChanged",
    "TreeNavigated",
    "TurnAborted",
    "TurnCompleted",
    "TurnError",
    "TurnStarted",
    "UsageUpdated",
    "WhileRunning",
    "notice",
]

BlockType = Literal["text", "thinking", "tool_call"]


class SessionCreated(Event, frozen=True, kw_only=True):
    """A session is there: the first event of its stream."""

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
    """The last event of the stream."""

    type = "session.ended"


class EventsDropped(Event, frozen=True, kw_only=True):
    """Events this reader will never get: it came late or was slow, and they did not fit any more.

    At the head of what is left, with the ``seq`` of the first that is gone. A bound of None is off.
    Only within the process: never stored.
    """

    type = "session.events_dropped"
    scope: str
    dropped_count: int
    reason: Literal["count_limit", "bytes_limit"]
    dropped_bytes: int
    first_dropped_seq: int
    last_dropped_seq: int
    max_events: float | None = None
    max_bytes: float | None = None


class PhaseChanged(Event, frozen=True, kw_only=True):
    """What the session is busy with outside of a run, or that it rests again."""

    type = "session.phase.changed"
    phase: Literal["idle", "summarizing"]


class InteractionChanged(Event, frozen=True, kw_only=True):
    """Whether a person may send; ``revision`` grows with each change."""

    type = "session.interaction.changed"
    can_send: bool
    revision: int


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
    id: str | None = None


class TodoUpdated(Event, frozen=True, kw_only=True):
    """The plan, whole: it replaces the one before."""

    type = "plan.todo.updated"
    items: tuple[Todo, ...]


QueueName = Literal["steering", "follow_up"]
WhileRunning = Literal["block", "steer"]


class QueuedInput(Struct, frozen=True):
    """Input that is stored and waits: ``steering`` for the next step, ``follow_up`` for the end.

    ``kind`` is that of context which nobody typed (see ``EntryAppended``).
    """

    message_id: str
    text: str
    queue: QueueName
    kind: str | None = None
    display: bool | None = None
    images: Images = None


class InputReceived(Event, frozen=True, kw_only=True):
    """A user message is stored. With ``queue`` it waits there and is not part of the chat yet;
    then it may also be context that nobody typed, of a ``kind``.
    """

    type = "input.received"
    message_id: str
    text: str
    queue: QueueName | None = None
    kind: str | None = None
    display: bool | None = None
    images: Images = None


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
    """A run begins; exactly one of turn.completed and turn.aborted ends it."""

    type = "turn.started"
    trigger: Literal["send", "retry", "carry_over", "program"]


class TurnCompleted(Event, frozen=True, kw_only=True):
    """A run ended by itself: completed, handoff, max_steps, max_output, refusal, empty_answers."""

    type = "turn.completed"
    reason: str


class TurnAborted(Event, frozen=True, kw_only=True):
    """A run was ended: interrupted, error, budget_exceeded, max_seconds, abandoned or closed.

    Of a budget ``message`` says what is used up, and ``advice`` the way out.
    """

    type = "turn.aborted"
    reason: str
    message: str | None = None
    advice: str | None = None


class TurnError(Event, frozen=True, kw_only=True):
    """A failure. Recoverable ones are notices; the session is open in both cases."""

    type = "turn.error"
    scope: str
    message: str
    recoverable: bool
    error_kind: str | None = None
    advice: str | None = None


def notice(scope: str, code: str, text: str) -> TurnError:
    """What a person should know and nothing ends by; ``code`` is stable, ``text`` is for people."""
    return TurnError(scope=scope, message=text, recoverable=True, error_kind=code)


class NoticeDismissed(Event, frozen=True, kw_only=True):
    """A person has read a notice and put it away."""

    type = "notice.dismissed"
    nid: str


class RunSettled(Event, frozen=True, kw_only=True):
    """Nothing of the run is left; once for each admitted input."""

    type = "run.settled"
    aborted: bool


class BlockStart(Event, frozen=True, kw_only=True):
    """A piece of the answer begins; ``index`` counts within the message."""

    type = "msg.block.start"
    message_id: str
    index: int
    block_type: BlockType


class MsgTextDelta(Event, frozen=True, kw_only=True):
    """New text of the answer."""

    type = "msg.text.delta"
    message_id: str
    index: int
    text: str


class MsgThinkingDelta(Event, frozen=True, kw_only=True):
    """New text of what the model thinks."""

    type = "msg.thinking.delta"
    message_id: str
    index: int
    text: str


class BlockEnd(Event, frozen=True, kw_only=True):
    """``text`` is the whole text of a thinking block, ``data`` what its vendor wants back of it."""

    type = "msg.block.end"
    message_id: str
    index: int
    block_type: BlockType
    text: str | None = None
    data: Json = None


class MsgRetracted(Event, frozen=True, kw_only=True):
    """A block that was shown is taken back, as before a clean retry; its message stays."""

    type = "msg.retracted"
    message_id: str
    index: int

"""Projection: the view after an event. Pure; unknown events change nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ..core.errors import SessionError
from ..core.events import (
    BashCompleted,
    BashOutputDelta,
    BashStarted,
    BlockStart,
    CompactionEnded,
    CompactionStarted,
    EntryAppended,
    Event,
    EventsDropped,
    HistoryLoaded,
    HookBlocked,
    HookCompleted,
    HookTriggered,
    InputApplied,
    InputChanged,
    InputPolicyChanged,
    InputReceived,
    InputWithdrawn,
    InteractionChanged,
    LocaleChanged,
    MsgRetracted,
    MsgThinkingDelta,
    NoticeDismissed,
    PermissionModeChanged,
    PhaseChanged,
    QueuedInput,
    QueueUpdated,
    RunSettled,
    SessionCheckpointed,
    SessionCompacted,
    SessionCreated,
    SessionEnded,
    SessionInfoChanged,
    SessionReset,
    SessionRestored,
    SessionResumed,
    SessionStopping,
    StorageChanged,
    TodoUpdated,
    ToolsChanged,
    ToolStarted,
    TreeNavigated,
    TurnAborted,
    TurnCompleted,
    TurnError,
    TurnStarted,
)
from ..core.eventwire import event_to_wire
from ..core.feed import actions_of
from ..core.messages import Conversation, user_message
from ..core.reducer import session_reducer
from ..core.replay import BUDGET_END
from ..core.state import SessionState
from ..core.wire import messages_from_wire
from .blocks import with_block, without_block
from .callrows import CALL_ROWS, asked_to_stop, in_phase
from .context import with_compaction
from .model import (
    MAX_NOTICES,
    AgentView,
    ErrorView,
    Mark,
    NoteView,
    Notice,
    Phase,
    SessionView,
    StorageView,
    UsageView,
)
from .modelrows import MODEL_ROWS, without_retry
from .servers import SERVER_ROWS

MARKED_ENDS: Final[Mapping[str, Mark]] = {
    "max_output": "incomplete",
    "incomplete": "incomplete",
    "interrupted": "stopped",
    "abandoned": "stopped",
    "closed": "stopped",
    "max_seconds": "stopped",
    "error": "failed",
    "recovered": "stopped",
}
"""Run ends that leave the last answer marked as cut short."""

UNSHOWN: Final[frozenset[type[Event]]] = frozenset(
    {
        BashOutputDelta,  # the code that runs a command shows what it prints
        HookTriggered,  # hooks are for logs; what one blocks is told by its call
        HookCompleted,
        HookBlocked,
        MsgThinkingDelta,  # a view of one's own shows it: ``live``
        QueueUpdated,  # the events of the messages that wait say it
        RunSettled,
        SessionCheckpointed,
        SessionRestored,  # comes with the view of what is restored
        ToolsChanged,
        ToolStarted,
        TreeNavigated,  # comes with the view of that branch
    }
)
"""Types that change nothing in the view."""
_NOT_DETAIL: Final = {"type", "v", "scope", "sessionId", "turnId", "agentId", "seq", "ts", "source"}
"""What of an event's wire form is its envelope."""


def project(view: SessionView, event: Event) -> SessionView:
    """``view`` after ``event``; the same object when it shows nothing new."""
    chat = view.chat
    for action in actions_of(event):
        chat = session_reducer(chat, action)
    if chat is not view.chat:
        view = _with_chat(view, chat)
    show = _SHOWN.get(type(event))
    return view if show is None else show(view, event)


def _with_chat(view: SessionView, chat: SessionState) -> SessionView:
    # Positional construction: this runs once a token, and replace() costs three times as much.
    return SessionView(
        view.session_id,
        chat,
        view.phase,
        view.stopping,
        view.can_send,
        view.revision,
        view.model,
        view.question,
        view.queue,
        view.mode,
        view.mode_warning,
        view.todos,
        view.error,
        view.notices,
        view.usage,
        view.facts,
        view.live,
        view.marks,
        view.drafts,
        view.input,
        view.storage,
        view.name,
        view.steered,
        view.branches,
        view.notes,
        view.agents,
        view.blocks,
        view.is_spent,
        view.locale,
        view.servers,
        view.is_compacting_at_rest,
        view.run_usage,
        view.unread,
        view.commands,
    )


# --- session ----------------------------------------------------------------------------------


def _created(view: SessionView, event: SessionCreated) -> SessionView:
    return replace(view, session_id=event.session_id)


def _resumed(view: SessionView, _event: SessionResumed) -> SessionView:
    # What it spends is counted from its opening: a budget that was used up is a new one.
    return replace(view, is_spent=False, error=None) if view.is_spent else view


def _reset(view: SessionView, _event: SessionReset) -> SessionView:
    return replace(
        view,
        phase="idle",
        error=None,
        facts={},
        live={},
        marks={},
        notices=(),
        todos=(),
        steered=frozenset(),
        branches={},
        notes={},
        unread=frozenset(),
        agents={},
        blocks={},
        usage=view.usage.in_context(None),
        run_usage=UsageView(),
    )


def _stopping(view: SessionView, _event: SessionStopping) -> SessionView:
    return replace(asked_to_stop(view), stopping=True, phase="stopping")


def _ended(view: SessionView, _event: SessionEnded) -> SessionView:
    revision = view.revision + view.can_send  # it counts the changes of can_send
    return replace(view, phase="closed", can_send=False, revision=revision, question=None, queue=())


def _interaction(view: SessionView, event: InteractionChanged) -> SessionView:
    return replace(view, can_send=event.can_send, revision=event.revision)


def _mode(view: SessionView, event: PermissionModeChanged) -> SessionView:
    return replace(view, mode=event.mode, mode_warning=event.warning)


def _locale(view: SessionView, event: LocaleChanged) -> SessionView:
    return replace(view, locale=event.locale)


def _todos(view: SessionView, event: TodoUpdated) -> SessionView:
    return replace(view, todos=event.items)


def _phase(view: SessionView, event: PhaseChanged) -> SessionView:
    return replace(view, phase=event.phase)


def _named(view: SessionView, event: SessionInfoChanged) -> SessionView:
    return replace(view, name=event.name)


def _storage(view: SessionView, event: StorageChanged) -> SessionView:
    storage = StorageView(
        event.label, event.is_durable, event.trouble, event.waiting_count, event.read_only
    )
    return replace(view, storage=storage)


# --- input ------------------------------------------------------------------------------------


def _received(view: SessionView, event: InputReceived) -> SessionView:
    if event.queue is None:
        rest = _without(view, (event.message_id,))
        return replace(_with_waiting(view, rest), error=None)
    row = QueuedInput(
        event.message_id, event.text, event.queue, event.kind, event.display, event.images
    )
    return _with_waiting(view, (*view.input.waiting, row))


def _input_changed(view: SessionView, event: InputChanged) -> SessionView:
    rows = (
        replace(row, text=event.text) if row.message_id == event.message_id else row
        for row in view.input.waiting
    )
    return _with_waiting(view, tuple(rows))


def _withdrawn(view: SessionView, event: InputWithdrawn) -> SessionView:
    return _with_waiting(view, _without(view, event.message_ids))


def _applied(view: SessionView, event: InputApplied) -> SessionView:
    """The rows leave the waiting list and stand in the conversation, at their place."""
    conversation = view.chat.messages
    ids = [message.id for message in conversation[-2:]]
    after = event.after_message_id
    at = len(conversation) if after in ids[-1:] else _place_after(conversation, after)
    later = [*conversation[at:]]
    for _ in later:
        conversation = conversation.without_last()
    for row in event.inputs:
        conversation = conversation.appended(user_message(row.message_id, row.text, row.images))
    for message in later:
        conversation = conversation.appended(message)
    said = [row for row in event.inputs if row.kind is None]
    steered = view.steered | {row.message_id for row in said}
    notes = {
        row.message_id: NoteView(row.kind, row.display is not False)
        for row in event.inputs
        if row.kind is not None
    }
    view = _with_waiting(view, _without(view, event.message_ids))
    chat = SessionState.of(conversation, "streaming")
    return replace(view, chat=chat, steered=steered, notes={**view.notes, **notes})


def _loaded(view: SessionView, event: HistoryLoaded) -> SessionView:
    try:
        messages = messages_from_wire(event.history)
    except SessionError:  # of another version: what it cannot say is not shown
        return view
    return replace(view, chat=SessionState.of(messages, view.chat.status))


def _noted(view: SessionView, event: EntryAppended) -> SessionView:
    conversation = view.chat.messages.appended(user_message(event.message_id, event.text))
    chat = SessionState.of(conversation, view.chat.status, view.chat.error)
    note = NoteView(event.kind, event.display)
    view = _with_waiting(view, _without(view, (event.message_id,)))
    unread = view.unread | {event.message_id} if event.excluded else view.unread
    return replace(view, chat=chat, notes={**view.notes, event.message_id: note}, unread=unread)


def _place_after(conversation: Conversation, message_id: str | None) -> int:
    for index in range(len(conversation) - 1, -1, -1):
        if conversation[index].id == message_id:
            return index + 1
    return 0


def _without(view: SessionView, ids: tuple[str, ...]) -> tuple[QueuedInput, ...]:
    return tuple(row for row in view.input.waiting if row.message_id not in ids)


def _with_waiting(view: SessionView, waiting: tuple[QueuedInput, ...]) -> SessionView:
    if waiting == view.input.waiting:
        return view
    return replace(view, input=replace(view.input, waiting=waiting))


def _policy(view: SessionView, event: InputPolicyChanged) -> SessionView:
    rule = replace(view.input, run=event.run, session=event.session, agent=event.agent)
    return replace(view, input=rule)


# --- run --------------------------------------------------------------------------------------


def _started(view: SessionView, _event: TurnStarted) -> SessionView:
    fresh = UsageView()
    return replace(view, phase="preparing", error=None, stopping=False, run_usage=fresh)


def _turn_error(view: SessionView, event: TurnError) -> SessionView:
    if event.recoverable:
        notice = Notice(f"n-{event.seq}", event.error_kind or event.scope, event.message)
        return _with_notice(view, notice)
    error = ErrorView(
        message=event.message, recoverable=False, code=event.error_kind, advice=event.advice
    )
    return replace(view, error=error)


def _events_dropped(view: SessionView, event: EventsDropped) -> SessionView:
    payload = event_to_wire(replace(event, scope=""))
    detail = {name: value for name, value in payload.items() if name not in _NOT_DETAIL}
    return _with_notice(view, Notice(f"n-{event.seq}", event.type, detail=detail))


def _with_notice(view: SessionView, notice: Notice) -> SessionView:
    return replace(view, notices=(*view.notices, notice)[-MAX_NOTICES:])


def _dismissed(view: SessionView, event: NoticeDismissed) -> SessionView:
    return replace(view, notices=tuple(n for n in view.notices if n.nid != event.nid))


def _run_end(view: SessionView, event: TurnCompleted | TurnAborted) -> SessionView:
    phase: Phase = "error" if view.chat.status == "error" else "idle"
    is_spent = event.reason == BUDGET_END
    if is_spent and isinstance(event, TurnAborted):  # no failure, and as plain to see as one
        view = replace(view, error=_spent(event))
    return replace(
        without_retry(view),
        phase=phase,
        stopping=False,
        question=None,
        queue=(),
        live={},
        drafts={},
        marks=_marks_after(view, event.reason),
        agents=_agents_at_rest(view.agents),
        blocks={},
        is_spent=is_spent,
    )


def _spent(event: TurnAborted) -> ErrorView:
    return ErrorView(
        message=event.message or "",
        recoverable=False,
        code=event.reason,
        advice=event.advice,
    )


def _agents_at_rest(agents: Mapping[str, AgentView]) -> Mapping[str, AgentView]:
    if all(agent.state != "running" for agent in agents.values()):
        return agents
    return {
        call_id: AgentView(agent.name, "aborted") if agent.state == "running" else agent
        for call_id, agent in agents.items()
    }


def _marks_after(view: SessionView, reason: str) -> Mapping[str, Mark]:
    mark = MARKED_ENDS.get(reason)
    if mark is None or not len(view.chat.messages):
        return view.marks
    last = view.chat.messages[-1]
    return view.marks if last.role == "user" else {**view.marks, last.id: mark}


def _compaction_started(view: SessionView, event: CompactionStarted) -> SessionView:
    return replace(view, phase="compacting", is_compacting_at_rest=event.reason == "manual")


def _compaction_ended(view: SessionView, event: CompactionEnded) -> SessionView:
    view = replace(view, is_compacting_at_rest=False)
    if view.phase != "compacting":  # a Stop came meanwhile
        return view
    at_rest: Phase = "error" if view.chat.status == "error" else "idle"
    return replace(view, phase=at_rest if event.reason == "manual" else "preparing")


# --- messages ---------------------------------------------------------------------------------


def _command_started(view: SessionView, event: BashStarted) -> SessionView:
    return replace(view, commands=view.commands | {event.id})


def _command_ended(view: SessionView, event: BashCompleted) -> SessionView:
    return replace(view, commands=view.commands - {event.id})


def _block_start(view: SessionView, event: BlockStart) -> SessionView:
    view = with_block(view, event)
    return view if event.agent_id else in_phase(view, "streaming")


_SHOWN: Final[dict[type[Event], Callable[[SessionView, Any], SessionView]]] = {
    SessionCreated: _created,
    SessionResumed: _resumed,
    SessionReset: _reset,
    SessionStopping: _stopping,
    SessionEnded: _ended,
    InteractionChanged: _interaction,
    PermissionModeChanged: _mode,
    LocaleChanged: _locale,
    TodoUpdated: _todos,
    InputReceived: _received,
    InputChanged: _input_changed,
    InputApplied: _applied,
    EntryAppended: _noted,
    HistoryLoaded: _loaded,
    InputWithdrawn: _withdrawn,
    InputPolicyChanged: _policy,
    SessionInfoChanged: _named,
    PhaseChanged: _phase,
    StorageChanged: _storage,
    TurnStarted: _started,
    TurnError: _turn_error,
    NoticeDismissed: _dismissed,
    TurnCompleted: _run_end,
    TurnAborted: _run_end,
    EventsDropped: _events_dropped,
    CompactionStarted: _compaction_started,
    CompactionEnded: _compaction_ended,
    SessionCompacted: with_compaction,
    BashStarted: _command_started,
    BashCompleted: _command_ended,
    BlockStart: _block_start,
    MsgRetracted: without_block,
    **CALL_ROWS,
    **MODEL_ROWS,
    **SERVER_ROWS,
}

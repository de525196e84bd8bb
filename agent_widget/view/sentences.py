"""What each event says: a string of the ``narrator`` table. ``narrate`` puts them on a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.events import (
    AgentCompleted,
    AgentProgress,
    AgentSpawned,
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
    LocaleChanged,
    McpClosed,
    McpConnected,
    McpConnectFailed,
    McpConnecting,
    McpDiscovered,
    ModelChanged,
    MsgRetracted,
    NoticeDismissed,
    PermissionDecided,
    PermissionModeChanged,
    PermissionRequested,
    PhaseChanged,
    ProviderSwitched,
    RetryEnded,
    RetryScheduled,
    RetryStarted,
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
    ThinkingChanged,
    TodoUpdated,
    ToolAnswered,
    ToolCompleted,
    ToolFailed,
    ToolProgress,
    ToolProposed,
    ToolsChanged,
    ToolStarted,
    TreeNavigated,
    TurnAborted,
    TurnCompleted,
    TurnError,
    TurnStarted,
    UsageUpdated,
)
from ..core.messages import Json
from ..core.toolevents import ToolEndedLate
from .bashsentences import BASH_SENTENCES
from .locale.words import Said, said
from .quoting import quoted


def _because(reason: str | None) -> Said | str:
    return said("because", reason=quoted(reason)) if reason else ""


def _after(duration_ms: int | None) -> Said | str:
    return "" if duration_ms is None else said("after", seconds=duration_ms / 1000)


def _arguments(args: Json) -> str:
    return quoted(json.dumps(args, ensure_ascii=False, default=repr))


def _first_text(output: Json) -> Said | str:
    """The first text of a tool's output, else its JSON."""
    content = output.get("content") if isinstance(output, Mapping) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            return quoted(block["text"])
    return said("no_output") if output is None else _arguments(output)


# --- session ----------------------------------------------------------------------------------


def _created(event: SessionCreated) -> Said:
    return said("created", session=quoted(event.session_id), folder=quoted(event.cwd))


def _resumed(event: SessionResumed) -> Said:
    messages = said("messages", count=event.message_count)
    if not event.pending_count:
        return said("resumed", messages=messages)
    return said("resumed.waiting", messages=messages, waiting=event.pending_count)


def _named(event: SessionInfoChanged) -> Said:
    return said("named", name=quoted(event.name)) if event.name else said("unnamed")


def _checkpointed(event: SessionCheckpointed) -> Said:
    messages = said("messages", count=event.message_count)
    if not event.label:
        return said("checkpoint", messages=messages)
    return said("checkpoint.named", label=quoted(event.label), messages=messages)


def _restored(event: SessionRestored) -> Said:
    messages = said("messages", count=event.to_messages)
    return said("restored", messages=messages, before=event.from_messages)


def _navigated(_event: TreeNavigated) -> Said:
    return said("navigated")


def _reset(_event: SessionReset) -> Said:
    return said("reset")


def _stopping(_event: SessionStopping) -> Said:
    return said("stopping")


def _ended(_event: SessionEnded) -> Said:
    return said("ended")


def _locale(event: LocaleChanged) -> Said:
    return said("locale", locale=quoted(event.locale))


def _dropped(event: EventsDropped) -> str:
    # The wording is fixed by the event contract.
    count = f"{event.dropped_count} event(s) dropped ({quoted(event.reason)})"
    return f"events dropped [{quoted(event.scope)}]: {count}"


def _phase(event: PhaseChanged) -> Said:
    return said("rests") if event.phase == "idle" else said("phase", phase=quoted(event.phase))


def _model(event: ModelChanged) -> Said:
    return said("model", model=quoted(event.label), because=_because(event.notice))


def _thinking(event: ThinkingChanged) -> Said:
    return said("thinking", level=quoted(event.level))


def _switched(event: ProviderSwitched) -> Said:
    return said("takeover", model=quoted(event.to_model), because=_because(event.reason))


def _retry(event: RetryScheduled) -> Said:
    return said(
        "retry",
        seconds=event.delay_ms / 1000,
        attempt=event.attempt,
        count=event.max_attempts,
        because=_because(event.error_message),
    )


def _retrying(event: RetryStarted) -> Said:
    return said("retry.started", attempt=event.attempt, count=event.max_attempts)


def _retried(event: RetryEnded) -> Said:
    if event.success:
        return said("retry.succeeded")
    return said("retry.failed", because=_because(event.final_error))


def _mode(event: PermissionModeChanged) -> Said:
    return said("mode", mode=quoted(event.mode), because=_because(event.warning))


def _tools(event: ToolsChanged) -> Said:
    names = quoted(", ".join(event.names))
    return said("tools", tools=names) if names else said("tools.none")


def _todos(event: TodoUpdated) -> Said:
    done, count = sum(item.status == "completed" for item in event.items), len(event.items)
    at = next((item.content for item in event.items if item.status == "in_progress"), None)
    if at is None:
        return said("plan", done=done, count=count)
    return said("plan.at", done=done, count=count, step=quoted(at))


def _storage(event: StorageChanged) -> Said:
    if event.read_only is not None:
        return said("read_only", because=_because(event.read_only))
    if event.trouble is not None:
        records = said("records", count=event.waiting_count)
        return said("unstored", records=records, because=_because(event.trouble))
    return said("kept", place=quoted(event.label))


# --- input ------------------------------------------------------------------------------------


def _received(event: InputReceived) -> Said:
    key = {"steering": "input.steering", "follow_up": "input.follow_up"}
    told = event.text or " ".join(map(str, event.images or ()))
    return said(key.get(event.queue or "", "input"), text=quoted(told))


def _changed(event: InputChanged) -> Said:
    return said("input.changed", text=quoted(event.text))


def _applied(event: InputApplied) -> Said:
    messages = said("waiting_messages", count=len(event.message_ids))
    return said("input.applied", messages=messages)


def _withdrawn(event: InputWithdrawn) -> Said:
    messages = said("waiting_messages", count=len(event.message_ids))
    return said("input.withdrawn", messages=messages)


def _history(_event: HistoryLoaded) -> Said:
    return said("history")


def _entry(event: EntryAppended) -> Said:
    return said("entry", kind=quoted(event.kind), text=quoted(event.text))


def _compacting(event: CompactionStarted) -> Said:
    return said(
        {
            "manual": "compacting",
            "threshold": "compacting.threshold",
            "overflow": "compacting.overflow",
        }[event.reason]
    )


def _compacted(event: SessionCompacted) -> Said:
    first, last = (*event.removed_range, 0, 0)[:2]
    return said("compacted", messages=said("messages", count=max(0, last - first + 1)))


def _compaction_ended(event: CompactionEnded) -> Said:
    if event.aborted:
        return said("compaction.aborted")
    if event.result is None:
        return said("compaction.failed", because=_because(event.error_message))
    before, after = event.result.tokens_before, event.result.tokens_after
    return said("compaction.done", after=after, before=before)


def _policy(event: InputPolicyChanged) -> Said:
    steers = (event.run or event.session or event.agent) == "steer"
    return said("policy.steer") if steers else said("policy.block")


# --- run --------------------------------------------------------------------------------------


def _started(event: TurnStarted) -> Said:
    return said("run.again") if event.trigger == "retry" else said("run")


def _completed(event: TurnCompleted) -> Said:
    if event.reason == "completed":
        return said("run.completed")
    return said("run.ended", reason=quoted(event.reason))


def _aborted(event: TurnAborted) -> Said:
    return said("run.aborted", reason=quoted(event.reason), because=_because(event.message))


def _error(event: TurnError) -> str:
    # The ending is fixed by the event contract: it promises no retry.
    ending = " — recoverable, session continues" if event.recoverable else ""
    return f"error [{quoted(event.scope)}]: {quoted(event.message)}{ending}"


def _dismissed(_event: NoticeDismissed) -> Said:
    return said("dismissed")


def _retracted(_event: MsgRetracted) -> Said:
    return said("retracted")


def _usage(event: UsageUpdated) -> Said:
    read, cached = event.input_tokens, event.cache_read_tokens
    tokens = said("tokens", count=read + cached + event.cache_write_tokens)
    output = event.output_tokens
    if not cached:
        return said("usage", tokens=tokens, output=output)
    return said("usage.cached", tokens=tokens, cached=cached, output=output)


# --- calls, said of the tool's name -----------------------------------------------------------


def _proposed(event: ToolProposed) -> Said:
    is_code = event.text and event.language != "json"
    what = quoted(event.text or "") if is_code else _arguments(event.args)
    return said("call.wants", what=what)


def _requested(event: PermissionRequested) -> Said:
    key = "call.asks_form" if event.is_form else "call.asks"
    return said(key, because=_because(event.prompt or event.text))


def _decided(event: PermissionDecided) -> Said:
    by = quoted(event.matched_rule or event.decision_source)
    key = "call.edited" if event.edited_args is not None else "call.allowed"
    key = key if event.decision == "allow" else "call.denied"
    return said(key, by=by, because=_because(event.reason))


def _answered(event: ToolAnswered) -> Said:
    return said("call.answered" if event.is_given else "call.unanswered")


def _tool_started(_event: ToolStarted) -> Said:
    return said("call.started")


def _progress(event: ToolProgress) -> Said | None:
    return None if event.message is None else said("call.reports", message=quoted(event.message))


def _tool_completed(event: ToolCompleted) -> Said:
    after = _after(event.duration_ms)
    if event.is_error:
        return said("call.error", after=after, output=_first_text(event.output))
    return said("call.completed", after=after)


def _failed(event: ToolFailed) -> Said:
    why, after = quoted(event.error_type), _after(event.duration_ms)
    return said("call.failed", why=why, after=after, because=_because(event.message))


def _ended_late(event: ToolEndedLate) -> Said:
    return said("call.late", because=_because(event.message))


def _spawned(_event: AgentSpawned) -> Said:
    return said("agent.started")


def _agent_progress(event: AgentProgress) -> Said:
    return said("agent.reports", message=quoted(event.message))


def _agent_ended(event: AgentCompleted) -> Said:
    keys = {"completed": "agent.completed", "aborted": "agent.aborted"}
    return said(keys.get(event.outcome, "agent.failed"), because=_because(event.message))


# --- hooks ------------------------------------------------------------------------------------


def _hook(event: HookTriggered) -> Said:
    return said("hook", hook=quoted(event.name), event=quoted(event.hook_event))


def _hook_done(event: HookCompleted) -> Said:
    return said("hook.done", hook=quoted(event.name), because=_because(event.reason))


def _hook_blocked(event: HookBlocked) -> Said:
    because = _because(event.reason)
    return said(
        "hook.blocked", hook=quoted(event.name), event=quoted(event.hook_event), because=because
    )


# --- MCP servers ------------------------------------------------------------------------------


def _mcp_connecting(event: McpConnecting) -> Said:
    return said("mcp.starting", server=quoted(event.server))


def _mcp_connected(event: McpConnected) -> Said:
    return said("mcp.connected", server=quoted(event.server))


def _mcp_failed(event: McpConnectFailed) -> Said:
    return said("mcp.failed", server=quoted(event.server), because=_because(event.message))


def _mcp_closed(event: McpClosed) -> Said:
    return said("mcp.closed", server=quoted(event.server), because=_because(event.message))


def _mcp_discovered(event: McpDiscovered) -> Said:
    count, out = len(event.tools), _because(event.message)
    return said("mcp.has", server=quoted(event.server), count=count, because=out)


SENTENCES: Final[Mapping[type[Event], Callable[[Any], Said | str]]] = {
    SessionCreated: _created,
    SessionResumed: _resumed,
    SessionInfoChanged: _named,
    SessionCheckpointed: _checkpointed,
    SessionRestored: _restored,
    TreeNavigated: _navigated,
    SessionReset: _reset,
    SessionStopping: _stopping,
    SessionEnded: _ended,
    LocaleChanged: _locale,
    EventsDropped: _dropped,
    PhaseChanged: _phase,
    ModelChanged: _model,
    ThinkingChanged: _thinking,
    ProviderSwitched: _switched,
    RetryScheduled: _retry,
    RetryStarted: _retrying,
    RetryEnded: _retried,
    PermissionModeChanged: _mode,
    ToolsChanged: _tools,
    TodoUpdated: _todos,
    StorageChanged: _storage,
    InputReceived: _received,
    InputChanged: _changed,
    InputApplied: _applied,
    InputWithdrawn: _withdrawn,
    EntryAppended: _entry,
    **BASH_SENTENCES,
    HistoryLoaded: _history,
    InputPolicyChanged: _policy,
    TurnStarted: _started,
    TurnCompleted: _completed,
    TurnAborted: _aborted,
    TurnError: _error,
    NoticeDismissed: _dismissed,
    MsgRetracted: _retracted,
    UsageUpdated: _usage,
    CompactionStarted: _compacting,
    SessionCompacted: _compacted,
    CompactionEnded: _compaction_ended,
    HookTriggered: _hook,
    HookCompleted: _hook_done,
    HookBlocked: _hook_blocked,
    McpConnecting: _mcp_connecting,
    McpConnected: _mcp_connected,
    McpConnectFailed: _mcp_failed,
    McpClosed: _mcp_closed,
    McpDiscovered: _mcp_discovered,
}
"""What is a whole sentence."""

OF_CALLS: Final[Mapping[type[Event], Callable[[Any], Said | None]]] = {
    ToolProposed: _proposed,
    PermissionRequested: _requested,
    PermissionDecided: _decided,
    ToolAnswered: _answered,
    ToolStarted: _tool_started,
    ToolProgress: _progress,
    ToolCompleted: _tool_completed,
    ToolFailed: _failed,
    ToolEndedLate: _ended_late,
}
"""What is said of a tool, whose name comes before it."""

OF_AGENTS: Final[Mapping[type[Event], Callable[[Any], Said]]] = {
    AgentSpawned: _spawned,
    AgentProgress: _agent_progress,
    AgentCompleted: _agent_ended,
}
"""What is said of a sub-agent, whose name comes before it."""

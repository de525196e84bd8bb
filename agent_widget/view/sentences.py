"""What each event says in words. One function for each type; ``narrate`` puts them on a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.events import (
    AgentCompleted,
    AgentProgress,
    AgentSpawned,
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
    ModelChanged,
    MsgRetracted,
    NoticeDismissed,
    PermissionDecided,
    PermissionModeChanged,
    PermissionRequested,
    PhaseChanged,
    SessionCheckpointed,
    SessionCreated,
    SessionEnded,
    SessionInfoChanged,
    SessionReset,
    SessionRestored,
    SessionResumed,
    SessionStopping,
    StorageChanged,
    TodoUpdated,
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

MAX_CHARS: Final = 200
"""Bound of each text that a sentence quotes."""


def quoted(text: str) -> str:
    """``text`` on one line, printable, at most ``MAX_CHARS`` long."""
    line = " ".join(text[: 4 * MAX_CHARS].split())
    if len(line) > MAX_CHARS:
        line = line[: MAX_CHARS - 1].rstrip() + "…"
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in line)


def counted(count: int, noun: str) -> str:
    """``1 message``, ``1,200 messages``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _seconds(duration_ms: int | None) -> str:
    return "" if duration_ms is None else f" after {duration_ms / 1000:.1f} s"


def _because(reason: str | None) -> str:
    return f": {quoted(reason)}" if reason else ""


def _arguments(args: Json) -> str:
    return quoted(json.dumps(args, ensure_ascii=False, default=repr))


def _first_text(output: Json) -> str:
    """The first text of a tool's output, else its JSON."""
    content = output.get("content") if isinstance(output, Mapping) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and isinstance(block.get("text"), str):
            return quoted(block["text"])
    return "no output" if output is None else _arguments(output)


# --- session ----------------------------------------------------------------------------------


def _created(event: SessionCreated) -> str:
    return f"Session {quoted(event.session_id)} is open in {quoted(event.cwd)}"


def _resumed(event: SessionResumed) -> str:
    waiting = f", {event.pending_count:,} waiting" if event.pending_count else ""
    return f"Session goes on with {counted(event.message_count, 'message')}{waiting}"


def _named(event: SessionInfoChanged) -> str:
    return f"Session is named {quoted(event.name)}" if event.name else "Session has no name"


def _checkpointed(event: SessionCheckpointed) -> str:
    label = f" {quoted(event.label)}" if event.label else ""
    return f"Checkpoint{label} stored at {counted(event.message_count, 'message')}"


def _restored(event: SessionRestored) -> str:
    then = counted(event.to_messages, "message")
    return f"Conversation is that of a checkpoint: {then} instead of {event.from_messages:,}"


def _navigated(_event: TreeNavigated) -> str:
    return "Conversation is on another branch"


def _reset(_event: SessionReset) -> str:
    return "Conversation starts over"


def _stopping(_event: SessionStopping) -> str:
    return "Stopping"


def _ended(_event: SessionEnded) -> str:
    return "Session ended"


def _dropped(event: EventsDropped) -> str:
    # The wording is fixed by the event contract.
    count = f"{event.dropped_count} event(s) dropped ({quoted(event.reason)})"
    return f"events dropped [{quoted(event.scope)}]: {count}"


def _phase(event: PhaseChanged) -> str:
    return "Session rests" if event.phase == "idle" else f"Session is {quoted(event.phase)}"


def _model(event: ModelChanged) -> str:
    return f"Model is {quoted(event.label)}{_because(event.notice)}"


def _mode(event: PermissionModeChanged) -> str:
    return f"Permission mode is {quoted(event.mode)}{_because(event.warning)}"


def _tools(event: ToolsChanged) -> str:
    return f"Tools are {quoted(', '.join(event.names)) or 'none'}"


def _todos(event: TodoUpdated) -> str:
    done = sum(item.status == "completed" for item in event.items)
    at = next((item.content for item in event.items if item.status == "in_progress"), None)
    now = "" if at is None else f", now at {quoted(at)}"
    return f"Plan: {done} of {len(event.items)} done{now}"


def _storage(event: StorageChanged) -> str:
    if event.read_only is not None:
        return f"Session can only be read{_because(event.read_only)}"
    if event.trouble is not None:
        waiting = counted(event.waiting_count, "record")
        return f"Session is not stored, {waiting} waiting{_because(event.trouble)}"
    return f"Session is kept in {quoted(event.label)}"


# --- input ------------------------------------------------------------------------------------


def _received(event: InputReceived) -> str:
    waits = {"steering": " (waits for the next step)", "follow_up": " (waits for the end)"}
    return f"User{waits.get(event.queue or '', '')}: {quoted(event.text)}"


def _changed(event: InputChanged) -> str:
    return f"Waiting message was edited: {quoted(event.text)}"


def _applied(event: InputApplied) -> str:
    return f"{counted(len(event.message_ids), 'waiting message')} entered the conversation"


def _withdrawn(event: InputWithdrawn) -> str:
    return f"{counted(len(event.message_ids), 'waiting message')} taken back"


def _history(_event: HistoryLoaded) -> str:
    return "The conversation begins with messages of elsewhere"


def _entry(event: EntryAppended) -> str:
    return f"Context of kind {quoted(event.kind)} was added: {quoted(event.text)}"


def _policy(event: InputPolicyChanged) -> str:
    steers = (event.run or event.session or event.agent) == "steer"
    return f"Messages are {'taken' if steers else 'refused'} while a run is under way"


# --- run --------------------------------------------------------------------------------------


def _started(event: TurnStarted) -> str:
    return "Run started again" if event.trigger == "retry" else "Run started"


def _completed(event: TurnCompleted) -> str:
    ended = event.reason != "completed"
    return f"Run ended ({quoted(event.reason)})" if ended else "Run completed"


def _aborted(event: TurnAborted) -> str:
    return f"Run was ended ({quoted(event.reason)})"


def _error(event: TurnError) -> str:
    # The ending is fixed by the event contract: it promises no retry.
    ending = " — recoverable, session continues" if event.recoverable else ""
    return f"error [{quoted(event.scope)}]: {quoted(event.message)}{ending}"


def _dismissed(_event: NoticeDismissed) -> str:
    return "Notice was put away"


def _retracted(_event: MsgRetracted) -> str:
    return "Part of the answer was taken back"


def _usage(event: UsageUpdated) -> str:
    read = event.input_tokens + event.cache_read_tokens + event.cache_write_tokens
    cached = f" ({event.cache_read_tokens:,} cached)" if event.cache_read_tokens else ""
    return f"Model read {counted(read, 'token')}{cached}, wrote {event.output_tokens:,}"


# --- calls, said of the tool's name -----------------------------------------------------------


def _proposed(event: ToolProposed) -> str:
    is_code = event.text and event.language != "json"
    what = quoted(event.text or "") if is_code else _arguments(event.args)
    return f"wants to run: {what}"


def _requested(event: PermissionRequested) -> str:
    return f"needs permission{_because(event.prompt or event.text)}"


def _decided(event: PermissionDecided) -> str:
    by = quoted(event.matched_rule or event.decision_source)
    said = "allowed" if event.decision == "allow" else "denied"
    edited = " with changes" if event.edited_args is not None else ""
    return f"was {said}{edited} by {by}{_because(event.reason)}"


def _tool_started(_event: ToolStarted) -> str:
    return "started"


def _progress(event: ToolProgress) -> str | None:
    return None if event.message is None else f"reports: {quoted(event.message)}"


def _tool_completed(event: ToolCompleted) -> str:
    took = _seconds(event.duration_ms)
    if event.is_error:
        return f"ended with an error{took}: {_first_text(event.output)}"
    return f"completed{took}"


def _failed(event: ToolFailed) -> str:
    why = quoted(event.error_type)
    return f"failed ({why}){_seconds(event.duration_ms)}{_because(event.message)}"


def _ended_late(event: ToolEndedLate) -> str:
    return f"ended after its run{_because(event.message)}"


def _spawned(_event: AgentSpawned) -> str:
    return "started"


def _agent_progress(event: AgentProgress) -> str:
    return f"reports: {quoted(event.message)}"


def _agent_ended(event: AgentCompleted) -> str:
    words = {"completed": "completed", "aborted": "was ended"}
    return words.get(event.outcome, "failed") + _because(event.message)


# --- hooks ------------------------------------------------------------------------------------


def _hook(event: HookTriggered) -> str:
    return f"Hook {quoted(event.name)} runs at {quoted(event.hook_event)}"


def _hook_done(event: HookCompleted) -> str:
    return f"Hook {quoted(event.name)} completed{_because(event.reason)}"


def _hook_blocked(event: HookBlocked) -> str:
    return f"Hook {quoted(event.name)} blocked {quoted(event.hook_event)}{_because(event.reason)}"


SENTENCES: Final[Mapping[type[Event], Callable[[Any], str]]] = {
    SessionCreated: _created,
    SessionResumed: _resumed,
    SessionInfoChanged: _named,
    SessionCheckpointed: _checkpointed,
    SessionRestored: _restored,
    TreeNavigated: _navigated,
    SessionReset: _reset,
    SessionStopping: _stopping,
    SessionEnded: _ended,
    EventsDropped: _dropped,
    PhaseChanged: _phase,
    ModelChanged: _model,
    PermissionModeChanged: _mode,
    ToolsChanged: _tools,
    TodoUpdated: _todos,
    StorageChanged: _storage,
    InputReceived: _received,
    InputChanged: _changed,
    InputApplied: _applied,
    InputWithdrawn: _withdrawn,
    EntryAppended: _entry,
    HistoryLoaded: _history,
    InputPolicyChanged: _policy,
    TurnStarted: _started,
    TurnCompleted: _completed,
    TurnAborted: _aborted,
    TurnError: _error,
    NoticeDismissed: _dismissed,
    MsgRetracted: _retracted,
    UsageUpdated: _usage,
    HookTriggered: _hook,
    HookCompleted: _hook_done,
    HookBlocked: _hook_blocked,
}
"""What is a whole sentence."""

OF_CALLS: Final[Mapping[type[Event], Callable[[Any], str | None]]] = {
    ToolProposed: _proposed,
    PermissionRequested: _requested,
    PermissionDecided: _decided,
    ToolStarted: _tool_started,
    ToolProgress: _progress,
    ToolCompleted: _tool_completed,
    ToolFailed: _failed,
    ToolEndedLate: _ended_late,
}
"""What is said of a tool, whose name comes before it."""

OF_AGENTS: Final[Mapping[type[Event], Callable[[Any], str]]] = {
    AgentSpawned: _spawned,
    AgentProgress: _agent_progress,
    AgentCompleted: _agent_ended,
}
"""What is said of a sub-agent, whose name comes before it."""

"""What a stored record means: the events that were published when it was written.

Live and from the store, a session is the same fold. A record of the conversation gives back its
events here, with text and calls whole where they had streamed; facts that belong to the session
and not to one path of its tree (input policy, name, what waits) are read by ``core.journal``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from .bashevents import command_entry
from .events import (
    AgentCompleted,
    AgentSpawned,
    BlockEnd,
    BlockStart,
    BlockType,
    EntryAppended,
    Event,
    HistoryLoaded,
    InputApplied,
    InputReceived,
    MsgRetracted,
    MsgTextDelta,
    PermissionDecided,
    QueuedInput,
    SessionCompacted,
    Todo,
    TodoUpdated,
    ToolCompleted,
    ToolEndedLate,
    ToolFailed,
    ToolProposed,
    TurnAborted,
    TurnCompleted,
    TurnError,
    TurnStarted,
)
from .messages import Json, images_in
from .records import Record, RecordKind

Data = Mapping[str, Json]

HARD_ENDS: Final = frozenset(
    {
        "interrupted",
        "error",
        "abandoned",
        "closed",
        "recovered",
        "budget_exceeded",
        "max_seconds",
    }
)
"""Reasons for which a run is told as aborted; after any other it ended by itself."""
BUDGET_END: Final = "budget_exceeded"
"""The one of them that is told with its reason in words: no failure, and nothing to try again."""
PRELOAD: Final = "preload"
"""The type of a ``custom`` record: messages of elsewhere that the conversation begins with."""
LATE_RESULT: Final = "late_result"
"""The type of a ``custom`` record: what became of a call that went on after its run."""
MODEL_ERROR: Final = "model_error"
"""The type of a ``custom`` record: a model call that failed and was made again. Not shown, and not
part of what a model is told.
"""


def events_of(record: Record) -> tuple[Event, ...]:
    """The events that ``record`` stands for, unstamped; empty for what is not shown in a chat."""
    make = _MAKERS.get(record.kind)
    if make is None:
        return ()
    run_id, agent_id = record.data.get("run_id"), record.data.get("agent_id")
    return tuple(
        replace(event, run_id=run_id, agent_id=event.agent_id or agent_id, ts=record.ts)
        for event in make(record.data)
    )


def end_events(reason: str, error: Data | None, calls: Iterable[ToolFailed]) -> tuple[Event, ...]:
    """How the end of a run is told: calls it leaves open, what went wrong, then the end.

    What a budget ends has not failed: the end itself says why.
    """
    events: list[Event] = [*calls]
    if error is not None and reason != BUDGET_END:
        events.append(
            TurnError(
                scope=error.get("scope", "run"),
                message=error["message"],
                recoverable=False,
                error_kind=error["code"],
                advice=error.get("advice"),
            )
        )
    why: Data = error if error is not None and reason == BUDGET_END else {}
    if reason in HARD_ENDS:
        message, advice = why.get("message"), why.get("advice")
        events.append(TurnAborted(reason=reason, message=message, advice=advice))
    else:
        events.append(TurnCompleted(reason=reason))
    return tuple(events)


def call_failure(call: Data) -> ToolFailed:
    """The end of a call that a run left open, from its record."""
    return ToolFailed(
        tool_call_id=call["tool_call_id"],
        error_type=call["error_type"],
        message=call["message"],
        agent_id=call.get("agent_id"),
        duration_ms=call.get("duration_ms"),
        stop=call.get("stop"),
        output=call.get("output"),
    )


def late_end(data: Data) -> ToolEndedLate:
    """The end of a call that went on after its run, from its record."""
    return ToolEndedLate(
        tool_call_id=data["tool_call_id"],
        error_type=data["error_type"],
        message=data["message"],
        stop=data["stop"],
        duration_ms=data["duration_ms"],
        output=data["output"],
        run_id=data["run_id"],
        agent_id=data["agent_id"],
    )


# --- by kind -----------------------------------------------------------------------------------


def _admitted(data: Data) -> list[Event]:
    events: list[Event] = []
    message = data.get("message")
    if message is not None:
        events.append(_received(message))
    for entry in data.get("context", ()):
        events += _custom_message(entry)
    events.append(TurnStarted(trigger=data["trigger"]))
    return events


def _received(message: Data) -> Event:
    images = images_in(message.get("images"))
    return InputReceived(message_id=message["id"], text=message["text"], images=images)


def _message(data: Data) -> list[Event]:
    if data.get("role") == "tool_result":
        return [_result(data)]
    message = data["message"]
    if message["role"] == "user":
        return [_received(message)]
    events: list[Event] = []
    for index, part in enumerate(message["parts"]):
        events += _part(message["id"], index, part)
    if data.get("retracted"):  # shown and taken back: the message is there, with nothing in it
        place = {"message_id": message["id"], "index": 0}
        events = [BlockStart(block_type="text", **place), MsgRetracted(**place)]
    return events


def _part(message_id: str, index: int, part: Data) -> list[Event]:
    if part["type"] == "tool":
        call = ToolProposed(
            message_id=message_id,
            tool_call_id=part["id"],
            name=part["name"],
            args=part["input"],
            text=part.get("text"),
            language=part.get("language"),
        )
        return [BlockStart(message_id=message_id, index=index, block_type="tool_call"), call]
    text = part["text"]
    is_thinking = part["type"] == "reasoning"
    kind: BlockType = "thinking" if is_thinking else "text"
    start = BlockStart(message_id=message_id, index=index, block_type=kind)
    whole, own = (text, part.get("data")) if is_thinking else (None, None)
    end = BlockEnd(message_id=message_id, index=index, block_type=kind, text=whole, data=own)
    if is_thinking:
        return [start, end]
    return [start, MsgTextDelta(message_id=message_id, index=index, text=text), end]


def _result(data: Data) -> Event:
    call_id, duration_ms = data["tool_call_id"], data.get("duration_ms")
    error = data.get("error")
    if error is not None:
        return ToolFailed(
            tool_call_id=call_id,
            error_type=error["code"],
            message=error["message"],
            duration_ms=duration_ms,
        )
    return ToolCompleted(
        tool_call_id=call_id,
        output=data["output"],
        is_error=data["is_error"],
        duration_ms=duration_ms or 0,
    )


def _decided(data: Data) -> list[Event]:
    return [
        PermissionDecided(
            tool_call_id=data["tool_call_id"],
            name=data["name"],
            decision=data["decision"],
            decision_source=data["source"],
            matched_rule=data.get("matched_rule"),
            reason=data.get("reason"),
            edited_args=data.get("edited_args"),
            text=data.get("text"),
        )
    ]


def _agent_run(data: Data) -> list[Event]:
    call_id, outcome = data["tool_call_id"], data.get("outcome")
    if outcome is None:
        return [AgentSpawned(tool_call_id=call_id, name=data["name"])]
    ended = AgentCompleted(tool_call_id=call_id, outcome=outcome, message=data.get("message"))
    return [*map(call_failure, data["open_calls"]), ended]


def _applied(data: Data) -> list[Event]:
    rows = tuple(
        QueuedInput(
            row["id"],
            row["text"],
            "steering",
            row.get("custom_type"),
            row.get("display"),
            images_in(row.get("images")),
        )
        for row in data["messages"]
    )
    ids, after = tuple(data["message_ids"]), data["after_message_id"]
    return [InputApplied(message_ids=ids, after_message_id=after, inputs=rows)]


def _custom_message(data: Data) -> list[Event]:
    return [
        EntryAppended(
            message_id=data["message_id"],
            kind=data["custom_type"],
            text=data["content"],
            display=data["display"],
        )
    ]


def _command(data: Data) -> list[Event]:
    return [command_entry(data)]


def _summary(data: Data) -> list[Event]:
    text, message_id = data["summary"], data["message_id"]
    return [EntryAppended(message_id=message_id, kind="branch_summary", text=text)]


def _compacted(data: Data) -> list[Event]:
    return [
        SessionCompacted(
            compaction_id=data["message_id"],
            removed_range=tuple(data["removed_range"]),
            first_kept_message_id=data["first_kept_message_id"],
            summary=data["summary"],
            checkpoint_id=data.get("checkpoint_id"),
        )
    ]


def _ended(data: Data) -> list[Event]:
    calls = (call_failure(call) for call in data["open_calls"])
    return [*end_events(data["reason"], data.get("error"), calls)]


def _custom(data: Data) -> list[Event]:
    if data["custom_type"] == LATE_RESULT:
        return [late_end(data)]
    if data["custom_type"] == PRELOAD:
        return [HistoryLoaded(history=data["data"])]
    if data["custom_type"] != "todos":
        return []
    items = tuple(Todo(item["content"], item["status"]) for item in data["data"])
    return [TodoUpdated(items=items)]


_MAKERS: Final[Mapping[RecordKind, Callable[[Data], list[Event]]]] = {
    "run_admitted": _admitted,
    "message": _message,
    "permission_decided": _decided,
    "agent_run": _agent_run,
    "input_applied": _applied,
    "run_ended": _ended,
    "custom": _custom,
    "custom_message": _custom_message,
    "bash": _command,
    "branch_summary": _summary,
    "compaction": _compacted,
}

"""Random actions and events of sessions, for laws."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agent_widget.core import actions as act
from agent_widget.core import events as ev
from agent_widget.core.messages import ImagePart

IDS = st.sampled_from(["a-1", "a-2", "n-1", "c1", "c2", "d1", "d2", "zz"])
NAMES = st.sampled_from(["run_python", "describe", "delegate_to_helper"])
TEXTS = st.text(max_size=6)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
ERRORS = st.sampled_from(
    [{"code": "cancelled", "message": "no"}, {"message": "boom"}, "boom", None]
)

PARTS: st.SearchStrategy[act.StreamPart] = st.one_of(
    st.builds(act.MessageStart, IDS),
    st.builds(act.TextDelta, IDS, TEXTS),
    st.builds(act.Reasoning, IDS, TEXTS),
    st.builds(act.ToolCall, IDS, IDS, NAMES, JSON),
    st.builds(act.ToolResult, IDS, JSON),
    st.builds(act.ToolError, IDS, ERRORS),
    st.builds(act.StepFinish),
    st.builds(act.Finish, st.sampled_from([None, "stop", "aborted"])),
    st.builds(act.StreamError, TEXTS, st.sampled_from([None, "network", "rate_limited"])),
)
PHASES = st.sampled_from(["running", "awaiting-confirmation"])
ACTIONS: st.SearchStrategy[act.Action] = st.one_of(
    st.builds(act.Send, IDS, TEXTS),
    st.builds(act.ApplyPart, PARTS, st.none() | IDS),
    st.builds(act.ApplyPart, PARTS, st.none() | IDS),
    st.builds(act.ToolPhase, NAMES, PHASES, st.none() | TEXTS),
    st.builds(act.Stop),
    st.builds(act.Retry),
    st.builds(act.Reset),
)
IMAGES = st.sampled_from([None, (ImagePart("image/png", "AA=="), ImagePart("image/png"))])
HISTORIES = st.lists(ACTIONS, max_size=25)

CALLS = st.sampled_from(["c1", "c2", "d1"])
MESSAGES = st.sampled_from(["a-1", "a-2", "n-1"])
AGENTS = st.none() | st.just("d1")
OUTPUTS = st.sampled_from(
    [
        {"content": [{"type": "text", "text": "ok", "audience": "all"}], "isError": False},
        {"content": [{"type": "image", "mime": "image/png", "data": "AA==", "audience": "user"}]},
        "plain",
        None,
        {"rows": 3},
    ]
)
RUN_ENDS = st.sampled_from(["completed", "max_output"])
ABORTS = st.sampled_from(["interrupted", "error", "closed"])
STOPS = st.sampled_from(["running_on", "finished", "stopped", "unknown"])
OPTIONAL = st.none() | TEXTS


def _event(kind: type[ev.Event], **fields: Any) -> st.SearchStrategy[ev.Event]:
    return st.builds(kind, seq=st.integers(0, 99), **fields)


EVENTS: st.SearchStrategy[ev.Event] = st.one_of(
    _event(ev.InputReceived, message_id=st.sampled_from(["u-1", "u-2"]), text=TEXTS, images=IMAGES),
    _event(ev.TurnStarted, trigger=st.sampled_from(["send", "retry"])),
    _event(ev.TurnCompleted, reason=RUN_ENDS),
    _event(ev.TurnAborted, reason=ABORTS),
    _event(
        ev.TurnError,
        scope=TEXTS,
        message=TEXTS,
        recoverable=st.booleans(),
        error_kind=st.none() | st.just("network"),
    ),
    _event(
        ev.BlockStart,
        message_id=MESSAGES,
        index=st.just(0),
        block_type=st.just("text"),
        agent_id=AGENTS,
    ),
    _event(ev.MsgTextDelta, message_id=MESSAGES, index=st.just(0), text=TEXTS, agent_id=AGENTS),
    _event(
        ev.BlockEnd,
        message_id=MESSAGES,
        index=st.just(0),
        block_type=st.just("thinking"),
        text=TEXTS,
        agent_id=AGENTS,
    ),
    _event(ev.ToolDrafted, index=st.integers(0, 1), name=NAMES, arguments=TEXTS),
    _event(
        ev.ToolProposed,
        message_id=MESSAGES,
        tool_call_id=CALLS,
        name=NAMES,
        args=JSON,
        text=OPTIONAL,
        language=st.sampled_from([None, "python", "json"]),
        agent_id=AGENTS,
    ),
    _event(
        ev.PermissionRequested,
        tool_call_id=CALLS,
        name=NAMES,
        prompt=TEXTS,
        permission_id=TEXTS,
        text=TEXTS,
    ),
    _event(
        ev.PermissionDecided,
        tool_call_id=CALLS,
        name=NAMES,
        decision=st.just("allow"),
        decision_source=st.just("user"),
    ),
    _event(ev.ToolProgress, tool_call_id=CALLS, message=OPTIONAL),
    _event(ev.ToolOutputDelta, tool_call_id=CALLS, chunk=TEXTS),
    _event(
        ev.ToolCompleted,
        tool_call_id=CALLS,
        output=OUTPUTS,
        is_error=st.booleans(),
        duration_ms=st.integers(0, 9),
        agent_id=AGENTS,
    ),
    _event(
        ev.ToolFailed,
        tool_call_id=CALLS,
        error_type=st.sampled_from(["cancelled", "exception"]),
        message=TEXTS,
        agent_id=AGENTS,
        stop=st.none() | STOPS,
        output=OUTPUTS,
    ),
    _event(
        ev.ToolEndedLate,
        tool_call_id=CALLS,
        error_type=st.sampled_from(["cancelled", "exception"]),
        message=TEXTS,
        stop=STOPS,
        output=OUTPUTS,
        duration_ms=st.none() | st.just(4),
        agent_id=AGENTS,
    ),
    _event(ev.AgentCompleted, tool_call_id=st.just("d1"), outcome=st.sampled_from(["completed"])),
    _event(ev.UsageUpdated, model=TEXTS, input_tokens=st.just(3), output_tokens=st.just(2)),
    _event(ev.NoticeDismissed, nid=st.sampled_from([f"n-{i}" for i in range(9)])),
    _event(ev.SessionStopping),
    _event(ev.SessionReset),
    _event(ev.InteractionChanged, can_send=st.booleans(), revision=st.integers(0, 3)),
)
"""Any event in any order: far wilder than a real session."""

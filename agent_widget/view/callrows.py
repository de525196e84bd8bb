"""What the view shows of calls and of the sub-agents that some of them are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ..core.events import (
    AgentCompleted,
    AgentProgress,
    AgentSpawned,
    Event,
    PermissionDecided,
    PermissionRequested,
    ToolAnswered,
    ToolCompleted,
    ToolDrafted,
    ToolEndedLate,
    ToolFailed,
    ToolOutputDelta,
    ToolProgress,
    ToolProposed,
)
from ..core.messages import TextPart
from ..core.state import SessionState
from .model import (
    NO_FACTS,
    NOT_LIVE,
    AgentView,
    CallFacts,
    Draft,
    Phase,
    QuestionView,
    SessionView,
)


def in_phase(view: SessionView, phase: Phase) -> SessionView:
    """``view`` in ``phase``; a Stop under way stays visible as such."""
    if view.stopping or view.phase == phase:
        return view
    return replace(view, phase=phase)


# --- tools ------------------------------------------------------------------------------------


def _drafted(view: SessionView, event: ToolDrafted) -> SessionView:
    if event.agent_id:
        return view
    old = view.drafts.get(event.index)
    text = TextPart.of(event.arguments) if old is None else old.arguments.grow(event.arguments)
    drafts = {**view.drafts, event.index: Draft(event.name, text)}
    return replace(in_phase(view, "streaming"), drafts=drafts)


def _proposed(view: SessionView, event: ToolProposed) -> SessionView:
    facts = CallFacts(event.text, event.language)
    view = replace(view, facts={**view.facts, event.tool_call_id: facts})
    return view if event.agent_id else replace(in_phase(view, "tooling"), drafts={})


def _requested(view: SessionView, event: PermissionRequested) -> SessionView:
    question = QuestionView(
        pid=event.permission_id,
        tid=event.tool_call_id,
        tool=event.name,
        text=event.text,
        language=event.language,
        agent=event.agent,
        reason=event.reason,
        args=event.args,
        options=event.options,
        rules=event.rules,
        project_file=event.project_file,
        is_form=bool(event.is_form),
    )
    view = in_phase(view, "awaiting_confirmation")
    if not event.permission_id:
        return view
    return replace(view, question=question, queue=event.queue)


def _decided(view: SessionView, event: PermissionDecided) -> SessionView:
    facts = known = view.facts.get(event.tool_call_id, NO_FACTS)
    if event.edited_args is not None:
        facts = replace(facts, text=event.text, is_edited=True)
    if event.decision == "deny":
        facts = replace(facts, is_denied=True)
    if facts is not known:
        view = replace(view, facts={**view.facts, event.tool_call_id: facts})
    if view.question is None or view.question.tid != event.tool_call_id:
        return in_phase(view, "tooling")
    return replace(in_phase(view, "tooling"), question=None, queue=())


def _answered(view: SessionView, event: ToolAnswered) -> SessionView:
    if view.question is None or view.question.tid != event.tool_call_id:
        return in_phase(view, "tooling")
    return replace(in_phase(view, "tooling"), question=None, queue=())


def _progress(view: SessionView, event: ToolProgress) -> SessionView:
    live = replace(view.live.get(event.tool_call_id, NOT_LIVE), progress=event.message)
    return replace(view, live={**view.live, event.tool_call_id: live})


def _output_delta(view: SessionView, event: ToolOutputDelta) -> SessionView:
    live = view.live.get(event.tool_call_id, NOT_LIVE)
    text = TextPart.of(event.chunk) if live.output is None else live.output.grow(event.chunk)
    return replace(view, live={**view.live, event.tool_call_id: replace(live, output=text)})


def _tool_ended(view: SessionView, event: ToolCompleted | ToolFailed) -> SessionView:
    call_id = event.tool_call_id
    stop = event.stop if isinstance(event, ToolFailed) else None
    facts = replace(view.facts.get(call_id, NO_FACTS), duration_ms=event.duration_ms, stop=stop)
    live = {other: call for other, call in view.live.items() if other != call_id}
    return replace(view, facts={**view.facts, call_id: facts}, live=live)


def _ended_late(view: SessionView, event: ToolEndedLate) -> SessionView:
    facts = view.facts.get(event.tool_call_id)
    if facts is None:  # a call of another branch
        return view
    ms = facts.duration_ms if event.duration_ms is None else event.duration_ms
    facts = replace(facts, duration_ms=ms, stop=event.stop)
    return replace(view, facts={**view.facts, event.tool_call_id: facts})


def asked_to_stop(view: SessionView) -> SessionView:
    """``view`` with every running call told to end."""
    asked = {
        call_id: replace(view.facts.get(call_id, NO_FACTS), stop="asked")
        for call_id in _running(view.chat)
    }
    return replace(view, facts={**view.facts, **asked}) if asked else view


def _running(chat: SessionState) -> Iterator[str]:
    for message in chat.messages[-2:]:  # calls of earlier steps are closed
        for call in message.tool_calls:
            if call.state == "running":
                yield call.id
            if call.agent is not None:
                yield from _running(call.agent)


# --- sub-agents -------------------------------------------------------------------------------


def _spawned(view: SessionView, event: AgentSpawned) -> SessionView:
    return _with_agent(view, event.tool_call_id, AgentView(event.name))


def _agent_progress(view: SessionView, event: AgentProgress) -> SessionView:
    agent = view.agents.get(event.tool_call_id, AgentView())
    return _with_agent(view, event.tool_call_id, replace(agent, message=event.message))


def _agent_ended(view: SessionView, event: AgentCompleted) -> SessionView:
    agent = view.agents.get(event.tool_call_id, AgentView())
    ended = AgentView(agent.name, event.outcome, event.message)
    return _with_agent(view, event.tool_call_id, ended)


def _with_agent(view: SessionView, call_id: str, agent: AgentView) -> SessionView:
    return replace(view, agents={**view.agents, call_id: agent})


CALL_ROWS: Final[Mapping[type[Event], Callable[[SessionView, Any], SessionView]]] = {
    ToolDrafted: _drafted,
    ToolProposed: _proposed,
    PermissionRequested: _requested,
    PermissionDecided: _decided,
    ToolAnswered: _answered,
    ToolProgress: _progress,
    ToolOutputDelta: _output_delta,
    ToolCompleted: _tool_ended,
    ToolFailed: _tool_ended,
    ToolEndedLate: _ended_late,
    AgentSpawned: _spawned,
    AgentProgress: _agent_progress,
    AgentCompleted: _agent_ended,
}

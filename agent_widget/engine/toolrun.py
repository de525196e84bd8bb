"""A tool call: prepare, execute, finalize.

Whatever happens, a call has a start (``tool.proposed``), an end (``tool.completed`` or
``tool.failed``) and a result that the model sees. Nothing runs before its arguments are valid
and somebody or something allowed it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidArgs, SessionError
from ..core.events import (
    Event,
    PermissionDecided,
    QueuedCall,
    ToolCompleted,
    ToolErrorType,
    ToolFailed,
    ToolProgress,
    ToolProposed,
    ToolStarted,
    notice,
)
from ..core.state import SessionState
from ..core.toolevents import denial
from ..policy.options import Ruling
from ..policy.permission import Decision, Question
from ..providers.base import CallReady
from ..tools.base import CallText, StopSign, TextBlock, Tool, ToolContext, ToolOutput
from ..tools.registry import Registry
from .approvals import Asking
from .forms import answer_of
from .hooks import Blocked, HookedCall
from .hostcalls import described
from .livecall import LiveCall
from .outcome import STOPPED, Outcome, failed, output_to_wire
from .ports import Ports

WAITS_FOR_ITS_TURN = "Waiting for the call before it"


class ProposedCall(Struct, frozen=True):
    """A call the model asked for, looked up and checked: ``refusal`` says why it will not run.

    ``is_changed`` says that a hook gave it other arguments.
    """

    call_id: str
    name: str
    args: dict[str, Any]
    event: ToolProposed
    tool: Tool | None = None
    text: CallText = CallText("")
    refusal: tuple[ToolErrorType, str] | None = None
    is_changed: bool = False

    def to_wire(self) -> dict[str, Any]:
        event = self.event
        call = {"type": "tool", "id": self.call_id, "name": self.name, "input": event.args}
        return {**call, "text": event.text, "language": event.language}


def propose(ports: Ports, tools: Registry, message_id: str, call: CallReady) -> ProposedCall:
    """Look up the tool and check the arguments; no question is asked for an invalid call."""
    call_id = ports.unique_call_id(call.id)
    tool = tools.get(call.name)
    args: dict[str, Any] = {}
    text, refusal = CallText(""), None
    if tool is None:
        known = ", ".join(tools.names) or "none"
        refusal = ("unknown_tool", f"There is no tool {call.name!r}. Known tools: {known}.")
    elif call.problem is not None:
        refusal = ("invalid_args", f"The arguments are not valid JSON: {call.problem}")
    else:
        try:
            args = dict(tool.validate(call.args))
            text = described(tool, args)
        except InvalidArgs as error:
            refusal = ("invalid_args", error.message)
    shown = call.args if call.problem is None else None
    event = ToolProposed(
        message_id=message_id,
        tool_call_id=call_id,
        name=call.name,
        args=shown,
        text=text.text or None,
        language=text.language,
    )
    return ProposedCall(
        call_id=call_id,
        name=call.name,
        args=args,
        event=event,
        tool=tool,
        text=text,
        refusal=refusal,  # type: ignore[arg-type]
    )


async def tool_batch(ports: Ports, calls: tuple[ProposedCall, ...]) -> None:
    """Run the calls of one answer: in parallel when none of them can ask, else one by one.

    Calls that may ask run alone so that one question is open at a time, in call order.
    """
    if len(calls) == 1 or any(_asks(ports, call) for call in calls):
        for call in calls[1:]:
            ports.emit(ToolProgress(tool_call_id=call.call_id, message=WAITS_FOR_ITS_TURN))
        for index, call in enumerate(calls):
            if index:
                ports.emit(ToolProgress(tool_call_id=call.call_id, message=None))
            await run_call(ports, call, calls[index + 1 :])
    else:
        tasks: list[asyncio.Task[None]] = []
        try:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    tasks.append(group.create_task(run_call(ports, call, earlier=tuple(tasks))))
        except BaseExceptionGroup as group_error:  # what ended one call ends the run, by its name
            raise group_error.exceptions[0] from None


def _asks(ports: Ports, call: ProposedCall) -> bool:
    if call.tool is None or call.refusal is not None:
        return False
    return ports.permissions.ruling(call.tool, call.args).verdict == "ask"


async def run_call(
    ports: Ports,
    call: ProposedCall,
    later: tuple[ProposedCall, ...] = (),
    earlier: tuple[asyncio.Task[None], ...] = (),
) -> None:
    """Prepare, execute and finalize one call. Cancellation gets out of here, and SessionError
    when something could not be stored.

    ``later`` are the calls of the same answer that come after it, ``earlier`` those before it that
    run at the same time.
    """
    prepared = await _prepare(ports, call, later)
    if not isinstance(prepared, Outcome):
        prepared = await _started(ports, prepared)
    if isinstance(prepared, Outcome):
        await _finalize(ports, call, prepared, None)
        return
    started_ms = ports.clock_ms()
    outcome = await _execute(ports, prepared, started_ms, earlier)
    if prepared.args is not call.args and outcome.output is not None:
        outcome = replace(outcome, output=_with_edit(prepared, outcome.output))
    await _finalize(ports, call, outcome, max(0, ports.clock_ms() - started_ms))
    if not ports.is_stopped():
        done = outcome.output
        text = outcome.message if done is None else done.text_for_model()
        is_error = done is None or done.is_error
        told = _told(ports, prepared)
        await ports.hooks.after_tool(ports.emit, told, output=text, is_error=is_error)


async def _started(ports: Ports, call: ProposedCall) -> ProposedCall | Outcome:
    """The call, which starts now, or why it does not: a Stop came while it was decided about."""
    async with ports.dispatching:
        if ports.is_stopped():
            return STOPPED
        ports.emit(ToolStarted(tool_call_id=call.call_id, name=call.name))
        return call


async def _prepare(
    ports: Ports, call: ProposedCall, later: tuple[ProposedCall, ...]
) -> ProposedCall | Outcome:
    """The call as it may run, or why it may not."""
    if call.refusal is not None or call.tool is None:
        kind, message = call.refusal or ("unknown_tool", call.name)
        return Outcome(error_type=kind, message=message)
    if ports.is_stopped():
        return STOPPED
    hooked = await _hooked(ports, call, call.tool)
    if isinstance(hooked, Outcome):
        return hooked
    return await _permitted(ports, hooked, call.tool, later)


async def _hooked(ports: Ports, call: ProposedCall, tool: Tool) -> ProposedCall | Outcome:
    """The call as the hooks leave it, or why they do not let it run."""
    heard = await ports.hooks.before_tool(ports.emit, _told(ports, call))
    if isinstance(heard, Blocked):
        return Outcome(error_type="hook_blocked", message=heard.reason)
    if heard.args is None:
        return call
    try:
        args = dict(tool.validate(heard.args))
    except InvalidArgs as error:
        message = f"A hook changed the arguments, and they do not fit any more. {error.message}"
        return Outcome(error_type="hook_blocked", message=message)
    return replace(call, args=args, text=described(tool, args), is_changed=True)


def _told(ports: Ports, call: ProposedCall) -> HookedCall:
    return HookedCall(call.call_id, call.name, call.args, ports.agent)


async def _permitted(
    ports: Ports, call: ProposedCall, tool: Tool, later: tuple[ProposedCall, ...]
) -> ProposedCall | Outcome:
    """The call once something or somebody allowed it, or why not."""
    ruling = ports.permissions.ruling(tool, call.args)
    if ruling.verdict == "deny":
        return await _denied(ports, call, ruling)
    if ruling.verdict == "allow":
        await _decided(ports, call, "allow", ruling.source, ruling.matched_rule)
        return call
    reason = ruling.reason if ruling.source != "mode" else None
    judgement = await ports.permissions.adjudicated(tool, call.args)
    if judgement is not None:
        if judgement.verdict == "safe":
            await _decided(ports, call, "allow", "adjudicator", reason=judgement.reason)
            return call
        reason = judgement.reason or reason
    asking = _asking(ports, call, tool, reason, later)
    return await _carry_out(ports, call, tool, await ports.ask(asking))


async def _denied(ports: Ports, call: ProposedCall, ruling: Ruling) -> Outcome:
    await _decided(ports, call, "deny", ruling.source, ruling.matched_rule, ruling.reason)
    rule, reason = ruling.matched_rule, ruling.reason
    message = f"Denied by the rule {rule}." if rule else f"Denied: {reason}."
    return Outcome(error_type="denied", message=message)


def _asking(
    ports: Ports,
    call: ProposedCall,
    tool: Tool,
    reason: str | None,
    later: tuple[ProposedCall, ...],
) -> Asking:
    rules = ports.permissions.suggestions(tool, call.args)
    project_file = ports.permissions.project_file
    more = ["allow_session"] if rules else []
    if rules and project_file is not None:
        more.append("allow_project")

    def check(decision: Decision) -> None:
        if decision.answer == "edit":
            _edited(call, tool, decision)
        elif decision.answer in ("allow_session", "allow_project"):
            ports.permissions.check_rules(decision.rules)

    upcoming = [each for each in later if _asks(ports, each)]
    return Asking(
        question=Question(
            permission_id=ports.new_id("p"),
            tool_call_id=call.call_id,
            tool=call.name,
            args=call.args,
            text=call.text.text,
            language=call.text.language,
            agent=ports.agent,
            reason=reason,
            rules=rules,
        ),
        options=("allow_once", "edit", *more, "deny"),
        project_file=project_file,
        upcoming=tuple(
            QueuedCall(each.call_id, each.name, each.text.text, ports.agent) for each in upcoming
        ),
        check=check,
    )


async def _carry_out(
    ports: Ports, call: ProposedCall, tool: Tool, decision: Decision
) -> ProposedCall | Outcome:
    match decision.answer:
        case "deny":
            return await _denied_by_person(ports, call, decision)
        case "edit":
            return await _edit_carried_out(ports, call, tool, decision)
        case "allow_session":
            rules = decision.rules or ports.permissions.suggestions(tool, call.args)[:1]
            ports.permissions.allow_for_session(rules, tool)
        case "allow_project":
            rules = decision.rules or ports.permissions.suggestions(tool, call.args)[:1]
            try:
                ports.permissions.allow_in_project(rules, tool)
            except (OSError, SessionError) as error:
                # The call itself was allowed; that the rule could not be kept must be seen.
                text = f"The rule could not be written: {error}"
                ports.emit(notice("permission", "rule_not_written", text))
    await _decided(ports, call, "allow", decision.source)
    return call


async def _denied_by_person(ports: Ports, call: ProposedCall, decision: Decision) -> Outcome:
    await _decided(ports, call, "deny", decision.source, reason=decision.reason)
    if decision.source == "none":
        return Outcome(error_type="denied", message=decision.reason or "Denied.")
    return Outcome(error_type="cancelled", message=denial(decision.reason))


async def _edit_carried_out(
    ports: Ports, call: ProposedCall, tool: Tool, decision: Decision
) -> ProposedCall | Outcome:
    edited = _edited(call, tool, decision)
    ruling = ports.permissions.ruling(tool, edited.args)
    if ruling.verdict == "deny":  # what a person types obeys the rules, too
        return await _denied(ports, edited, ruling)
    await _decided(ports, edited, "allow", decision.source, edited=True)
    return edited


def _edited(call: ProposedCall, tool: Tool, decision: Decision) -> ProposedCall:
    """The call with a person's arguments. Raises SessionError INVALID_ARGS when they do not fit."""
    try:
        args = dict(tool.validate(decision.args))
    except InvalidArgs as error:
        raise SessionError("INVALID_ARGS", error.message) from error
    return replace(call, args=args, text=described(tool, args), is_changed=False)


def _with_edit(call: ProposedCall, output: ToolOutput) -> ToolOutput:
    """The output, with what the model has to know: it is not of the call it made."""
    args = msgspec.json.encode(call.args).decode()
    who = "A hook" if call.is_changed else "The user"
    told = TextBlock(f"{who} edited the arguments before the call ran: {args}", "model")
    return replace(output, content=(told, *output.content))


async def _decided(
    ports: Ports,
    call: ProposedCall,
    decision: Any,
    source: Any,
    rule: str | None = None,
    reason: str | None = None,
    *,
    edited: bool = False,
) -> None:
    """Record the decision before anything starts."""
    edited = edited or call.is_changed
    event = PermissionDecided(
        tool_call_id=call.call_id,
        name=call.name,
        decision=decision,
        decision_source=source,
        matched_rule=rule,
        reason=reason,
        edited_args=call.args if edited else None,
        text=call.text.text if edited else None,
    )
    data = {
        "tool_call_id": call.call_id,
        "name": call.name,
        "decision": decision,
        "source": source,
        "matched_rule": rule,
        "reason": reason,
        "edited_args": call.args if edited else None,
        "text": call.text.text if edited else None,
    }
    await ports.commit("permission_decided", data, event)


async def _execute(
    ports: Ports, call: ProposedCall, started_ms: int, earlier: tuple[asyncio.Task[None], ...]
) -> Outcome:
    assert call.tool is not None
    live = LiveCall(ports, call.call_id)
    context = ToolContext(
        call_id=call.call_id,
        tool_name=call.name,
        progress=live.progress,
        output=live.output,
        main=ports.main,
        cancelled=(sign := StopSign()),
        left_behind=lambda work: ports.left.take(call.call_id, work, sign, started_ms),
        elicit=lambda question: answer_of(ports, call.call_id, call.name, question),
    )
    try:
        if isinstance(call.tool, Delegate):
            return Outcome(output=await call.tool.run_within(ports, call.call_id, call.args))
        output = await ports.run_tool(call.tool, call.args, context, live)
        if output.handoff is not None:
            if earlier:  # of two handoffs the first in call order stands, whichever was faster
                await asyncio.wait(earlier)
            ports.handover.require(output.handoff)
        return Outcome(output=output)
    except asyncio.CancelledError:
        context.cancelled.set()
        raise
    except Exception as error:  # noqa: BLE001  # whatever a tool raises is its result
        return failed(error)
    finally:
        live.close()


async def _finalize(ports: Ports, call: ProposedCall, outcome: Outcome, ms: int | None) -> None:
    """Store the result, then show it."""
    event: Event
    if outcome.output is not None:
        output = output_to_wire(outcome.output)
        failed = outcome.output.is_error
        event = ToolCompleted(
            tool_call_id=call.call_id, output=output, is_error=failed, duration_ms=ms or 0
        )
        data = {"tool_call_id": call.call_id, "output": output, "is_error": failed}
    else:
        event = ToolFailed(
            tool_call_id=call.call_id,
            error_type=outcome.error_type,
            message=outcome.message,
            duration_ms=ms,
        )
        error = {"code": outcome.error_type, "message": outcome.message}
        data = {"tool_call_id": call.call_id, "error": error}
    await ports.commit("message", {"role": "tool_result", **data, "duration_ms": ms}, event)


class Delegate(Tool):
    """A tool whose call is a run of its own (see ``subagents``)."""

    async def run_within(self, ports: Ports, call_id: str, args: dict[str, Any]) -> ToolOutput:
        """Run the sub-agent for that call, inside the surroundings of its caller."""
        raise NotImplementedError


# --- calls that a Stop leaves open -------------------------------------------------------------


WHY_LEFT_OPEN: Final[Mapping[str, dict[str, Any]]] = {
    "error": {"error_type": "exception", "message": "The run failed before this call ended."},
    "closed": {"message": "The session was closed before this call ended."},
    "max_seconds": {"error_type": "timeout", "message": "The time of the run was up."},
}
"""By the end of its run, what is said of a call; a person ended the others."""


def left_open(
    state: SessionState, reason: str, agent_id: str | None = None
) -> list[dict[str, Any]]:
    """The calls that the end of a run leaves open, as its record lists them, innermost first.

    ``agent_id`` is the id of the delegate call whose run ``state`` is (None: the session's).
    """
    found: list[dict[str, Any]] = []
    for message in state.messages[-2:]:  # calls of earlier steps are closed
        for call in message.tool_calls:
            if call.agent is not None:
                found += left_open(call.agent, reason, call.id)
            if call.is_open:
                found.append(
                    {
                        "tool_call_id": call.id,
                        "error_type": "cancelled",
                        "message": "Cancelled by the user.",
                        "agent_id": agent_id,
                        **WHY_LEFT_OPEN.get(reason, {}),
                    }
                )
    return found

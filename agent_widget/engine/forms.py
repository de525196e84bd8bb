"""Questions that a call asks while it runs: on the same card, and one at a time with all others."""

from __future__ import annotations

from ..core.errors import InvalidArgs, SessionError
from ..core.events import ToolAnswered
from ..policy.permission import Decision, Question
from ..tools.base import Elicitation, Elicited
from .approvals import Asking
from .ports import Ports


async def answer_of(ports: Ports, call_id: str, tool: str, asked: Elicitation) -> Elicited:
    """The person's answer. Where nobody can be asked, and after a Stop, there is none.

    ``ask_user`` answers with True (as it stands), with a Decision ``edit``, or not.
    """
    question = Question(
        permission_id=ports.new_id("p"),
        tool_call_id=call_id,
        tool=tool,
        args=asked.defaults,
        text=asked.text,
        agent=ports.agent,
        reason=f"{asked.asker} wants to know this before the call goes on.",
    )

    def check(decision: Decision) -> None:
        if decision.answer != "deny":
            _fields(asked, decision)

    editing = ("edit",) if asked.defaults else ()
    options = ("allow_once", *editing, "deny") if _stands(asked) else (*editing, "deny")
    given = False
    try:
        decision = await ports.ask(Asking(question, options, None, (), check, is_form=True))
        if decision.answer == "deny":
            return Elicited(None)
        fields = _fields(asked, decision)
        given = True
        return Elicited(fields)
    except SessionError:
        return Elicited(None)
    finally:
        ports.emit(ToolAnswered(tool_call_id=call_id, name=tool, is_given=given))


def _fields(asked: Elicitation, decision: Decision) -> dict[str, object]:
    """What to send. Raises SessionError INVALID_ARGS for what the asker would not take."""
    given = asked.defaults if decision.answer != "edit" else (decision.args or {})
    try:
        return dict(asked.check(given))
    except InvalidArgs as error:
        raise SessionError("INVALID_ARGS", error.message) from error


def _stands(asked: Elicitation) -> bool:
    try:
        asked.check(asked.defaults)
    except InvalidArgs:
        return False
    return True

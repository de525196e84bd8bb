"""May this call run? Pure; the engine carries the answer out (unified model, section 5).

First form: read-only tools run, others ask, and a person can allow a tool for the session.
When unsure the answer is ask, and ask without anybody there is deny.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Verdict = Literal["allow", "ask", "deny"]
Answer = Literal["allow_once", "allow_session", "deny"]


class Ruling(Struct, frozen=True):
    """The verdict on a call and what made it; ``matched_rule`` names the session rule."""

    verdict: Verdict
    source: Literal["rule", "mode"]
    matched_rule: str | None = None


class SessionRules(Struct, frozen=True):
    """What a person allowed for the rest of this session: never stored, never shared."""

    allowed_tools: frozenset[str] = frozenset()

    def allowing(self, tool_name: str) -> SessionRules:
        return SessionRules(self.allowed_tools | {tool_name})


def rule_on(tool_name: str, *, read_only: bool, rules: SessionRules) -> Ruling:
    """The ruling for a call of ``tool_name``."""
    if tool_name in rules.allowed_tools:
        return Ruling("allow", "rule", session_rule(tool_name))
    return Ruling("allow" if read_only else "ask", "mode")


def session_rule(tool_name: str) -> str:
    """The rule that "Allow for this session" adds, as a person reads it."""
    return f"every call of {tool_name} until this session ends"


class Question(Struct, frozen=True):
    """What a person is asked: ``text`` is exactly what will run.

    ``ask_user`` callables get this; ``agent`` names the sub-agent that wants the call, ``args``
    are the checked arguments.
    """

    permission_id: str
    tool_call_id: str
    tool: str
    args: dict[str, object]
    text: str
    language: str | None = None
    agent: str | None = None
    reason: str | None = None

    @property
    def prompt(self) -> str:
        """One line for a card or a log."""
        who = "The agent" if self.agent is None else f"The helper {self.agent}"
        return f"{who} wants to run {self.tool}"


class Decision(Struct, frozen=True):
    """The answer to a question; ``reason`` is told to the model when it is a denial.

    ``source`` is who decided: a person, or nobody (then the answer is always deny).
    """

    answer: Answer
    reason: str | None = None
    source: Literal["user", "none"] = "user"


def read_answer(value: object) -> Decision:
    """The decision that an ``ask_user`` callable returned.

    True allows once, False and None deny, the three answer words mean themselves, a Decision is
    taken as it is. Anything else is a denial that says so: when unsure, it does not run.
    """
    if isinstance(value, Decision):
        return value
    if value is True:
        return Decision("allow_once")
    if value is False or value is None:
        return Decision("deny")
    match value:
        case "allow_once" | "allow_session" | "deny":
            return Decision(value)
    wanted = "True, False, 'allow_once', 'allow_session', 'deny' or a Decision"
    return Decision("deny", f"ask_user returned {value!r}, expected {wanted}", "none")

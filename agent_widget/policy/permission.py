"""What a person or the host is asked about a call, and what they may answer.

What may run without asking is decided by ``policy.decision``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Answer = Literal["allow_once", "edit", "allow_session", "allow_project", "deny"]


class Question(Struct, frozen=True):
    """What a person is asked: ``text`` is exactly what will run.

    ``ask_user`` callables get this. ``agent`` names the sub-agent that wants the call, ``args``
    are the checked arguments, ``reason`` is why it asks, ``rules`` are the allow rules that would
    let such calls run without asking, narrowest first.
    """

    permission_id: str
    tool_call_id: str
    tool: str
    args: Mapping[str, object]
    text: str
    language: str | None = None
    agent: str | None = None
    reason: str | None = None
    rules: tuple[str, ...] = ()

    @property
    def prompt(self) -> str:
        """One line for a card or a log."""
        who = "The agent" if self.agent is None else f"The helper {self.agent}"
        return f"{who} wants to run {self.tool}"


class Decision(Struct, frozen=True):
    """The answer to a question.

    ``reason`` is told to the model with a denial; ``args`` are the arguments to run instead, with
    ``edit``; ``rules`` what ``allow_session`` and ``allow_project`` add (empty: the question's
    own). ``source`` is who decided: a person, or nobody (then the answer is always deny).
    """

    answer: Answer
    reason: str | None = None
    args: Mapping[str, object] | None = None
    rules: tuple[str, ...] = field(default=())
    source: Literal["user", "none"] = "user"


def read_answer(value: object) -> Decision:
    """The decision that an ``ask_user`` callable returned.

    True allows once, False and None deny, the words ``allow_once``, ``allow_session`` and ``deny``
    mean themselves, a Decision is taken as it is. Anything else is a denial that says so: when
    unsure, it does not run.
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
    return Decision("deny", f"ask_user returned {value!r}, expected {wanted}", source="none")

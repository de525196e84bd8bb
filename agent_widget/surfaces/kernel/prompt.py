"""A question in words, where there is a keyboard but no widget to click in."""

from __future__ import annotations

import sys
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

from .host import Host, in_main_thread

Decision = Literal["allow_once", "allow_session", "deny"]

_ANSWERS: Final[dict[str, Decision]] = {
    "a": "allow_once",
    "allow": "allow_once",
    "s": "allow_session",
    "session": "allow_session",
    "d": "deny",
    "deny": "deny",
    "": "deny",
}
_CHOICES: Final = "[a]llow once, allow for this [s]ession, [d]eny (default): "
_REASON: Final = "Why not? The model reads it (Enter for no reason): "
_ATTEMPTS: Final = 3
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


@dataclass(frozen=True, slots=True)
class TerminalAnswer:
    """What the person decided; ``reason`` goes to the model with a denial."""

    decision: Decision
    reason: str | None = None


def terminal_question(
    question_text: str, host: Host, *, rule_for_session: str | None = None
) -> TerminalAnswer | None:
    """The answer typed at ``input()``; None where nobody can type one.

    For the ``tick`` of a wait: only the main thread may ask, and it stands still meanwhile.
    ``question_text`` is shown whole, invisible characters as escapes. ``rule_for_session`` says
    what "allow for this session" will allow. Enter, and three answers that are none, deny.
    KeyboardInterrupt goes to the wait.
    """
    if not in_main_thread() or not host.allow_stdin():
        return None
    rule = "" if rule_for_session is None else f"\nFor this session: {visible(rule_for_session)}"
    sys.stdout.write(f"\n{visible(question_text)}{rule}\n")
    sys.stdout.flush()
    try:
        decision = _decision()
        if decision != "deny":
            return TerminalAnswer(decision)
        return TerminalAnswer("deny", input(_REASON).strip() or None)
    except (EOFError, NotImplementedError):  # StdinNotImplementedError is one
        return None


def visible(text: str) -> str:
    r"""``text`` with every control, format and odd space character as an escape (``\u202e``).

    Line breaks, tabs and plain spaces stay as they are.
    """
    return "".join(character if _is_plain(character) else _escape(character) for character in text)


def _decision() -> Decision:
    for _ in range(_ATTEMPTS):
        answer = _ANSWERS.get(input(_CHOICES).strip().lower())
        if answer is not None:
            return answer
    return "deny"


def _is_plain(character: str) -> bool:
    if character in "\n\t ":
        return True
    category = unicodedata.category(character)
    return category not in _INVISIBLE and category != "Zs"


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

"""What the offline model says about calls that ended: only what their results say. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ..core.messages import ToolPart
from ._parts import cancel_reason, error_text, output_text

MAX_LINES: Final = 12
MAX_LINE_CHARS: Final = 300


def report_on(calls: Iterable[ToolPart]) -> str:
    """A short Markdown text about how ``calls`` ended, one paragraph each."""
    return "\n\n".join(_report(call) for call in calls)


def _report(call: ToolPart) -> str:
    name = _code(call.name)
    if call.is_open:
        return f"{name} did not finish, so I have nothing to say about it."
    if call.state == "cancelled":
        reason = cancel_reason(call.error)
        return f"You did not allow {name}{f' ({reason})' if reason else ''}, so I leave it."
    if call.state == "error":
        return f"{name} failed: {_code(_last_line(error_text(call.error)) or 'no message')}"
    text = output_text(call.output).strip()
    if call.name == "delegate_to_helper":
        return f"The helper answered:\n\n{_quoted(text)}" if text else "The helper gave no answer."
    lead = _LEADS.get(call.name, f"{name} is done.")
    if not text:
        return f"{lead} It printed nothing."
    if all(_ONLY_SHOWN.fullmatch(line) for line in text.splitlines()):
        return f"{lead} The result is in the card above."
    begins = "The result begins" if len(text.splitlines()) > MAX_LINES else "The result"
    return f"{lead} {begins}:\n\n{_fenced(text)}"


_ONLY_SHOWN: Final = re.compile(r"\[\S+ shown to the user\]|<Figure size .*>")
"""A line that stands for something that only the person sees."""

_LEADS: Final = {
    "list_variables": "These are your variables.",
    "describe_variable": "This is what I found.",
    "run_python": "The code ran.",
}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _cut(lines[-1]) if lines else ""


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 1] + "…"


def _head(text: str) -> list[str]:
    lines = text.splitlines()
    more = len(lines) - MAX_LINES
    head = [_cut(line) for line in lines[:MAX_LINES]]
    return [*head, f"… ({more} more lines)"] if more > 0 else head


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _head(text))


def _fenced(text: str) -> str:
    fence = _ticks(text, 3)
    return "\n".join((f"{fence}text", *_head(text), fence))


def _code(text: str) -> str:
    ticks = _ticks(text, 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _ticks(text: str, at_least: int) -> str:
    """A run of backticks longer than every one in ``text``."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    return "`" * max(at_least, longest + 1)

"""What is shown of a chat where no live view can be: saved notebooks, exports, terminals.

Deterministic: no ids, no times, so that a notebook's output is the same at every run.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Final

from ..core.messages import Message, TextPart, ToolPart
from ..view.model import SessionView

MAX_CHARS: Final = 20_000
"""Bound of each form: it is saved with the notebook at every display."""

_STYLE = "font-family:sans-serif;max-width:50em"
_STATES = {
    "running": "running",
    "awaiting-confirmation": "waiting for permission",
    "done": "done",
    "error": "failed",
    "cancelled": "cancelled",
}


def view_as_text(view: SessionView) -> str:
    """The conversation as plain text."""
    return "\n\n".join([_headline(view), *_last(view, _message_as_text)])


def view_as_markdown(view: SessionView) -> str:
    """The conversation as Markdown."""
    return "\n\n".join([f"*{_headline(view)}*", *_last(view, _message_as_markdown)])


def view_as_html(view: SessionView) -> str:
    """The conversation as HTML in which every text is escaped; no script, no style sheet."""
    rows = "".join(_last(view, _message_as_html))
    return f'<div style="{_STYLE}"><p><em>{escape(_headline(view))}</em></p>{rows}</div>'


def _headline(view: SessionView) -> str:
    count = len(view.chat.messages)
    said = {0: "no messages yet", 1: "1 message"}.get(count, f"{count} messages")
    return f"agent_widget · {view.model.label} · {said}"


def _last(view: SessionView, write: Callable[[Message], str]) -> list[str]:
    """The last messages as ``write`` puts them, within a size that a notebook can carry."""
    written: list[str] = []
    left = MAX_CHARS
    for message in reversed(view.chat.messages):
        text = write(message)
        left -= len(text)
        if left < 0 and written:
            break
        written.append(text)
    return written[::-1]


def _author(message: Message) -> str:
    return "You" if message.role == "user" else "Agent"


def _call_line(call: ToolPart) -> str:
    return f"[{call.name}: {_STATES[call.state]}]"


def _lines(message: Message) -> list[str]:
    lines = []
    for part in message.parts:
        if isinstance(part, TextPart):
            lines.append(part.text)
        elif isinstance(part, ToolPart):
            lines.append(_call_line(part))
    return lines


def _message_as_text(message: Message) -> str:
    return f"{_author(message)}: " + "\n".join(_lines(message))


def _message_as_markdown(message: Message) -> str:
    return f"**{_author(message)}:** " + "\n\n".join(_lines(message))


def _message_as_html(message: Message) -> str:
    body = "".join(
        f'<p style="white-space:pre-wrap">{escape(line)}</p>' for line in _lines(message)
    )
    return f"<div><strong>{_author(message)}</strong>{body}</div>"

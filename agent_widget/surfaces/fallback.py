"""What is shown of a chat where no live view can be: saved notebooks, exports, terminals.

Deterministic: no ids, no times, so that a notebook's output is the same at every run.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Final

from ..core.messages import ImagePart, Message, TextPart, ToolPart
from ..view.locale.words import Words
from ..view.model import NoteView, SessionView

MAX_CHARS: Final = 20_000
"""Bound of each form: it is saved with the notebook at every display."""

_STYLE = "font-family:sans-serif;max-width:50em"


def view_as_text(view: SessionView, words: Words) -> str:
    """The conversation as plain text."""
    return "\n\n".join([_headline(view, words), *_last(view, words, _message_as_text)])


def view_as_markdown(view: SessionView, words: Words) -> str:
    """The conversation as Markdown."""
    return "\n\n".join([f"*{_headline(view, words)}*", *_last(view, words, _message_as_markdown)])


def view_as_html(view: SessionView, words: Words) -> str:
    """The conversation as HTML in which every text is escaped; no script, no style sheet."""
    head, rows = escape(_headline(view, words)), "".join(_last(view, words, _message_as_html))
    attributes = f'lang="{words.locale}" dir="{words.direction}" style="{_STYLE}"'
    return f"<div {attributes}><p><em>{head}</em></p>{rows}</div>"


def _headline(view: SessionView, words: Words) -> str:
    count = len(view.chat.messages)
    said = _words(words, "messages", count=count) if count else _words(words, "empty")
    return _words(words, "headline", model=view.model.label, messages=said)


def _words(words: Words, key: str, **params: object) -> str:
    return words.text("export", key, **params)


def _last(
    view: SessionView, words: Words, write: Callable[[str, Message, Words], str]
) -> list[str]:
    """The last messages as ``write`` puts them, within a size that a notebook can carry."""
    written: list[str] = []
    left = MAX_CHARS
    for message in reversed(view.chat.messages):
        note = view.notes.get(message.id)
        if note is not None and not note.is_shown:
            continue
        text = write(_author(message, note, words), message, words)
        left -= len(text)
        if left < 0 and written:
            break
        written.append(text)
    return written[::-1]


def _author(message: Message, note: NoteView | None, words: Words) -> str:
    if note is not None:
        name = _words(words, "note")
    else:
        name = _words(words, "you") if message.role == "user" else _words(words, "agent")
    return _words(words, "said", author=name)


def _lines(message: Message, words: Words) -> list[str]:
    lines = []
    for part in message.parts:
        if isinstance(part, TextPart):
            if part.text or len(message.parts) == 1:
                lines.append(part.text)
        elif isinstance(part, ToolPart):
            state = _words(words, f"call.{part.state}")
            lines.append(_words(words, "call", tool=part.name, state=state))
        elif isinstance(part, ImagePart):
            lines.append(str(part))
    return lines


def _message_as_text(author: str, message: Message, words: Words) -> str:
    return f"{author} " + "\n".join(_lines(message, words))


def _message_as_markdown(author: str, message: Message, words: Words) -> str:
    return f"**{author}** " + "\n\n".join(_lines(message, words))


def _message_as_html(author: str, message: Message, words: Words) -> str:
    body = "".join(
        f'<p dir="auto" style="white-space:pre-wrap">{escape(line)}</p>'
        for line in _lines(message, words)
    )
    return f"<div><strong>{escape(author)}</strong>{body}</div>"

"""What is shown of a conversation in a word: its name and its last answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .messages import Conversation, Message, TextPart

_LINE_BREAKS: Final = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def session_name(name: str) -> str:
    """``name`` as it is stored: on one line, each run of line breaks one space, ends trimmed."""
    return _LINE_BREAKS.sub(" ", name).strip()


def last_assistant_text(messages: Iterable[Message]) -> str | None:
    """The text of the last assistant message that has any part, its text parts joined.

    A message without parts was aborted before it said anything, and is passed over. None when no
    message is left, or when the last one has no text.
    """
    conversation = messages if isinstance(messages, Conversation) else Conversation.of(messages)
    for message in reversed(conversation):
        if message.role == "assistant" and message.parts:
            texts = (part.text for part in message.parts if isinstance(part, TextPart))
            return "".join(texts) or None
    return None

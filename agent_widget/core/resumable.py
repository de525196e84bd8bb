"""What Retry sends. Source: session reducer document, section ``resumable``."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from .messages import Conversation, Message, ToolPart


def resumable(messages: Iterable[Message]) -> Conversation:
    """The conversation through the last call that finished after the last user message.

    What came after that call goes: unfinished and cancelled calls, and a reply cut short. With no
    finished call it ends with the last user message; without any user message all is kept.
    Only calls of this conversation count, not those of nested agent runs.
    """
    conversation = messages if isinstance(messages, Conversation) else Conversation.of(messages)
    for index in range(len(conversation) - 1, -1, -1):
        message = conversation[index]
        if message.role == "user":
            return _through(conversation, index, message)
        calls = [at for at, part in enumerate(message.parts) if _is_finished_call(part)]
        if calls and _follows_user_message(conversation, index):
            parts = message.parts[: calls[-1] + 1]
            kept = message if len(parts) == len(message.parts) else replace(message, parts=parts)
            return _through(conversation, index, kept)
    return conversation


def _is_finished_call(part: object) -> bool:
    return isinstance(part, ToolPart) and part.is_finished


def _follows_user_message(conversation: Conversation, index: int) -> bool:
    return any(conversation[i].role == "user" for i in range(index - 1, -1, -1))


def _through(conversation: Conversation, index: int, last: Message) -> Conversation:
    if index == len(conversation) - 1 and last is conversation[index]:
        return conversation
    return Conversation.of((*conversation[:index], last))

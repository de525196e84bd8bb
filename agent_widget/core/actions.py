"""What can happen to a session: actions, and the stream parts an adapter sends.

Wire names (``message-start``, ``messageId`` …) are those of the session reducer document;
Python names are snake_case. ``read_action`` turns wire data into actions and returns None for
what it does not know, so that unknown actions and parts are ignored and never raise.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from .messages import Images, Json


class MessageStart(Struct, frozen=True, tag="message-start", rename={"message_id": "messageId"}):
    """An assistant message begins."""

    message_id: str


class TextDelta(Struct, frozen=True, tag="text-delta", rename={"message_id": "messageId"}):
    """More text of a message."""

    message_id: str
    text: str


class Reasoning(Struct, frozen=True, tag="reasoning", rename={"message_id": "messageId"}):
    """One finished block of reasoning."""

    message_id: str
    text: str
    data: dict[str, Json] | None = None


class ToolCall(Struct, frozen=True, tag="tool-call", rename={"message_id": "messageId"}):
    """The model calls a tool."""

    message_id: str
    id: str
    name: str
    input: Json


class ToolResult(Struct, frozen=True, tag="tool-result"):
    """A call finished with ``output`` (null is an output)."""

    id: str
    output: Json = None


class ToolError(Struct, frozen=True, tag="tool-error"):
    """A call ended in ``error``: cancelled where ``is_cancelled(error)``, else failed."""

    id: str
    error: Json = None


class StepFinish(Struct, frozen=True, tag="step-finish"):
    """One model answer is complete."""


class Finish(Struct, frozen=True, tag="finish"):
    """The run ended; ``reason="aborted"`` also cancels its open calls."""

    reason: str | None = None


class StreamError(Struct, frozen=True, tag="error"):
    """The run failed."""

    error: str
    code: str | None = None


StreamPart: TypeAlias = (
    MessageStart
    | TextDelta
    | Reasoning
    | ToolCall
    | ToolResult
    | ToolError
    | StepFinish
    | Finish
    | StreamError
)


class Send(Struct, frozen=True, tag="send"):
    """The user said ``text``; ``id`` is the message's id."""

    id: str
    text: str
    images: Images = None


class ApplyPart(Struct, frozen=True, tag="part"):
    """A stream part; ``within`` is the id of the call whose agent run it belongs to."""

    part: StreamPart
    within: str | None = None


class ToolPhase(Struct, frozen=True, tag="toolPhase"):
    """The newest open call of tool ``name`` waits for a person, or goes on.

    ``id`` (an addition to the document) means exactly that open call: two calls of one tool in
    one answer are both open before the first of them asks.
    """

    name: str
    state: Literal["running", "awaiting-confirmation"]
    prompt: str | None = None
    id: str | None = None


class Stop(Struct, frozen=True, tag="stop"):
    """Nothing runs any more."""


class Retry(Struct, frozen=True, tag="retry"):
    """Run again from what ``resumable`` keeps."""


class Reset(Struct, frozen=True, tag="reset"):
    """Start over with an empty session."""


Action: TypeAlias = Send | ApplyPart | ToolPhase | Stop | Retry | Reset

_KNOWN: Final = Send | ApplyPart | ToolPhase | Stop | Retry | Reset


def read_action(data: object) -> Action | None:
    """The action that wire ``data`` stands for, or None when it is none we know.

    ``data`` is a JSON object as in the session reducer document, for example
    ``{"type": "part", "part": {"type": "text-delta", "messageId": "a-1", "text": "Hi"}}``.
    """
    try:
        action: Action = msgspec.convert(data, _KNOWN)
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return None
    return action

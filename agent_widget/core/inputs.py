"""What steering adds to a user message: whether a prompt has it yet, and where it stands.

Only messages sent while a run was under way carry a mark. Source: session steering document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

InputState = Literal["pending", "applied"]


class InputMark(Struct, frozen=True):
    """``pending`` until a prompt has the message, then ``applied``, for ever.

    ``after_message_id`` is the message it stands after; None where there was none.
    """

    state: InputState
    after_message_id: str | None = None


def read_input_mark(value: object) -> InputMark | None:
    """The mark that JSON data stands for, None when it is malformed. Unknown keys are ignored."""
    if not isinstance(value, Mapping):
        return None
    after = value.get("after_message_id")
    if not (after is None or isinstance(after, str)):
        return None
    match value.get("state"):
        case "pending":
            return InputMark("pending", after)
        case "applied":
            return InputMark("applied", after)
        case _:
            return None


def merged_mark(known: InputMark | None, news: InputMark | None) -> InputMark | None:
    """The mark of a row once ``news`` of it came, in whatever order news come.

    Applied is final: what still says pending is late. The same object when nothing changed.
    """
    if known is None or news is None:
        return news or known
    if known.state == "applied" and news.state == "pending":
        return known
    merged = InputMark(news.state, news.after_message_id or known.after_message_id)
    return known if merged == known else merged

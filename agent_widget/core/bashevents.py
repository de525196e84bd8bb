"""A command that a person runs in the session's shell: what became of it, told and in words.

Source: AgentSession document (``execute_bash``); unified model, sections 4 and 7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from .contextevents import EntryAppended
from .envelope import Event
from .messages import Json

BASH: Final = "bash"
"""The kind of the note that such a command is in a conversation."""
_TICKS: Final = re.compile("`{3,}")


class CommandResult(Struct, frozen=True, kw_only=True):
    """What became of a command.

    ``output`` is what it printed, standard output and error as they came; where ``truncated``, its
    end, and all of it is in the file ``full_output_path`` if there is one. ``exit_code`` is None
    when it was killed, which a person did where ``cancelled``.
    """

    output: str
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.cancelled


class BashStarted(Event, frozen=True, kw_only=True):
    """A person's command runs."""

    type = "bash.started"
    id: str
    command: str


class BashOutputDelta(Event, frozen=True, kw_only=True):
    """What it has just printed; of long output, the first part only."""

    type = "bash.output.delta"
    id: str
    delta: str


class BashCompleted(Event, frozen=True, kw_only=True):
    """It has ended. It enters the conversation now, or when the run under way has ended."""

    type = "bash.completed"
    id: str
    result: CommandResult


def command_entry(data: Mapping[str, Json]) -> EntryAppended:
    """How the record of a command enters the conversation."""
    excluded = bool(data.get("exclude_from_context"))
    return EntryAppended(
        message_id=data["message_id"],
        kind=BASH,
        text=command_text(data),
        excluded=excluded or None,
    )


def command_text(data: Mapping[str, Json]) -> str:
    """The record of a command as its person would tell it, in Markdown."""
    unseen = " (the model does not read this)" if data.get("exclude_from_context") else ""
    told = [f"I ran a command{unseen}:", _fenced(data["command"], "bash"), _ending(data)]
    if data["output"]:
        told.append(_fenced(data["output"], "text"))
    return "\n\n".join(told)


def _ending(data: Mapping[str, Json]) -> str:
    code, path = data.get("exit_code"), data.get("full_output_path")
    end = f"It ended with exit code {code}" if code is not None else "It was killed"
    if data.get("cancelled"):
        end = "It was stopped"
    if not data["output"]:
        return f"{end} and printed nothing."
    if not data.get("truncated"):
        return f"{end}. Output:"
    return f"{end}. The end of its output{f' (all of it is in {path})' if path else ''}:"


def _fenced(text: str, language: str) -> str:
    longest = max((len(found) for found in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}{language}\n{text}{end}{fence}"

"""What a recording is to the chats of its models (see ``recording``), as the engine sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

from ..policy.permission import Decision, Question
from ..providers.base import Model
from ..tools.base import Tool, ToolContext, ToolOutput
from .bus import Listener

if TYPE_CHECKING:
    from .livecall import LiveCall


class RunTool(Protocol):
    """Run a call, or give what a recording says that it gave; ``live`` has what it reports."""

    def __call__(
        self, tool: Tool, args: dict[str, Any], context: ToolContext, live: LiveCall, /
    ) -> Awaitable[ToolOutput]: ...


async def run_tool(
    tool: Tool, args: dict[str, Any], context: ToolContext, _live: LiveCall
) -> ToolOutput:
    return await tool.execute(args, context)


Ask = Callable[[Decision | None], Awaitable[Decision]]
"""Asks a question; what it gets is the answer of a recording."""


class ChatTape(Protocol):
    """What hears of the calls and the decisions of one chat."""

    async def run_tool(
        self, tool: Tool, args: dict[str, Any], context: ToolContext, live: LiveCall, /
    ) -> ToolOutput: ...

    async def decision(self, question: Question, ask: Ask) -> Decision: ...


class Tape(Protocol):
    """What a recorded model carries."""

    def chat(self, subscribe: Callable[[Listener], Callable[[], None]]) -> ChatTape: ...


class Unrecorded:
    """Stands where there is no tape."""

    run_tool = staticmethod(run_tool)

    async def decision(self, _question: Question, ask: Ask) -> Decision:
        return await ask(None)


class ChatTapes:
    """What recordings are to one chat, which begins with ``model``; its bus has ``subscribe``."""

    def __init__(self, subscribe: Callable[[Listener], Callable[[], None]], model: Model) -> None:
        self._subscribe = subscribe
        self._known: tuple[Tape | None, ChatTape] = (None, Unrecorded())
        self.of(model)  # from the start: it hears all that is said

    def of(self, model: Model) -> ChatTape:
        """That of the recording of ``model``, the same one as before where that is."""
        tape: Tape | None = getattr(model, "tape", None)
        if tape is not self._known[0]:
            made = Unrecorded() if tape is None else tape.chat(self._subscribe)
            self._known = (tape, made)
        return self._known[1]

"""Summaries of what a person leaves behind, made by the session's model outside of any run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from ..core.errors import ModelError
from ..core.events import PhaseChanged, UsageUpdated
from ..core.messages import Conversation, user_message
from ..providers.base import Model, ModelRequest, StepEnd, TextChunk
from .inputs import Inputs
from .writer import Fact, Writer

SYSTEM: Final = (
    "You sum up a part of a conversation that the user has left, for the assistant that goes on "
    "from an earlier point. Say what was asked, what was done and found, which files and "
    "variables were changed, and what is open. Be brief and exact; add nothing."
)
REQUEST: Final = "Sum up the conversation above."


class Summaries:
    """At most one summary under way; lives on the engine's loop."""

    def __init__(self, writer: Writer, inputs: Inputs, model: Callable[[], Model]) -> None:
        self._writer = writer
        self._inputs = inputs
        self._model = model
        self._task: asyncio.Task[str] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None

    async def of_branch(self, messages: Conversation) -> str | None:
        """What ``messages`` come to; None when it was aborted. Raises ModelError.

        Nobody can send meanwhile; the view's phase says why.
        """
        await self._show(is_running=True)
        task = self._task = asyncio.ensure_future(self._ask(messages))
        try:
            await asyncio.wait({task})
            return None if task.cancelled() else task.result()
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._task = None
            await self._show(is_running=False)

    def abort(self) -> None:
        """End the summary under way; harmless when there is none."""
        if self._task is not None:
            self._task.cancel()

    async def _ask(self, messages: Conversation) -> str:
        asked = messages.appended(user_message("summary-request", REQUEST))
        model, texts = self._model(), list[str]()
        async with aclosing(model.stream(ModelRequest(asked, SYSTEM))) as stream:
            async for event in stream:
                if isinstance(event, TextChunk):
                    texts.append(event.text)
                elif isinstance(event, StepEnd) and event.usage is not None:
                    usage = {n: getattr(event.usage, n) for n in event.usage.__struct_fields__}
                    self._writer.emit(UsageUpdated(model=model.info.label, **usage))
        summary = "".join(texts).strip()
        if not summary:
            raise ModelError("bad_request", "The model gave no summary.")
        return summary

    async def _show(self, *, is_running: bool) -> None:
        def make() -> Fact:
            phase = PhaseChanged(phase="summarizing" if is_running else "idle")
            interaction, told = self._inputs.transition_around_summary(is_running=is_running)
            data = {"code": "summarizing", "detail": is_running, "interaction": interaction}
            return data, (phase, *told)

        await self._writer.commit_made("notice", make)

"""Summaries of what a person leaves behind, made by the session's model outside of any run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from ..core.errors import ModelError
from ..core.events import PhaseChanged
from ..core.messages import Conversation, user_message
from ..providers.base import Model, ModelRequest, StepEnd, TextChunk
from .inputs import Inputs
from .retry import Retries, repeated
from .spending import CountedCall, Spending, usage_event
from .writer import Fact, Writer

SYSTEM: Final = (
    "You sum up a part of a conversation that the user has left, for the assistant that goes on "
    "from an earlier point. Say what was asked, what was done and found, which files and "
    "variables were changed, and what is open. Be brief and exact; add nothing."
)
PURPOSE: Final = "branch_summary"
REQUEST: Final = "Sum up the conversation above."


class Summaries:
    """At most one summary under way; lives on the engine's loop."""

    def __init__(
        self,
        writer: Writer,
        inputs: Inputs,
        spending: Spending,
        model: Callable[[], Model],
        retries: Retries,
    ) -> None:
        self._writer = writer
        self._inputs = inputs
        self._spending = spending
        self._model = model
        self._retries = retries
        self._task: asyncio.Task[str] | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None

    async def of_branch(self, messages: Conversation) -> str | None:
        """What ``messages`` come to; None when it was aborted. Raises ModelError.

        Nobody can send meanwhile; the view's phase says why.
        """
        await self._show(is_running=True)
        task = self._task = asyncio.ensure_future(
            repeated(self._retries, lambda: self._ask(messages), self._writer.emit, PURPOSE)
        )
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
        counted = CountedCall(PURPOSE)
        async with aclosing(model.stream(ModelRequest(asked, SYSTEM))) as stream:
            async for event in stream:
                if isinstance(event, TextChunk):
                    texts.append(event.text)
                elif isinstance(event, StepEnd):
                    counted.is_answered, counted.usage = True, event.usage
        await self._count(model, counted)
        summary = "".join(texts).strip()
        if not summary:
            raise ModelError("bad_request", "The model gave no summary.")
        return summary

    async def _count(self, model: Model, counted: CountedCall) -> None:
        """Write down what it took: it is counted, though no budget stops it (K28)."""
        await self._spending.weigh(counted, model.info)
        self._spending.add(model, None, counted)
        told = usage_event(model, counted)
        if told is not None:
            data = {"code": "usage", "model": model.info.label, **counted.record()}
            await self._writer.commit("notice", data, told)

    async def _show(self, *, is_running: bool) -> None:
        def make() -> Fact:
            phase = PhaseChanged(phase="summarizing" if is_running else "idle")
            interaction, told = self._inputs.transition_around_summary(is_running=is_running)
            data = {"code": "summarizing", "detail": is_running, "interaction": interaction}
            return data, (phase, *told)

        await self._writer.commit_made("notice", make)

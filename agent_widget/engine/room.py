"""Room for the next request of a run, and summaries that a person asks for."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

from ..core.errors import ModelError, SessionError
from ..core.events import (
    CompactionEnded,
    CompactionResult,
    CompactionStarted,
    CompactReason,
    Event,
    notice,
)
from ..core.usage import estimated_tokens
from ..policy.compaction import tokens_of, too_long
from ..policy.loops import LoopLimits, Progress
from .compaction import Compactor
from .helperroom import HelperCompactor
from .inputs import Inputs
from .spending import BudgetExceeded, RunPurse
from .summarising import Job
from .writer import Fact

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..providers.base import Model
    from .ports import Ports
    from .runs import Runs

LIMITS: Final = LoopLimits()
STILL_FULL: Final = (
    "The context is still nearly full after it was summarised. Start a new session, or take fewer "
    "tools or a model with a larger window."
)


class Room:
    """Keeps the context of one run within the window of its model.

    ``main`` makes the summaries of the session, ``helper`` those of the run's own messages where
    it is that of a helper.
    """

    def __init__(self, main: Compactor, helper: HelperCompactor | None = None) -> None:
        self.main = main
        self._compactor = main if helper is None else helper
        self._progress = Progress()
        self._is_tried = False
        self._is_given_up = False

    async def make(self, ports: Ports) -> None:
        """Summarise the conversation if the next request would come near the window.

        What keeps it from that is told, and the run goes on; it is not tried again in this run.
        """
        compactor = self._compactor
        if ports.is_stopped() or self._is_given_up or not compactor.options.auto:
            return
        window, messages = compactor.window_tokens, ports.conversation()
        if not compactor.options.is_due(compactor.tokens_now(messages), window):
            self._is_tried = False
            return
        if not compactor.has_something():
            return
        if self._is_tried:  # the answer after the last one came near the window again
            self._is_given_up = True
            ports.emit(notice("compaction", "still_full", STILL_FULL))
            return
        self._is_tried = True
        try:
            await compactor.make(_job(ports, "threshold"))
        except BudgetExceeded:
            self._is_given_up = True  # the gate of the answer says it
        except SessionError as error:
            self._is_given_up = True
            if error.code == "compaction.summarization_failed":
                ports.emit(notice("compaction", error.code, error.message))

    async def after_too_long(self, ports: Ports, error: ModelError) -> None:
        """Make room after a server refused the prompt, so that the request can be made again.

        Raises ``error``, or a clearer one, where that is not possible or was of no use.
        """
        last = ports.conversation().last
        is_answered = last is not None and last.role == "assistant" and not last.tool_calls
        if not error.is_too_long or is_answered or ports.is_stopped():
            raise error
        self._progress = self._progress.after_too_long()
        stuck = self._progress.stuck(LIMITS)
        if stuck is not None:
            raise _too_long(ports, error, stuck.message) from error
        if not self._compactor.options.auto:
            raise error
        try:
            await self._compactor.make(_job(ports, "overflow"))
        except BudgetExceeded:
            raise
        except SessionError as failure:
            raise _too_long(ports, error, failure.message) from error

    def answered(self) -> None:
        """An answer came: its prompt was not too long."""
        self._progress = self._progress.after_answer(is_empty=False)


def _job(ports: Ports, reason: CompactReason) -> Job:
    async def tell(event: CompactionStarted | CompactionEnded) -> None:
        ports.emit(event)

    return Job(
        reason=reason,
        model=ports.model,
        purse=ports.purse,
        emit=ports.emit,
        commit=ports.commit,
        started=tell,
        ended=tell,
        is_stopped=ports.is_stopped,
        dispatching=ports.dispatching,
        agent_id=ports.agent_id,
    )


def _too_long(ports: Ports, error: ModelError, why: str) -> ModelError:
    toolset = ports.toolset()
    system = ports.system(toolset.tools.names) if callable(ports.system) else ports.system
    specs = [(spec.name, spec.description, spec.parameters) for spec in toolset.specs]
    return too_long(
        error,
        why,
        system_tokens=estimated_tokens(len(system or "")),
        tool_tokens=estimated_tokens(len(json.dumps(specs, default=repr))) if specs else 0,
        message_tokens=tokens_of(ports.conversation()[:]),
    )


class ByHand:
    """Summaries that a person asks for; lives on the engine's loop.

    ``sending`` is held meanwhile: what is sent waits, in its order.
    """

    def __init__(
        self,
        compactor: Compactor,
        runs: Runs,
        inputs: Inputs,
        model: Callable[[], Model],
        sending: asyncio.Lock,
    ) -> None:
        self._compactor = compactor
        self._runs = runs
        self._writer = compactor.writer
        self._inputs = inputs
        self._model = model
        self._sending = sending
        self._is_at_rest = asyncio.Event()
        self._is_at_rest.set()

    def abort(self) -> bool:
        """End the summary under way, also that of a run; False when there is none."""
        return self._compactor.abort()

    @property
    def is_at_rest(self) -> bool:
        """Whether no summary that a person asked for is under way."""
        return self._is_at_rest.is_set()

    async def wait_for_rest(self) -> None:
        """Return once no summary that a person asked for is under way."""
        await self._is_at_rest.wait()

    async def close(self) -> None:
        """End what is under way."""
        self.abort()
        await self.wait_for_rest()

    async def make(self, instructions: str | None) -> CompactionResult:
        """Stop what runs, then summarise the conversation.

        Raises SessionError ``compaction.already_compacted``, ``.nothing_to_compact``,
        ``.cancelled`` (by Stop, ``abort`` or a hook) or ``.summarization_failed``, and
        ``budget_exceeded``.
        """
        async with self._sending:
            self._writer.require_open()
            while self._runs.active is not None:
                await self._runs.stop(0.0)
                await self._runs.wait_for_idle()
            self._is_at_rest.clear()
            try:
                return await self._compactor.make(self._job(instructions))
            finally:
                self._is_at_rest.set()

    def _job(self, instructions: str | None) -> Job:
        writer, purse = self._writer, RunPurse(self._compactor.spending)

        async def commit(kind: Any, data: dict[str, Any], *events: Event) -> None:
            def make() -> Fact:
                if not any(isinstance(event, CompactionEnded) for event in events):
                    return data, events
                interaction, told = self._inputs.transition_around_summary(is_running=False)
                return {**data, "interaction": interaction}, (*events, *told)

            await writer.commit_made(kind, make)

        def noted(event: Event, *, is_running: bool) -> Fact:
            interaction, told = self._inputs.transition_around_summary(is_running=is_running)
            data = {"code": "compacting", "detail": is_running, "interaction": interaction}
            return data, (event, *told)

        async def started(event: CompactionStarted) -> None:
            await writer.commit_made("notice", lambda: noted(event, is_running=True))

        async def ended(event: CompactionEnded) -> None:
            def make() -> Fact:
                return noted(event, is_running=False)

            try:
                await writer.commit_made("notice", make)
            except SessionError:  # nothing runs any more, whether or not that could be stored
                writer.tell(make()[1])

        return Job(
            reason="manual",
            model=self._model(),
            purse=purse,
            emit=writer.emit,
            commit=commit,
            started=started,
            ended=ended,
            is_stopped=lambda: writer.is_closing,
            dispatching=asyncio.Lock(),
            instructions=instructions,
        )

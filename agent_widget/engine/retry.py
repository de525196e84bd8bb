"""A model call that fails is made again, by the same model after a wait or by the next one at once.

Until there is nothing left to try no error is shown, and what came of a failed answer is taken
back. Its error is kept in the journal and is no part of what a model is told. Source: unified
model, K08; features D67, D68, C94.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..core.errors import ModelError
from ..core.events import Event, ProviderSwitched, RetryEnded, RetryScheduled, RetryStarted
from ..core.replay import MODEL_ERROR
from ..policy.models import clamped_level
from ..policy.retry import GIVE_UP, RetryPlan, RetrySettings, may_switch, retry_plan
from ..providers.base import Model

if TYPE_CHECKING:
    from .ports import Ports

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[Any]]


class Retries:
    """Whether calls of a session are made again, and the waits under way; on the engine's loop.

    ``sleep`` waits by the session's clock, ``chance`` gives a number from 0 to 1.
    """

    def __init__(self, settings: RetrySettings, sleep: Sleep, chance: Callable[[], float]) -> None:
        self._settings = settings
        self._sleep = sleep
        self._chance = chance
        self._waits: dict[asyncio.Event, int] = {}
        self.auto_retry_enabled = settings.enabled

    @property
    def max_retries(self) -> int:
        return self._settings.max_retries

    def set_auto_retry_enabled(self, enabled: bool) -> None:
        """Say whether calls that fail from now on are made again."""
        self.auto_retry_enabled = enabled

    def retry_attempt(self) -> int:
        """The number of the repetition that is waited for, 0 when none is."""
        return max(self._waits.values(), default=0)

    def abort_retry(self) -> None:
        """End the waits: the runs end with the errors that they waited after."""
        for ended in self._waits:
            ended.set()

    def plan(self, attempt: int, error: ModelError) -> RetryPlan:
        """What follows ``error`` after ``attempt`` repetitions."""
        if not self.auto_retry_enabled:
            return GIVE_UP
        return retry_plan(
            self._settings,
            attempt,
            "transient" if error.retryable else "permanent",
            retry_after_s=error.retry_after_s,
            chance=self._chance(),
        )

    async def wait(self, plan: RetryPlan) -> bool:
        """Wait as planned; False when that was ended early."""
        ended = asyncio.Event()
        self._waits[ended] = plan.attempt
        waits = [
            asyncio.ensure_future(self._sleep(plan.delay_ms / 1_000)),
            asyncio.ensure_future(ended.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return not ended.is_set()
        finally:
            del self._waits[ended]
            for wait in waits:
                wait.cancel()


class Lineup:
    """The model of a run, and those that take over, in their order, when it fails.

    Each run begins with the first. Helpers of a run share its lineup, so that only the first of
    them that fails switches.
    """

    def __init__(self, models: Sequence[Model], thinking: str | None = None) -> None:
        self._models = tuple(models)
        self._at = 0
        self._thinking = thinking

    @property
    def current(self) -> Model:
        return self._models[self._at]

    @property
    def thinking(self) -> str | None:
        """How much the current model shall think, in its own levels; None: as its server likes."""
        levels = self.current.info.thinking_levels
        if self._thinking is None or not levels:
            return None
        return clamped_level(self._thinking, levels)

    def led_by(self, model: Model) -> Lineup:
        """Another lineup, in which ``model`` comes first."""
        return Lineup((model, *self._models[1:]), self._thinking)

    def after(self, failed: Model) -> Model | None:
        """The model that goes on where ``failed`` did not, and is the current one now."""
        if self.current is failed:
            if self._at + 1 == len(self._models):
                return None
            self._at += 1
        return self.current


class Attempt(Protocol):
    """One call of a model that failed: what came of it is there until it is taken back or kept."""

    @property
    def message_id(self) -> str: ...

    def record(self) -> dict[str, Any]:
        """What came of it, for the journal."""
        ...

    def withdrawal(self) -> list[Event]:
        """The events that take it back."""
        ...

    async def keep(self) -> None:
        """Store what came of it as an answer that was cut short."""
        ...


class AttemptFailed(Exception):  # it is caught where it is told what follows
    """A call of a model failed with ``error``."""

    def __init__(self, error: ModelError, attempt: Attempt) -> None:
        super().__init__(error.message)
        self.error = error
        self.attempt = attempt


async def answered(ports: Ports, call: Callable[[Model], Awaitable[T]]) -> T:
    """What ``call(model)`` comes to, made until it succeeds or nothing is left to try.

    Raises the ModelError of the last try.
    """
    tries = 0
    while True:
        model = ports.lineup.current
        try:
            answer = await call(model)
        except AttemptFailed as failed:
            followed = await _followed(ports, model, failed, tries)
            if followed is None:
                await failed.attempt.keep()
                _told_end(ports, tries, failed.error)
                raise failed.error from None
            tries = followed
        else:
            _told_end(ports, tries, None)
            return answer


async def repeated(
    retries: Retries, call: Callable[[], Awaitable[T]], emit: Callable[[Event], None], purpose: str
) -> T:
    """What ``call()`` comes to, made again after waits where it fails in passing.

    ``purpose`` is what it is for. Raises the ModelError of the last try.
    """
    tries, last = 0, ""
    try:
        while True:
            try:
                answer = await call()
            except ModelError as error:
                last, plan = error.message, retries.plan(tries, error)
                if not plan.retry:
                    raise
                tries = plan.attempt
                emit(_scheduled(retries, plan, error, purpose=purpose))
                if not await retries.wait(plan):
                    raise
                most = retries.max_retries
                emit(RetryStarted(attempt=tries, max_attempts=most, purpose=purpose))
            else:
                last = ""
                return answer
    finally:
        if tries:
            is_won, final = not last, last or None
            emit(RetryEnded(success=is_won, attempt=tries, final_error=final, purpose=purpose))


def _scheduled(
    retries: Retries,
    plan: RetryPlan,
    error: ModelError,
    *,
    message_id: str | None = None,
    purpose: str | None = None,
) -> RetryScheduled:
    return RetryScheduled(
        attempt=plan.attempt,
        max_attempts=retries.max_retries,
        delay_ms=plan.delay_ms,
        error_message=error.message,
        message_id=message_id,
        purpose=purpose,
    )


async def _followed(ports: Ports, model: Model, failed: AttemptFailed, tries: int) -> int | None:
    """How many repetitions there were when the next try begins; None when there is none."""
    if ports.is_stopped():
        return None
    error = failed.error
    may = may_switch(error.code, error.status, is_transient=error.retryable)
    successor = ports.lineup.after(model) if may else None
    message_id = failed.attempt.message_id
    if successor is not None:
        names = model.info.label, successor.info.label
        switched = ProviderSwitched(
            message_id=message_id, from_model=names[0], to_model=names[1], reason=error.message
        )
        await _withdraw(ports, model, failed, tries, switched)
        return 0
    plan = ports.retries.plan(tries, error)
    if not plan.retry:
        return None
    scheduled = _scheduled(ports.retries, plan, error, message_id=message_id)
    await _withdraw(ports, model, failed, tries, scheduled)
    if ports.is_stopped() or not await ports.retries.wait(plan) or ports.is_stopped():
        _told_end(ports, plan.attempt, error)
        raise error from None
    ports.emit(RetryStarted(attempt=plan.attempt, max_attempts=ports.retries.max_retries))
    return plan.attempt


async def _withdraw(
    ports: Ports, model: Model, failed: AttemptFailed, tries: int, told: Event
) -> None:
    """Store that the call failed, and take back what came of it."""
    error = failed.error
    data = {
        "custom_type": MODEL_ERROR,
        "model": model.info.label,
        "attempt": tries,
        "error": {"code": error.code, "message": error.message, "status": error.status},
        **failed.attempt.record(),
    }
    await ports.commit("custom", data, *failed.attempt.withdrawal(), told)


def _told_end(ports: Ports, tries: int, error: ModelError | None) -> None:
    if tries:
        text = None if error is None else error.message
        ports.emit(RetryEnded(success=error is None, attempt=tries, final_error=text))

"""Events of models: which one answers, how much it thinks, who takes over, what is tried again."""

from __future__ import annotations

from .envelope import Event


class ModelChanged(Event, frozen=True, kw_only=True):
    """The model of later runs; ``notice`` is a line the view shows with it.

    ``alias`` is the name by which it is chosen, ``choices`` are the models that a person can choose
    from, ``thinking_levels`` how much this one can think (none: it does not) and ``thinking`` how
    much it shall (None: as its server likes).
    """

    type = "model.changed"
    label: str
    offline: bool = False
    notice: str | None = None
    alias: str = ""
    choices: tuple[str, ...] = ()
    thinking_levels: tuple[str, ...] = ()
    thinking: str | None = None


class ThinkingChanged(Event, frozen=True, kw_only=True):
    """How much the model thinks from the next run on; whether it is shown is another matter."""

    type = "thinking.level.changed"
    level: str


class ProviderSwitched(Event, frozen=True, kw_only=True):
    """A model failed, and the next one of the list goes on with the run, at its own price.

    What came of ``message_id`` is taken back; ``reason`` is the error's own words.
    """

    type = "cost.provider.switched"
    message_id: str
    from_model: str
    to_model: str
    reason: str


class RetryScheduled(Event, frozen=True, kw_only=True):
    """A model call failed and is made again after ``delay_ms``: no error yet.

    It is number ``attempt`` of at most ``max_attempts`` repetitions. What came of ``message_id`` is
    taken back. ``purpose`` is what the call is for, if not for an answer: then there is no message.
    """

    type = "retry.scheduled"
    message_id: str | None = None
    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str
    purpose: str | None = None


class RetryStarted(Event, frozen=True, kw_only=True):
    """The wait is over: the model is asked again."""

    type = "retry.started"
    attempt: int
    max_attempts: int
    purpose: str | None = None


class RetryEnded(Event, frozen=True, kw_only=True):
    """The model answered after all, or there is no further try; ``final_error`` says why."""

    type = "retry.ended"
    success: bool
    attempt: int
    final_error: str | None = None
    purpose: str | None = None


class UsageUpdated(Event, frozen=True, kw_only=True):
    """Tokens of one model call; the four kinds do not overlap.

    ``cost`` is its price as a decimal number in ``currency``, ``uncached_cost`` what it would have
    been without a cache; without them no price is known. ``context_window_tokens`` is how much the
    model takes, where that is known; ``purpose`` what it was for, if not for an answer.
    """

    type = "cost.usage.updated"
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: str | None = None
    currency: str | None = None
    uncached_cost: str | None = None
    context_window_tokens: int | None = None
    purpose: str | None = None

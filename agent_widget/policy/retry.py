"""Whether a model call that failed is made again, when, and by whom. Pure.

The numbers are those of the session document's reference; vectors RTY. Whether an error is
transient is said by the provider that made it (``ModelError.retryable``).
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from ..core.errors import InvalidOptions

ErrorKind: TypeAlias = Literal["transient", "quota", "context_overflow", "aborted", "permanent"]

_SHARED_BY_ALL: Final[frozenset[int | None]] = frozenset({None, 400, 413, 422})
"""Refusals of the request itself: another server would refuse it, too."""


class RetrySettings(Struct, frozen=True, kw_only=True):
    """How often a call is made again, and how long that may take; raises InvalidOptions if wrong.

    Waits double from ``base_delay_ms``, lengthened by up to ``jitter`` of themselves. A server that
    wants a longer wait than ``max_delay_ms`` is not waited for.
    """

    enabled: bool = True
    max_retries: int = 5
    base_delay_ms: int = 2_000
    max_delay_ms: int = 60_000
    jitter: float = 0.25

    def __post_init__(self) -> None:
        for name in ("max_retries", "base_delay_ms", "max_delay_ms", "jitter"):
            if getattr(self, name) < 0:
                raise InvalidOptions(f"{name} must not be negative, not {getattr(self, name)!r}.")


class RetryPlan(Struct, frozen=True):
    """What follows a failed call: the repetition of that number after that wait, or nothing."""

    retry: bool
    attempt: int = 0
    delay_ms: int = 0


GIVE_UP: Final = RetryPlan(retry=False)


def retry_plan(
    settings: RetrySettings,
    attempt: int,
    kind: ErrorKind,
    *,
    retry_after_s: float | None = None,
    chance: float = 0.0,
) -> RetryPlan:
    """What follows a failed call after ``attempt`` repetitions of it.

    ``retry_after_s`` is the server's own wish and taken exactly; ``chance`` from 0 to 1 is how much
    of the jitter a wait gets.
    """
    if not settings.enabled or kind != "transient" or attempt >= settings.max_retries:
        return GIVE_UP
    if retry_after_s is not None:
        wish_ms = round(retry_after_s * 1_000)
        too_long = wish_ms > settings.max_delay_ms
        return GIVE_UP if too_long else RetryPlan(retry=True, attempt=attempt + 1, delay_ms=wish_ms)
    delay_ms = min(settings.base_delay_ms * 2**attempt, settings.max_delay_ms)
    delay_ms += round(delay_ms * settings.jitter * chance)
    return RetryPlan(retry=True, attempt=attempt + 1, delay_ms=delay_ms)


def may_switch(code: str, status: int | None, *, is_transient: bool) -> bool:
    """True when another server may answer what this one did not.

    It may not where the request itself was refused.
    """
    return is_transient or code != "bad_request" or status not in _SHARED_BY_ALL

"""Tokens and money of model calls: of one call, and of many together.

The four kinds of tokens never overlap, whatever a server counts together; ``core.usagereport``
reads them out of what it sends. Money is exact and has a currency. What nobody knows is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, TypeAlias, TypeGuard

from msgspec import Struct

Amount: TypeAlias = int | float | Decimal
"""Money as people write it; ``exact`` makes it a number that can be added up."""

USD: Final = "USD"
CHARS_PER_TOKEN: Final = 4
"""What an estimate takes a token for, where no server has counted."""


class Usage(Struct, frozen=True):
    """Tokens of one request; ``input_tokens`` counts neither cache reads nor cache writes.

    Thinking is part of the output.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """All four kinds: what a budget counts, and how full the context is after the answer."""
        return self.prompt_tokens + self.output_tokens

    @property
    def prompt_tokens(self) -> int:
        """What was sent: fresh, read from the cache and written to it."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def cache_share(self) -> float | None:
        """Which part of what was sent came from the cache, from 0 to 1; None when none was sent."""
        return self.cache_read_tokens / self.prompt_tokens if self.prompt_tokens else None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )


class Cost(Struct, frozen=True):
    """Money: ``amount`` is not negative, ``currency`` a code of ISO 4217."""

    amount: Decimal
    currency: str = USD


class ModelCall(Struct, frozen=True, kw_only=True):
    """A model call that was made.

    ``usage`` is None when its server did not count, ``cost`` when no price is known. ``purpose``
    is None for the answer itself, else what else it was for: ``compaction``, ``branch_summary``.
    ``agent_id`` names the sub-agent that made it.
    """

    model: str
    usage: Usage | None
    cost: Cost | None = None
    purpose: str | None = None
    agent_id: str | None = None


class Totals(Struct, frozen=True):
    """What model calls add up to; ``Totals()`` is that of none.

    ``uncounted`` calls are those whose tokens nobody counted, ``unpriced`` those of unknown cost;
    ``usage`` and ``costs`` are without them. ``costs`` has each currency once, ordered by code.
    """

    usage: Usage = Usage()
    calls: int = 0
    uncounted: int = 0
    unpriced: int = 0
    costs: tuple[Cost, ...] = ()

    @classmethod
    def of(cls, calls: Iterable[ModelCall]) -> Totals:
        """The totals of ``calls``, in whatever order they come."""
        return sum((_totals_of_one(call) for call in calls), cls())

    @property
    def cost(self) -> Cost | None:
        """What all calls cost; None when not all of that is known, or is in several currencies."""
        if self.unpriced or len(self.costs) > 1:
            return None
        return self.costs[0] if self.costs else Cost(Decimal(0))

    def spent(self, currency: str) -> Decimal:
        """What is known to have been spent in ``currency``."""
        return next((each.amount for each in self.costs if each.currency == currency), Decimal(0))

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.usage + other.usage,
            self.calls + other.calls,
            self.uncounted + other.uncounted,
            self.unpriced + other.unpriced,
            _by_currency((*self.costs, *other.costs)),
        )


class Ledger(Struct, frozen=True):
    """Totals of a session, and of each model, agent and purpose; ``Ledger()`` is that of no calls.

    The agent of the session itself is ``main``, the purpose of an answer ``answer``. Each of the
    three adds up to ``total``.
    """

    total: Totals = Totals()
    by_model: Mapping[str, Totals] = {}
    by_agent: Mapping[str, Totals] = {}
    by_purpose: Mapping[str, Totals] = {}

    def plus(self, call: ModelCall) -> Ledger:
        """This ledger with ``call`` in it."""
        one = _totals_of_one(call)
        return Ledger(
            self.total + one,
            _with(self.by_model, call.model, one),
            _with(self.by_agent, call.agent_id or "main", one),
            _with(self.by_purpose, call.purpose or "answer", one),
        )


def is_amount(value: object) -> TypeGuard[Amount]:
    """Whether ``value`` is a finite number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return Decimal(value).is_finite() and value >= 0


def exact(amount: Amount) -> Decimal:
    """``amount`` as it is written: 0.1 is a tenth, not the nearest binary fraction."""
    # float() first: the text of other number types that are floats names their type.
    return Decimal(str(float(amount))) if isinstance(amount, float) else Decimal(amount)


def estimated_tokens(size_chars: int) -> int:
    """About how many tokens a text has, rounded up: where no server has counted."""
    return -(-size_chars // CHARS_PER_TOKEN)


def _totals_of_one(call: ModelCall) -> Totals:
    return Totals(
        call.usage or Usage(),
        1,
        int(call.usage is None),
        int(call.cost is None),
        () if call.cost is None else (call.cost,),
    )


def _by_currency(costs: Iterable[Cost]) -> tuple[Cost, ...]:
    sums: dict[str, Decimal] = {}
    for cost in costs:
        sums[cost.currency] = sums.get(cost.currency, Decimal(0)) + cost.amount
    return tuple(Cost(sums[currency], currency) for currency in sorted(sums))


def _with(totals: Mapping[str, Totals], key: str, one: Totals) -> dict[str, Totals]:
    return {**totals, key: totals.get(key, Totals()) + one}

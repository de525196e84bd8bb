"""What a session spends on model calls, and the gate that each of them passes.

Counted from the opening of the session: one that goes on later starts at zero (C54). Sub-agents
spend from the same budget. Source: SDK document, ``budget``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import SessionError
from ..core.events import Event, UsageUpdated, notice
from ..core.ids import Clock
from ..core.usage import Cost, Ledger, ModelCall, Usage, estimated_tokens
from ..policy.budget import (
    ABORT_REASON,
    NOTICE_SCOPE,
    Budget,
    Exceeded,
    Reservation,
    gate,
)
from ..providers.base import Model, ModelInfo
from ..providers.prices import FREE, PriceList


class BudgetExceeded(SessionError):
    """No further model call may be made; ends the run, not the session."""

    def __init__(self, exceeded: Exceeded) -> None:
        super().__init__(ABORT_REASON, exceeded.message, advice=exceeded.advice)


class CountedCall:
    """A model call under way: set ``usage`` when its server has counted, ``size_chars`` as it
    answers, for a call that is cut off before that.
    """

    def __init__(self, purpose: str | None = None) -> None:
        self.purpose = purpose
        self.usage: Usage | None = None
        self.cost: Cost | None = None
        self.uncached_cost: Cost | None = None
        self.context_window: int | None = None
        self.size_chars = 0
        self.is_answered = False

    def record(self) -> dict[str, Any]:
        """What the record of the answer says of it; nothing when nobody counted."""
        if self.usage is None:
            return {}
        data: dict[str, Any] = {
            "usage": {name: getattr(self.usage, name) for name in self.usage.__struct_fields__}
        }
        if self.cost is not None:
            amount = format(self.cost.amount, "f")
            data["cost"] = {"amount": amount, "currency": self.cost.currency}
        if self.uncached_cost is not None:
            data["uncached_cost"] = format(self.uncached_cost.amount, "f")
        if self.context_window is not None:
            data["context_window"] = self.context_window
        if self.purpose is not None:
            data["purpose"] = self.purpose
        return data


class Spending:
    """The one purse of a session; lives on the engine's loop.

    ``advice`` is the way out of a budget that is used up, where it is not the usual one.
    """

    def __init__(
        self,
        budget: Budget | None,
        prices: PriceList | None,
        clock_ms: Clock,
        context_window: int | None = None,
    ) -> None:
        self.budget = budget
        self.advice: str | None = None
        self.ledger = Ledger()
        self._prices = prices or PriceList()
        self._clock_ms = clock_ms
        self._window = context_window
        self._under_way: list[Reservation] = []
        self._ended = asyncio.Event()

    async def admit(self, *, is_warned: bool) -> Exceeded | None:
        """Wait until a call may be made; what to warn of, if anything. Raises BudgetExceeded."""
        while True:
            verdict = gate(
                self.budget,
                self.ledger.total,
                under_way=self._under_way,
                is_warned=is_warned,
            )
            if verdict.decision == "block":
                assert verdict.exceeded is not None
                raise BudgetExceeded(self._advised(verdict.exceeded))
            if verdict.decision != "wait":
                return None if verdict.exceeded is None else self._advised(verdict.exceeded)
            self._ended.clear()
            await self._ended.wait()

    def carry(self, call: ModelCall) -> None:
        """Count a call of an earlier opening, where a budget holds over all of them."""
        self.ledger = self.ledger.plus(call)

    def _advised(self, exceeded: Exceeded) -> Exceeded:
        return exceeded if self.advice is None else replace(exceeded, advice=self.advice)

    def begin(self) -> Reservation:
        """Note that a call is under way whose size nobody knows yet."""
        reservation = _Reserved()
        self._under_way.append(reservation)
        return reservation

    def end(self, reservation: Reservation, call: ModelCall | None) -> None:
        """Note what it came to; None: it never reached its server."""
        self._under_way = [each for each in self._under_way if each is not reservation]
        if call is not None:
            self.ledger = self.ledger.plus(call)
        self._ended.set()

    def add(self, model: Model, agent_id: str | None, counted: CountedCall) -> None:
        """Count a call that passes no gate."""
        call = _made(model, agent_id, counted)
        if call is not None:
            self.ledger = self.ledger.plus(call)

    async def weigh(self, call: CountedCall, info: ModelInfo) -> None:
        """Say of a counted call what it cost, and how much its model takes, where that is known."""
        usage, url, at_ms = call.usage, info.base_url, self._clock_ms()
        if usage is None:
            return
        if info.offline:
            call.cost = call.uncached_cost = FREE.cost(usage)
            return

        def look_up() -> None:
            name, prices = info.name, self._prices
            call.cost = prices.cost(usage, name, base_url=url, at_ms=at_ms)
            call.uncached_cost = prices.uncached_cost(usage, name, base_url=url, at_ms=at_ms)
            if url is not None:
                call.context_window = prices.context_window(name, base_url=url)

        if url is None:
            look_up()
        else:  # the list is slow at first: off the loop
            await asyncio.to_thread(look_up)
        call.context_window = self._window or call.context_window


class _Reserved(Reservation, frozen=True, kw_only=True):
    """One of its own: two calls of unknown size are not the same."""


class RunPurse(Struct):
    """The session's purse in the hands of one run and of its sub-agents."""

    spending: Spending
    is_warned: bool = False

    @asynccontextmanager
    async def call(
        self,
        model: Model,
        agent_id: str | None,
        emit: Callable[[Event], None],
        purpose: str | None = None,
    ) -> AsyncIterator[CountedCall]:
        """Around one model call, from the gate to its count. Raises BudgetExceeded."""
        warning = await self.spending.admit(is_warned=self.is_warned)
        if warning is not None:
            self.is_warned = True
            text = f"{warning.message} {warning.advice}"
            emit(notice(NOTICE_SCOPE, NOTICE_SCOPE, text))
        reservation = self.spending.begin()
        counted = CountedCall(purpose)
        try:
            yield counted
        finally:
            self.spending.end(reservation, _made(model, agent_id, counted))


def _made(model: Model, agent_id: str | None, counted: CountedCall) -> ModelCall | None:
    """The call as it is counted: what nobody counted because it was cut off is estimated."""
    if not counted.is_answered and not counted.size_chars:
        return None
    usage = counted.usage
    if usage is None and not counted.is_answered:
        usage = Usage(0, estimated_tokens(counted.size_chars))
    return ModelCall(
        model=model.info.label,
        usage=usage,
        cost=counted.cost,
        purpose=counted.purpose,
        agent_id=agent_id,
    )


def usage_event(model: Model, counted: CountedCall) -> UsageUpdated | None:
    """What tells a counted call; None when nobody counted."""
    usage, cost, uncached = counted.usage, counted.cost, counted.uncached_cost
    if usage is None:
        return None
    return UsageUpdated(
        model=model.info.label,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cost=None if cost is None else format(cost.amount, "f"),
        currency=None if cost is None else cost.currency,
        uncached_cost=None if uncached is None else format(uncached.amount, "f"),
        context_window_tokens=counted.context_window,
        purpose=counted.purpose,
    )

"""What a session may spend and a run may take, and what happens when it is reached.

Asked before each model call of a session: the answer's, a retry's, a sub-agent's, a compaction's.
Summaries of branches are counted but not asked for (K28). Source: SDK document, ``budget``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, get_args

from msgspec import Struct

from ..core.errors import InvalidOptions
from ..core.usage import USD, Amount, Totals, exact, is_amount

OnExceeded = Literal["block", "warn"]
Decision = Literal["continue", "wait", "block", "warn"]
Cap = Literal["max_usd", "max_total_tokens"]

ABORT_REASON: Final = "budget_exceeded"
"""Why a run ends that ``block`` ends."""
NOTICE_SCOPE: Final = "budget"
"""Scope of the notice that ``warn`` gives."""

_ON_EXCEEDED: Final[tuple[str, ...]] = get_args(OnExceeded)


class Budget(Struct, frozen=True, kw_only=True):
    """What a session may spend from the moment it is opened; raises InvalidOptions if wrong.

    ``max_usd`` counts what models cost whose prices are in US dollars, and nothing else;
    ``max_total_tokens`` counts all four kinds of tokens of every call. At a cap, ``block`` makes no
    further call and ``warn`` says so once per run and goes on. Without caps nothing is limited.
    """

    max_usd: Amount | None = None
    max_total_tokens: int | None = None
    on_exceeded: OnExceeded = "block"

    def __post_init__(self) -> None:
        _check_amount("max_usd", self.max_usd)
        _check_count("max_total_tokens", self.max_total_tokens)
        if self.on_exceeded not in _ON_EXCEEDED:
            raise InvalidOptions(
                f"on_exceeded is {self.on_exceeded!r}, expected 'block' or 'warn'."
            )

    @property
    def has_caps(self) -> bool:
        return self.max_usd is not None or self.max_total_tokens is not None


class RunLimits(Struct, frozen=True, kw_only=True):
    """How long one run may take, in model calls and in seconds; raises InvalidOptions if wrong.

    The seconds are those of the clock on the wall, from the start of the run to its end: what a
    tool, a helper or a person takes is in them.
    """

    max_steps: int | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        _check_count("max_steps", self.max_steps)
        _check_amount("max_seconds", self.max_seconds)


class Reservation(Struct, frozen=True, kw_only=True):
    """The most that a call under way can still come to; None where that is not known."""

    tokens: int | None = None
    usd: Amount | None = None


class Exceeded(Struct, frozen=True):
    """Why a budget lets no further call through: the cap, in words, and the way out."""

    cap: Cap
    message: str
    advice: str


class Verdict(Struct, frozen=True):
    """What becomes of the next model call.

    ``continue`` makes it; ``warn`` makes it and says why; ``block`` ends the run, the session stays
    open; ``wait`` asks again when a call under way has ended. ``exceeded`` is the reason for
    ``block`` and ``warn``.
    """

    decision: Decision
    exceeded: Exceeded | None = None


_CONTINUE: Final = Verdict("continue")
_WAIT: Final = Verdict("wait")


def budget_option(option: object) -> Budget | None:
    """The budget that code gives as ``budget=``: a Budget, a mapping of its fields, or None."""
    if option is None or isinstance(option, Budget):
        return option
    names = ", ".join(Budget.__struct_fields__)
    if not isinstance(option, Mapping):
        raise InvalidOptions(
            f"budget is {option!r}, expected Budget(…) or a mapping of {names}.",
            advice="Write budget=Budget(max_total_tokens=200_000).",
        )
    fields = {str(key): value for key, value in option.items()}
    for key in fields:
        if key not in Budget.__struct_fields__:
            raise InvalidOptions(f"budget has an option {key!r}, expected some of {names}.")
    return Budget(**fields)


def check_price(budget: Budget | None, model: str, currency: str | None) -> None:
    """Refuse a model that ``max_usd`` cannot limit: one without a price in US dollars.

    ``currency`` is that of its price, None when no price is known. For each model that a session
    can call, before its first request. Raises InvalidOptions.
    """
    if budget is None or budget.max_usd is None or currency == USD:
        return
    what = "no price of it is known" if currency is None else f"its price is in {currency}"
    raise InvalidOptions(
        f"max_usd={budget.max_usd} cannot limit what {model!r} costs: {what}.",
        advice="Set max_total_tokens instead, or give its price in prices={…}: dollars per million "
        "tokens, 0 where it costs nothing.",
    )


def exceeded(budget: Budget | None, spent: Totals) -> Exceeded | None:
    """Why ``budget`` is used up by what was ``spent``; None when it is not.

    ``spent`` is what this opening of the session has spent: a session that goes on later starts at
    zero. A call that nobody counted uses a budget up, for what is left of it is not known.
    """
    if budget is None:
        return None
    tokens = spent.usage.total_tokens
    if budget.max_total_tokens is not None:
        if spent.uncounted:
            return _unknown("max_total_tokens", spent.uncounted, "token count")
        if tokens >= budget.max_total_tokens:
            used = f"{tokens:,} of {budget.max_total_tokens:,} tokens"
            return Exceeded("max_total_tokens", f"The budget is used up: {used}.", _RAISE)
    if budget.max_usd is not None:
        if spent.unpriced:
            return _unknown("max_usd", spent.unpriced, "known cost")
        usd = spent.spent(USD)
        if usd >= exact(budget.max_usd):
            used = f"${usd:,.4f} of ${exact(budget.max_usd)}"
            return Exceeded("max_usd", f"The budget is used up: {used}.", _RAISE)
    return None


def gate(
    budget: Budget | None,
    spent: Totals,
    *,
    under_way: Iterable[Reservation] = (),
    is_warned: bool = False,
) -> Verdict:
    """What becomes of a model call that is about to be made.

    ``under_way`` are the calls of this session that have no usage yet: near a cap they are waited
    for, so that all calls together exceed it by at most one. ``is_warned`` tells that this run was
    warned already.
    """
    if budget is None or not budget.has_caps:
        return _CONTINUE
    reason = exceeded(budget, spent)
    if budget.on_exceeded == "warn":
        return _CONTINUE if reason is None or is_warned else Verdict("warn", reason)
    if reason is not None:
        return Verdict("block", reason)
    return _CONTINUE if _is_safe(budget, spent, tuple(under_way)) else _WAIT


_RAISE: Final = "Give a larger budget, or start a new session."


def _unknown(cap: Cap, count: int, what: str) -> Exceeded:
    calls = "a model call has" if count == 1 else f"{count} model calls have"
    return Exceeded(
        cap,
        f"The budget cannot be kept: {calls} no {what}.",
        f"Take a model whose server counts tokens, or go on without {cap}.",
    )


def _is_safe(budget: Budget, spent: Totals, under_way: tuple[Reservation, ...]) -> bool:
    """Whether the calls under way leave something of each cap, whatever they come to."""
    if budget.max_total_tokens is not None and under_way:
        tokens = [each.tokens for each in under_way if each.tokens is not None]
        total = spent.usage.total_tokens + sum(tokens)
        if len(tokens) < len(under_way) or total >= budget.max_total_tokens:
            return False
    if budget.max_usd is not None and under_way:
        amounts = [exact(each.usd) for each in under_way if each.usd is not None]
        if len(amounts) < len(under_way):
            return False
        return sum(amounts, spent.spent(USD)) < exact(budget.max_usd)
    return True


def _check_amount(name: str, value: object) -> None:
    if value is not None and not (is_amount(value) and value > 0):
        raise InvalidOptions(f"{name} is {value!r}, expected a number above 0.", advice=_LEAVE_OUT)


def _check_count(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise InvalidOptions(
            f"{name} is {value!r}, expected a whole number above 0.", advice=_LEAVE_OUT
        )


_LEAVE_OUT: Final = "Leave it out for no limit."

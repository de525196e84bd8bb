"""Budgets bind, say why, and never promise what they cannot keep."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.usage import Cost, ModelCall, Totals, Usage, exact
from agent_widget.policy.budget import (
    Budget,
    Reservation,
    RunLimits,
    Verdict,
    budget_option,
    check_price,
    exceeded,
    gate,
)


def spent(tokens: int = 0, usd: float | None = None, **counts: int) -> Totals:
    costs = () if usd is None else (Cost(exact(usd)),)
    return Totals(Usage(tokens), 1, costs=costs, **counts)


# --- options -----------------------------------------------------------------------------------

BAD: dict[str, dict[str, Any]] = {
    "zero tokens": {"max_total_tokens": 0},
    "tokens as text": {"max_total_tokens": "100"},
    "tokens as a float": {"max_total_tokens": 100.0},
    "zero dollars": {"max_usd": 0},
    "dollars as a boolean": {"max_usd": True},
    "dollars as text": {"max_usd": "1"},
    "infinite dollars": {"max_usd": float("inf")},
    "dollars that are no number": {"max_usd": float("nan")},
    "a decimal that is no number": {"max_usd": Decimal("sNaN")},
    "a word of another tool": {"on_exceeded": "stop"},
    "a word that cannot be hashed": {"on_exceeded": []},
    "an option that is not there": {"max_dollars": 1},
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_option_is_refused_by_its_name(name: str) -> None:
    (option,) = BAD[name]
    with pytest.raises(InvalidOptions, match=option) as refusal:
        budget_option(BAD[name])
    assert refusal.value.code == "invalid_options"


def test_a_budget_is_given_as_an_object_a_mapping_or_not_at_all() -> None:
    budget = Budget(max_usd=Decimal("0.5"), max_total_tokens=10, on_exceeded="warn")
    assert budget_option(budget) is budget
    assert budget_option(
        {"max_usd": Decimal("0.5"), "max_total_tokens": 10, "on_exceeded": "warn"}
    ) == (budget)
    assert budget_option(None) is None
    with pytest.raises(InvalidOptions, match="budget is 5"):
        budget_option(5)


@pytest.mark.parametrize(("currency", "words"), [(None, "no price of it"), ("CNY", "is in CNY")])
def test_max_usd_refuses_a_model_it_cannot_limit_and_says_the_way_out(
    currency: str | None, words: str
) -> None:
    budget = Budget(max_usd=0.01, max_total_tokens=100)
    with pytest.raises(InvalidOptions, match=words) as refusal:
        check_price(budget, "acme-9.1", currency)
    assert "acme-9.1" in refusal.value.message
    assert "max_total_tokens" in (refusal.value.advice or "")
    assert "prices=" in (refusal.value.advice or "")


def test_without_max_usd_or_with_a_price_in_dollars_every_model_is_taken() -> None:
    check_price(Budget(max_usd=1), "gpt-5-mini", "USD")
    check_price(Budget(max_total_tokens=1), "acme-9.1", None)
    check_price(None, "acme-9.1", None)


# --- the gate ----------------------------------------------------------------------------------


def test_a_dollar_cap_is_hit_at_the_very_amount_and_not_by_a_binary_fraction() -> None:
    calls = [ModelCall(model="m", usage=Usage(1), cost=Cost(Decimal("0.1")))] * 3
    assert gate(Budget(max_usd=0.3), Totals.of(calls)).decision == "block"
    assert gate(Budget(max_usd=0.3), Totals.of(calls[:2])).decision == "continue"


def test_a_block_says_how_much_was_used_of_what() -> None:
    tokens = exceeded(Budget(max_total_tokens=1_000), spent(1_200))
    assert tokens is not None
    assert tokens.cap == "max_total_tokens"
    assert "1,200 of 1,000 tokens" in tokens.message
    usd = exceeded(Budget(max_usd=0.5), spent(1, 0.75))
    assert usd is not None
    assert (usd.cap, "$0.7500 of $0.5" in usd.message) == ("max_usd", True)


def test_what_nobody_counted_uses_up_the_cap_it_would_hide_from() -> None:
    uncounted, unpriced = spent(1, uncounted=1, unpriced=1), spent(1, unpriced=2)
    assert gate(Budget(max_total_tokens=100), uncounted).decision == "block"
    assert gate(Budget(max_total_tokens=100), unpriced).decision == "continue"
    verdict = gate(Budget(max_usd=100), unpriced)
    assert verdict.decision == "block"
    assert verdict.exceeded is not None
    assert "2 model calls have no known cost" in verdict.exceeded.message
    assert gate(Budget(max_usd=100, on_exceeded="warn"), unpriced).decision == "warn"
    assert gate(Budget(), uncounted).decision == "continue"


def test_a_warning_comes_once_and_holds_nothing_up() -> None:
    budget = Budget(max_total_tokens=10, on_exceeded="warn")
    unknown = [Reservation()]
    assert gate(budget, spent(9), under_way=unknown) == Verdict("continue")
    assert gate(budget, spent(10)).decision == "warn"
    assert gate(budget, spent(10), is_warned=True) == Verdict("continue")


def test_near_a_cap_a_call_waits_for_those_under_way() -> None:
    budget = Budget(max_total_tokens=100, max_usd=1)
    small = Reservation(tokens=10, usd=0.1)
    assert gate(budget, spent(50), under_way=[small]).decision == "continue"
    assert gate(budget, spent(90), under_way=[small]).decision == "wait"
    assert gate(budget, spent(50, 0.9), under_way=[small]).decision == "wait"
    assert gate(budget, spent(50), under_way=[Reservation(tokens=10)]).decision == "wait"
    assert gate(budget, spent(50), under_way=[Reservation(usd=0.1)]).decision == "wait"
    assert gate(budget, spent(100), under_way=[small]).decision == "block"
    assert gate(None, spent(100), under_way=[Reservation()]).decision == "continue"


def overshoot(seed: int) -> tuple[int, int]:
    """``(tokens over the cap, size of the largest call)`` of agents that call side by side."""
    rng = random.Random(seed)
    budget = Budget(max_total_tokens=rng.randint(50, 400))
    assert budget.max_total_tokens is not None
    known = rng.random() < 0.7  # whether the most that a call can come to is known
    total, largest, under_way = Totals(), 0, list[int]()
    waiting = rng.randint(2, 8)
    for _ in range(200):
        reserved = [
            Reservation(tokens=size + rng.randint(0, 9) if known else None) for size in under_way
        ]
        decision = gate(budget, total, under_way=reserved).decision
        starts = decision == "continue" and len(under_way) < waiting and rng.random() < 0.6
        if starts:
            under_way.append(rng.randint(1, 90))
        elif under_way:
            size = under_way.pop(rng.randrange(len(under_way)))
            largest = max(largest, size)
            total += Totals.of([ModelCall(model="m", usage=Usage(size - size // 3, size // 3))])
        elif decision == "block":
            break
    else:
        raise AssertionError("the schedule never came to its cap")
    return total.usage.total_tokens - budget.max_total_tokens, largest


def test_a_hundred_parallel_schedules_exceed_the_cap_by_at_most_one_call() -> None:
    over = [overshoot(seed) for seed in range(100)]
    assert all(0 <= tokens < largest for tokens, largest in over)
    assert any(tokens > 0 for tokens, _ in over)


# --- limits of a run ---------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [{"max_steps": 0}, {"max_seconds": 0}, {"max_seconds": "9"}])
def test_a_limit_that_makes_no_sense_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidOptions, match=next(iter(bad))):
        RunLimits(**bad)

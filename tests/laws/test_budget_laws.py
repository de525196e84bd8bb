"""Laws of tokens, money and budgets that hold for every report and every order of calls."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_widget.core.usage import Cost, Ledger, ModelCall, Totals, Usage, exact, is_amount
from agent_widget.core.usagereport import MAX_TOKENS, UsageReport, read_report, usage_of_stream
from agent_widget.policy.budget import Budget, Reservation, exceeded, gate
from agent_widget.policy.context import ContextEntry, context_usage
from tests.support.strategies import JSON, TEXTS

COUNTS = st.integers(0, 10**6)
USAGES = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS)
AMOUNTS = st.integers(0, 10**9).map(lambda n: Decimal(n) / 10**7)
COSTS = st.builds(Cost, AMOUNTS, st.sampled_from(["USD", "CNY", "EUR"]))
CALLS = st.builds(
    ModelCall,
    model=st.sampled_from(["a", "b"]),
    usage=st.none() | USAGES,
    cost=st.none() | COSTS,
    purpose=st.sampled_from([None, "compaction"]),
    agent_id=st.sampled_from([None, "d1", "d2"]),
)
CALL_LISTS = st.lists(CALLS, max_size=8)
BUDGETS = st.builds(
    Budget,
    max_usd=st.none() | st.floats(0.001, 100),
    max_total_tokens=st.none() | st.integers(1, 10**6),
    on_exceeded=st.sampled_from(["block", "warn"]),
)
RESERVATIONS = st.builds(
    Reservation, tokens=st.none() | st.integers(0, 10**5), usd=st.none() | st.floats(0, 10)
)

# --- reports -----------------------------------------------------------------------------------

NAMES = st.sampled_from(
    [
        "prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "output_tokens",
        "cache_read_input_tokens", "cache_creation_input_tokens", "cached_tokens", "inputTokens",
        "reasoning_tokens", "prompt_n", "cache_n", "predicted_n", "thoughtsTokenCount",
        "promptTokenCount", "citation_tokens", "eval_count",
    ]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = COUNTS | st.integers() | st.floats() | JSON
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=6)
DETAILS = st.dictionaries(
    st.sampled_from(["prompt_tokens_details", "input_tokens_details", "cache_creation"]),
    OBJECTS | JSON,
    max_size=2,
)
SAID = st.builds(lambda counts, details: {**counts, **details}, OBJECTS, DETAILS)
PLACED = st.sampled_from(["usage", "x_groq", "message", "timings", "usageMetadata"])
CHUNKS = st.lists(SAID | st.dictionaries(PLACED, SAID | JSON, max_size=2) | JSON, max_size=4)


@given(CHUNKS)
def test_whatever_a_server_sends_no_kind_is_negative_or_absurd(chunks: list[Any]) -> None:
    usage = usage_of_stream(chunks)
    if usage is not None:
        kinds = [getattr(usage, name) for name in usage.__struct_fields__]
        assert all(type(kind) is int and kind >= 0 for kind in kinds)
        assert usage.total_tokens > 0
        assert max(kinds) <= 6 * MAX_TOKENS  # of at most so many numbers that are added up


@given(SAID)
def test_a_report_that_is_repeated_changes_nothing(said: Mapping[str, Any]) -> None:
    report = read_report(said)
    if report is not None:
        assert report.then(report) == report
        assert UsageReport().then(report) == report.then(UsageReport()) == report


@given(USAGES)
def test_each_vendors_report_of_the_same_tokens_reads_the_same(usage: Usage) -> None:
    cached, written = usage.cache_read_tokens, usage.cache_write_tokens
    openai = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
    }
    anthropic = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
    }
    wanted = usage if usage.total_tokens else None
    assert usage_of_stream([openai]) == wanted
    assert usage_of_stream([anthropic]) == wanted


# --- sums --------------------------------------------------------------------------------------


@given(CALL_LISTS, st.randoms(use_true_random=False))
def test_totals_do_not_depend_on_the_order_of_calls(
    calls: list[ModelCall], chance: random.Random
) -> None:
    shuffled = [*calls]
    chance.shuffle(shuffled)
    assert Totals.of(shuffled) == Totals.of(calls)


@given(CALL_LISTS, CALL_LISTS)
def test_totals_of_parts_add_up_to_the_total(first: list[ModelCall], rest: list[ModelCall]) -> None:
    assert Totals.of(first) + Totals.of(rest) == Totals.of([*first, *rest])
    assert Totals.of(first) + Totals() == Totals.of(first)


@given(CALL_LISTS)
def test_each_side_of_a_ledger_adds_up_to_its_total(calls: list[ModelCall]) -> None:
    ledger = Ledger()
    for call in calls:
        ledger = ledger.plus(call)
    assert ledger.total == Totals.of(calls)
    for side in (ledger.by_model, ledger.by_agent, ledger.by_purpose):
        assert sum(side.values(), Totals()) == ledger.total


@given(CALL_LISTS)
def test_a_cost_is_told_only_when_all_of_it_is_known(calls: list[ModelCall]) -> None:
    totals = Totals.of(calls)
    currencies = {call.cost.currency for call in calls if call.cost is not None}
    is_known = all(call.cost is not None for call in calls) and len(currencies) < 2
    assert (totals.cost is not None) == is_known
    paid = [call.cost.amount for call in calls if call.cost and call.cost.currency == "USD"]
    assert totals.spent("USD") == sum(paid)


@given(st.decimals(0, 10**6, allow_nan=False, places=6) | st.floats(0, 1e6) | st.integers(0))
def test_an_amount_is_read_as_it_is_written(amount: Decimal | float) -> None:
    assert is_amount(amount)
    assert exact(amount) == Decimal(str(amount))


@given(TEXTS | st.booleans() | st.none() | st.floats(max_value=-1e-300))
def test_what_is_no_amount_is_told_apart(value: object) -> None:
    assert not is_amount(value)


# --- budgets -----------------------------------------------------------------------------------


@given(BUDGETS, CALL_LISTS, CALLS)
def test_what_is_used_up_stays_used_up(
    budget: Budget, calls: list[ModelCall], more: ModelCall
) -> None:
    if exceeded(budget, Totals.of(calls)) is not None:
        assert exceeded(budget, Totals.of([*calls, more])) is not None


@given(BUDGETS, CALL_LISTS, st.lists(RESERVATIONS, max_size=3), st.booleans())
def test_a_gate_opens_only_where_every_cap_has_something_left(
    budget: Budget, calls: list[ModelCall], under_way: list[Reservation], is_warned: bool
) -> None:
    spent = Totals.of(calls)
    verdict = gate(budget, spent, under_way=under_way, is_warned=is_warned)
    reason = exceeded(budget, spent)
    if budget.on_exceeded == "warn":
        assert verdict.decision == ("continue" if reason is None or is_warned else "warn")
    else:
        assert (verdict.decision == "block") == (reason is not None)
        assert verdict.decision != "wait" or under_way
    if verdict.decision == "continue" and budget.on_exceeded == "block":
        tokens = [each.tokens for each in under_way]
        if budget.max_total_tokens is not None:
            assert None not in tokens
            reserved = sum(each or 0 for each in tokens)
            assert spent.usage.total_tokens + reserved < budget.max_total_tokens


@given(BUDGETS, CALL_LISTS, st.lists(RESERVATIONS, min_size=1, max_size=3))
def test_when_nothing_is_under_way_nothing_waits(
    budget: Budget, calls: list[ModelCall], under_way: list[Reservation]
) -> None:
    spent = Totals.of(calls)
    if gate(budget, spent, under_way=under_way).decision == "wait":
        assert gate(budget, spent).decision == "continue"


@given(CALL_LISTS)
def test_without_caps_nothing_is_limited(calls: list[ModelCall]) -> None:
    for budget in (None, Budget(), Budget(on_exceeded="warn")):
        assert gate(budget, Totals.of(calls)).decision == "continue"


# --- context -----------------------------------------------------------------------------------

ENTRIES = st.builds(
    ContextEntry,
    role=st.sampled_from(["user", "assistant", "tool_result", "compaction"]),
    chars=st.integers(0, 10**5),
    stop_reason=st.sampled_from([None, "stop", "interrupted"]),
    usage=st.none() | USAGES,
)


@given(st.integers(1, 10**6), st.lists(ENTRIES, max_size=6))
def test_the_context_is_unknown_exactly_after_a_compaction_without_a_counted_answer(
    window: int, branch: list[ContextEntry]
) -> None:
    used = context_usage(window, branch)
    assert used is not None
    ends = [entry.role == "compaction" or entry.baseline > 0 for entry in branch]
    last = max((at for at, is_end in enumerate(ends) if is_end), default=None)
    is_unknown = last is not None and branch[last].role == "compaction"
    assert (used.tokens is None) == (used.percent is None) == is_unknown
    assert used.tokens is None or used.tokens >= 0


@given(st.integers(1, 10**6), st.lists(ENTRIES, max_size=6), st.integers(0, 10**5))
def test_more_text_never_makes_the_context_emptier(
    window: int, branch: list[ContextEntry], chars: int
) -> None:
    before = context_usage(window, branch)
    after = context_usage(window, [*branch, ContextEntry(role="user", chars=chars)])
    assert before is not None
    assert after is not None
    if before.tokens is not None:
        assert after.tokens is not None
        assert after.tokens >= before.tokens

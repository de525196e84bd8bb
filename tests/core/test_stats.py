"""What stored records of real sessions add up to, and how full they make the context."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from agent_widget.core.records import Record
from agent_widget.core.stats import SessionStats, session_stats, stats_entries
from agent_widget.core.usage import Cost, Ledger, ModelCall, Totals, Usage, estimated_tokens, exact
from agent_widget.engine.subagents import Agent
from agent_widget.policy.context import context_entries, context_usage
from agent_widget.providers.base import CallReady
from agent_widget.testing.doubles import Step, call, end, text
from tests.engine.support import opened

pytestmark = pytest.mark.anyio


def look(name: str) -> str:
    """Look at something.

    Args:
        name: What.
    """
    return f"seen {name}"


async def test_messages_and_calls_of_all_branches_count_and_so_does_every_model_call() -> None:
    steps: list[Step] = [
        [text("I look."), call("look", {"name": "a"}), end("tool_calls", Usage(10, 2, 3, 4))],
        [text("b"), end("stop", Usage(20, 5))],
        [text("other"), end("stop", Usage(1, 1))],
    ]
    async with opened(steps, [look], permission={"mode": "allow_all"}) as case:
        await case.send("go")
        first = next(record for record in await case.records() if record.kind == "run_admitted")
        await case.session.tree.navigate(first.id)
        await case.send("go elsewhere")
        stats = session_stats(stats_entries(await case.records()))
        view = case.session.view
    assert stats == SessionStats(
        user_messages=2,
        assistant_messages=3,
        tool_calls=1,
        tool_results=1,
        totals=Totals(Usage(31, 8, 3, 4), calls=3, unpriced=3),
    )
    assert stats.total_messages == 6
    assert len(view.chat.messages) == 2
    assert stats.totals.usage.total_tokens == view.usage.total_tokens


async def test_a_sub_agents_model_calls_count_and_its_messages_do_not() -> None:
    steps: list[Step] = [
        [CallReady("d1", "delegate_to_helper", {"task": "t"}), end("tool_calls", Usage(100, 10))],
        [text("done"), end("stop", Usage(7, 3))],
        [text("all done"), end("stop", Usage(120, 5))],
    ]
    helper = Agent("helper", "Helps.")
    async with opened(steps, agents=[helper], permission={"mode": "allow_all"}) as case:
        await case.send("go")
        records = await case.records()
    stats = session_stats(stats_entries(records))
    assert stats.assistant_messages == 2
    assert stats.totals.usage == Usage(227, 18)
    assert stats.totals.calls == 3
    entries = context_entries(records)
    assert [entry.role for entry in entries] == ["user", "assistant", "tool_result", "assistant"]
    own = context_usage(1_000, entries)
    assert own is not None
    assert own.tokens == 125  # the last answer of the session itself


async def test_steered_messages_are_user_messages_and_fill_the_context() -> None:
    gate = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        await gate.wait()
        return "x" * 40

    steps: list[Step] = [
        [call("wait", {}), end("tool_calls", Usage(50, 10))],
        [text("y" * 8)],
    ]
    async with opened(steps, [wait], permission={"mode": "allow_all"}) as case:
        run = await case.session.send("go")
        await case.session.enqueue("z" * 12, "steering")
        gate.set()
        await asyncio.wrap_future(run.future)
        records = await case.records()
    stats = session_stats(stats_entries(records))
    assert (stats.user_messages, stats.tool_results) == (2, 1)
    entries = context_entries(records)
    assert [entry.role for entry in entries] == [
        "user", "assistant", "tool_result", "user", "assistant",
    ]  # fmt: skip
    used = context_usage(1_000, entries)
    assert used is not None
    # 60 counted by the server; estimated: the result's JSON, 12 characters of steering, 8 of text.
    assert used.tokens == 60 + estimated_tokens(entries[2].chars) + 3 + 2
    assert entries[2].chars >= 40


def test_what_a_record_says_of_cost_and_purpose_counts() -> None:
    usage = {"input_tokens": 7, "output_tokens": 3}
    priced = {"usage": usage, "cost": {"amount": "0.10", "currency": "USD"}, "model": "m"}
    records = [
        Record("r-1", None, 1, "branch_summary", {"summary": "s", "message_id": "m", **priced}),
        Record("r-2", "r-1", 2, "notice", {"code": "x"}),
    ]
    stats = session_stats(stats_entries(records))
    assert stats.total_messages == 0
    assert stats.totals == Totals(Usage(7, 3), 1, costs=(Cost(Decimal("0.10")),))


def test_the_ledger_tells_models_agents_and_purposes_apart() -> None:
    calls = [
        ModelCall(model="a", usage=Usage(1), cost=Cost(exact(0.1))),
        ModelCall(model="b", usage=Usage(2), cost=Cost(exact(0.2)), agent_id="d1"),
        ModelCall(model="a", usage=None, purpose="compaction"),
    ]
    ledger = Ledger()
    for each in calls:
        ledger = ledger.plus(each)
    assert ledger.total == Totals(Usage(3), 3, 1, 1, (Cost(Decimal("0.3")),))
    assert {name: each.usage for name, each in ledger.by_model.items()} == {
        "a": Usage(1), "b": Usage(2),
    }  # fmt: skip
    assert {name: each.calls for name, each in ledger.by_agent.items()} == {"main": 2, "d1": 1}
    assert {name: each.calls for name, each in ledger.by_purpose.items()} == {
        "answer": 2, "compaction": 1,
    }  # fmt: skip


def test_a_sum_is_only_called_the_cost_when_all_of_it_is_known_and_one_currency() -> None:
    usd, cny = Cost(Decimal(1)), Cost(Decimal(99), "CNY")
    one = ModelCall(model="a", usage=Usage(1), cost=usd)
    assert Totals().cost == Cost(Decimal(0))
    assert Totals.of([one, one]).cost == Cost(Decimal(2))
    both = Totals.of([one, ModelCall(model="b", usage=Usage(1), cost=cny)])
    assert both.cost is None
    assert [both.spent(code) for code in ("USD", "CNY", "EUR")] == [*map(Decimal, (1, 99, 0))]
    assert Totals.of([one, ModelCall(model="b", usage=Usage(1))]).cost is None

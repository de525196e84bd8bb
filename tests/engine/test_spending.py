"""A budget is kept at every model call: of the run, of its retries, of its helpers."""

from __future__ import annotations

import asyncio
import contextlib
import random
from typing import Literal

import pytest

from agent_widget import tool
from agent_widget.core.journal import Journal
from agent_widget.engine.spending import BudgetExceeded, RunPurse, Spending
from agent_widget.engine.subagents import Agent
from agent_widget.policy.budget import Budget
from agent_widget.providers.base import Usage
from agent_widget.providers.prices import PriceList
from agent_widget.store.memory import MemoryStore
from agent_widget.testing.doubles import ScriptedModel, Step, call, end, text
from agent_widget.view.history import view_of
from tests.engine.support import opened
from tests.support.virtualtime import VirtualTimeLoop

pytestmark = pytest.mark.anyio

USED = Usage(100, 50)
PRICES = PriceList({"scripted": {"input_mtok": 10_000, "output_mtok": 20_000}})
"""A hundred tokens in and fifty out cost two dollars."""


@tool(read_only=True)
def look() -> str:
    """Look."""
    return "seen"


def calls(count: int) -> list[Step]:
    return [[text("t"), call("look"), end("tool_calls", USED)] for _ in range(count)]


async def test_at_the_cap_the_run_ends_before_the_next_call_and_the_session_stays_open() -> None:
    model = ScriptedModel(calls(5))
    budget = Budget(max_total_tokens=300)
    async with opened(model, [look], budget=budget) as case:
        result = await case.send("go")
        assert (result.reason, len(model.requests)) == ("budget_exceeded", 2)
        assert result.error is not None
        assert "300 tokens" in result.error.message
        view = case.session.view
        assert (view.phase, view.chat.status, view.can_send) == ("idle", "idle", True)
        assert view.error == result.error  # said where failures are said, and once
        assert (result.error.code, view.notices) == ("budget_exceeded", ())
        assert result.error.advice == "Give a larger budget, or start a new session."
        assert not view.can_retry  # it would end the same way
        journal = Journal.of(await case.records())
        assert view_of(journal, journal.leaf).error == view.error
        assert (await case.send("again")).reason == "budget_exceeded"
        assert len(model.requests) == 2
        assert case.session.view.notices == ()
        calls_made = [part for m in case.session.messages for part in m.tool_calls]
        assert [part.state for part in calls_made] == ["done", "done"]


async def test_warn_says_so_once_a_run_and_goes_on() -> None:
    model = ScriptedModel([*calls(3), [text("done"), end("stop", USED)]])
    budget = Budget(max_total_tokens=100, on_exceeded="warn")
    async with opened(model, [look], budget=budget) as case:
        assert (await case.send("go")).ok
        assert [notice.code for notice in case.session.view.notices] == ["budget"]


@pytest.mark.parametrize(("on_exceeded", "requests"), [("warn", 5), ("block", 1)])
async def test_a_server_that_counts_no_tokens_is_told_of_once_a_run(
    on_exceeded: Literal["warn", "block"], requests: int
) -> None:
    silent: Step = [text("t"), call("look")]
    helper = Agent("helper", "Helps.", model=ScriptedModel([silent, [text("helped")]]))
    delegates: Step = [call("delegate_to_helper", {"task": "t"})]
    model = ScriptedModel([silent, silent, delegates, silent, [text("done")]])
    budget = Budget(max_total_tokens=100, on_exceeded=on_exceeded)
    async with opened(model, [look], agents=[helper], budget=budget) as case:
        await case.send("go")
        view = case.session.view
        told = [notice.message for notice in view.notices]
        told += [] if view.error is None else [view.error.message]
        assert len(model.requests) == requests
        (said,) = told
        assert said.startswith("The budget cannot be kept: a model call has no token count.")


async def test_dollars_are_counted_stored_and_shown() -> None:
    model = ScriptedModel([[text("a"), end("stop", USED)], [text("b"), end("stop", USED)]])
    budget = Budget(max_usd=2)
    async with opened(model, budget=budget, prices=PRICES) as case:
        assert (await case.send("go")).ok
        usage = case.session.view.usage
        assert (float(usage.cost or 0), usage.currency) == (2.0, "USD")
        journal = Journal.of(await case.records())
        assert view_of(journal, journal.leaf).usage == usage
        assert (await case.send("more")).reason == "budget_exceeded"


async def test_usage_is_summed_for_the_session_and_for_each_run() -> None:
    helper = Agent("helper", "Helps.", model=ScriptedModel([[text("h"), end("stop", USED)]]))
    delegates: Step = [call("delegate_to_helper", {"task": "t"}), end("tool_calls", USED)]
    answer: Step = [text("a"), end("stop", USED)]
    script: list[Step] = [delegates, answer, answer, [text("Summed up."), end("stop", USED)]]
    async with opened(script, agents=[helper], prices=PRICES) as case:
        first = (await case.send("one")).usage
        second = (await case.send("two")).usage
        await case.session.tree.navigate(case.session.messages[0].id, summarize=True)
        view = case.session.view
        assert [(each.requests, each.total_tokens) for each in (first, second, view.usage)] == [
            (3, 450),
            (1, 150),
            (5, 750),
        ]
        assert float(second.cost or 0) == 2.0
        assert view.run_usage == second
        journal = Journal.of(await case.records())
        runs = [record.data["run_id"] for record in journal.records if record.kind == "run_ended"]
        ends = [record.id for record in journal.records if record.kind == "run_ended"]
        assert len({*runs}) == 2
        assert [view_of(journal, leaf).run_usage for leaf in ends] == [first, second]


async def test_a_call_of_unknown_price_shows_no_cost() -> None:
    async with opened([[text("a"), end("stop", USED)]]) as case:
        await case.send("go")
        assert case.session.view.usage.cost is None


async def test_helpers_spend_from_the_same_budget() -> None:
    helper = Agent("helper", "Helps.", model=ScriptedModel(calls(5)))
    model = ScriptedModel([[call("delegate_to_helper", {"task": "t"}), end("tool_calls", USED)]])
    async with opened(model, [look], agents=[helper], budget=Budget(max_total_tokens=300)) as case:
        result = await case.send("go")
        assert result.reason == "budget_exceeded"
        ledger = case.session.spending.ledger
        assert {name: each.calls for name, each in ledger.by_agent.items()} == {
            "main": 1,
            next(name for name in ledger.by_agent if name != "main"): 1,
        }


async def test_a_summary_is_counted_shown_and_stored_but_not_blocked() -> None:
    script: list[Step] = [[text("a"), end("stop", USED)], [text("Summed up."), end("stop", USED)]]
    budget = Budget(max_total_tokens=100)
    async with opened(script, budget=budget, prices=PRICES) as case:
        await case.send("one")
        await case.send("two")  # blocked: the first answer used the budget up
        first = case.session.messages[0].id
        await case.session.tree.navigate(first, summarize=True)
        usage = case.session.view.usage
        assert (usage.requests, float(usage.cost or 0)) == (2, 4.0)
        by_purpose = case.session.spending.ledger.by_purpose
        assert {name: each.calls for name, each in by_purpose.items()} == {
            "answer": 1,
            "branch_summary": 1,
        }
        journal = Journal.of(await case.records())
        assert view_of(journal, journal.leaf).usage == usage


async def test_a_session_that_is_opened_again_may_be_retried_for_its_budget_is_new() -> None:
    store = MemoryStore()
    budget = Budget(max_total_tokens=1)
    async with opened(calls(3), [look], store=store, budget=budget) as case:
        assert (await case.send("go")).reason == "budget_exceeded"
        session_id = case.session.session_id
    async with opened(calls(1), [look], store=store, session_id=session_id, opening=2) as case:
        assert not case.session.view.is_spent
        assert case.session.view.error is None


async def overshoot(seed: int) -> tuple[int, int]:
    """``(tokens over the cap, size of the largest call)`` of helpers that call side by side."""
    rng, model = random.Random(seed), ScriptedModel([])
    cap, sizes = rng.randint(50, 400), [0]
    spending = Spending(Budget(max_total_tokens=cap), PRICES, lambda: 0)
    purse = RunPurse(spending)

    async def one_call() -> None:
        async with purse.call(model, "helper", lambda _event: None) as counted:
            size = rng.randint(1, 90)
            sizes.append(size)
            counted.size_chars = size * 4
            await asyncio.sleep(rng.random())
            counted.is_answered, counted.usage = True, Usage(size - size // 3, size // 3)

    async def helper() -> None:
        while True:
            work = asyncio.create_task(one_call())
            await asyncio.wait({work}, timeout=rng.choice([0.3, 9.0]))
            work.cancel()  # some are cut off, and what they have said by then counts
            with contextlib.suppress(asyncio.CancelledError):
                await work

    helpers = [asyncio.create_task(helper()) for _ in range(rng.randint(2, 8))]
    ended = await asyncio.wait_for(asyncio.gather(*helpers, return_exceptions=True), 9_999)
    assert all(isinstance(each, BudgetExceeded) for each in ended)
    return spending.ledger.total.usage.total_tokens - cap, max(sizes)


def test_a_hundred_schedules_of_helpers_exceed_the_cap_by_at_most_one_call() -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        over = [runner.run(overshoot(seed)) for seed in range(100)]
    assert all(0 <= tokens < largest for tokens, largest in over)

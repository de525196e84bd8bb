"""A call that failed in passing is made again, unseen by the conversation; Stop ends the wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_widget import Agent, tool
from agent_widget.core.errors import ModelError, SessionError
from agent_widget.core.events import (
    AgentCompleted,
    Event,
    ProviderSwitched,
    RetryEnded,
    RetryScheduled,
    RetryStarted,
)
from agent_widget.core.journal import Journal
from agent_widget.core.usage import Usage
from agent_widget.engine.models import ModelOptions
from agent_widget.policy.budget import Budget
from agent_widget.policy.compaction import Compaction
from agent_widget.policy.retry import RetrySettings, retry_plan
from agent_widget.providers.prices import PriceList, TokenPrices
from agent_widget.testing.doubles import ScriptedModel, Step, call, end, text
from agent_widget.view.history import view_of
from agent_widget.view.model import SessionView
from tests.engine.support import Case, FakeClock, asked, opened, said

pytestmark = pytest.mark.anyio

BUSY = ModelError("network", "The server is overloaded.", status=529, retryable=True)
RESET = ModelError("network", "The connection broke.", retryable=True)
REFUSED = ModelError("chat_disabled", "The key is refused.", status=401)


class Waits:
    """The session's clock for waits: each takes no time and is noted."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.clock = FakeClock()

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await self.clock.sleep(seconds)

    def options(self, **more: Any) -> ModelOptions:
        return ModelOptions(sleep=self.sleep, chance=lambda: 0.0, **more)


def backing_off(case: Case) -> list[tuple[str, tuple[int, str] | None]]:
    """The phase and the wait that the view shows after each event of a wait from now on."""
    seen: list[tuple[str, tuple[int, str] | None]] = []

    def watch(event: Event, view: SessionView) -> None:
        if event.type.startswith("retry."):
            retry = view.model.retry
            wait = None if retry is None else (retry.attempt, retry.reason)
            seen.append((view.phase, wait))

    case.session.subscribe(watch)
    return seen


def shown_and_stored(case: Case, records: Any) -> None:
    """What is stored is what is shown."""
    journal = Journal.of(records)
    stored = view_of(journal, journal.leaf).chat.messages
    assert [(m.role, m.parts) for m in stored] == [(m.role, m.parts) for m in case.session.messages]


async def test_a_failed_call_is_made_again_after_growing_waits_and_nothing_of_it_is_left() -> None:
    ran = []

    @tool(read_only=True)
    def look() -> str:
        """Look."""
        ran.append(1)
        return "seen"

    half: Step = [text("Hello wor"), call("look"), RESET]
    model = ScriptedModel([half, BUSY, [text("Hello world"), call("look")], [text("Done.")]])
    waits = Waits()
    async with opened(model, [look], models=waits.options()) as case:
        phases: list[tuple[str, Any]] = []
        case.session.subscribe(
            lambda event, view: (
                phases.append((view.phase, view.error)) if event.type.startswith("retry.") else None
            )
        )
        result = await case.send("hi")
        assert (result.reason, result.text) == ("completed", "Done.")
        assert waits.seconds == [2.0, 4.0]
        assert ran == [1]
        assert said(case) == ["u:hi", "a:Hello world", "a:Done."]
        assert asked(model)[:3] == [["hi"]] * 3
        assert [phase for phase, _ in phases][:4] == ["retrying", "preparing"] * 2
        assert all(error is None for _, error in phases)
        told = [event for event in case.events if event.type.startswith(("retry.", "msg.ret"))]
        assert [event.type for event in told] == [
            "msg.retracted",
            "retry.scheduled",
            "retry.started",
            "retry.scheduled",
            "retry.started",
            "retry.ended",
        ]
        kept = [r.data for r in await case.records() if r.data.get("custom_type") == "model_error"]
        assert [row["error"]["message"] for row in kept] == [RESET.message, BUSY.message]
        assert kept[0]["parts"] == [{"type": "text", "text": "Hello wor"}]
        shown_and_stored(case, await case.records())
        assert case.session.models.retries.retry_attempt() == 0


async def test_a_summary_that_fails_in_passing_is_asked_for_again_and_stop_ends_its_wait() -> None:
    answers: list[Step] = [[text("a1" * 200)], [text("a2" * 200)]]
    model = ScriptedModel([*answers, BUSY, [text("half"), RESET], [text("SUM")], [text("a3")]])
    waits, short = Waits(), Compaction(keep_tokens=1, auto=False)
    async with opened(model, models=waits.options(), compaction=short) as case:
        await case.send("one")
        await case.send("two")
        seen = backing_off(case)
        assert (await case.session.compact()).summary == "SUM"
        assert waits.seconds == [2.0, 4.0]
        assert case.session.view.error is None
        waiting_for = [(1, BUSY.message), None, (2, RESET.message), None, None]
        assert [retry for _, retry in seen] == waiting_for
        assert {phase for phase, _ in seen} == {"compacting"}
        kinds = RetryScheduled | RetryStarted | RetryEnded
        told = [event for event in case.events if isinstance(event, kinds)]
        assert isinstance(told[-1], RetryEnded)
        assert (told[-1].success, told[-1].attempt) == (True, 2)
        assert {event.purpose for event in told} == {"compaction"}
    waiting = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    model = ScriptedModel([*answers, BUSY, [text("never")]])
    async with opened(model, models=ModelOptions(sleep=sleep), compaction=short) as case:
        await case.send("one")
        await case.send("two")
        making = asyncio.create_task(case.session.compact())
        await waiting.wait()
        assert case.session.view.is_retrying
        assert case.session.view.is_compacting
        assert case.session.compaction.abort()
        with pytest.raises(SessionError, match="cancelled"):
            await making
        assert len(model.requests) == 3
        view = case.session.view
        assert (view.model.retry, view.phase, view.connection) == (None, "idle", "open")
        assert case.session.models.retries.retry_attempt() == 0


async def test_the_wait_of_a_summary_of_a_branch_is_told_and_keeps_nobody_busy() -> None:
    model = ScriptedModel([[text("a1")], [text("a2")], BUSY, [text("SUM")]])
    async with opened(model, models=Waits().options()) as case:
        await case.send("one")
        await case.send("two")
        seen = backing_off(case)
        await case.session.tree.navigate(case.session.messages[0].id, summarize=True)
        assert seen == [("summarizing", (1, BUSY.message)), *[("summarizing", None)] * 2]
        assert case.session.view.phase == "idle"


async def test_a_summary_that_is_not_to_be_had_says_so_after_its_last_wait() -> None:
    answers: list[Step] = [[text("a1" * 200)], [text("a2" * 200)]]
    model, short = ScriptedModel([*answers, BUSY, RESET]), Compaction(keep_tokens=1, auto=False)
    waits = Waits().options(retry=RetrySettings(max_retries=1))
    async with opened(model, models=waits, compaction=short) as case:
        await case.send("one")
        await case.send("two")
        with pytest.raises(SessionError, match="connection broke"):
            await case.session.compact()
        end = next(event for event in case.events if isinstance(event, RetryEnded))
        assert (end.success, end.final_error) == (False, RESET.message)
        assert case.session.view.model.retry is None


async def test_nothing_is_tried_again_because_of_an_error_that_is_recoverable() -> None:
    def broken(_history: object, _meta: object) -> None:
        raise RuntimeError("no such luck")

    model = ScriptedModel([[text("a")], [text("b")]])
    retrying = Waits().options()
    async with opened(model, models=retrying, on_history_commit=broken) as case:
        assert (await case.send("one")).ok
        await case.session.drain()
        view = case.session.view
        assert [notice.code for notice in view.notices] == ["on_history_commit"]
        assert (len(model.requests), view.phase, view.can_retry) == (1, "idle", False)
        assert not any(event.type.startswith("retry.") for event in case.events)
        assert (await case.send("two")).text == "b"


async def test_a_helper_whose_prompt_is_too_long_says_so_and_its_run_goes_on() -> None:
    long = ModelError(
        "bad_request", "h refused the prompt as too long (HTTP 400).", is_too_long=True
    )
    helper = Agent("reader", "Reads.", model=ScriptedModel([long]))
    asks: Step = [call("delegate_to_reader", {"task": "read"})]
    model = ScriptedModel([asks, [text("It is too long for it.")]])
    async with opened(model, agents=[helper], models=Waits().options()) as case:
        assert (await case.send("go")).text == "It is too long for it."
        (ended,) = [event for event in case.events if isinstance(event, AgentCompleted)]
        assert ended.outcome == "error"
        assert "too long" in (ended.message or "")


async def test_stop_during_a_wait_ends_it_at_once_without_a_further_request_or_an_error() -> None:
    model = ScriptedModel([[text("half"), BUSY], [text("never")]])
    waiting = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async with opened(model, models=ModelOptions(sleep=sleep)) as case:
        run = await case.session.send("hi")
        await waiting.wait()
        retries = case.session.models.retries
        assert (retries.retry_attempt(), case.session.view.phase) == (1, "retrying")
        shown = case.session.view.model.retry
        assert shown is not None
        assert (shown.attempt, shown.max_attempts, shown.reason) == (1, 5, BUSY.message)
        await case.session.stop(grace_s=30.0)
        async with asyncio.timeout(0.5):
            result = await asyncio.wrap_future(run.future)
        view = case.session.view
        assert (result.reason, view.error, view.phase) == ("interrupted", None, "idle")
        assert (view.model.retry, retries.retry_attempt()) == (None, 0)
        assert len(model.requests) == 1
        assert said(case) == ["u:hi"]


async def test_when_all_tries_fail_the_run_ends_with_the_error_and_what_came_last() -> None:
    model = ScriptedModel([BUSY, [text("half"), RESET], [text("whole")]])
    settings = RetrySettings(max_retries=1)
    async with opened(model, models=Waits().options(retry=settings)) as case:
        result = await case.send("hi")
        assert result.error is not None
        assert result.error.message == RESET.message
        assert said(case) == ["u:hi", "a:half"]
        assert case.session.view.can_retry
        assert case.types("retry.ended") == ["retry.ended"]
        shown_and_stored(case, await case.records())
        assert (await case.retry()).text == "whole"


async def test_auto_retry_can_be_switched_off_and_its_wait_be_ended() -> None:
    waiting = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async with opened([BUSY, BUSY], models=ModelOptions(sleep=sleep)) as case:
        retries = case.session.models.retries
        run = await case.session.send("hi")
        await waiting.wait()
        retries.abort_retry()
        assert (await asyncio.wrap_future(run.future)).reason == "error"
        retries.set_auto_retry_enabled(False)
        assert (await case.send("again")).reason == "error"
        assert case.types("retry.scheduled") == ["retry.scheduled"]


@pytest.mark.parametrize(
    ("wish_s", "delay_ms"),
    [(2.0, 2_000), (0.0, 0), (None, 2_500), (60.0, 60_000), (60.1, None), (86_400.0, None)],
)
def test_a_servers_wish_is_obeyed_up_to_the_cap_and_waits_have_jitter(
    wish_s: float | None, delay_ms: int | None
) -> None:
    plan = retry_plan(RetrySettings(), 0, "transient", retry_after_s=wish_s, chance=1.0)
    assert plan.retry is (delay_ms is not None)
    assert plan.delay_ms == (delay_ms or 0)


async def test_what_failed_in_a_helper_is_no_part_of_its_conversation() -> None:
    helper = ScriptedModel([[text("wro"), RESET], [text("right")]], name="helper")
    main = ScriptedModel([[call("delegate_to_helper", {"task": "t"})], [text("Done.")]])
    agent = Agent("helper", "Helps.", model=helper)
    async with opened(main, agents=[agent], models=Waits().options()) as case:
        assert (await case.send("hi")).ok
        assert asked(helper) == [["t"], ["t"]]
        (delegated,) = case.session.messages[1].tool_calls
        assert delegated.agent is not None
        assert [message.text for message in delegated.agent.messages] == ["right"]
        shown_and_stored(case, await case.records())


# --- those that take over ----------------------------------------------------------------------


@pytest.mark.parametrize("failure", [REFUSED, BUSY, RESET], ids=lambda error: error.message)
async def test_the_next_model_takes_over_at_once_and_is_paid_its_own_price(
    failure: ModelError,
) -> None:
    usage = Usage(1_000_000, 0)
    first = ScriptedModel([[text("hal"), failure]] * 2, name="first")
    second = ScriptedModel([[text("whole"), end("stop", usage)]] * 2, name="second")
    prices = PriceList({"second": TokenPrices(input_mtok=3, output_mtok=9)})
    waits = Waits()
    options = waits.options(fallback=(second,))
    async with opened(first, models=options, prices=prices) as case:
        assert (await case.send("hi")).text == "whole"
        (switched,) = [event for event in case.events if isinstance(event, ProviderSwitched)]
        assert (switched.from_model, switched.to_model) == ("first", "second")
        assert switched.type == "cost.provider.switched"
        assert waits.seconds == []
        assert said(case) == ["u:hi", "a:whole"]
        view = case.session.view
        assert view.usage.cost == "3"
        assert (view.error, view.model.label) == (None, "first")
        assert [n.code for n in view.notices] == ["cost.provider.switched"]
        answer = [r.data for r in await case.records() if r.kind == "message"][-1]
        assert answer["model"] == "second"
        shown_and_stored(case, await case.records())
        assert (await case.send("and now")).ok  # each run asks the first one first
        assert [len(first.requests), len(second.requests)] == [2, 2]


async def test_a_refused_request_is_shown_to_no_other_model_and_the_last_one_waits() -> None:
    wrong = ModelError("bad_request", "The request is wrong.", status=400)
    second = ScriptedModel([BUSY, [text("late")]], name="second")
    waits = Waits()
    first = ScriptedModel([wrong, REFUSED], name="first")
    async with opened(first, models=waits.options(fallback=(second,))) as case:
        assert (await case.send("hi")).reason == "error"
        assert second.requests == []
        assert (await case.send("hi")).text == "late"
        assert waits.seconds == [2.0]
        assert len([e for e in case.events if isinstance(e, RetryScheduled)]) == 1


async def test_repetitions_count_against_the_budget() -> None:
    spent: Step = [text("x" * 4_000), RESET]
    model = ScriptedModel([spent, spent, [text("never")]])
    budget = Budget(max_total_tokens=1_500, on_exceeded="block")
    async with opened(model, models=Waits().options(), budget=budget) as case:
        result = await case.send("hi")
        assert result.reason == "budget_exceeded"
        assert len(model.requests) == 2

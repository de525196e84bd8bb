"""The work of a helper is summarised for its model, in its own run, and nowhere else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_widget import Agent, tool
from agent_widget.core.errors import ModelError
from agent_widget.core.events import AgentCompleted, AgentProgress, Event
from agent_widget.core.journal import Journal
from agent_widget.policy.budget import Budget
from agent_widget.policy.compaction import SYSTEM, Compaction
from agent_widget.providers.base import ModelRequest, Usage
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, end, text
from agent_widget.view.context import PREAMBLE
from agent_widget.view.history import view_of
from tests.engine.support import Case, asked, opened

pytestmark = pytest.mark.anyio

SMALL = Usage(100, 20)
FULL = Usage(900, 50)
TOO_LONG = ModelError("bad_request", "The prompt is too long.", is_too_long=True)
WORDS = "some words that take a few tokens of the context " * 2
SHORT = Compaction(keep_tokens=40, context_window=1_000)
DELEGATES: Step = [
    call("delegate_to_reader", {"task": "read it all"}, id="d1"),
    end("tool_calls", SMALL),
]


@tool(read_only=True)
async def look(name: str) -> str:
    """Look at something."""
    return f"{name}: {WORDS}"


def looks(number: int, usage: Usage | None = SMALL) -> Step:
    return [call("look", {"name": f"n{number}"}, id=f"c{number}"), end("tool_calls", usage)]


def summary(words: str, usage: Usage | None = SMALL) -> Step:
    """Answers nothing but the request for a summary."""

    def answer(request: ModelRequest) -> list[Any]:
        assert (request.system, request.tools, len(request.messages)) == (SYSTEM, (), 1)
        return [text(words), end("stop", usage)]

    return answer


def with_reader(*steps: Step) -> tuple[ScriptedModel, Agent, ScriptedModel]:
    """A model that delegates and then ends, its helper, and the helper's model."""
    own = ScriptedModel(steps)
    helper = Agent("reader", "Reads.", tools=[look], model=own)
    return ScriptedModel([DELEGATES, [text("It says so."), end("stop", SMALL)]]), helper, own


def outcome(case: Case) -> AgentCompleted:
    return next(event for event in case.events if isinstance(event, AgentCompleted))


async def test_near_its_window_it_reads_a_summary_and_its_task_as_it_was_given() -> None:
    done: Step = [text("Read."), end("stop", SMALL)]
    steps = [looks(0), looks(1), looks(2, FULL), summary("S1"), looks(3), looks(4, FULL)]
    model, helper, own = with_reader(*steps, summary("S2"), done)
    async with opened(model, agents=[helper], compaction=SHORT) as case:
        phases: set[str] = set()

        def watch(_event: Event, view: Any) -> None:
            phases.add(view.phase)

        case.session.subscribe(watch)
        assert (await case.send("go")).text == "It says so."
        first, second = own.requests[4].messages[:], own.requests[7].messages[:]
        assert [m.text for m in first[:2]] == ["read it all", f"{PREAMBLE}S1"]
        assert [call.input for m in first for call in m.tool_calls] == [{"name": "n2"}]
        assert [m.text for m in second[:2]] == ["read it all", f"{PREAMBLE}S2"]
        assert [call.input for m in second for call in m.tool_calls] == [{"name": "n4"}]
        assert '"S1"' in asked(own)[6][0]  # the second takes the first into account
        assert "n0" not in asked(own)[6][0]
        (delegated,) = case.session.messages[1].tool_calls
        assert delegated.agent is not None
        assert len(delegated.agent.messages) == 6  # a person sees all of it
        assert "compacting" not in phases
        assert case.types("session.compacted", "compaction.started") == []
        told = [event.message for event in case.events if isinstance(event, AgentProgress)]
        assert told.count("Sums up its work so far") == 2
        ledger = case.session.spending.ledger
        assert ledger.by_agent["d1"].calls == 8
        assert ledger.by_purpose["compaction"].calls == 2
        journal = Journal.of(await case.records())
        stored, view = view_of(journal, journal.leaf), case.session.view
        assert (stored.chat, stored.usage) == (view.chat, view.usage)


async def test_a_prompt_that_is_too_long_for_it_is_summarised_once_and_sent_again() -> None:
    done: Step = [text("Read."), end("stop", SMALL)]
    model, helper, own = with_reader(looks(0), looks(1), TOO_LONG, summary("S1"), done)
    async with opened(model, agents=[helper], compaction=Compaction(keep_tokens=40)) as case:
        assert (await case.send("go")).ok
        assert outcome(case).outcome == "completed"
        assert asked(own)[4][:2] == ["read it all", f"{PREAMBLE}S1"]


@pytest.mark.parametrize(
    ("options", "steps", "requests"),
    [
        (Compaction(auto=False), [TOO_LONG], 3),
        (Compaction(keep_tokens=40), [TOO_LONG, summary("S"), *[TOO_LONG] * 9], 5),
        (Compaction(keep_tokens=40), [TOO_LONG, ModelError("network", "It is gone.")], 4),
    ],
    ids=["switched off", "of no use", "no summary"],
)
async def test_where_that_is_not_possible_its_run_ends_and_the_other_one_goes_on(
    options: Compaction, steps: list[Step], requests: int
) -> None:
    model, helper, own = with_reader(looks(0), looks(1), *steps)
    async with opened(model, agents=[helper], compaction=options) as case:
        assert (await case.send("go")).ok
        assert outcome(case).outcome == "error"
        assert "too long" in (outcome(case).message or "")
        assert len(own.requests) == requests


async def test_a_stop_ends_its_summary_at_once() -> None:
    gate = Gate()
    model, helper, _own = with_reader(looks(0), looks(1, FULL), [gate])
    async with opened(model, agents=[helper], compaction=SHORT) as case:
        run = await case.session.send("go")
        await gate.reached.wait()
        await case.session.stop(grace_s=600.0)  # a summary is no work that is worth waiting for
        result = await asyncio.wait_for(asyncio.wrap_future(run.future), 60)
        assert result.reason == "interrupted"
        assert outcome(case).outcome == "aborted"


async def test_its_summaries_spend_from_the_same_budget() -> None:
    model, helper, own = with_reader(looks(0), looks(1, FULL), summary("S1"))
    budget = Budget(max_total_tokens=1_100)
    async with opened(model, agents=[helper], compaction=SHORT, budget=budget) as case:
        result = await case.send("go")
        assert result.reason == "budget_exceeded"
        assert len(own.requests) == 2

"""A summary stands for what was said earlier: for the model only, and without losing anything."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_widget import tool
from agent_widget.core.errors import ModelError, SessionError
from agent_widget.core.events import CompactionEnded, Event
from agent_widget.core.journal import Journal
from agent_widget.core.stats import session_stats, stats_entries
from agent_widget.engine.hooks import Hooks
from agent_widget.policy.budget import Budget
from agent_widget.policy.compaction import SYSTEM, Compaction
from agent_widget.policy.context import context_entries
from agent_widget.policy.hooks import python_hook
from agent_widget.providers.base import ModelRequest, Usage
from agent_widget.store.jsonl import JsonlStore
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, end, text
from agent_widget.view.context import PREAMBLE
from agent_widget.view.history import view_of
from tests.engine.support import Case, FailingStore, asked, code_of, opened, said, waiting

pytestmark = pytest.mark.anyio

SHORT = Compaction(keep_tokens=5)
FULL = Usage(900, 50)
SMALL = Usage(100, 20)
TOO_LONG = ModelError("bad_request", "The prompt is too long.", is_too_long=True)
WORDS = "some words that take a few tokens of the context " * 2


@tool(read_only=True)
async def look(name: str) -> str:
    """Look at something."""
    return f"{name}: {WORDS}"


def summary(words: str = "They said one.", usage: Usage | None = SMALL) -> Step:
    """Answers nothing but the request for a summary."""

    def answer(request: ModelRequest) -> list[Any]:
        assert (request.system, request.tools, len(request.messages)) == (SYSTEM, (), 1)
        return [text(words), end("stop", usage)]

    return answer


def answer_of(words: str, usage: Usage | None = SMALL) -> Step:
    return [text(words), end("stop", usage)]


def compaction_events(case: Case) -> list[str]:
    return [name for name in case.types() if "compact" in name]


def ended(case: Case) -> CompactionEnded:
    return next(e for e in reversed(case.events) if isinstance(e, CompactionEnded))


async def test_the_model_reads_the_summary_and_people_everything() -> None:
    model = ScriptedModel([answer_of("a1"), answer_of("a2"), summary(), answer_of("a3")])
    async with opened(model, compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        before = case.session.view.usage
        seen: list[tuple[str, bool, bool, bool]] = []

        def watch(event: Event, view: Any) -> None:
            seen.append((event.type, view.is_compacting, view.can_send, view.is_idle))

        case.session.subscribe(watch)
        result = await case.session.compact("mind the units")
        assert seen[0] == ("compaction.started", True, True, True)
        assert ("session.checkpointed", True, False, True) in seen
        assert seen[-1][1:] == (False, True, True)
        assert said(case) == ["u:one", "a:a1", f"u:{PREAMBLE}They said one.", "u:two", "a:a2"]
        view = case.session.view
        assert [note.kind for note in view.notes.values()] == ["compaction"]
        assert view.usage.requests == before.requests + 1
        assert view.usage.context_tokens is None
        assert "mind the units" in asked(model)[2][0]
        assert '{"user": "one"}' in asked(model)[2][0]
        assert '"two"' not in asked(model)[2][0]
        await case.send("three")
        assert asked(model)[3] == [f"{PREAMBLE}They said one.", "two", "a2", "three"]
        records = await case.records()
        entry = Journal.of(records).entry_of(case.session.messages[3].id)
        assert entry is not None
        assert (result.first_kept_entry_id, result.summary) == (entry.id, "They said one.")
        assert result.usage is not None
        assert (result.usage.input_tokens, result.usage.output_tokens) == (100, 20)
        [kept] = (r.data for r in records if r.kind == "compaction")
        assert kept["first_kept_entry_id"] == entry.id
        assert compaction_events(case) == [
            "compaction.started",
            "session.compacted",
            "compaction.ended",
        ]
        assert ended(case).result == result
        entries = context_entries(Journal.of(records).path(records[-1].id))
        assert [entry.role for entry in entries].count("compaction") == 1
        stats = session_stats(stats_entries(records))
        assert (stats.user_messages, stats.totals.calls) == (3, 4)
        assert case.session.spending.ledger.by_purpose["compaction"].calls == 1


async def test_what_is_stored_is_what_is_shown_and_a_restart_goes_on_from_the_summary(
    tmp_path: Any,
) -> None:
    store = JsonlStore(tmp_path)
    script = [answer_of("a1"), answer_of("a2"), summary()]
    async with opened(script, store=store, compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        await case.session.compact()
        live = case.session.view
        journal = Journal.of(await case.records())
        folded = view_of(journal, journal.leaf)
        assert (folded.chat, folded.notes, folded.usage) == (live.chat, live.notes, live.usage)
        session_id = case.session.session_id
    model = ScriptedModel([answer_of("a3"), summary("All of it."), answer_of("a4")])
    options: dict[str, Any] = {"store": store, "session_id": session_id, "compaction": SHORT}
    async with opened(model, opening=2, **options) as case:
        await case.send("three")
        assert asked(model)[0] == [f"{PREAMBLE}They said one.", "two", "a2", "three"]
        await case.session.compact()  # takes the earlier summary into account
        assert '"They said one."' in asked(model)[1][0]
        assert '{"user": "one"}' not in asked(model)[1][0]
        await case.send("four")
        assert asked(model)[2] == [f"{PREAMBLE}All of it.", "three", "a3", "four"]
        assert [words[2:] for words in said(case) if words[2:] in ("one", "two", "three")] == [
            "one",
            "two",
            "three",
        ]


async def test_branches_from_before_and_the_checkpoint_have_their_own_history() -> None:
    model = ScriptedModel(
        [answer_of("a1"), answer_of("a2"), summary(), answer_of("b"), answer_of("c")]
    )
    async with opened(model, compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        two = case.session.messages[2].id
        result = await case.session.compact()
        run, _ = await case.session.tree.edit(two, "two anew")
        await asyncio.wrap_future(run.future)
        assert asked(model)[3] == ["one", "a1", "two anew"]
        await case.session.tree.switch(case.session.messages[2].id, 0)
        assert PREAMBLE + "They said one." in [m.text for m in case.session.messages]
        assert result.checkpoint_id is not None
        await case.session.tree.restore(result.checkpoint_id)
        assert said(case) == ["u:one", "a:a1", "u:two", "a:a2"]
        await case.send("three")
        assert asked(model)[4] == ["one", "a1", "two", "a2", "three"]


async def test_too_little_and_twice_are_refused_and_change_nothing() -> None:
    async with opened([answer_of("a1"), answer_of("a2"), summary()], compaction=SHORT) as case:
        refused = await code_of(case.session.compact())
        assert refused == "compaction.nothing_to_compact"
        await case.send("one")
        with pytest.raises(SessionError, match=r"Nothing to compact \(session too small\)"):
            await case.session.compact()
        assert ended(case).error_message == "Nothing to compact (session too small)"
        await case.send("two")
        await case.session.compact()
        messages = case.session.messages
        with pytest.raises(SessionError, match="Already compacted"):
            await case.session.compact()
        assert case.session.messages == messages
        assert (case.session.view.phase, case.session.view.can_send) == ("idle", True)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (ModelError("network", "The server is gone."), "The server is gone."),
        ([text(" "), end("stop", SMALL)], "no whole summary"),
        ([text("Half a"), end("length", SMALL)], "length"),
    ],
)
async def test_a_summariser_that_fails_leaves_history_as_it_was(step: Step, words: str) -> None:
    script = [answer_of("a1"), answer_of("a2"), step, answer_of("a3")]
    model = ScriptedModel(script)
    async with opened(model, compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        messages = case.session.messages
        with pytest.raises(SessionError, match=words) as raised:
            await case.session.compact()
        assert raised.value.code == "compaction.summarization_failed"
        assert case.session.messages == messages
        await case.send("three")
        assert asked(model)[3] == ["one", "a1", "two", "a2", "three"]
        assert case.session.view.usage.requests == (3 if words == "The server is gone." else 4)


async def test_near_the_window_the_conversation_is_summarised_before_the_request() -> None:
    model = ScriptedModel([answer_of("a1"), answer_of("a2", FULL), summary(), answer_of("a3")])
    options = Compaction(keep_tokens=5, context_window=1_000)
    async with opened(model, compaction=options) as case:
        await case.send("one")
        assert case.session.view.usage.context_tokens == 120
        await case.send("two")
        assert (await case.send("three")).ok
        assert asked(model)[3] == [f"{PREAMBLE}They said one.", "three"]
        assert case.session.view.usage.context_tokens == 120
        started = next(e for e in case.events if e.type == "compaction.started")
        assert started.run_id is not None
        assert ended(case).result is not None


async def test_a_long_run_is_summarised_between_its_steps_with_pairs_whole() -> None:
    usages = [SMALL, SMALL, FULL]
    steps: list[Step] = [
        [call("look", {"name": f"n{n}"}, id=f"c{n}"), end("tool_calls", usage)]
        for n, usage in enumerate(usages)
    ]
    model = ScriptedModel([*steps, summary(), answer_of("done")])
    options = Compaction(keep_tokens=40, context_window=1_000)
    async with opened(model, [look], compaction=options) as case:
        assert (await case.send("go")).text == "done"
        request = model.requests[4].messages
        assert [len(message.tool_calls) for message in request] == [0, 1]
        assert [part.state for part in request[1].tool_calls] == ["done"]
        assert "n0" in asked(model)[3][0]
        assert len([part for m in case.session.messages for part in m.tool_calls]) == 3


async def test_a_context_that_stays_full_is_not_summarised_again_and_again() -> None:
    steps: list[Step] = [
        [call("look", {"name": f"n{n}"}, id=f"c{n}"), end("tool_calls", FULL)] for n in range(6)
    ]
    model = ScriptedModel([*steps[:2], summary(), *steps[2:], answer_of("done", FULL)])
    options = Compaction(keep_tokens=40, context_window=1_000)
    async with opened(model, [look], compaction=options) as case:
        assert (await case.send("go")).ok
        assert len(model.requests) == 8
        assert [n.code for n in case.session.view.notices] == ["still_full"]


async def test_a_prompt_that_is_too_long_is_summarised_once_and_sent_again() -> None:
    model = ScriptedModel([answer_of("a1"), answer_of("a2"), TOO_LONG, summary(), answer_of("a3")])
    async with opened(model, compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        result = await case.send("three")
        assert (result.ok, result.text) == (True, "a3")
        assert asked(model)[4] == [f"{PREAMBLE}They said one.", "three"]
        assert ended(case).will_retry
        assert case.session.view.error is None


async def test_a_prompt_that_stays_too_long_ends_with_an_error_that_says_what_is_too_big() -> None:
    model = ScriptedModel([answer_of("a1"), answer_of("a2"), TOO_LONG, summary(), *[TOO_LONG] * 9])
    async with opened(model, [look], compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        result = await case.send("three")
        assert (result.reason, len(model.requests)) == ("error", 5)
        assert result.error is not None
        assert "still too long after a compaction" in result.error.message
        assert "the tools about" in result.error.message
        assert result.error.advice
        assert (await case.send("four")).reason == "error"
        assert len(model.requests) == 6
        assert case.session.view.can_send


async def test_a_summariser_reads_less_where_it_is_too_much_and_no_server_is_asked_for_ever() -> (
    None
):
    long = "words " * 2_000
    model = ScriptedModel([answer_of(long), answer_of("a2"), TOO_LONG, TOO_LONG, summary("S")])
    options = Compaction(keep_tokens=5, context_window=4_000)
    async with opened(model, compaction=options) as case:
        await case.send("one")
        await case.send("two")
        await case.send("three")  # the script ends here
        whole, less = asked(model)[3][0], asked(model)[4][0]
        assert len(less) < len(whole) / 2
        assert len(model.requests) == 6
    model = ScriptedModel([answer_of(long), answer_of("a2"), *[TOO_LONG] * 20])
    async with opened(model, compaction=options) as case:
        await case.send("one")
        await case.send("two")
        assert (await case.send("three")).reason == "error"
        assert len(model.requests) == 5


async def test_where_nothing_can_be_summarised_the_servers_refusal_is_told() -> None:
    model = ScriptedModel([TOO_LONG])
    async with opened(model) as case:
        result = await case.send("one")
        assert result.error is not None
        assert "Nothing to compact" in result.error.message
        assert len(model.requests) == 1


async def test_without_auto_nothing_is_summarised_by_itself() -> None:
    model = ScriptedModel([answer_of("a1", FULL), answer_of("a2", FULL), TOO_LONG])
    options = Compaction(auto=False, keep_tokens=5, context_window=1_000)
    async with opened(model, compaction=options) as case:
        await case.send("one")
        await case.send("two")
        assert (await case.send("three")).reason == "error"
        assert len(model.requests) == 3
        assert compaction_events(case) == []


async def test_a_run_goes_on_where_the_summary_failed_and_says_so() -> None:
    failing = ModelError("network", "The server is gone.")
    model = ScriptedModel([answer_of("a1"), answer_of("a2", FULL), failing, answer_of("a3")])
    options = Compaction(keep_tokens=5, context_window=1_000)
    async with opened(model, compaction=options) as case:
        await case.send("one")
        await case.send("two")
        assert (await case.send("three")).ok
        assert asked(model)[3] == ["one", "a1", "two", "a2", "three"]
        [told] = case.session.view.notices
        assert told.code == "compaction.summarization_failed"
        assert "stays as it is" in told.message


async def test_a_budget_holds_for_summaries_too() -> None:
    model = ScriptedModel([answer_of("a1"), answer_of("a2", FULL), answer_of("no")])
    options = Compaction(keep_tokens=5, context_window=1_000)
    async with opened(model, compaction=options, budget=Budget(max_total_tokens=500)) as case:
        await case.send("one")
        await case.send("two")
        assert (await case.send("three")).reason == "budget_exceeded"
        assert await code_of(case.session.compact()) == "budget_exceeded"
        assert len(model.requests) == 2


async def test_stop_ends_a_summary_and_the_next_message_goes_through() -> None:
    gate, in_run = Gate(), Gate()
    script = [answer_of("a1"), answer_of("a2", FULL), [gate], [in_run], answer_of("a3")]
    model = ScriptedModel(script)
    options = Compaction(keep_tokens=5, context_window=1_000)
    async with opened(model, compaction=options) as case:
        await case.send("one")
        await case.send("two")
        messages = case.session.messages
        by_hand = asyncio.ensure_future(case.session.compact())
        await gate.reached.wait()
        assert case.session.view.can_stop
        await case.session.stop()
        assert await code_of(by_hand) == "compaction.cancelled"
        assert ended(case).aborted
        assert case.session.messages == messages
        run = await case.session.send("three")
        await in_run.reached.wait()
        assert (case.session.view.phase, case.session.view.is_busy) == ("compacting", True)
        await case.session.stop()  # with its grace: a summary is no work that is worth waiting for
        result = await asyncio.wait_for(asyncio.wrap_future(run.future), 2)
        assert result.reason == "interrupted"
        assert ended(case).aborted
        await case.session.settings.set_auto_compaction_enabled(False)
        assert (await case.send("four")).text == "a3"


async def test_an_aborted_summary_of_a_run_lets_the_run_go_on() -> None:
    gate = Gate()
    model = ScriptedModel([answer_of("a1"), answer_of("a2", FULL), [gate], answer_of("a3")])
    options = Compaction(keep_tokens=5, context_window=1_000)
    async with opened(model, compaction=options) as case:
        await case.send("one")
        await case.send("two")
        run = await case.session.send("three")
        await gate.reached.wait()
        assert case.session.compaction.abort()
        assert (await asyncio.wrap_future(run.future)).text == "a3"
        assert asked(model)[3] == ["one", "a1", "two", "a2", "three"]


async def test_what_is_sent_meanwhile_waits_and_is_delivered() -> None:
    gate, in_run = Gate(), Gate()
    steps: list[Step] = [answer_of("a1"), answer_of("a2"), [gate, text("S1")], answer_of("a3")]
    steps += [answer_of("a4", FULL), [in_run, text("S2")], answer_of("a5")]
    model = ScriptedModel(steps)
    options = Compaction(keep_tokens=5, context_window=1_000)
    async with opened(model, compaction=options, while_running="steer") as case:
        await case.send("one")
        await case.send("two")
        by_hand = asyncio.ensure_future(case.session.compact())
        await gate.reached.wait()
        sent = asyncio.ensure_future(case.session.send("three"))
        queued = asyncio.ensure_future(case.session.enqueue("before it", "steering"))
        await asyncio.sleep(0)
        gate.open()
        await by_hand
        await asyncio.wrap_future((await sent).future)
        await queued
        await case.session.wait_for_idle()
        assert asked(model)[3][0] == f"{PREAMBLE}S1"
        assert {"three", "before it"} <= {m.text for m in case.session.messages} | {*waiting(case)}
        if not waiting(case):
            await case.send("four")
        run = await case.session.send("five")
        await in_run.reached.wait()
        await case.session.send("steered")
        in_run.open()
        await asyncio.wrap_future(run.future)
        assert asked(model)[-1][-1] == "steered"
        assert waiting(case) == []


async def test_compact_stops_the_run_that_is_under_way() -> None:
    gate = Gate()
    model = ScriptedModel([answer_of("a1"), answer_of("a2"), [text("half"), gate], summary("S")])
    async with opened(model, compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        run = await case.session.send("three")
        await gate.reached.wait()
        await case.session.compact()
        assert (await asyncio.wrap_future(run.future)).reason == "interrupted"
        types = case.types("turn.aborted", "compaction.started", "compaction.ended")
        assert types == ["turn.aborted", "compaction.started", "compaction.ended"]


async def test_a_hook_may_forbid_it() -> None:
    hook = python_hook("before_compaction", lambda _: {"decision": "deny", "reason": "not now"})
    script = [answer_of("a1"), answer_of("a2")]
    async with opened(script, compaction=SHORT, hooks=Hooks([hook])) as case:
        await case.send("one")
        await case.send("two")
        with pytest.raises(SessionError, match="not now") as raised:
            await case.session.compact()
        assert raised.value.code == "compaction.cancelled"


async def test_a_summary_that_cannot_be_stored_yet_waits_like_all_that_has_happened() -> None:
    store = FailingStore()
    model = ScriptedModel([answer_of("a1"), answer_of("a2"), summary(), answer_of("a3")])
    async with opened(model, store=store, compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        store.kinds |= {"compaction", "checkpoint"}
        assert (await case.session.compact()).checkpoint_id is None
        assert case.session.view.storage.trouble is not None
        store.kinds.clear()
        await case.send("three")
        assert "compaction" in await case.kinds()
        assert asked(model)[3][0].startswith(PREAMBLE)


async def test_a_session_that_is_closed_meanwhile_ends_it() -> None:
    gate = Gate()
    async with opened([answer_of("a1"), answer_of("a2"), [gate]], compaction=SHORT) as case:
        await case.send("one")
        await case.send("two")
        by_hand = asyncio.ensure_future(case.session.compact())
        await gate.reached.wait()
        assert (await case.session.close()).ok
        assert await code_of(by_hand) in ("compaction.cancelled", "session_closed")

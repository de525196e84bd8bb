"""The bridge: what a page shows is what the session is, whatever gets lost on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from agent_widget import tool
from agent_widget.core.eventwire import event_to_wire
from agent_widget.engine.approvals import READING_MS
from agent_widget.engine.models import ModelOptions
from agent_widget.providers.base import ModelInfo
from agent_widget.surfaces.bridge import Bridge
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, text
from agent_widget.view.live import Delivery
from tests.engine.support import Case, opened
from tests.surfaces.support import FORGED, Page

pytestmark = pytest.mark.anyio


@tool
def change(name: str) -> str:
    """Change something."""
    return f"changed {name}"


@asynccontextmanager
async def bridged(
    steps: Sequence[Step], delivery: Delivery | None = None, **options: Any
) -> AsyncIterator[tuple[Case, Page]]:
    async with opened(steps, [change], **options) as case:
        page = Page()
        loop = asyncio.get_running_loop()
        page.bridge = Bridge(case.session, page, loop, delivery=delivery)
        yield case, page


async def ended(case: Case) -> None:
    """Wait until no run is under way and all of it was sent."""
    settled = asyncio.Event()
    stop = case.session.subscribe(
        lambda event, _view: settled.set() if event.type == "run.settled" else None
    )
    if case.session.run_id is not None:
        await asyncio.wait_for(settled.wait(), 5)
    stop()


async def test_a_page_that_greets_shows_the_session_and_follows_it() -> None:
    async with bridged([[text("Hel"), text("lo")]]) as (case, page):
        page.hello()
        reply = await page.command("send", text="hi")
        assert reply["ok"]
        assert reply["message_id"] == case.session.messages[0].id
        await ended(case)
        await page.command("dismiss", nid="n-0")  # its reply comes after all that was before
        assert page.shows(case.session)
        assert page.gaps == 0
        numbers = [patch["seq"] for patch in page.patches()]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_a_page_that_wants_whole_answers_gets_them_block_by_block() -> None:
    gate = Gate()
    whole = Delivery(text="final")
    async with bridged([[text("Hel"), gate, text("lo")]], whole) as (case, page):
        page.hello()
        await page.command("send", text="hi")
        await gate.reached.wait()
        await page.command("dismiss", nid="n-0")
        assert "Hel" not in repr(page.wire)
        assert case.session.messages[-1].text == "Hel"
        gate.open()
        await ended(case)
        await page.command("dismiss", nid="n-0")
        assert page.shows(case.session)


async def test_a_page_that_asks_for_the_events_gets_the_same_ones_as_code() -> None:
    async with bridged([[text("Hel"), text("lo"), call("change", {"name": "x"})]]) as (case, page):
        stream = case.session.events()
        page.hello("plain")
        page.hello("curious", events=True)
        greeted = len(case.events)
        await page.command("send", text="hi")
        question = await case.question()
        case.session.decide(question.permission_id, "deny")
        await ended(case)
        await case.session.close()
        await page.command("dismiss", nid="n-0")
        told = [event_to_wire(event) async for event in stream]
        sent = [content for content in page.sent if content["kind"] == "events"]
        since = [wire for wire in told if wire["seq"] >= case.events[greeted].seq]
        assert [each for content in sent for each in content["events"]] == since
        assert {content["epoch"] for content in sent} == {case.session.stream_id}
        assert json.loads(json.dumps(sent)) == sent


async def test_nothing_is_sent_while_no_page_watches_but_the_trait_rests_up_to_date() -> None:
    async with bridged([[text("Hello")]]) as (case, page):
        await case.send("hi")
        await page.rested()
        assert page.sent == []
        assert page.traits[-1]["view"]["messages"]["items"][-1]["parts"][0]["text"] == "Hello"
        page.hello()
        assert page.shows(case.session)


async def test_a_page_that_comes_in_mid_stream_has_all_the_text() -> None:
    gate = Gate()
    async with bridged([[text("one "), gate, text("two")]]) as (case, page):
        run = await case.session.send("hi")
        await gate.reached.wait()
        page.hello()
        assert page.wire is not None
        assert page.wire["messages"]["items"][-1]["parts"][0]["text"] == "one "
        gate.open()
        await asyncio.wrap_future(run.future)
        await page.command("dismiss", nid="x")
        assert page.shows(case.session)


async def test_lost_patches_are_noticed_and_healed() -> None:
    gate = Gate()
    async with bridged([[text("one "), gate, text("two "), text("three")]]) as (case, page):
        page.hello()
        await page.command("send", text="hi")
        await gate.reached.wait()
        page.lose = True
        gate.open()
        await ended(case)
        await page.rested()
        page.lose = False
        await page.command("reset")
        assert page.gaps == 1
        assert page.shows(case.session)


async def test_every_command_is_answered_once_and_refusals_say_why() -> None:
    async with bridged([[text("a")]]) as (case, page):
        page.hello()
        refused: list[tuple[str, dict[str, Any], str]] = [
            ("send", {"text": "  "}, "INVALID_INPUT"),
            ("send", {}, "INVALID_INPUT"),
            ("stop", {}, "SESSION_NOT_RUNNING"),
            ("retry", {}, "INVALID_INPUT"),
            ("decide", {"pid": "p", "decision": "allow_once"}, "QUESTION_CLOSED"),
            ("decide", {"pid": "p", "decision": {"allow": 1}}, "INVALID_INPUT"),
            ("dance", {}, "INVALID_INPUT"),
        ]
        for name, fields, code in refused:
            reply = await page.command(name, **fields)
            assert (reply["ok"], reply["code"]) == (False, code)
            assert reply["message"]
        assert len(page.replies()) == 7
        assert await case.kinds() == ["header"]


@pytest.mark.parametrize(
    "junk", [{}, {"kind": 1}, {"kind": "history"}, {"kind": "command"}, {"kind": "bye"}, {"a": []}]
)
async def test_malformed_messages_do_no_harm(junk: dict[str, Any]) -> None:
    async with bridged([[text("a")]]) as (case, page):
        assert page.bridge is not None
        page.bridge.receive(junk)
        page.hello()
        assert (await page.command("send", text="hi"))["ok"]
        await ended(case)
        assert case.session.messages[-1].text == "a"


async def test_a_click_answers_the_question_and_a_second_one_does_nothing() -> None:
    steps: list[Step] = [[call("change", {"name": "x"})], [text("end")]]
    async with bridged(steps) as (case, page):
        page.hello("v1")
        page.hello("v2")
        await page.command("send", text="go")
        question = await case.question()
        page.hello("v3")
        assert page.wire is not None
        assert page.wire["question"]["pid"] == question.permission_id
        assert page.traits[-1]["view"]["question"]["pid"] == question.permission_id
        first, second = await asyncio.gather(
            page.command("decide", pid=question.permission_id, decision="allow_once"),
            page.command("decide", pid=question.permission_id, decision="deny"),
        )
        assert (first["ok"], second["ok"]) == (True, False)
        await ended(case)
        await page.command("dismiss", nid="x")
        assert page.shows(case.session)
        assert page.traits[-1]["view"]["question"] is None
        assert page.wire["messages"]["items"][1]["parts"][0]["state"] == "done"


async def test_the_reply_comes_after_what_the_command_changed() -> None:
    async with bridged([[text("a")]]) as (_case, page):
        page.hello()
        await page.command("send", text="hi")
        kinds = [content["kind"] for content in page.sent]
        assert kinds.index("patch") < kinds.index("reply")


async def test_a_page_that_cannot_be_reached_does_not_disturb_the_run() -> None:
    async with bridged([[text("a")], [text("b")]]) as (case, page):
        page.hello()
        page.broken = True
        assert (await case.send("one")).ok
        page.broken = False
        page.hello()
        assert page.shows(case.session)


async def test_traits_stay_small_and_snapshots_hold_the_last_messages() -> None:
    steps: list[Step] = [[text(f"{number} " + "x" * 3000)] for number in range(60)]
    async with bridged(steps) as (case, page):
        for number in range(60):
            await case.send(f"q{number}")
        await page.rested()
        assert all(len(json.dumps(trait)) < 20_000 for trait in page.traits)
        page.hello()
        assert page.wire is not None
        window = page.wire["messages"]
        assert (window["first"], len(window["items"])) == (70, 50)
        assert page.bridge is not None
        page.bridge.receive({"kind": "history", "request_id": "h", "before": 70})
        [history] = [content for content in page.sent if content["kind"] == "history"]
        assert (history["first"], len(history["items"])) == (20, 50)
        assert history["items"][0]["mid"] == case.session.messages[20].id


async def test_no_message_has_a_key_named_id() -> None:
    async with bridged([[text("a")]]) as (case, page):
        page.hello()
        await page.command("send", text="hi")
        await ended(case)
        assert all("id" not in content for content in page.sent)


async def test_a_page_that_leaves_is_sent_nothing_more() -> None:
    async with bridged([[text("a")]]) as (case, page):
        page.hello()
        assert page.bridge is not None
        page.bridge.receive({"kind": "bye", "request_id": "b", "view": "v1"})
        count = len(page.sent)
        await case.send("hi")
        await page.rested()
        assert len(page.sent) == count


async def test_a_click_that_comes_too_early_is_refused_in_words_and_the_page_still_asks() -> None:
    async with bridged([[call("change", {"name": "x"})], [text("end")]]) as (case, page):
        page.hello()
        await page.command("send", text="go")
        question = await case.unread_question()
        early = await page.command("decide", pid=question.permission_id, decision="allow_once")
        assert (early["ok"], early["code"]) == (False, "QUESTION_TOO_EARLY")
        assert "still open" in early["message"]
        assert page.wire is not None
        assert page.wire["question"]["pid"] == question.permission_id
        case.clock.now_ms += READING_MS
        assert (await page.command("decide", pid=question.permission_id, decision="deny"))["ok"]
        await ended(case)
        assert [part.state for part in case.session.messages[1].tool_calls] == ["cancelled"]


@pytest.mark.parametrize("forged", FORGED, ids=str)
async def test_a_forged_decision_is_refused_and_changes_nothing(forged: dict[str, Any]) -> None:
    steps: list[Step] = [[call("change", {"name": "x"})], [text("end")]]
    async with bridged(steps) as (case, page):
        page.hello()
        await page.command("send", text="go")
        question = await case.question()
        before = case.session.view
        real = {"pid": question.permission_id} if forged.get("pid") == "REAL" else {}
        for _ in range(3):
            reply = await page.command("decide", **{**forged, **real})
            assert not reply["ok"]
        assert case.session.view is before
        page.bridge.receive({"kind": "command", "name": "decide", **forged})  # type: ignore[union-attr]
        assert (await page.command("decide", pid=question.permission_id, decision="deny"))["ok"]
        await ended(case)
        assert [part.state for part in case.session.messages[1].tool_calls] == ["cancelled"]


async def test_a_page_chooses_model_and_thinking_and_hears_what_is_wrong() -> None:
    levels = ("low", "high")

    class Thinker(ScriptedModel):
        @property
        def info(self) -> ModelInfo:
            return replace(super().info, thinking_levels=levels)

    options = ModelOptions(scoped=(Thinker([], name="second"),))
    async with bridged([[text("Hi.")]], models=options) as (case, page):
        page.hello()
        refused = await page.command("set_model", model="nonsense")
        assert (refused["ok"], refused["code"]) == (False, "ASSEMBLY_FAILED")
        assert (await page.command("set_model", model="second"))["ok"]
        assert (await page.command("list_models"))["models"] == ["second"]
        assert (await page.command("set_thinking", level="hard"))["code"] == "INVALID_INPUT"
        assert (await page.command("set_thinking", level="high"))["ok"]
        assert page.wire is not None
        model = page.wire["model"]
        assert (model["alias"], model["thinking"]) == ("second", "high")
        assert (model["choices"], model["thinking_levels"]) == (["second"], [*levels])
        assert page.shows(case.session)
        assert page.traits[-1]["view"]["model"] == model

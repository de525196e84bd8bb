"""A conversation is summarised from code and from the page, without a key, and stays readable."""

from __future__ import annotations

import asyncio

import pytest

from agent_widget import AgentWidget, Compaction, OfflineModel, SessionError, create_session
from agent_widget.core.errors import InvalidOptions
from agent_widget.surfaces.bridge import Bridge
from agent_widget.surfaces.fallback import view_as_text
from agent_widget.testing.doubles import text
from agent_widget.view.locale.words import words_of
from tests.engine.support import opened
from tests.surfaces.support import Page

SHORT = Compaction(keep_tokens=5)


def test_the_offline_model_makes_a_digest_and_says_that_it_is_one() -> None:
    namespace = {"price": 3}
    with AgentWidget(OfflineModel(pace_s=0), namespace=namespace, compaction=SHORT) as chat:
        with pytest.raises(SessionError, match="too small"):
            chat.compact()
        chat.ask("what variables are there")
        chat.ask("describe price")
        result = chat.compact("the price")
        assert "not a language model" in result.summary
        assert "- what variables are there" in result.summary
        assert "`list_variables` done: 1" in result.summary
        assert "what variables are there" in view_as_text(chat.session.view, words_of("en"))
        assert chat.ask("describe price").ok
        again = chat.compact()
        assert "Earlier digest" in again.summary
        assert again.summary.count("not a language model") == 1


@pytest.mark.anyio
async def test_a_session_of_code_is_summarised_as_well() -> None:
    async with await create_session(OfflineModel(pace_s=0), compaction={"keep_tokens": 5}) as chat:
        await chat.ask("count to 2")
        await chat.ask("count to 3")
        assert "- count to 2" in (await chat.compact()).summary
        assert [message["role"] for message in chat.messages()].count("assistant") == 2


@pytest.mark.anyio
async def test_the_page_asks_for_it_and_shows_a_line_between() -> None:
    steps = [[text("a1")], [text("a2")], [text("They said one.")]]
    async with opened(steps, compaction=SHORT) as case:
        page = Page()
        page.bridge = Bridge(case.session, page, asyncio.get_running_loop())
        page.hello()
        await case.send("one")
        await case.send("two")
        assert (await page.command("compact"))["ok"]
        assert page.shows(case.session)
        assert page.wire is not None
        notes = [message["note"] for message in page.wire["messages"]["items"]]
        assert notes == [None, None, {"kind": "compaction", "is_shown": True}, None, None]
        refused = await page.command("compact")
        assert (refused["code"], refused["message"]) == (
            "COMPACTION.ALREADY_COMPACTED",
            "Already compacted",
        )
        assert page.traits[-1]["view"]["messages"] == page.wire["messages"]


def test_a_setting_that_makes_no_sense_is_refused_when_the_chat_is_made() -> None:
    with pytest.raises(InvalidOptions, match="keep_token"):
        AgentWidget(compaction={"keep_token": 5})

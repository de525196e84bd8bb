"""The language of a chat: chosen, changed, taken from the page, and seen in all that is shown."""

from __future__ import annotations

import asyncio

import pytest

from agent_widget import AgentWidget
from agent_widget.core.errors import InvalidOptions
from agent_widget.core.events import LocaleChanged, notice
from agent_widget.surfaces.bridge import Bridge
from agent_widget.testing.doubles import ScriptedModel, text
from tests.engine.support import opened
from tests.surfaces.support import Page

pytestmark = pytest.mark.anyio


def test_a_widget_speaks_the_language_it_was_given_and_changes_it_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENT_WIDGET_LOCALE", "ja_JP.UTF-8")
    with AgentWidget(ScriptedModel([[text("Hello")]]), locale="de-AT") as chat:
        told: list[str] = []
        chat.session.subscribe(
            lambda event, _view: (
                told.append(event.locale) if isinstance(event, LocaleChanged) else None
            )
        )
        assert (chat.locale, chat.words["locale"]) == ("de", "de")
        assert chat.words["words"]["send"] == "Senden"
        assert chat.ask("hi", timeout_s=10).text == "Hello"
        bundle = chat._repr_mimebundle_()[0]
        assert "2 Nachrichten" in bundle["text/plain"]
        assert 'lang="de" dir="ltr"' in bundle["text/html"]
        chat.locale = "ar"
        chat.locale = "ar-EG"
        assert (chat.locale, chat.words["direction"], told) == ("ar", "rtl", ["ar"])
        with pytest.raises(InvalidOptions, match=r"'xx' is no language .* en, de"):
            chat.locale = "xx"
        assert "messages" not in chat._repr_mimebundle_()[0]["text/html"]
    with AgentWidget("offline") as chat:
        assert chat.locale == "ja"
        assert chat.snapshot["view"]["model"]["notice"].startswith("オフライン")
    with pytest.raises(InvalidOptions, match="'klingon' is no language"):
        AgentWidget("offline", locale="klingon")


async def test_a_page_brings_its_language_where_none_was_chosen() -> None:
    async with opened([[text("Hello")]], []) as case:
        page = Page()
        page.bridge = Bridge(case.session, page, asyncio.get_running_loop())
        page.hello(languages=["en-US"])
        assert (case.session.view.locale, page.words) == (None, {})
        page.hello(languages=["tlh", "fr-CA", "de"])
        assert (case.session.view.locale, page.words["locale"]) == ("fr", "fr")
        page.hello(languages=["de"])
        assert case.session.view.locale == "fr"
        for wrong in (None, "de", {"a": 1}, [None, 7, "x" * 10_000]):
            page.hello(languages=wrong)


async def test_what_the_kernel_says_is_translated_for_the_page_and_not_in_events() -> None:
    async with opened([[text("Hello")]], []) as case:
        page = Page()
        page.bridge = Bridge(case.session, page, asyncio.get_running_loop())
        page.hello()
        case.session._writer.emit(notice("model", "refusal", "The model declined to answer."))
        case.session.set_locale("es")
        refused = await page.command("edit", mid="m-none", text="x")
        assert not refused["ok"]
        assert page.wire is not None
        assert [each["message"] for each in page.wire["notices"]] == [
            "El modelo se negó a responder."
        ]
        assert case.session.view.notices[0].message == "The model declined to answer."
        case.session.set_locale("en")
        await page.command("dismiss", nid="n-0")
        assert page.shows(case.session)
        assert page.gaps == 0

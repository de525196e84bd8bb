"""Images that a page sends, and messages that are nothing but images."""

from __future__ import annotations

from base64 import b64encode
from html import unescape
from typing import Any

import pytest

from agent_widget import AgentWidget, SessionError, create_session, query, run_agent
from agent_widget.core.messages import MAX_IMAGE_CHARS, MAX_IMAGES, ImagePart, user_message
from agent_widget.providers._history import Style
from agent_widget.testing.doubles import Gate, ScriptedModel, text
from agent_widget.view.narrate import Narrator
from agent_widget.view.protocol import PAGE_CHARS
from tests.providers.rawserver import serving, stream
from tests.providers.test_sessions import LAST, problems, signed_by
from tests.providers.wires import MODELS, model_of, stream_bytes
from tests.surfaces.test_bridge import bridged
from tests.surfaces.test_images import DOT, NOISE, file_of, pictures

pytestmark = pytest.mark.anyio

PNG = file_of(DOT)


def address(content: bytes = PNG, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{b64encode(content).decode()}"


@pytest.mark.parametrize("wire", MODELS)
async def test_a_message_can_be_an_image_alone(wire: str) -> None:
    fine = stream(stream_bytes(LAST[wire]))
    async with serving(fine) as server:
        assert (await run_agent(model=model_of(wire, server.url), images=DOT)).ok
        asked = query(model=model_of(wire, server.url), images=DOT, tools=())
        assert (await asked.result()).reason == "completed"
    for request in server.requests:
        assert problems(wire, request.body, signed_by(wire)) == []
        sent = request.json["messages" if "messages" in request.json else "input"][-1]
        assert len(sent["content"]) == 1
        assert b64encode(PNG) in request.body


def test_an_image_alone_goes_over_the_bridge_to_other_libraries() -> None:
    said = pytest.importorskip("pydantic_ai.messages")
    from agent_widget.providers.pydantic_ai_bridge import _history

    part = ImagePart("image/png", b64encode(PNG).decode())
    [request] = _history([user_message("u", "", (part,))], None, Style(""))  # type: ignore[arg-type]
    [prompt] = request.parts
    assert prompt.content == [said.BinaryContent(PNG, media_type="image/png")]  # type: ignore[union-attr]


async def test_without_an_image_a_message_needs_a_text() -> None:
    async with await create_session(ScriptedModel([]), tools=()) as chat:
        for send in (chat.send, chat.enqueue):
            with pytest.raises(SessionError, match="not blank, got ''"):
                await send()
            with pytest.raises(SessionError, match="not blank, got ' '"):
                await send(" ")


async def test_a_page_sends_images_that_wait_and_takes_them_back() -> None:
    gate = Gate()
    both = [address(), address(file_of(NOISE))]
    async with bridged([[gate, text("ok")], [text("seen")], [text("again")]]) as (case, page):
        page.hello()
        await page.command("set_input_policy", mode="steer")
        assert (await page.command("send", text="", images=both))["ok"]
        await gate.reached.wait()
        kept = (await page.command("send", text=" ", images=both))["message_id"]
        gone = (await page.command("send", text="look", images=both))["message_id"]
        assert page.wire is not None
        waiting = [(row["text"], row["images"]) for row in page.wire["waiting"]]
        assert waiting == [("", 2), ("look", 2)]
        assert (await page.command("edit_waiting", mid=kept, text=""))["ok"]
        back = await page.command("remove_waiting", mid=gone)
        assert (back["text"], back["images"]) == ("look", both)
        gate.open()
        await case.session.wait_for_idle()
        said = [message for message in case.session.messages if message.role == "user"]
        assert [pictures(message) for message in said] == [[PNG, file_of(NOISE)]] * 2
        changed = await page.command("edit", mid=said[0].id, text="")
        await case.session.wait_for_idle()
        found = {message.id: message for message in case.session.messages}
        assert pictures(found[changed["message_id"]]) == pictures(said[0])
        parts = page.wire["messages"]["items"][0]["parts"]
        assert [part["type"] for part in parts] == ["image", "image", "text"]


@pytest.mark.parametrize(
    "images",
    [
        "",
        "x",
        7,
        [],
        [None],
        {"0": address()},
        [address(), "https://example.org/a.png"],
        [address(PNG[:-20])],
        [address(PNG, "image/jpeg")],
        [address(b"<svg/>", "image/svg+xml")],
        [address() + "\n"],
        [address() + "é"],
        ["data:image/png;base64," + "A" * (MAX_IMAGE_CHARS + 4)],
        [address()] * (MAX_IMAGES + 1),
        ["A" * (PAGE_CHARS // 2 + 1)] * 2,
    ],
    ids=lambda each: repr(each)[:30],
)
async def test_what_no_page_sends_as_images_is_refused_in_words_and_changes_nothing(
    images: Any,
) -> None:
    async with bridged([]) as (case, page):
        case.session.set_locale("de")
        reply = await page.command("send", text="", images=images)
        assert (reply["ok"], reply["code"]) == (False, "INVALID_INPUT")
        assert images == [] or reply["message"].startswith(("Ein Bild dies", "Die Bilder dies"))
        assert len(case.session.messages) == 0


def test_where_there_is_no_text_the_image_has_a_name() -> None:
    with AgentWidget(ScriptedModel([[text("a dot")]]), tools=(), notebook=False) as chat:
        events: list[Any] = []
        chat.session.subscribe(lambda event, _view: events.append(event))
        chat.ask(images=DOT)
        bundle = chat._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    narrator = Narrator()
    told = "\n".join(filter(None, map(narrator.line, events)))
    assert "[image/png, 0 kB]" in told
    for kind in ("text/plain", "text/markdown", "text/html"):
        assert "[image/png, 0 kB]" in unescape(bundle[kind])

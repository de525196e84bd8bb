"""Images in messages of the user: every wire sends them, a store keeps them, a page shows them."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from agent_widget import AgentWidget, SessionError, create_session, query, replay
from agent_widget.core.messages import MAX_IMAGES, ImagePart, Message, TextPart
from agent_widget.core.state import SessionState
from agent_widget.engine.recording import ReplayMismatch
from agent_widget.providers._history import IMAGE_LEFT_OUT
from agent_widget.store.jsonl import JsonlStore
from agent_widget.surfaces.images import MAX_BYTES, prompt_of
from agent_widget.testing.doubles import ScriptedModel, text
from agent_widget.view.model import SessionView
from agent_widget.view.patch import apply, diff
from agent_widget.view.protocol import PICTURE_CHARS
from agent_widget.view.schema import TRAIT_BYTES, view_to_wire
from tests.providers.rawserver import serving, stream, whole
from tests.providers.test_sessions import LAST, problems, signed_by
from tests.providers.wires import MODELS, model_of, stream_bytes

pytestmark = pytest.mark.anyio

NOISE = Image.effect_noise((200, 200), 100)
"""Too large to be kept within a record."""
DOT = Image.new("RGB", (2, 2), "red")


def file_of(image: Image.Image, kind: str = "PNG") -> bytes:
    file = BytesIO()
    image.save(file, kind)
    return file.getvalue()


def pictures(message: Message) -> list[bytes]:
    return [b64decode(part.data or "") for part in message.parts if isinstance(part, ImagePart)]


def journals_in(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*.jsonl"))


@pytest.mark.parametrize("wire", MODELS)
async def test_an_image_is_sent_stored_resumed_forked_and_kept_by_an_edit(
    wire: str, tmp_path: Path
) -> None:
    (tmp_path / "dot.png").write_bytes(file_of(DOT))
    given = [NOISE, tmp_path / "dot.png"]
    sent = [file_of(NOISE), file_of(DOT)]
    options: dict[str, Any] = {"store": JsonlStore(tmp_path), "session_id": "s", "tools": ()}
    async with serving(stream(stream_bytes(LAST[wire]))) as server:
        async with await create_session(model_of(wire, server.url), **options) as chat:
            assert (await chat.ask("what is wrong here?", images=given)).ok
            before = chat.messages()
        async with await create_session(model_of(wire, server.url), **options) as chat:
            assert chat.messages() == before
            asked = chat.state.messages[0]
            assert pictures(asked) == sent
            _, new_id = await chat.call(lambda s: s.tree.edit(asked.id, "and now?"))
            await chat.idle()
            assert pictures(next(m for m in chat.state.messages if m.id == new_id)) == sent
            forked = await chat.call(lambda session: session.tree.fork())
        options["session_id"] = forked
        async with await create_session(model_of(wire, server.url), **options) as chat:
            assert pictures(chat.state.messages[0]) == sent
    assert len(server.requests) == 2
    for request in server.requests:
        assert problems(wire, request.body, signed_by(wire)) == []
        body = request.body.decode()
        places = [body.index(before[0]["parts"][at]["data"]) for at in range(2)]
        assert places == sorted(places)
        assert places[1] < max(body.find("what is wrong here?"), body.find("and now?"))
    journals = journals_in(tmp_path)
    assert before[0]["parts"][0]["data"] not in journals
    assert before[0]["parts"][1]["data"] in journals


async def test_an_image_that_the_server_refuses_becomes_a_note() -> None:
    refusal = whole(400, {"error": {"message": "This model does not support image_url."}})
    async with serving(refusal, stream(stream_bytes(LAST["openai-chat"]))) as server:
        model = model_of("openai-chat", server.url)
        result = await query("see", model, images=DOT, tools=()).result()
        await model.aclose()
    assert result.reason == "completed"
    said = server.requests[1].json["messages"][-1]
    assert said == {"role": "user", "content": f"{IMAGE_LEFT_OUT}\nsee"}


async def test_where_a_request_is_too_large_older_images_go_first() -> None:
    too_large = whole(413, {"error": {"message": "Request exceeds the maximum size"}})
    fine = stream(stream_bytes(LAST["openai-chat"]))
    async with (
        serving(fine, too_large, fine, too_large, too_large) as server,
        await create_session(model_of("openai-chat", server.url), tools=()) as chat,
    ):
        assert (await chat.ask("one", images=NOISE)).ok
        assert (await chat.ask("two", images=DOT)).ok
        ended = await chat.ask("three")
    data = [b64encode(file_of(image)) for image in (NOISE, DOT)]
    seen = [[each in request.body for each in data] for request in server.requests]
    assert seen == [[True, False], [True, True], [False, True], [False, True], [False, False]]
    assert (ended.reason, ended.error is None) == ("error", False)


async def test_images_of_messages_that_wait_come_with_them(tmp_path: Path) -> None:
    script = ScriptedModel([[text("ok")], [text("more")]])
    options: dict[str, Any] = {"store": JsonlStore(tmp_path), "session_id": "s", "tools": ()}
    async with await create_session(script, **options) as chat:
        await chat.enqueue("look", images=[NOISE])
        await chat.enqueue("later", "follow_up", images=[DOT])
    async with await create_session(script, **options) as chat:
        await chat.ask("go")
        await chat.idle()
        asked = [*chat.state.messages]
    seen = {m.text: pictures(m) for m in script.requests[-1].messages if m.role == "user"}
    assert seen == {"look": [file_of(NOISE)], "go": [], "later": [file_of(DOT)]}
    async with await create_session(script, **options) as chat:
        assert [*chat.state.messages] == asked


class Figure:
    """What matplotlib's figures and axes can do."""

    figure: Any = None

    def savefig(self, file: Any, **_: Any) -> None:
        file.write(file_of(DOT))


class Axes:
    figure = Figure()


class Shown:
    """What IPython's images can do."""

    def _repr_png_(self) -> bytes:
        return file_of(DOT)


@pytest.mark.parametrize(
    ("given", "mime"),
    [
        (Figure(), "image/png"),
        (Axes(), "image/png"),
        (Shown(), "image/png"),
        (file_of(DOT, "JPEG"), "image/jpeg"),
        (bytearray(file_of(DOT, "WEBP")), "image/webp"),
        (memoryview(file_of(DOT, "GIF")), "image/gif"),
    ],
)
def test_what_a_notebook_has_is_an_image(given: object, mime: str) -> None:
    [image] = prompt_of("look", given).images
    assert image.mime == mime
    with Image.open(BytesIO(b64decode(image.data))) as opened:
        assert opened.size == DOT.size


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"%PDF-1.7", "bytes is no PNG, JPEG, WebP or GIF image. Pass a matplotlib figure"),
        (file_of(NOISE)[:-400], "is a damaged image/png"),
        (file_of(DOT) + bytes(MAX_BYTES), "model servers take 3.9 MB. Make it smaller"),
        ([DOT] * (MAX_IMAGES + 1), "images has 11 images, and a message takes 10. Send them in"),
        ([file_of(DOT)[:-12] + bytes(3_500_000) + file_of(DOT)[-12:]] * 5, "17.5 MB together"),
        ("nowhere.png", "'nowhere.png' cannot be read: No such file"),
        ("https://host/a.png", "Addresses are not fetched"),
        (DOT.convert("CMYK"), "image.convert('RGB')"),
        ({"rows": 3}, "A builtins.dict is no image."),
        ([None], "A builtins.NoneType is no image."),
    ],
)
def test_what_is_no_image_or_too_much_is_refused_with_the_way_out(
    given: object, words: str
) -> None:
    with AgentWidget(ScriptedModel([]), tools=(), notebook=False) as chat:
        with pytest.raises(SessionError) as refused:
            chat.send("look", images=given)
        assert (refused.value.code, len(chat.messages)) == ("INVALID_INPUT", 0)
    assert words in f"{refused.value.message} {refused.value.advice}"


def test_a_page_and_what_is_shown_without_one_have_the_image_or_its_name() -> None:
    with AgentWidget(ScriptedModel([[text("a dot")]]), tools=(), notebook=False) as chat:
        chat.ask("see", images=[NOISE, DOT])
        view, bundle = chat.session.view, chat._repr_mimebundle_()
    bundle = bundle[0] if isinstance(bundle, tuple) else bundle
    parts = view_to_wire(view)["messages"]["items"][0]["parts"]
    assert [part["type"] for part in parts] == ["image", "image", "text"]
    in_trait = view_to_wire(view, max_bytes=TRAIT_BYTES)["messages"]["items"][0]["parts"]
    assert "[image/png, " in unescape(json.dumps(in_trait[0]))
    for kind in ("text/plain", "text/markdown", "text/html"):
        assert "[image/png, 0 kB]" in bundle[kind]


def test_a_message_for_a_page_has_a_bound_and_patches_keep_it() -> None:
    half = ImagePart("image/png", "A" * (PICTURE_CHARS // 2 + 1))

    def view(*parts: Any) -> SessionView:
        return SessionView(chat=SessionState.of([Message("u", "user", parts)], "idle"))

    two, one = view(half, half, TextPart.of("a")), view(half, TextPart.of("ab"))
    wire = view_to_wire(two)
    assert [part["type"] for part in wire["messages"]["items"][0]["parts"]] == [
        "image",
        "svg",
        "text",
    ]
    for old, new in ((two, one), (one, two)):
        assert apply(dict(view_to_wire(old)), diff(old, new)) == view_to_wire(new)


async def test_a_recording_knows_an_image_by_its_digest(tmp_path: Path) -> None:
    file = tmp_path / "tape.json"
    asked = query("see", ScriptedModel([[text("dots")]]), images=NOISE, record=file)
    messages = (await asked.result()).messages
    data = messages[0]["parts"][0]["data"]
    assert "sha256:" in file.read_text()
    assert data not in file.read_text()
    again = await query("see", replay(file), images=NOISE).result()
    assert (again.text, again.messages[0]["parts"]) == ("dots", messages[0]["parts"])
    with pytest.raises(ReplayMismatch):
        await query("see", replay(file), images=DOT).result()


@pytest.mark.parametrize("pauses", [1, 9])
async def test_an_answer_that_pauses_goes_on_with_what_it_has(pauses: int) -> None:
    whole_answer = stream_bytes("anthropic-search")
    paused = whole_answer.replace(b'"end_turn"', b'"pause_turn"')
    assert paused != whole_answer
    async with serving(*[stream(paused)] * pauses, stream(whole_answer)) as server:
        model = model_of("anthropic", server.url)
        result = await query("search", model, tools=(), max_steps=3).result()
        await model.aclose()
    assert result.reason == ("completed" if pauses == 1 else "max_steps")
    assert len(server.requests) == min(pauses + 1, 3)
    for request in server.requests:
        assert problems("anthropic", request.body, signed_by("anthropic")) == []
    assert "Claude Shannon" in json.dumps(server.requests[1].json["messages"][1:])

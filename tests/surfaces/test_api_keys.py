"""A key goes to its server and is found nowhere else, however it came here."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backend import KeyringBackend

from agent_widget import AgentWidget, keyring_key, python_hook
from agent_widget.core.errors import ModelError, SessionError
from agent_widget.core.eventwire import event_to_wire
from agent_widget.providers.keys import Secret, TypedKeys
from agent_widget.view.schema import view_to_wire
from tests.providers.chat import DONE, calling, delta
from tests.providers.rawserver import serving, stream, whole

pytestmark = pytest.mark.anyio

KEY = "sk-canary-7f3a91c2d4e8b605"
FORMS = (KEY, KEY[::-1], KEY.encode().hex(), "c2stY2FuYXJ5LTdmM2E5MWMyZDRlOGI2MD")
Open = Callable[..., AgentWidget]


class Vault(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def vault() -> Iterator[Vault]:
    before = keyring.get_keyring()
    vault = Vault()
    keyring.set_keyring(vault)
    yield vault
    keyring.set_keyring(before)


@pytest.fixture
def chat() -> Iterator[Open]:
    opened: list[AgentWidget] = []

    def make(*arguments: Any, **options: Any) -> AgentWidget:
        opened.append(AgentWidget(*arguments, **options))
        return opened[-1]

    yield make
    for widget in opened:
        widget.close()


def typed(widget: AgentWidget, key: str) -> None:
    """Send ``key`` as the page does; returns when the kernel has dealt with it."""
    content = {"kind": "command", "name": "set_key", "request_id": os.urandom(4).hex(), "key": key}
    widget._chat.inbox.receive(content, None, "on_msg")
    bridge = widget._chat._bridge
    assert bridge is not None

    async def settled() -> None:
        await asyncio.gather(*bridge._tasks)

    widget._driver.command(settled)


def replies(elsewhere: str) -> list[Any]:
    """An answer that runs a command, its end, a refusal that echoes the key, a redirect."""
    arguments = json.dumps({"command": "env"})
    call = {"index": 0, "id": "c1", "function": {"name": "bash", "arguments": arguments}}
    echo = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    return [
        stream(calling(call, finish="tool_calls"), DONE),
        stream(delta(content="Done."), delta("stop"), DONE),
        whole(401, echo),
        whole(307, b"", f"location: {elsewhere}/chat/completions"),
        whole(401, echo),
    ]


def written(folder: Path) -> list[str]:
    """What was written into ``folder``."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.read_bytes().decode("latin-1") for path in files]


def played(widget: AgentWidget) -> list[str]:
    """What the widget says, shows and raises in four runs."""
    seen: list[str] = []
    events: list[Any] = []
    widget.session.subscribe(lambda event, _view: events.append(event_to_wire(event)))
    for text in ("run it", "again", "and again"):
        result = widget.ask(text, timeout_s=20)
        seen.append(repr(result))
        try:
            result.raise_for_error()
        except SessionError as error:
            seen += traceback.TracebackException.from_exception(error, capture_locals=True).format()
    try:
        widget.list_models()
    except ModelError as error:
        seen += traceback.TracebackException.from_exception(error, capture_locals=True).format()
    objects = (widget, widget.session, widget._assembly.keys, widget.session.model, widget._driver)
    seen += [repr(each) for each in objects]
    seen += [json.dumps(events), json.dumps(widget.get_state(), default=repr)]
    seen += [json.dumps(view_to_wire(widget.session.view)), repr(widget._repr_mimebundle_())]
    return seen


@pytest.mark.parametrize("way", ["argument", "getter", "environment", "keyring", "typed"])
async def test_a_key_is_sent_to_its_server_and_is_in_nothing_that_is_shown_or_kept(
    way: str,
    chat: Open,
    vault: Vault,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    heard: list[str] = []
    hook = python_hook("after_model", lambda told: heard.append(repr(told)))
    options: dict[str, Any] = {"hooks": [hook], "permission": {"mode": "allow_all"}}
    if way == "argument":
        options["api_key"] = KEY
    elif way == "getter":
        options["api_key"] = lambda: KEY
    elif way == "environment":
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    elif way == "keyring":
        vault.set_password("agent_widget", "OPENAI_API_KEY", KEY)
        options["api_key"] = keyring_key()
    async with serving(whole(200, {})) as stranger, serving(*replies(stranger.url)) as server:
        store = tmp_path / "chats.db"

        def use() -> list[str]:
            widget = chat(
                "openai:m-1",
                base_url=server.url,
                store=str(store),
                workspace=tmp_path,
                auto_retry=False,
                **options,
            )
            if way == "typed":
                typed(widget, f" {KEY}\n")
            seen = played(widget)
            widget.close()
            return seen

        seen = await asyncio.to_thread(use)
        assert [r.headers["authorization"] for r in server.requests] == [f"Bearer {KEY}"] * 5
        assert stranger.requests == []
        sent = [request.body.decode() for request in server.requests]
    files = await asyncio.to_thread(written, tmp_path)
    assert files
    assert heard
    for place in (*seen, *sent, *files, *heard, caplog.text):
        for form in FORMS:
            assert form not in place


async def test_a_getter_is_read_at_each_request_and_a_typed_key_replaces_the_one_before(
    chat: Open,
) -> None:
    keys = iter(["k-1", "k-2"])
    answer = stream(delta(content="Hi."), delta("stop"), DONE)
    async with serving(answer) as server:

        def use() -> None:
            widget = chat("openai:m-1", base_url=server.url, api_key=lambda: next(keys))
            widget.ask("one", timeout_s=20)
            widget.ask("two", timeout_s=20)
            for key in ("k-3", "k-4"):
                typed(widget, key)
                widget.ask("three", timeout_s=20)

        await asyncio.to_thread(use)
        sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer k-1", "Bearer k-2", "Bearer k-3", "Bearer k-4"]


@pytest.mark.parametrize("key", ["", "  ", "two words", "k\u00e9y", 7, None])
def test_a_typed_text_that_is_no_key_changes_nothing(chat: Open, key: Any) -> None:
    widget = chat()
    typed(widget, key)
    assert widget.session.model.info.offline
    assert widget._assembly.keys.getter("openai") is None


def test_the_offline_model_gives_way_to_a_real_one_once_a_key_is_typed(
    chat: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    widget = chat()
    with pytest.raises(SessionError) as caught:
        widget.set_model("openai:gpt-5")
    assert caught.value.code == "no_credentials"
    typed(widget, KEY)
    assert widget.session.view.model.label == "openai:gpt-5-mini"
    widget.set_model("openai:gpt-5")
    assert widget.session.view.model.thinking_levels == ("minimal", "low", "medium", "high")


def test_keys_are_not_stored_by_accident() -> None:
    for each in (Secret(KEY), TypedKeys()):
        with pytest.raises(TypeError):
            pickle.dumps(each)


def test_without_the_package_the_keyring_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['keyring'] = None\n"
        "import importlib.util as u; u.find_spec = lambda name: None\n"
        "from agent_widget import keyring_key\n"
        "try: keyring_key()\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "agent_widget[keyring]" in done.stdout

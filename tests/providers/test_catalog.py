"""From what a user writes as model= to a model."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.providers.catalog import DEFAULT_OPENAI_MODEL, resolve_model
from agent_widget.providers.offline import OfflineModel
from agent_widget.providers.openai_responses import OpenAIResponses
from agent_widget.testing.doubles import ScriptedModel

from .chat import DONE, delta, events_of
from .rawserver import serving, stream

KEY = {"OPENAI_API_KEY": "key-1"}


@pytest.mark.parametrize(
    ("model", "options", "environ", "label"),
    [
        (None, {}, {}, "offline demo"),
        (None, {}, {"OPENAI_API_KEY": " "}, "offline demo"),
        ("offline", {}, KEY, "offline demo"),
        (None, {}, KEY, f"openai:{DEFAULT_OPENAI_MODEL}"),
        (None, {"api_key": "k"}, {}, f"openai:{DEFAULT_OPENAI_MODEL}"),
        (None, {"api_key": lambda: "k"}, {}, f"openai:{DEFAULT_OPENAI_MODEL}"),
        (None, {}, {**KEY, "OPENAI_BASE_URL": "https://api.openai.com/v1/"}, "openai:gpt-5-mini"),
        ("openai:gpt-x", {}, KEY, "openai:gpt-x"),
        (" openai-chat : gpt-x ", {"api_key": "k"}, {}, "openai:gpt-x"),
        ("openai:qwen3:4b", {"base_url": "http://h:1"}, {}, "qwen3:4b at h:1"),
        ("openai:m", {}, {"OPENAI_BASE_URL": "http://h:1"}, "m at h:1"),
        ("openai:m", {"base_url": "http://a"}, {"OPENAI_BASE_URL": "http://b"}, "m at a"),
    ],
)
def test_a_name_and_the_environment_decide(
    model: Any, options: dict[str, Any], environ: dict[str, str], label: str
) -> None:
    assert resolve_model(model, environ=environ, **options).info.label == label


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(resolve_model(), OfflineModel)
    monkeypatch.setenv("OPENAI_API_KEY", "key-1")
    assert isinstance(resolve_model(), OpenAIResponses)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "environ", "sent"),
    [
        ({}, KEY, "Bearer key-1"),
        ({"api_key": "key-2"}, KEY, "Bearer key-2"),
        ({"api_key": lambda: "key-3"}, KEY, "Bearer key-3"),
        ({}, {}, None),
    ],
)
async def test_the_key_of_the_argument_comes_before_that_of_the_environment(
    options: dict[str, Any], environ: dict[str, str], sent: str | None
) -> None:
    async with serving(stream(delta("stop") + DONE)) as server:
        model = resolve_model("openai:m", base_url=server.url, environ=environ, **options)
        await events_of(model)
        await model.aclose()
        assert server.requests[0].headers.get("authorization") == sent


@pytest.mark.parametrize("model", [None, "openai:m", "anthropic:m", "offline"])
def test_an_address_that_is_no_text_is_named(model: str | None) -> None:
    with pytest.raises(InvalidOptions, match="base_url=3 is no text"):
        resolve_model(model, base_url=3, environ=KEY)  # type: ignore[arg-type]


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_a_key_in_an_address_is_not_part_of_what_is_told_of_a_model(wire: str) -> None:
    model = resolve_model(f"{wire}:m", base_url="http://localhost/v1?key=sentinel", environ={})
    assert "sentinel" not in repr((model, model.info))


def test_a_model_object_is_returned_as_it_is() -> None:
    model = ScriptedModel([])
    assert resolve_model(model, environ=KEY) is model


@pytest.mark.parametrize(
    ("model", "suggested"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("ofline", "offline"),
        ("Offline", "offline"),
        ("opneai:gpt-5", "openai:gpt-5"),
        ("openai", "openai:NAME"),
        ("openai:", "openai:NAME"),
        ("antropic:claude", "anthropic:claude"),
        ("", None),
        (":x", None),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_forms(model: str, suggested: str | None) -> None:
    with pytest.raises(InvalidOptions) as caught:
        resolve_model(model, environ=KEY)
    assert repr(model) in caught.value.message
    advice = caught.value.advice or ""
    for form in ("openai:NAME", "openai-chat:NAME", "offline"):
        assert form in advice
    assert advice.endswith(f"Did you mean {suggested!r}?") is (suggested is not None)


@pytest.mark.parametrize("model", [7, object(), OfflineModel, ["openai:x"]])
def test_an_object_that_is_no_model_is_refused_by_its_type(model: Any) -> None:
    with pytest.raises(InvalidOptions) as caught:
        resolve_model(model, environ={})
    name = model.__name__ if isinstance(model, type) else type(model).__name__
    assert name in caught.value.message


def test_a_missing_key_names_variable_argument_and_the_way_out() -> None:
    with pytest.raises(InvalidOptions) as caught:
        resolve_model("openai:gpt-5", environ={})
    for words in ("OPENAI_API_KEY", "api_key=", "base_url=", "'offline'"):
        assert words in (caught.value.advice or "")


@pytest.mark.parametrize(
    ("options", "environ", "source"),
    [
        ({"base_url": "http://h"}, {}, "base_url"),
        ({"base_url": "http://h"}, KEY, "base_url"),
        ({}, {"OPENAI_BASE_URL": "http://h"}, "OPENAI_BASE_URL"),
    ],
)
def test_a_server_without_a_model_is_refused(
    options: dict[str, Any], environ: dict[str, str], source: str
) -> None:
    with pytest.raises(InvalidOptions) as caught:
        resolve_model(environ=environ, **options)
    assert caught.value.message.startswith(source)
    assert "openai-chat:NAME" in (caught.value.advice or "")


@pytest.mark.parametrize("options", [{"base_url": "http://h"}, {"api_key": "k"}])
def test_a_server_for_a_model_object_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions, match="ScriptedModel"):
        resolve_model(ScriptedModel([]), environ={}, **options)


def test_an_address_that_cannot_work_is_refused_at_once() -> None:
    with pytest.raises(InvalidOptions, match="localhost:1"):
        resolve_model("openai:m", base_url="localhost:1", environ={})


def test_the_offline_model_needs_no_network_library() -> None:
    code = (
        "import sys; from agent_widget.providers.catalog import resolve_model; "
        "resolve_model(environ={}); sys.exit('httpx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

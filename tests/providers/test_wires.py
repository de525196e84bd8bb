"""Servers by name, what each is told, and what becomes of refused images and of thinking."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.messages import Conversation, Message, ToolPart, user_message
from agent_widget.providers._thinking import (
    anthropic_fields,
    anthropic_levels,
    chat_fields,
    chat_levels,
    openai_levels,
    responses_fields,
)
from agent_widget.providers.anthropic_messages import AnthropicMessages
from agent_widget.providers.base import Model, ModelRequest
from agent_widget.providers.catalog import resolve_model
from agent_widget.providers.openai_responses import OpenAIResponses
from agent_widget.providers.presets import PRESETS

from .chat import calls_of, events_of, failure_of, reasoning_of, text_of
from .histories import PNG
from .rawserver import serving, stream, whole
from .wires import WITH_CALLS, model_of, stream_bytes, wire_of

KEYS = {
    name: f"key-of-{preset.name}" for preset in PRESETS.values() for name in preset.key_variables
}
AZURE = {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com/"}


def resolved(model: str, environ: dict[str, str] | None = None, **options: Any) -> Model:
    return resolve_model(model, environ={**KEYS, **AZURE, **(environ or {})}, **options)


@pytest.mark.parametrize(
    ("model", "wire", "label", "place"),
    [
        ("openai:gpt-5", "openai-responses", "openai:gpt-5", "https://api.openai.com/v1/responses"),
        ("openai:gpt-4.1", "openai-chat", "openai:gpt-4.1", "/v1/chat/completions"),
        ("openai-chat:gpt-5", "openai-chat", "openai:gpt-5", "/v1/chat/completions"),
        ("openai-responses:gpt-4.1", "openai-responses", "openai:gpt-4.1", "/v1/responses"),
        (
            "anthropic:claude-sonnet-4-5",
            "anthropic",
            "anthropic:claude-sonnet-4-5",
            "https://api.anthropic.com/v1/messages",
        ),
        ("openrouter:a/b", "openai-chat", "openrouter:a/b", "https://openrouter.ai/api/v1/chat/"),
        ("groq:m", "openai-chat", "groq:m", "https://api.groq.com/openai/v1/chat/"),
        ("mistral:m", "openai-chat", "mistral:m", "https://api.mistral.ai/v1/chat/"),
        ("deepseek:m", "openai-chat", "deepseek:m", "https://api.deepseek.com/v1/chat/"),
        ("gemini:m", "openai-chat", "gemini:m", "/v1beta/openai/chat/completions"),
        ("azure:m", "openai-chat", "azure:m", "https://mine.openai.azure.com/openai/v1/chat/"),
        ("ollama:qwen3:4b", "openai-chat", "ollama:qwen3:4b", "http://localhost:11434/v1/chat/"),
        ("llama.cpp:m", "openai-chat", "llama.cpp:m", "http://localhost:8080/v1/chat/"),
        ("vllm:m", "openai-chat", "vllm:m", "http://localhost:8000/v1/chat/"),
        ("lmstudio:m", "openai-chat", "lmstudio:m", "http://localhost:1234/v1/chat/"),
    ],
)
def test_a_server_by_name(model: str, wire: str, label: str, place: str) -> None:
    info = resolved(model).info
    assert (info.provider, info.label) == (wire, label)
    assert place in (info.base_url or "")


def test_an_address_in_the_environment_or_an_argument_wins() -> None:
    assert resolved("ollama:m", {"OLLAMA_HOST": "gpu:1"}).info.label == "m at gpu:1"
    here = resolved("ollama:m", {"OLLAMA_HOST": "0.0.0.0"})
    assert (here.info.base_url or "").startswith("http://localhost:11434/v1/")
    proxy = resolved("anthropic:claude-x", {"ANTHROPIC_BASE_URL": "https://proxy/anthropic"})
    assert proxy.info.base_url == "https://proxy/anthropic/v1/messages"
    there = resolved("anthropic:claude-x", base_url="http://proxy/v1")
    assert there.info.base_url == "http://proxy/v1/messages"
    assert resolved("openai:gpt-5", base_url="http://h").info.provider == "openai-chat"


def test_a_missing_key_or_address_names_its_variable() -> None:
    for model, variable in (("mistral:m", "MISTRAL_API_KEY"), ("azure:m", "AZURE_OPENAI_ENDPOINT")):
        with pytest.raises(InvalidOptions) as caught:
            resolve_model(model, environ={"OPENAI_API_KEY": "k"})
        assert variable in (caught.value.advice or "")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("model", "header", "value"),
    [
        ("anthropic:claude-sonnet-4-5", "x-api-key", "key-of-anthropic"),
        ("azure:m", "api-key", "key-of-azure"),
        ("groq:m", "authorization", "Bearer key-of-groq"),
    ],
)
async def test_a_key_goes_into_its_own_header_and_no_other(
    model: str, header: str, value: str
) -> None:
    said = {"error": {"message": f"bad {value.removeprefix('Bearer ')}"}}
    async with serving(whole(401, said)) as server:
        made = resolved(model, base_url=server.url)
        error = await failure_of(made)
        await made.aclose()
    headers = server.requests[0].headers
    assert headers[header] == value
    assert [name for name in headers if "key-of" in headers[name]] == [header]
    assert "key-of" not in str(error)
    assert (error.code, "_API_KEY" in (error.advice or "")) == ("chat_disabled", True)
    if model.startswith("anthropic"):
        assert headers["anthropic-version"] == "2023-06-01"


# --- thinking ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "least", "most"),
    [
        (openai_levels("gpt-4.1"), None, None),
        (openai_levels("gpt-5-chat-latest"), None, None),
        (openai_levels("o4-mini"), "low", "high"),
        (openai_levels("gpt-5-mini"), "minimal", "high"),
        (openai_levels("gpt-5.1"), "off", "high"),
        (openai_levels("gpt-5.2"), "off", "xhigh"),
        (anthropic_levels("claude-3-5-haiku-latest"), None, None),
        (anthropic_levels("claude-3-7-sonnet-latest"), "off", "high"),
        (anthropic_levels("claude-opus-4-20250514"), "off", "high"),
        (anthropic_levels("claude-haiku-4-5-20251001"), "off", "high"),
        (anthropic_levels("claude-opus-4-6"), "off", "xhigh"),
        (chat_levels("anthropic/claude-sonnet-4.5"), "off", "high"),
        (chat_levels("openai/gpt-oss-120b"), "low", "high"),
        (chat_levels("gemini-2.5-flash"), "off", "high"),
        (chat_levels("llama3"), None, None),
    ],
)
def test_levels_are_known_by_name(
    levels: tuple[str, ...], least: str | None, most: str | None
) -> None:
    assert (levels[:1], levels[-1:]) == ((least,) * bool(least), (most,) * bool(most))


def test_each_wire_has_its_own_field_for_thinking() -> None:
    assert chat_fields("effort", None) == {} == responses_fields(None)
    assert chat_fields("effort", "off") == {"reasoning_effort": "none"}
    assert chat_fields("reasoning", "low") == {"reasoning": {"effort": "low"}}
    assert chat_fields("type", "off") == {"thinking": {"type": "disabled"}}
    assert chat_fields("template", "high") == {"chat_template_kwargs": {"enable_thinking": True}}
    assert responses_fields("high") == {"reasoning": {"effort": "high", "summary": "auto"}}
    budget = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    assert anthropic_fields("claude-sonnet-4-5", "high", 2048) == budget
    assert anthropic_fields("claude-sonnet-4-5", "high", 2000) == {}
    assert anthropic_fields("claude-opus-4-6", "xhigh", 9)["output_config"] == {"effort": "max"}
    assert anthropic_fields("claude-opus-4-8", "off", 9) == {"thinking": {"type": "disabled"}}
    assert anthropic_fields("claude-3-haiku", "high", 9999) == {}


def test_a_budget_of_thinking_is_sent_as_such_or_as_the_level_it_is_worth() -> None:
    exact = anthropic_fields("claude-sonnet-4-5", "8000", 64_000)
    assert exact == {"thinking": {"type": "enabled", "budget_tokens": 8000}}
    assert anthropic_fields("claude-sonnet-4-5", "8000", 4096)["thinking"]["budget_tokens"] == 3072
    assert anthropic_fields("claude-opus-4-6", "8000", 9)["output_config"] == {"effort": "low"}
    assert chat_fields("reasoning", "8000", "x-ai/grok-4") == {"reasoning": {"max_tokens": 8000}}
    assert chat_fields("effort", "1", "gpt-5") == {"reasoning_effort": "minimal"}
    assert chat_fields("effort", "99999", "gpt-5") == {"reasoning_effort": "high"}
    assert chat_fields("effort", "8000", "llama3") == {}
    assert responses_fields("12000", "gpt-5")["reasoning"]["effort"] == "medium"


# --- requests ----------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("name", WITH_CALLS)
async def test_images_that_a_server_refuses_are_left_out_from_then_on(name: str) -> None:
    block = {"type": "image", "mime": "image/png", "data": PNG, "audience": "all"}
    call = ToolPart("c1", "plot", {}, "done", output={"content": [block], "isError": False})
    history = [user_message("u-1", "plot"), Message("a-1", "assistant", (call,))]
    request = ModelRequest(Conversation.of(history))
    refusal = whole(400, {"error": {"message": "Could not process image"}})
    async with serving(refusal, stream(stream_bytes(name))) as server:
        model = model_of(wire_of(name), server.url)
        for _ in range(2):
            assert calls_of(await events_of(model, request))
        assert [PNG in str(sent.body) for sent in server.requests] == [True, False, False]
        await model.aclose()
    async with serving(refusal) as server:
        model = model_of(wire_of(name), server.url)
        assert (await failure_of(model)).status == 400
        assert len(server.requests) == 1
        await model.aclose()


@pytest.mark.anyio
async def test_tools_of_the_server_are_asked_for_beside_our_own() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    async with serving(stream(stream_bytes("anthropic-search"))) as server:
        model = AnthropicMessages(
            "claude-sonnet-4-5", base_url=server.url, server_tools=[search], max_tokens=5000
        )
        assert "[Claude Shannon](https://en.wikipedia.org" in text_of(await events_of(model))
        await model.aclose()
    body = server.requests[0].json
    assert (body["tools"][-1]["name"], body["max_tokens"]) == ("web_search", 5000)
    async with serving(stream(stream_bytes("responses-search-image"))) as server:
        other = OpenAIResponses("gpt-5", base_url=server.url, server_tools=[{"type": "web_search"}])
        assert text_of(await events_of(other)).startswith("Shannon")
        await other.aclose()
    assert server.requests[0].json["tools"] == [{"type": "web_search"}]
    assert "prompt_cache_key" not in server.requests[0].json  # a server of one's own


@pytest.mark.parametrize("option", [{"extra_body": {"messages": []}}, {"max_tokens": 0}])
def test_options_that_cannot_work_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions):
        AnthropicMessages("claude-x", **option)


# --- pydantic_ai -------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_a_model_of_pydantic_ai_answers_and_calls() -> None:
    functions = pytest.importorskip("pydantic_ai.models.function")
    from pydantic_ai import messages as pm

    from agent_widget.providers.pydantic_ai_bridge import PydanticAIModel

    heard: list[list[pm.ModelMessage]] = []

    async def answer(messages: list[pm.ModelMessage], _info: Any) -> Any:
        heard.append(messages)
        if len(heard) == 1:
            yield {0: functions.DeltaThinkingPart(content="hm", signature="sig")}
            yield {1: functions.DeltaToolCall("ls", '{"a":', tool_call_id="c1")}
            yield {1: functions.DeltaToolCall(json_args="1}")}
        else:
            yield "Done."

    model = PydanticAIModel(functions.FunctionModel(stream_function=answer))
    asked = user_message("u-1", "hi")
    events = await events_of(model, ModelRequest(Conversation.of([asked]), "Be brief."))
    assert [(call.name, call.args) for call in calls_of(events)] == [("ls", {"a": 1})]
    assert reasoning_of(events) == "hm"
    call = ToolPart("c1", "ls", {"a": 1}, "done", output="ok")
    history = Conversation.of([asked, Message("a-1", "assistant", (call,))])
    assert text_of(await events_of(model, ModelRequest(history))) == "Done."
    kinds = [part.part_kind for message in heard[1] for part in message.parts]
    assert kinds == ["user-prompt", "tool-call", "tool-return"]
    assert json.loads(json.dumps(heard[1][1].parts[0].args)) == {"a": 1}  # type: ignore[union-attr]
    with pytest.raises(InvalidOptions, match="pydantic_ai"):
        resolve_model("pydantic_ai:nonsense")

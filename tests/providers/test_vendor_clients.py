"""The vendors' own clients read the same streams, and know the types of the same requests."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from agent_widget.providers.base import ModelRequest

from .chat import events_of
from .histories import WIRES, Player
from .rawserver import serving, stream
from .test_histories import LEVELS, TOOLS, Sender
from .wires import NAMES, expected, model_of, stream_bytes, told, wire_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import anthropic
    import openai
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TYPES: dict[str, Any] = {
    "openai-chat": CompletionCreateParamsStreaming,
    "openai-responses": ResponseCreateParamsStreaming,
    "anthropic": MessageCreateParamsStreaming,
}
OWN_TO_GATEWAYS = ("reasoning_details", "extra_content", "reasoning_content")
"""What the type of OpenAI's client does not know."""


async def heard_by_openai_chat(url: str) -> dict[str, Any]:
    async with openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0) as client:
        text, calls = "", dict[int, list[str]]()
        async for chunk in await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        ):
            for choice in chunk.choices:
                delta: Any = choice.delta
                if delta is None:  # against its type, as Azure does
                    continue
                text += delta.content or delta.refusal or ""
                for part in delta.tool_calls or ():
                    call = calls.setdefault(part.index, ["", "", ""])
                    function = part.function
                    assert function is not None
                    call[0] += part.id or ""
                    call[1] += function.name or ""
                    call[2] += function.arguments or ""
    return {"text": text, "calls": [(i, n, json.loads(a)) for i, n, a in calls.values()]}


async def heard_by_openai_responses(url: str) -> dict[str, Any]:
    client = openai.AsyncOpenAI(api_key="k", base_url=url, max_retries=0)
    async with client, client.responses.stream(model="m", input="hi") as events:
        response = await events.get_final_response()
    calls = [item for item in response.output if item.type == "function_call"]
    refusals = [
        part.refusal
        for item in response.output
        if item.type == "message"
        for part in item.content
        if part.type == "refusal"
    ]
    return {
        "text": response.output_text + "".join(refusals),
        "calls": [(call.call_id, call.name, json.loads(call.arguments)) for call in calls],
    }


async def heard_by_anthropic(url: str) -> dict[str, Any]:
    base_url = url.removesuffix("/v1")
    client = anthropic.AsyncAnthropic(api_key="k", base_url=base_url, max_retries=0)
    asked = client.messages.stream(
        model="claude-sonnet-4-5", max_tokens=99, messages=[{"role": "user", "content": "hi"}]
    )
    async with client, asked as events:
        message = await events.get_final_message()
    calls = [block for block in message.content if block.type == "tool_use"]
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "calls": [(call.id, call.name, call.input) for call in calls],
        "signed": [b.model_dump() for b in message.content if "thinking" in b.type],
    }


HEARD = {
    "openai-chat": heard_by_openai_chat,
    "openai-responses": heard_by_openai_responses,
    "anthropic": heard_by_anthropic,
}


NOT_HEARD = (
    "anthropic-search",  # there, and in the next two, we add links
    "chat-openrouter",
    "responses-search-image",
    "responses-phases",  # we put blank lines between two texts
    "chat-mistral",  # content that is a list, where the client's type says text
    "chat-gemini-parallel",  # calls without an index
    "chat-ollama",  # one index for all calls
    "responses-filtered",  # an answer that is not whole
)
"""Streams of which the vendor's client makes something else."""


@pytest.mark.anyio
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in NAMES
        if "error" not in expected(name)
        and expected(name)["end"]["reason"] != "length"  # there, we have no calls on purpose
        and name not in NOT_HEARD
    ],
)
async def test_the_vendors_client_hears_the_same(name: str) -> None:
    wire = wire_of(name)
    async with serving(stream(stream_bytes(name))) as server:
        model = model_of(wire, server.url)
        ours = told(await events_of(model))
        theirs = await HEARD[wire](server.url)
        await model.aclose()
    assert ours["text"] == theirs["text"]
    assert [call[:3] for call in ours["calls"]] == theirs["calls"]
    if "signed" in theirs:
        assert ours["blocks"] == theirs["signed"]


def known_part(value: Any) -> Any:
    """A body without what only gateways know."""
    if isinstance(value, dict):
        return {k: known_part(v) for k, v in value.items() if k not in OWN_TO_GATEWAYS}
    return [known_part(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("wire", WIRES)
def test_the_vendors_types_hold_the_same_requests(wire: str) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(TYPES[wire])
    rng, body = random.Random(7), dict[str, Any]()
    for _ in range(20):
        sender = Sender()
        for conversation in Player(rng).steps(5):
            request = ModelRequest(conversation, "s", TOOLS, rng.choice(LEVELS))
            body = known_part(json.loads(sender.body(wire, request)))
            adapter.validate_python(body)
    with pytest.raises(ValidationError):
        adapter.validate_python({**body, "model": None})

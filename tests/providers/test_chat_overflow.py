"""A prompt that is too long is told apart from other refusals, whichever server says it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent_widget.providers._overflow import is_too_long
from agent_widget.providers.openai_chat import OpenAIChat

from .chat import data, failure_of
from .rawserver import serving, stream, whole

pytestmark = pytest.mark.anyio

TOO_LONG = {
    "openai": "This model's maximum context length is 8192 tokens. However, your messages resulted "
    "in 8545 tokens. Please reduce the length of the messages.",
    "openai responses": "Your input exceeds the context window of this model.",
    "anthropic": "prompt is too long: 213462 tokens > 200000 maximum",
    "gemini": "The input token count (1196265) exceeds the maximum number of tokens allowed "
    "(1048575).",
    "xai": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "groq": "Please reduce the length of the messages or completion.",
    "openrouter": "This endpoint's maximum context length is 128000 tokens. However, you requested "
    "about 130000 tokens",
    "vllm": "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    "llama.cpp": "the request exceeds the available context size, try increasing the context size",
    "lm studio": "The number of tokens to keep from the initial prompt is greater than the context "
    "length",
    "ollama": "prompt too long; exceeded max context length by 12 tokens",
    "mistral": "Prompt contains 40000 tokens, too large for model with 32768 maximum context",
    "kimi": "Your request exceeded model token limit: 262144 (requested: 300000)",
    "minimax": "invalid params, context window exceeds limit (2013)",
    "bedrock": "Input is too long for requested model.",
    "tgi": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097.",
}
OTHERS = (
    "Rate limit reached: too many tokens per minute.",
    "max_tokens is too large: 99999. This model supports at most 4096 completion tokens.",
    "Invalid value for 'content'.",
    "The model `gpt` does not exist.",
)


@pytest.mark.parametrize("server", TOO_LONG)
def test_the_words_of_each_server_are_known(server: str) -> None:
    assert is_too_long(400, "", TOO_LONG[server])
    assert not is_too_long(429, "", TOO_LONG[server])


@pytest.mark.parametrize("words", OTHERS)
def test_other_refusals_are_no_matter_of_length(words: str) -> None:
    assert not is_too_long(400, "invalid_request_error", words)


@pytest.mark.parametrize("is_in_stream", [False, True])
async def test_such_a_refusal_is_marked_and_not_worth_the_same_request_again(
    is_in_stream: bool, chat_model: Callable[..., OpenAIChat]
) -> None:
    said = {
        "message": "Too much.",
        "type": "invalid_request_error",
        "code": "context_length_exceeded",
    }
    reply = stream(data({"error": said})) if is_in_stream else whole(400, {"error": said})
    async with serving(reply) as server:
        error = await failure_of(chat_model(server.url))
    assert (error.code, error.is_too_long, error.retryable) == ("bad_request", True, False)
    assert "Too much." in error.message

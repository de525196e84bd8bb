"""A server's models, in each form in which servers list them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent_widget.core.errors import ModelError
from agent_widget.providers.openai_chat import OpenAIChat
from tests.providers.rawserver import serving, whole

pytestmark = pytest.mark.anyio

OPENAI = {"object": "list", "data": [{"id": "gpt-5"}, {"id": "o3"}, {"id": "gpt-5"}, {"x": 1}]}
ANTHROPIC = [
    {"data": [{"id": "claude-a"}], "has_more": True, "last_id": "claude-a"},
    {"data": [{"id": "claude-b"}], "has_more": False, "last_id": "claude-b"},
]
OLLAMA = {"models": [{"name": "llama3:8b", "model": "llama3:8b"}]}


async def test_models_are_listed_whatever_the_server_calls_them(
    chat_model: Callable[..., OpenAIChat],
) -> None:
    pages = [OPENAI, *ANTHROPIC]
    replies = [*(whole(200, page) for page in pages), whole(404, b""), whole(200, OLLAMA)]
    async with serving(*replies) as server:
        model = chat_model(server.url, api_key="k-1")
        assert await model.list_models() == ("gpt-5", "o3")
        assert await model.list_models() == ("claude-a", "claude-b")
        assert await model.list_models() == ("llama3:8b",)
    assert [request.target for request in server.requests] == [
        "/v1/models",
        "/v1/models",
        "/v1/models?after_id=claude-a",
        "/v1/models",
        "/api/tags",
    ]
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer k-1"}


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (whole(401, {"error": {"message": "bad k-secret-123"}}), "chat_disabled"),
        (whole(404, b""), "bad_request"),
        (whole(200, b"<html>"), "network"),
        (whole(302, b"", "location: http://127.0.0.1:9/"), "bad_request"),
    ],
)
async def test_a_server_that_lists_none_is_a_model_error_without_the_key(
    chat_model: Callable[..., OpenAIChat], reply: list[bytes], code: str
) -> None:
    async with serving(reply) as server:
        with pytest.raises(ModelError) as caught:
            await chat_model(server.url, api_key="k-secret-123").list_models()
    assert caught.value.code == code
    assert "k-secret" not in str(caught.value)

"""Model objects that are closed when their test ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agent_widget.providers.openai_chat import OpenAIChat


@pytest.fixture
async def chat_model(anyio_backend: str) -> AsyncIterator[Callable[..., OpenAIChat]]:
    """Makes models for the address of a server."""
    made: list[OpenAIChat] = []

    def make(base_url: str, model: str = "m-1", **options: Any) -> OpenAIChat:
        made.append(OpenAIChat(model, base_url=base_url, **options))
        return made[-1]

    yield make
    for model in made:
        await model.aclose()

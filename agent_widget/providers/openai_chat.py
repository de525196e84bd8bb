"""Models behind the OpenAI Chat Completions API and the many servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx
from msgspec.structs import replace

from ._chat_request import ChatOptions, build_request
from ._chat_stream import ChatAnswer
from ._defaults import KEY_VARIABLE, OPENAI_URL
from ._driver import TIMEOUT_S, HttpModel, checked_extra, checked_name
from ._history import EncodedMessages, Style, maker_of
from ._http import host_and_port
from ._secret import ApiKey
from ._thinking import Field, chat_levels
from .base import ModelInfo, ModelRequest

_RESERVED: Final = ("messages", "tools")


class OpenAIChat(HttpModel):
    """A model that a server offers over Chat Completions.

    ``base_url`` is the server's address (with or without ``/v1``); ``api_key`` text, a function
    that is called for each request, or None; ``timeout_s`` the longest silence of the server.
    ``extra_body`` is merged into each request. ``include_usage=False`` is for servers that refuse
    ``stream_options``; ``send_reasoning=True`` for those that want ``reasoning_content`` back.
    ``provider`` names a preset in ``info``, ``thinking`` says how its server is asked to think.
    A ``client`` that is passed in is used as it is and not closed. Redirects are not followed.
    Raises InvalidOptions.
    """

    path = "/chat/completions"
    speaks = "a chat completion"

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        api_key: ApiKey = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        client: httpx.AsyncClient | None = None,
        extra_body: Mapping[str, Any] | None = None,
        include_usage: bool = True,
        send_reasoning: bool = False,
        provider: str | None = None,
        thinking: Field = "effort",
        short_ids: bool = False,
        key_header: str = "authorization",
        key_variable: str = KEY_VARIABLE,
    ) -> None:
        name, extra = checked_name(model), checked_extra(extra_body, _RESERVED)
        super().__init__(
            base_url=base_url,
            api_key=api_key,
            headers=headers,
            timeout_s=timeout_s,
            client=client,
            key_header=key_header,
            key_variable=key_variable,
        )
        self._provider = provider
        style = Style(maker_of("openai-chat", name, self._url.host), short_ids=short_ids)
        self._options = ChatOptions(name, include_usage, send_reasoning, extra, style, thinking)
        self._cache = EncodedMessages()

    @property
    def info(self) -> ModelInfo:
        name = self._options.model
        is_openai = self._url.host == httpx.URL(OPENAI_URL).host
        label = f"openai:{name}" if is_openai else f"{name} at {host_and_port(self._url)}"
        if self._provider is not None:
            label = f"{self._provider}:{name}"
        return ModelInfo(
            "openai-chat",
            name,
            label,
            base_url=str(self._url),
            thinking_levels=chat_levels(name),
        )

    def _body(self, request: ModelRequest) -> bytes:
        return build_request(request, self._options, self._cache)

    def _new_answer(self) -> ChatAnswer:
        return ChatAnswer(self._options.style.maker)

    def _forget_images(self, digests: frozenset[str]) -> bool:
        style = self._options.style
        if digests <= style.refused:
            return False
        style = replace(style, refused=style.refused | digests)
        self._options, self._cache = replace(self._options, style=style), EncodedMessages()
        return True

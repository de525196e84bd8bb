"""Models behind the OpenAI Chat Completions API and the many servers that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx

from ._chat_request import ChatOptions, build_request
from ._chat_stream import ChatAnswer
from ._driver import TIMEOUT_S, HttpModel, checked_extra, checked_name
from ._history import Style, maker_of
from ._secret import ApiKey
from ._thinking import chat_levels
from .base import ModelInfo, ModelRequest
from .presets import OPENAI, Preset

_RESERVED: Final = ("messages", "tools")


class OpenAIChat(HttpModel[ChatOptions]):
    """A model that a server offers over Chat Completions.

    ``base_url`` is its address (with or without ``/v1``); ``api_key`` text, a function
    that is called for each request, or None; ``timeout_s`` the longest silence of the server.
    ``extra_body`` is merged into each request. ``include_usage=False`` is for servers that refuse
    ``stream_options``; ``send_reasoning=True`` for those that want ``reasoning_content`` back.
    ``preset`` says whose server it is (see ``presets``), and all of that where it is not said here.
    A ``client`` that is passed in is used as it is and not closed. Redirects are not followed.
    Raises InvalidOptions.
    """

    path = "/chat/completions"
    speaks = "a chat completion"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: ApiKey = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        client: httpx.AsyncClient | None = None,
        extra_body: Mapping[str, Any] | None = None,
        include_usage: bool = True,
        send_reasoning: bool | None = None,
        preset: Preset = OPENAI,
    ) -> None:
        name, extra = checked_name(model), checked_extra(extra_body, _RESERVED)
        super().__init__(
            base_url=base_url,
            api_key=api_key,
            headers=headers,
            timeout_s=timeout_s,
            client=client,
            preset=preset,
        )
        style = Style(maker_of("openai-chat", name, self._url.host), short_ids=preset.short_ids)
        sends = preset.sends_reasoning if send_reasoning is None else send_reasoning
        self._options = ChatOptions(
            name,
            style,
            extra,
            includes_usage=include_usage,
            sends_reasoning=sends,
            thinking=preset.thinking,
        )

    @property
    def info(self) -> ModelInfo:
        name = self._options.model
        return self._info("openai-chat", name, chat_levels(name))

    def _body(self, request: ModelRequest) -> bytes:
        return build_request(request, self._options, self._cache)

    def _new_answer(self) -> ChatAnswer:
        return ChatAnswer(self._options.style.maker)

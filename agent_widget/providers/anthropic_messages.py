"""Models behind the Anthropic Messages API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx

from ..core.errors import InvalidOptions
from ._anthropic_request import AnthropicOptions, build_request
from ._anthropic_stream import AnthropicAnswer
from ._driver import TIMEOUT_S, HttpModel, checked_extra, checked_name
from ._history import Style, maker_of
from ._secret import ApiKey
from ._thinking import anthropic_levels
from .base import ModelInfo, ModelRequest
from .presets import ANTHROPIC, Preset

VERSION: Final = "2023-06-01"
_RESERVED: Final = ("messages", "tools", "system")
_MAX_TOKENS: Final = ((r"claude-3-(opus|sonnet|haiku)|claude-2", 4096), (r"claude-3-5", 8192))
MAX_TOKENS: Final = 32_000
"""What an answer may have where nothing else is said: what all models since Claude 4 take."""


class AnthropicMessages(HttpModel[AnthropicOptions]):
    """A model that a server offers over the Messages API.

    ``max_tokens`` bounds an answer with its thinking (default: what the model takes, at most
    32,000). ``server_tools`` are tools that the server runs, in its own form: their calls are
    shown, not run. ``cache=False`` asks for no prompt cache. The other options are those of
    ``OpenAIChat``. Raises InvalidOptions.
    """

    path = "/messages"
    speaks = "a message of the Messages API"

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
        max_tokens: int | None = None,
        server_tools: Sequence[Mapping[str, Any]] = (),
        cache: bool = True,
        preset: Preset = ANTHROPIC,
    ) -> None:
        name, extra = checked_name(model), checked_extra(extra_body, _RESERVED)
        if max_tokens is None:
            known = (limit for pattern, limit in _MAX_TOKENS if re.match(pattern, name))
            max_tokens = next(known, MAX_TOKENS)
        elif max_tokens < 1:
            raise InvalidOptions(f"max_tokens must be a whole number from 1, not {max_tokens!r}.")
        super().__init__(
            base_url=base_url,
            api_key=api_key,
            headers={"anthropic-version": VERSION, **(headers or {})},
            timeout_s=timeout_s,
            client=client,
            preset=preset,
        )
        self._options = AnthropicOptions(
            name,
            Style(maker_of("anthropic", name, self._url.host)),
            extra,
            max_tokens=max_tokens,
            caches=cache,
            server_tools=tuple(server_tools),
        )

    @property
    def info(self) -> ModelInfo:
        name = self._options.model
        return self._info("anthropic", name, anthropic_levels(name))

    def _body(self, request: ModelRequest) -> bytes:
        return build_request(request, self._options, self._cache)

    def _new_answer(self) -> AnthropicAnswer:
        return AnthropicAnswer(self._options.style.maker)

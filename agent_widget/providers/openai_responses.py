"""Models behind the OpenAI Responses API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import httpx

from ._driver import TIMEOUT_S, HttpModel, checked_extra, checked_name
from ._history import Style, maker_of
from ._responses_request import ResponsesOptions, build_request
from ._responses_stream import ResponsesAnswer
from ._secret import ApiKey
from ._thinking import openai_levels
from .base import ModelInfo, ModelRequest
from .presets import OPENAI, Preset

_RESERVED: Final = ("input", "tools", "previous_response_id", "conversation")


class OpenAIResponses(HttpModel[ResponsesOptions]):
    """A model that a server offers over the Responses API, with reasoning that it keeps by itself.

    Nothing is stored at the server. ``server_tools`` are tools that it runs, in its own form
    (``{"type": "web_search"}``): their calls are shown, not run. The other options are those of
    ``OpenAIChat``. Raises InvalidOptions.
    """

    path = "/responses"
    speaks = "a response of the Responses API"

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
        server_tools: Sequence[Mapping[str, Any]] = (),
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
        known = httpx.URL(preset.base_url or "").host
        self._options = ResponsesOptions(
            name,
            Style(maker_of("openai-responses", name, self._url.host)),
            extra,
            reasons=bool(openai_levels(name)),
            caches=known in ("", self._url.host),  # others may refuse the field
            server_tools=tuple(server_tools),
        )

    @property
    def info(self) -> ModelInfo:
        name = self._options.model
        return self._info("openai-responses", name, openai_levels(name))

    def _body(self, request: ModelRequest) -> bytes:
        return build_request(request, self._options, self._cache)

    def _new_answer(self) -> ResponsesAnswer:
        return ResponsesAnswer(self._options.style.maker)

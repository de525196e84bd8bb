"""The same widget, fed by the Chat Completions client from the harness's fake server."""

from __future__ import annotations

from adapters.agent_widget_traffic import Adapter as _Adapter

from agent_widget import OpenAIChat
from agent_widget.providers.base import Model

NAME = "agent_widget_openai"


class Adapter(_Adapter):
    def model(self) -> Model:
        return OpenAIChat("fake-1", base_url=self.ctx.llm_base_url(), api_key="x")

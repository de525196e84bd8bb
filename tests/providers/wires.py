"""What the tests of all three wires share: models, recorded streams, and what they hold."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from agent_widget.providers._driver import HttpModel
from agent_widget.providers.anthropic_messages import AnthropicMessages
from agent_widget.providers.base import CallReady, ModelEvent, ReasoningData, ServerCall
from agent_widget.providers.openai_chat import OpenAIChat
from agent_widget.providers.openai_responses import OpenAIResponses

from .chat import end_of, reasoning_of, text_of

FOLDER: Final = Path(__file__).parent / "transcripts"
PREFIXES: Final = {
    "chat": "openai-chat",
    "responses": "openai-responses",
    "anthropic": "anthropic",
}
MODELS: Final[dict[str, type[HttpModel[Any]]]] = {
    "openai-chat": OpenAIChat,
    "openai-responses": OpenAIResponses,
    "anthropic": AnthropicMessages,
}
NAMES: Final = tuple(sorted(path.stem for path in FOLDER.glob("*.sse")))
WITH_CALLS: Final = ("anthropic-thinking-tools", "responses-reasoning-tools", "chat-tools")
"""One of each wire with text and two calls of several arguments."""


def wire_of(name: str) -> str:
    return PREFIXES[name.partition("-")[0]]


def stream_bytes(name: str) -> bytes:
    return (FOLDER / f"{name}.sse").read_bytes()


def expected(name: str) -> dict[str, Any]:
    """What the stream holds, reviewed by hand."""
    report: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return report


def model_of(wire: str, base_url: str, **options: Any) -> HttpModel[Any]:
    name = "claude-sonnet-4-5" if wire == "anthropic" else "gpt-5"
    make: Any = MODELS[wire]
    model: HttpModel[Any] = make(name, base_url=base_url, **options)
    return model


def told(events: list[ModelEvent]) -> dict[str, Any]:
    """What a whole answer came to, however it was cut."""
    end = end_of(events)
    return {
        "text": text_of(events),
        "reasoning": reasoning_of(events),
        "blocks": [e.data["block"] for e in events if isinstance(e, ReasoningData)],
        "calls": [(e.id, e.name, e.args, e.problem) for e in events if isinstance(e, CallReady)],
        "served": [(e.id, e.name, e.output) for e in events if isinstance(e, ServerCall)],
        "usage": None if end.usage is None else end.usage.total_tokens,
        "reason": end.reason,
    }


def told_by(report: dict[str, Any]) -> dict[str, Any]:
    """The same of a report."""
    parts, usage = report["parts"], report["usage"]
    fields = ("id", "name", "args", "problem")
    return {
        "text": _joined(parts, "text"),
        "reasoning": _joined(parts, "reasoning"),
        "blocks": [part["data"] for part in parts if "data" in part],
        "calls": [tuple(call[field] for field in fields) for call in report["calls"]],
        "served": [
            (part["id"], part["name"], part["output"])
            for part in parts
            if part["type"] == "server_call"
        ],
        "usage": None if usage is None else sum(usage.values()),
        "reason": report["end"]["reason"],
    }


def _joined(parts: Iterable[dict[str, Any]], kind: str) -> str:
    return "".join(part["text"] for part in parts if part["type"] == kind)

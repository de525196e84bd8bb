"""A model that needs no key and no network, and says that it is not a language model."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final, assert_never

from ..core.errors import InvalidOptions, ModelError
from ..core.messages import Conversation, ImagePart, Message
from ..policy.compaction import SYSTEM as SUMMARISER
from ._offline_digest import digest_of
from ._offline_report import report_on
from ._offline_script import Call, Count, Fail, Say, Step, Think, script_for
from ._parts import json_text
from .base import (
    CallProgress,
    CallReady,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    ReasoningChunk,
    StepEnd,
    TextChunk,
)

NOTICE: Final = (
    "Offline demo model, not an LLM. Set OPENAI_API_KEY or pass model=/base_url= to talk to a "
    "real one."
)
PACE_S: Final = 0.02

_COUNT_PACE: Final = 25
"""A counted number takes as long as this many words."""
_ARGUMENT_CHARS: Final = 12
"""Arguments of a call grow by this much at a time."""

Sleep = Callable[[float], Awaitable[None]]


class OfflineModel:
    """Answers a handful of requests by rules, through the same tools as a real model.

    The same request gets the same answer, whatever the ``seed``; ``seed`` and ``pace_s`` (mean
    seconds for a word) set the pauses alone. ``sleep`` waits so many seconds. Raises
    InvalidOptions.
    """

    def __init__(
        self, seed: int = 0, pace_s: float = PACE_S, *, sleep: Sleep = asyncio.sleep
    ) -> None:
        if not 0 <= pace_s < float("inf"):
            raise InvalidOptions(f"pace_s must be 0 or more seconds, not {pace_s!r}.")
        self._seed = seed
        self._pace_s = pace_s
        self._sleep = sleep

    @property
    def info(self) -> ModelInfo:
        return ModelInfo("offline", "offline", "offline demo", offline=True, notice=NOTICE)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer to ``request``. Raises ModelError when the request was to fail."""
        pace = random.Random(f"{self._seed}/{len(request.messages)}")  # noqa: S311 - pauses only
        call_id = f"call_{len(request.messages)}"
        end = StepEnd("stop")
        for step in _script(request):
            for event in _events(step, call_id):
                slowness = _COUNT_PACE if isinstance(step, Count) else 1
                await self._sleep(self._pace_s * slowness * pace.uniform(0.5, 1.5))
                yield event
                if isinstance(event, CallReady):
                    end = StepEnd("tool_calls")
            if isinstance(step, Fail):
                raise _failure(step)
        yield end

    async def aclose(self) -> None:
        """There is nothing to release."""

    def __repr__(self) -> str:
        return f"OfflineModel(seed={self._seed!r}, pace_s={self._pace_s!r})"


def _script(request: ModelRequest) -> tuple[Step, ...]:
    last = request.messages.last
    if request.system == SUMMARISER:
        return (Say(digest_of(_last_user_text(request.messages))),)
    if last is not None and last.role == "assistant" and last.tool_calls:
        return (Say(report_on(last.tool_calls)),)
    tools = {tool.name for tool in request.tools}
    steps = script_for(_last_user_text(request.messages), tools)
    asked = _last_asked(request.messages)
    if asked is None or not any(isinstance(part, ImagePart) for part in asked.parts):
        return steps
    return Say("I cannot look at images: I work offline. "), *steps


def _last_asked(messages: Conversation) -> Message | None:
    return next((message for message in reversed(messages) if message.role == "user"), None)


def _last_user_text(messages: Conversation) -> str:
    asked = _last_asked(messages)
    return asked.text if asked is not None else ""


def _events(step: Step, call_id: str) -> list[ModelEvent]:
    """What ``step`` adds to the answer, piece by piece."""
    match step:
        case Say(text):
            return [TextChunk(word) for word in _words(text)]
        case Think(text):
            return [ReasoningChunk(word) for word in _words(text)]
        case Count(to):
            numbers = [f"{number}, " for number in range(1, to)]
            return [TextChunk(piece) for piece in (*numbers, f"{to}. Done.")]
        case Call(name, args):
            text = json_text(args)
            ends = [*range(_ARGUMENT_CHARS, len(text), _ARGUMENT_CHARS), len(text)]
            growing = [CallProgress(0, name, text[:end]) for end in ends]
            return [*growing, CallReady(call_id, name, dict(args))]
        case Fail():
            return []
    assert_never(step)


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+\s*", text)


def _failure(step: Fail) -> ModelError:
    match step.status:
        case 401:
            return ModelError(
                "chat_disabled",
                "The offline model refused the key (HTTP 401), as you asked.",
                advice="With a real model: set OPENAI_API_KEY or pass api_key=.",
                status=401,
            )
        case 429:
            return ModelError(
                "rate_limited",
                "The offline model asks to slow down (HTTP 429), as you asked.",
                advice="The server asks to wait 2 s; then retry.",
                status=429,
                retry_after_s=2.0,
            )
    return ModelError(
        "network",
        "The offline model dropped the connection in mid-answer, as you asked.",
        advice="Send something else; a retry fails again.",
    )

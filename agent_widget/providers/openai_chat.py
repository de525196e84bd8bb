"""Models behind the OpenAI Chat Completions API and the many servers that speak it."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Final

import httpx
import msgspec

from ..core.errors import InvalidOptions, ModelError
from ._chat_request import ChatOptions, EncodedMessages, build_request
from ._chat_stream import MAX_ANSWER_CHARS, Answer, AnswerTooLong, ReportedError
from ._http import (
    MAX_ERROR_BODY_BYTES,
    endpoint,
    place,
    read_reply,
    status_error,
    stream_reply,
    timeouts,
    transport_error,
)
from ._secret import ApiKey, Credentials, Grant
from ._sse import MAX_EVENT_BYTES, EventReader, EventTooLarge
from .base import ModelEvent, ModelInfo, ModelRequest

OPENAI_URL: Final = "https://api.openai.com/v1"
TIMEOUT_S: Final = 300.0
"""The longest silence of a server: local models read a long prompt before they say anything."""

_RESERVED: Final = ("messages", "tools")

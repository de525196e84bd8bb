"""Any model of the library `pydantic_ai` as a model here (extra ``pydantic-ai``)."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ..core.errors import InvalidOptions, ModelError
from ..core.messages import Conversation, Message
from ..core.usage import Usage
from ..policy.models import named_level
from ._answer import AnswerParts
from ._history import GO_ON, Called, Piece, Said, Style, Thought, answers_in, said_by_user
from ._images import Image
from ._parts import sendable
from .base import ModelEvent, ModelInfo, ModelRequest, StopReason

if TYPE_CHECKING:
    from pydantic_ai import messages as pm
    from pydantic_ai.models import Model as TheirModel
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse

LEVELS: Final = ("off", "minimal", "low", "medium", "high", "xhigh")
_REASONS: Final[Mapping[str, StopReason]] = {
    "stop": "stop",
    "tool_call": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
}


class PydanticAIModel:
    """A model of `pydantic_ai`: an object of that library, or a name that it knows, such as
    ``"bedrock:…"``. Keys are its own affair. Raises InvalidOptions.
    """

    def __init__(self, model: TheirModel | str) -> None:
        try:
            from pydantic_ai.exceptions import UserError
            from pydantic_ai.models import infer_model
        except ImportError:
            raise InvalidOptions(
                "pydantic_ai models need the library pydantic_ai, which is not installed.",
                advice="pip install 'agent_widget[pydantic-ai]'",
            ) from None
        try:
            self._model = infer_model(model)
        except (UserError, ValueError, ImportError) as error:
            raise InvalidOptions(f"pydantic_ai cannot make {model!r}: {error}") from None
        self._style = Style(f"pydantic_ai:{self._model.model_id}")

    @property
    def info(self) -> ModelInfo:
        name = self._model.model_name
        levels = LEVELS if self._model.profile.get("supports_thinking") else ()
        label = f"{self._model.system}:{name}"
        return ModelInfo(
            "pydantic_ai", name, label, base_url=self._model.base_url, thinking_levels=levels
        )

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer to ``request``, piece by piece. Raises ModelError."""
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.settings import ModelSettings

        settings = ModelSettings()
        if request.thinking is not None:
            level: Any = named_level(request.thinking, LEVELS)
            settings["thinking"] = False if level == "off" else level
        history = _history(request.messages, request.system, self._style)
        parameters = ModelRequestParameters(function_tools=_tools(request))
        parts = AnswerParts(self._style.maker)
        failure: ModelError | None = None
        try:
            async for events in self._read(parts, history, settings, parameters):
                for event in events:
                    yield event
        except Exception as error:  # noqa: BLE001 - whatever a library of many vendors raises
            failure = _failure(error, self.info.label)
        if failure is not None:
            raise failure

    async def aclose(self) -> None:
        """Nothing to release: connections belong to the library."""

    async def _read(
        self,
        parts: AnswerParts,
        history: list[pm.ModelMessage],
        settings: Any,
        parameters: ModelRequestParameters,
    ) -> AsyncGenerator[list[ModelEvent], None]:
        async with self._model.request_stream(history, settings, parameters) as stream:
            async for event in stream:
                _take(event, parts)
                yield parts.taken()
            yield _end(stream, parts)

    def __repr__(self) -> str:
        return f"PydanticAIModel({self.info.label!r})"


def _take(event: Any, parts: AnswerParts) -> None:
    from pydantic_ai import messages as pm

    if isinstance(event, pm.PartStartEvent):
        part = event.part
        if isinstance(part, pm.TextPart):
            parts.say(part.content)
        elif isinstance(part, pm.ThinkingPart):
            parts.think(part.content)
        elif isinstance(part, pm.ToolCallPart):
            _grow(parts, event.index, part.args, name=part.tool_name, call_id=part.tool_call_id)
    elif isinstance(event, pm.PartDeltaEvent):
        delta = event.delta
        if isinstance(delta, pm.TextPartDelta):
            parts.say(delta.content_delta)
        elif isinstance(delta, pm.ThinkingPartDelta):
            parts.think(delta.content_delta)
        elif isinstance(delta, pm.ToolCallPartDelta):
            _grow(parts, event.index, delta.args_delta, name=delta.tool_name_delta)
    elif isinstance(event, pm.PartEndEvent) and isinstance(event.part, pm.ThinkingPart):
        parts.seal(_thinking_data(event.part))


def _grow(parts: AnswerParts, index: int, args: object, *, name: str | None, **known: str) -> None:
    function = {"name": name, "arguments": args or None}
    parts.call({"index": index, "id": known.get("call_id"), "function": function})


def _end(stream: StreamedResponse, parts: AnswerParts) -> list[ModelEvent]:
    from pydantic_ai import messages as pm

    whole = stream.get()
    parts.calls.marks_whole = True
    for index, part in enumerate(whole.parts):
        if isinstance(part, pm.ToolCallPart):
            parts.calls.settle(index, part.args if isinstance(part.args, str) else None)
    told = whole.usage
    cached, written = told.cache_read_tokens, told.cache_write_tokens
    fresh = max(0, told.input_tokens - cached - written)
    usage = Usage(fresh, told.output_tokens, cached, written) if told.has_values() else None
    reason = _REASONS.get(whole.finish_reason or "stop", "other")
    return parts.end(reason, usage, whole.finish_reason, lambda: f"call_{len(parts.calls)}")


def _thinking_data(part: pm.ThinkingPart) -> dict[str, Any]:
    details = part.provider_details
    try:
        msgspec.json.encode(details)
    except (TypeError, ValueError):
        details = None
    names = {"id": part.id, "signature": part.signature, "provider_name": part.provider_name}
    return {"content": part.content, **names, "provider_details": details}


def _history(messages: Conversation, system: str | None, style: Style) -> list[pm.ModelMessage]:
    """The conversation in the library's own words, as sendable as on our own wires."""
    from pydantic_ai import messages as pm

    history: list[pm.ModelMessage] = []
    asked: list[pm.ModelRequestPart] = []
    if system is not None and system.strip():
        asked.append(pm.SystemPromptPart(sendable(system)))
    taken: set[str] = set()
    for index, message in enumerate(messages):
        if message.role == "user":
            text, images = said_by_user(message)
            said = [text] if text else []
            asked.append(pm.UserPromptPart([*_pictures(images), *said] if images else text))
            continue
        for answer in _answers(message, style, f"/{index}", taken):
            history += [pm.ModelRequest(asked or [pm.UserPromptPart(GO_ON)]), _response(answer)]
            asked = [*_results(answer)]
    return [*history, pm.ModelRequest(asked or [pm.UserPromptPart(GO_ON)])]


def _answers(message: Message, style: Style, suffix: str, taken: set[str]) -> Iterable[list[Piece]]:
    is_known = any(style.id_of(call.id) in taken for call in message.tool_calls)
    return answers_in(message, style, suffix if is_known else "", taken)


def _response(answer: list[Piece]) -> pm.ModelResponse:
    from pydantic_ai import messages as pm

    parts: list[pm.ModelResponsePart] = []
    for piece in answer:
        match piece:
            case Said():
                parts.append(pm.TextPart(piece.text))
            case Thought():
                parts.append(pm.ThinkingPart(**piece.block))
            case Called():
                parts.append(pm.ToolCallPart(piece.name, json.loads(piece.arguments), piece.id))
    return pm.ModelResponse(parts)


def _results(answer: list[Piece]) -> Iterable[pm.ToolReturnPart]:
    from pydantic_ai import messages as pm

    for piece in answer:
        if isinstance(piece, Called):
            content: Any = piece.result
            if piece.images:
                content = [piece.result, *_pictures(piece.images)]
            yield pm.ToolReturnPart(piece.name, content, piece.id)


def _pictures(images: Iterable[Image]) -> list[pm.BinaryContent]:
    from pydantic_ai import messages as pm

    return [pm.BinaryContent(base64.b64decode(each.data), media_type=each.mime) for each in images]


def _tools(request: ModelRequest) -> list[Any]:
    from pydantic_ai.tools import ToolDefinition

    return [
        ToolDefinition(
            name=tool.name,
            parameters_json_schema=dict(tool.parameters),
            description=tool.description,
            strict=False,
        )
        for tool in request.tools
    ]


def _failure(error: Exception, label: str) -> ModelError:
    from pydantic_ai import exceptions as px

    if isinstance(error, ModelError):
        return error
    words = " ".join(str(error).split())[:500] or type(error).__name__
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status in (401, 403):
        return ModelError("chat_disabled", f"{label} refused the key: {words}", status=status)
    if isinstance(status, int) and status == 429:
        return ModelError("rate_limited", words, status=status, retryable=True)
    is_broken = isinstance(error, px.ModelAPIError) and not isinstance(error, px.ModelHTTPError)
    if is_broken or (isinstance(status, int) and (status >= 500 or status == 408)):
        return ModelError("network", f"{label}: {words}", status=status, retryable=True)
    return ModelError("bad_request", f"{label}: {words}", status=status)

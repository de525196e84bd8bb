"""What the engine asks of a model, and what a model answers.

A provider is a pure ``build_request``, a pure ``parse_event`` and a thin driver that yields
``ModelEvent``s. It raises nothing but ``ModelError`` (and lets cancellation through).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct

from ..core.messages import Conversation
from ..core.usage import Usage as Usage  # noqa: PLC0414  # part of this contract

StopReason = Literal["stop", "tool_calls", "length", "content_filter", "refusal", "pause", "other"]


class ToolSpec(Struct, frozen=True):
    """A tool as the model sees it; ``parameters`` is a JSON Schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class ModelRequest(Struct, frozen=True):
    """One model call.

    ``messages`` is the conversation as stored; the provider builds a request from it that the
    server accepts (every call answered, no empty text) and never edits it. ``thinking`` is one of
    the model's ``thinking_levels``, or a number of tokens in digits (None: the server's own
    default, nothing is sent).
    """

    messages: Conversation
    system: str | None = None
    tools: tuple[ToolSpec, ...] = ()
    thinking: str | None = None


class TextChunk(Struct, frozen=True):
    """More answer text."""

    text: str


class ReasoningChunk(Struct, frozen=True):
    """More reasoning text."""

    text: str


class ReasoningData(Struct, frozen=True):
    """What the server wants back of the reasoning before it, byte-exact, which ends with it.

    Without reasoning text before it, it is a block of its own, of which nothing can be shown.
    """

    data: dict[str, Any]


class CallProgress(Struct, frozen=True):
    """The arguments of a call grow: shown, never run.

    ``index`` counts the calls of this answer; ``arguments`` is the text of all that arrived so far.
    """

    index: int
    name: str
    arguments: str


class CallReady(Struct, frozen=True):
    """A call whose arguments arrived completely.

    ``args`` is the parsed JSON value (normally an object), or None when ``problem`` says why it
    could not be parsed; ``id`` is the vendor's id or a made-up stable one. Providers yield it only
    after the stream ended properly, so that no half-received call ever runs.
    """

    id: str
    name: str
    args: Any
    problem: str | None = None


class ServerCall(Struct, frozen=True):
    """A call that the server itself has run: shown like any other, never run here.

    ``output`` is a stored ``ToolOutput``: ``{"content": [block, …], "isError": bool}``.
    """

    id: str
    name: str
    args: Any
    output: dict[str, Any]


class StepEnd(Struct, frozen=True):
    """The last event of a stream that ended properly.

    ``reason`` is why the model stopped; ``detail`` the vendor's own word where it is unknown.
    ``pause``: the server rests between tools of its own and wants to be asked again. With
    ``length`` no call of the answer was complete and none was yielded.
    """

    reason: StopReason
    usage: Usage | None = None
    detail: str | None = None


ModelEvent: TypeAlias = (
    TextChunk | ReasoningChunk | ReasoningData | CallProgress | CallReady | ServerCall | StepEnd
)


class ModelInfo(Struct, frozen=True):
    """What a person sees of a model.

    ``label`` is short (``"openai:gpt-5"``); ``notice`` one line with the way out when this is not
    the model one would expect (the offline model), else None. ``base_url`` is its server, by which
    its price is known. ``thinking_levels`` are those of ``off``, ``minimal``, ``low``, ``medium``,
    ``high`` and ``xhigh`` that it takes, least first; empty for a model that does not reason, or
    of which that is not known.
    """

    provider: str
    name: str
    label: str
    offline: bool = False
    notice: str | None = None
    base_url: str | None = None
    thinking_levels: tuple[str, ...] = ()


@runtime_checkable
class Model(Protocol):
    """A model the engine can call."""

    @property
    def info(self) -> ModelInfo: ...

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer to ``request``, piece by piece, ending with exactly one ``StepEnd``.

        Raises ModelError. Closing or cancelling the generator releases the connection at once.
        """
        ...

    async def aclose(self) -> None:
        """Release connections; harmless twice."""
        ...


@runtime_checkable
class ListsModels(Protocol):
    """A model whose server says which others it has."""

    async def list_models(self) -> tuple[str, ...]:
        """Their names, in the server's order. Raises ModelError."""
        ...

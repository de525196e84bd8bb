"""The driver that all wires share: one HTTP request, its answer read event by event."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, suppress
from typing import Any, Final, Generic, TypeVar

import httpx
import msgspec
from msgspec.structs import replace

from ..core.errors import InvalidOptions, ModelError
from ._answer import MAX_ANSWER_CHARS, Answer, AnswerTooLong, ReportedError
from ._defaults import KEY_VARIABLE
from ._history import EncodedMessages, WireOptions
from ._http import (
    MAX_ERROR_BODY_BYTES,
    Reply,
    endpoint,
    host_and_port,
    place,
    read_reply,
    status_error,
    stream_reply,
    timeouts,
    transport_error,
)
from ._images import image_digests
from ._parts import sendable
from ._secret import ApiKey, Credentials, Grant
from ._sse import MAX_EVENT_BYTES, EventReader, EventTooLarge
from .base import ModelEvent, ModelInfo, ModelRequest
from .listing import listed_models
from .presets import Preset

TIMEOUT_S: Final = 300.0
"""The longest silence of a server: local models read a long prompt before they say anything."""

_LAST_WORDS_S: Final = 5.0
"""How long usage and the end of the stream may take after the answer is whole."""
_DRAIN_S: Final = 0.25
"""How long the connection may take to end after its last event, so that it can be used again."""
_HEADERS: Final = {
    "accept": "text/event-stream, application/json",
    # Compressed streams are held back by proxies until a block is full.
    "accept-encoding": "identity",
    "content-type": "application/json",
}


Options = TypeVar("Options", bound=WireOptions)


class HttpModel(Generic[Options]):
    """A model behind a wire; a wire says what to send and how to read the answer.

    What a wire adds to each request is in ``_options``, which it sets.
    A ``client`` that is passed in is used as it is and not closed. Redirects are not followed.
    """

    path: str
    """Where under the base URL the wire is spoken."""
    speaks: str
    """What the server is expected to answer with, in words."""
    _options: Options
    url_advice: str = "Check base_url: it usually ends in /v1."

    def __init__(
        self,
        *,
        base_url: str | None,
        api_key: ApiKey,
        headers: Mapping[str, str] | None,
        timeout_s: float,
        client: httpx.AsyncClient | None,
        preset: Preset,
    ) -> None:
        if not timeout_s > 0:
            raise InvalidOptions(f"timeout_s must be more than 0, not {timeout_s!r}.")
        self._url = endpoint(preset.base_url if base_url is None else base_url, self.path)
        self._credentials = Credentials(api_key, headers, preset.key_header)
        self._preset = preset
        self._timeouts = timeouts(timeout_s)
        self._client = httpx.AsyncClient() if client is None else client
        self._owns_client = client is None
        self._cache = EncodedMessages()

    @property
    def info(self) -> ModelInfo:
        raise NotImplementedError

    def _info(self, wire: str, name: str, levels: tuple[str, ...]) -> ModelInfo:
        """What a person sees; a server of one's own is named by its address."""
        known = self._preset.base_url
        is_known = known is not None and self._url.host == httpx.URL(known).host
        label = f"{self._preset.name}:{name}"
        if not (is_known or self._preset.base_url is None):
            label = f"{name} at {host_and_port(self._url)}"
        return ModelInfo(wire, name, label, base_url=place(self._url), thinking_levels=levels)

    def _body(self, request: ModelRequest) -> bytes:
        """The JSON body of ``request``."""
        raise NotImplementedError

    def _new_answer(self) -> Answer:
        raise NotImplementedError

    def _forget_images(self, digests: frozenset[str]) -> bool:
        """Send these images no more; whether that changes the body of a request."""
        style = self._options.style
        if digests <= style.refused:
            return False
        style = replace(style, refused=style.refused | digests)
        self._options, self._cache = replace(self._options, style=style), EncodedMessages()
        return True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer to ``request``, piece by piece. Raises ModelError.

        Calls come last, and only when the server said that the answer is whole. A ``CallProgress``
        holds the arguments so far.
        """
        grant = await self._credentials.current()
        answer = self._new_answer()
        failure = self._closed()
        if failure is None:
            try:
                async with aclosing(self._exchange(request, grant, answer)) as exchange:
                    async for events in exchange:
                        for event in events:
                            yield event
            except ModelError as error:
                failure = error
            except httpx.HTTPError as error:
                # What breaks after the last word does not matter.
                failure = None if answer.is_over else transport_error(error, self._url, grant)
            except ReportedError as error:
                failure = self._status_error(stream_reply(error.words, error.code, grant))
            except (EventTooLarge, AnswerTooLong) as error:
                failure = _too_large(error, self._url)
        if failure is not None:
            # Raised here, away from the handlers: httpx's errors lead to the request and its key.
            raise failure
        for event in answer.end(_new_call_id):
            yield event

    async def _exchange(
        self, request: ModelRequest, grant: Grant, answer: Answer
    ) -> AsyncGenerator[list[ModelEvent], None]:
        """Ask, and read the answer into ``answer``. Raises ModelError when it is none."""
        response = await self._accepted(request, grant)
        try:
            async with aclosing(_news(response, answer)) as news:
                async for events in news:
                    yield events
        finally:
            await response.aclose()
        failure = self._shortcoming(answer, response)
        if failure is not None:
            raise failure

    async def _accepted(self, request: ModelRequest, grant: Grant) -> httpx.Response:
        """The response to ``request``; once more without images where those are refused."""
        while True:
            response = await self._open(self._body(request), grant)
            try:
                failure = await self._refusal(response, grant)
            except BaseException:
                await response.aclose()
                raise
            if failure is None:
                return response
            await response.aclose()
            digests = _refused_images(failure, request, self._options.style.refused)
            if not (digests and self._forget_images(digests)):
                raise failure

    async def list_models(self) -> tuple[str, ...]:
        """The names of the models of this server, in its order. Raises ModelError."""
        grant = await self._credentials.current()
        if (failure := self._closed()) is not None:
            raise failure
        path = self._url.path.removesuffix(self.path) + "/models"
        url = self._url.copy_with(path=path)
        return await listed_models(self._client, url, grant, limits=self._timeouts)

    def secrets(self) -> tuple[str, ...]:
        """What this model must never be seen with: recordings mask it."""
        return self._credentials.secrets()

    async def aclose(self) -> None:
        """Release connections; harmless twice. A client that was passed in stays open."""
        if self._owns_client:
            await self._client.aclose()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.info.name!r}, base_url={place(self._url)!r})"

    async def _open(self, body: bytes, grant: Grant) -> httpx.Response:
        request = self._client.build_request(
            "POST", self._url, content=body, headers=_HEADERS, timeout=self._timeouts
        )
        return await self._client.send(request, auth=grant, stream=True, follow_redirects=False)

    def _closed(self) -> ModelError | None:
        if not self._client.is_closed:
            return None
        return ModelError("network", f"The model {self.info.name!r} was closed.")

    def _status_error(self, reply: Reply) -> ModelError:
        variables = self._preset.key_variables or (KEY_VARIABLE,)
        return status_error(reply, self._url, self.info.name, variables[0])

    async def _refusal(self, response: httpx.Response, grant: Grant) -> ModelError | None:
        """Why ``response`` holds no answer, or None when it may hold one."""
        if not response.is_success:
            return self._status_error(read_reply(response, await _error_body(response), grant))
        if "html" in _content_type(response):
            return ModelError(
                "bad_request",
                f"{place(self._url)} answered with a web page, not with {self.speaks}.",
                advice=self.url_advice,
                status=response.status_code,
            )
        return None

    def _shortcoming(self, answer: Answer, response: httpx.Response) -> ModelError | None:
        """What an answer lacks that ended without an error, or None when it is whole."""
        host = host_and_port(self._url)
        if answer.is_unreadable:
            return ModelError(
                "network",
                f"{host} answered with {_content_type(response) or 'data'} that is not "
                f"{self.speaks}.",
                advice="Check base_url, and that the server speaks this wire.",
                status=response.status_code,
            )
        if answer.is_over:
            return None
        return ModelError(
            "network",
            f"{host} closed the connection before the answer was complete.",
            advice="Retry to go on.",
            status=response.status_code,
            retryable=True,
        )


def _refused_images(
    failure: ModelError, request: ModelRequest, known: frozenset[str]
) -> frozenset[str]:
    """The images to leave out when asking again: those of a request that was refused for them.

    Of one that is too large, those go first that came before the user's last message.
    """
    if failure.status == 413:
        messages = [*request.messages]
        asked = [at for at, message in enumerate(messages) if message.role == "user"]
        older = image_digests(messages[: asked[-1]] if asked else ())
        if older - known:
            return older
    elif failure.status not in (400, 415, 422) or "image" not in failure.message.lower():
        return frozenset()
    return image_digests(request.messages)


async def _news(response: httpx.Response, answer: Answer) -> AsyncGenerator[list[ModelEvent], None]:
    """What the body of ``response`` adds to ``answer``, event by event, until it is whole."""
    if "json" in _content_type(response):
        yield answer.read_whole(await _whole_body(response))
        return
    reader = EventReader()
    async with aclosing(_pieces(response)) as pieces:
        async for piece in pieces:
            for event in reader.feed(piece):
                yield answer.read(event)
            if answer.is_over:
                break
        for event in reader.end() if not answer.is_over else ():
            yield answer.read(event)
        if answer.is_over:
            yield await _last_words(pieces, reader, answer)


async def _last_words(
    pieces: AsyncIterator[bytes], reader: EventReader, answer: Answer
) -> list[ModelEvent]:
    """What comes after the answer is whole: its usage, the end of the stream."""
    news: list[ModelEvent] = []
    loop = asyncio.get_running_loop()
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_S if answer.is_done else _LAST_WORDS_S) as limit:
            async for piece in pieces:
                was_done = answer.is_done
                for event in reader.feed(piece) if not was_done else ():
                    news += answer.read(event)
                if answer.is_done is not was_done:
                    limit.reschedule(loop.time() + _DRAIN_S)
    return news


def _pieces(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    is_plain = response.headers.get("content-encoding", "identity") == "identity"
    pieces = response.aiter_raw() if is_plain else response.aiter_bytes()
    assert isinstance(pieces, AsyncGenerator)
    return pieces


async def _whole_body(response: httpx.Response) -> bytes:
    body = bytearray()
    async with aclosing(_pieces(response)) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > MAX_EVENT_BYTES:
                raise EventTooLarge
    return bytes(body)


async def _error_body(response: httpx.Response) -> bytes:
    """The beginning of the body; what cannot be had within the time is left out."""
    body = bytearray()
    with suppress(httpx.HTTPError, TimeoutError):
        async with asyncio.timeout(_LAST_WORDS_S), aclosing(_pieces(response)) as pieces:
            async for piece in pieces:
                body += piece
                if len(body) >= MAX_ERROR_BODY_BYTES:
                    break
    return bytes(body[:MAX_ERROR_BODY_BYTES])


def _content_type(response: httpx.Response) -> str:
    """The media type, lower case; empty when the server names none."""
    content_type: str = response.headers.get("content-type", "")
    return content_type.partition(";")[0].strip().lower()


def _too_large(error: EventTooLarge | AnswerTooLong, url: httpx.URL) -> ModelError:
    what, limit = ("event", MAX_EVENT_BYTES)
    if isinstance(error, AnswerTooLong):
        what, limit = ("answer", MAX_ANSWER_CHARS)
    message = f"{host_and_port(url)} sent an {what} of more than {limit // 2**20} MB."
    return ModelError("bad_request", message, advice="Ask for less at once.")


def _new_call_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"


def checked_name(model: object) -> str:
    """The name of a model. Raises InvalidOptions."""
    if not isinstance(model, str) or not model.strip():
        raise InvalidOptions(f"model must be the name of a model, not {model!r}.")
    return sendable(model.strip())


def checked_extra(extra: object, reserved: tuple[str, ...]) -> dict[str, Any]:
    """``extra`` as a part of a body that holds none of ``reserved``. Raises InvalidOptions."""
    if extra is None:
        return {}
    if not isinstance(extra, Mapping):
        raise InvalidOptions(f"extra_body must be a mapping, not a {type(extra).__name__}.")
    for name in reserved:
        if name in extra:
            raise InvalidOptions(f"extra_body cannot hold {name!r}: the session writes it.")
    try:
        msgspec.json.encode(extra)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidOptions(f"extra_body is not JSON: {error}.") from None
    return dict(extra)

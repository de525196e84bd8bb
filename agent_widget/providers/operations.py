"""What a model server does that is no chat: embeddings, speech, pictures and videos.

A client of its own: nothing of it is part of a session, its history, its events or its tools, and
it sends only what it is asked to. Source: features C130 to C134.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal, Self

import httpx
import msgspec
from msgspec import Struct

from ..core.errors import InvalidOptions, ModelError, SessionError
from ..core.usage import is_amount
from ._defaults import KEY_VARIABLE, OPENAI_URL
from ._http import endpoint, error_words, host_and_port, timeouts, transport_error
from ._secret import ApiKey, Credentials, Grant

TIMEOUT_S: Final = 300.0
OPERATION_FAILED: Final = "operation_failed"
TERMINAL: Final = frozenset(
    {"completed", "succeeded", "failed", "cancelled", "canceled", "expired", "done", "error"}
)
"""States of a task that it does not leave."""
_UNAUTHORIZED: Final = 401
_SERVER_ERROR: Final = 500
_IDEMPOTENCY_KEY: Final = re.compile(r"[\x21-\x7e]{1,255}")


class OperationError(SessionError):
    """An operation failed.

    ``status`` is that of HTTP (None: there was no answer), ``server_code`` the server's own word;
    with ``outcome_unknown`` it may have been carried out all the same; ``task_id`` is its task.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        server_code: str | None = None,
        outcome_unknown: bool = False,
        task_id: str | None = None,
        advice: str | None = None,
    ) -> None:
        super().__init__(OPERATION_FAILED, message, advice=advice)
        self.status = status
        self.server_code = server_code
        self.outcome_unknown = outcome_unknown
        self.task_id = task_id


class Task(Struct, frozen=True):
    """Work that goes on at the server; ``path`` is where it is asked for, ``data`` its JSON."""

    id: str
    status: str
    path: str
    data: Mapping[str, Any]

    @property
    def is_over(self) -> bool:
        return self.status in TERMINAL


class Waited(Struct, frozen=True):
    """Why a wait ended, and the task as it was seen last. The task itself is left as it is."""

    reason: Literal["terminal", "timeout", "poll_limit"]
    task: Task


class Operations:
    """Operations of one server: ``async with Operations(api_key=...) as ops``.

    ``api_key`` is a key, a function that is called for each request, or None: then the variable
    OPENAI_API_KEY decides where ``base_url`` is OpenAI's. After a 401 a request is repeated once,
    the same in every byte, with a new key: that of ``on_unauthorized()``, else of the function.
    Redirects are not followed. The methods raise OperationError. Raises InvalidOptions.
    """

    def __init__(
        self,
        base_url: str = OPENAI_URL,
        *,
        api_key: ApiKey = None,
        on_unauthorized: Callable[[], str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        client: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        if not timeout_s > 0:
            raise InvalidOptions(f"timeout_s must be more than 0, not {timeout_s!r}.")
        if api_key is None and base_url == OPENAI_URL:
            api_key = os.environ.get(KEY_VARIABLE)
        self._base_url = base_url
        self._is_renewable = callable(api_key)
        self._credentials = Credentials(api_key, headers)
        self._renew = None if on_unauthorized is None else Credentials(on_unauthorized, headers)
        self._timeouts = timeouts(timeout_s)
        self._client = httpx.AsyncClient() if client is None else client
        self._owns_client = client is None
        self._sleep = sleep
        self._clock_s = clock_s
        endpoint(base_url, "/")

    # --- operations ----------------------------------------------------------------------------

    async def embeddings(self, texts: Sequence[str], *, model: str) -> list[list[float]]:
        """A vector for each of ``texts``, in their order."""
        if isinstance(texts, str):
            raise InvalidOptions("texts must be a list of texts, not one text.")
        data = await self._json("/embeddings", {"model": model, "input": [*texts]})
        rows = sorted(_rows(data, "data", "index", "embedding"), key=lambda row: row["index"])
        return [row["embedding"] for row in rows]

    async def rerank(
        self, query: str, documents: Sequence[str], *, model: str, top_n: int | None = None
    ) -> list[tuple[int, float]]:
        """Indexes of ``documents`` and how well each fits ``query``, the best first."""
        body: dict[str, Any] = {"model": model, "query": query, "documents": [*documents]}
        if top_n is not None:
            body["top_n"] = top_n
        data = await self._json("/rerank", body)
        rows = _rows(data, "results", "index", "relevance_score")
        return [(row["index"], row["relevance_score"]) for row in rows]

    async def speech(
        self,
        text: str,
        *,
        model: str,
        voice: str | None = None,
        voice_ref: str | None = None,
        audio_format: str = "mp3",
    ) -> bytes:
        """``text``, spoken by a voice of the server, or by a private one (``voice_ref``)."""
        if (voice is None) == (voice_ref is None):
            raise InvalidOptions("Speech needs voice or voice_ref, and not both.")
        spoken = {"voice": voice} if voice_ref is None else {"voice_ref": voice_ref}
        body = {"model": model, "input": text, "response_format": audio_format, **spoken}
        return (await self._sent("POST", "/audio/speech", _json_body(body))).content

    async def transcription(self, audio: bytes, *, model: str, file_name: str = "audio.wav") -> str:
        """What is said in ``audio``; ``file_name`` tells its format."""
        boundary = "----agent-widget-form"
        while boundary.encode() in audio:
            boundary += "-"
        name = "".join(char for char in file_name if char.isprintable() and char not in '"\\')
        lines = [
            f"--{boundary}",
            'Content-Disposition: form-data; name="model"',
            "",
            model,
            f"--{boundary}",
            f'Content-Disposition: form-data; name="file"; filename="{name}"',
            "Content-Type: application/octet-stream",
            "",
            "",
        ]
        content = "\r\n".join(lines).encode() + audio + f"\r\n--{boundary}--\r\n".encode()
        body = _Body(content, f"multipart/form-data; boundary={boundary}")
        data = _decoded(await self._sent("POST", "/audio/transcriptions", body))
        return str(_field(data, "text"))

    async def image(self, prompt: str, *, model: str, size: str | None = None) -> bytes:
        """A picture of ``prompt``, in the server's own format (usually PNG)."""
        body = {"model": model, "prompt": prompt, **({} if size is None else {"size": size})}
        rows = _rows(await self._json("/images/generations", body), "data", "b64_json")
        if not rows:
            raise OperationError("The server sent no picture.", outcome_unknown=True)
        return base64.b64decode(rows[0]["b64_json"])

    # --- tasks ---------------------------------------------------------------------------------

    async def submit(self, path: str, body: Mapping[str, Any], *, idempotency_key: str) -> Task:
        """Begin a task, such as a video at ``"/videos"``.

        ``idempotency_key`` names this one piece of work: sent again with the same key, after an
        error whose outcome is unknown, it is not done twice.
        """
        key = _checked_idempotency_key(idempotency_key)
        headers = {"idempotency-key": key}
        response = await self._sent("POST", path, _json_body(body), headers)
        data = _decoded(response)
        task_id = str(_field(data, "id"))
        return Task(task_id, str(data.get("status", "queued")), f"{path}/{task_id}", data)

    async def look(self, task: Task) -> Task:
        """The task as it is now."""
        data = _decoded(await self._sent("GET", task.path, task_id=task.id))
        return Task(task.id, str(data.get("status", task.status)), task.path, data)

    async def wait(
        self, task: Task, *, timeout_s: float = 600.0, max_polls: int = 200, every_s: float = 3.0
    ) -> Waited:
        """Look at ``task`` until it is over, at most so long and so often."""
        limits = {"timeout_s": timeout_s, "max_polls": max_polls, "every_s": every_s}
        for name, limit in limits.items():
            if not is_amount(limit) or (not limit and name != "every_s"):
                least = "not below" if name == "every_s" else "above"
                raise InvalidOptions(f"{name}={limit!r} is no number {least} 0.")
        until_s = self._clock_s() + timeout_s
        for _ in range(max_polls):
            if task.is_over:
                return Waited("terminal", task)
            left_s = until_s - self._clock_s()
            if left_s <= 0:
                return Waited("timeout", task)
            await self._sleep(min(every_s, left_s))
            task = await self.look(task)
        return Waited("terminal" if task.is_over else "poll_limit", task)

    async def content(self, task: Task) -> bytes:
        """What the task made, such as the video."""
        return (await self._sent("GET", f"{task.path}/content", task_id=task.id)).content

    async def aclose(self) -> None:
        """Release connections; harmless twice. A client that was passed in stays open."""
        if self._owns_client:
            await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: object, _where: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"Operations({host_and_port(endpoint(self._base_url, '/'))!r})"

    # --- one request ---------------------------------------------------------------------------

    async def _json(self, path: str, body: Mapping[str, Any]) -> Any:
        return _decoded(await self._sent("POST", path, _json_body(body)))

    async def _sent(
        self,
        method: str,
        path: str,
        body: _Body | None = None,
        headers: Mapping[str, str] | None = None,
        task_id: str | None = None,
    ) -> httpx.Response:
        """The good answer to a request, repeated once with a new key if this one is refused."""
        grant = await _granted(self._credentials)
        response = await self._once(method, path, body, headers, grant, task_id)
        if response.status_code == _UNAUTHORIZED and (self._renew or self._is_renewable):
            grant = await _granted(self._renew or self._credentials)
            response = await self._once(method, path, body, headers, grant, task_id)
        if response.is_success:
            return response
        raise _refusal(response, method, grant, task_id)

    async def _once(
        self,
        method: str,
        path: str,
        body: _Body | None,
        headers: Mapping[str, str] | None,
        grant: Grant,
        task_id: str | None,
    ) -> httpx.Response:
        url = endpoint(self._base_url, path)
        kind = {} if body is None else {"content-type": body.kind}
        try:
            return await self._client.request(
                method,
                url,
                content=None if body is None else body.content,
                headers={**kind, **(headers or {})},
                auth=grant,
                timeout=self._timeouts,
                follow_redirects=False,
            )
        except httpx.HTTPError as error:
            told = transport_error(error, url, grant)
            was_sent = not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        # Raised here, away from the handler: httpx's errors lead to the request and its key.
        raise OperationError(
            told.message,
            outcome_unknown=was_sent and method == "POST",
            task_id=task_id,
            advice=told.advice,
        )


class _Body(Struct, frozen=True):
    content: bytes
    kind: str


def _json_body(body: Mapping[str, Any]) -> _Body:
    return _Body(msgspec.json.encode(body), "application/json")


async def _granted(credentials: Credentials) -> Grant:
    try:
        return await credentials.current()
    except ModelError as error:
        message, advice = error.message, error.advice
    raise OperationError(message, advice=advice)


def _refusal(
    response: httpx.Response, method: str, grant: Grant, task_id: str | None
) -> OperationError:
    words, code = error_words(response.content)
    said = f": {grant.masked(words)}" if words else "."
    status = response.status_code
    return OperationError(
        f"{host_and_port(response.request.url)} refused the operation (HTTP {status}){said}",
        status=status,
        server_code=grant.masked(code) or None,
        outcome_unknown=method == "POST" and status >= _SERVER_ERROR,
        task_id=task_id,
    )


def _decoded(response: httpx.Response) -> Any:
    try:
        data = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, RecursionError):
        data = None
    if not isinstance(data, Mapping):
        raise OperationError(
            f"{host_and_port(response.request.url)} answered with data that is no JSON object.",
            status=response.status_code,
            outcome_unknown=True,
        )
    return data


def _field(data: Mapping[str, Any], name: str) -> Any:
    if name not in data:
        raise OperationError(f"The answer lacks {name!r}.", outcome_unknown=True)
    return data[name]


def _rows(data: Mapping[str, Any], name: str, *fields: str) -> list[Any]:
    """The objects that the answer lists under ``name``; each of them has ``fields``."""
    rows = _field(data, name)
    is_list = isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows)
    if is_list and all(field in row for row in rows for field in fields):
        return list(rows)
    words = f" with {' and '.join(fields)}" if fields else ""
    message = f"The answer's {name!r} is no list of objects{words}."
    raise OperationError(message, outcome_unknown=True)


def _checked_idempotency_key(key: object) -> str:
    if isinstance(key, str) and _IDEMPOTENCY_KEY.fullmatch(key):
        return key
    raise InvalidOptions(
        f"idempotency_key={key!r} cannot name a piece of work.",
        advice="Pass a text that stays the same for this work, such as a UUID you keep.",
    )

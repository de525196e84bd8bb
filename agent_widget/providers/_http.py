"""HTTP as the providers need it: addresses, and what to tell a person when a request fails."""

from __future__ import annotations

import datetime
import email.utils
import math
import re
import socket
import ssl
from collections.abc import Mapping
from typing import Any, Final

import httpx
import msgspec
from msgspec import Struct

from ..core.errors import ErrorCode, InvalidOptions, ModelError
from ._defaults import KEY_VARIABLE
from ._overflow import is_too_long
from ._parts import json_text, sendable
from ._secret import Grant

MAX_MESSAGE_CHARS: Final = 500
"""Length of a server's own words in an error."""
MAX_ERROR_BODY_BYTES: Final = 64 * 1024
CONNECT_TIMEOUT_S: Final = 15.0


def endpoint(base_url: object, path: str) -> httpx.URL:
    """The address of ``path`` (for example ``/chat/completions``) under ``base_url``.

    ``base_url`` may end in a slash, in ``/v1``, in the whole path, or at the host (then ``/v1`` is
    meant); its query is kept. Raises InvalidOptions naming it.
    """
    if not isinstance(base_url, str):
        raise InvalidOptions(f"base_url must be text, not a {type(base_url).__name__}.")
    try:
        url = httpx.URL(base_url.strip())
    except httpx.InvalidURL as error:
        raise _bad_base_url(base_url, str(error)) from None
    if url.userinfo:
        # The value is not shown: it may hold a password.
        raise InvalidOptions(
            "base_url holds a user name or password.", advice="Pass api_key= or headers= instead."
        )
    if url.scheme not in ("http", "https"):
        raise _bad_base_url(base_url, "it does not begin with http:// or https://")
    if not url.host or re.search(r"\s", base_url.strip()):
        raise _bad_base_url(base_url, "it names no host")
    before = url.path.rstrip("/").removesuffix(path)
    return url.copy_with(path=(before or "/v1") + path, fragment=None)


def _bad_base_url(base_url: str, why: str) -> InvalidOptions:
    return InvalidOptions(
        f"base_url {base_url!r} is not the address of a server: {why}.",
        advice="It looks like 'http://localhost:11434/v1' or 'https://example.org/v1'.",
    )


def place(url: httpx.URL) -> str:
    """``url`` as a person may read it: without its query, which can hold a key."""
    return str(url.copy_with(query=None, fragment=None))


def host_and_port(url: httpx.URL) -> str:
    """The server, with its port when that is not the usual one."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return host if url.port is None else f"{host}:{url.port}"


def timeouts(timeout_s: float) -> httpx.Timeout:
    """``timeout_s`` is the longest silence of the server; connecting has a limit of its own."""
    return httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S))


class Reply(Struct, frozen=True):
    """A refusal: status, the server's own words (masked, bounded), its code and wish to wait.

    ``status`` is that of HTTP or, ``in_stream``, the one that an error in the stream stands for.
    """

    status: int
    message: str
    code: str = ""
    retry_after_s: float | None = None
    location: str | None = None
    in_stream: bool = False

    @property
    def mark(self) -> str:
        return "error in the stream" if self.in_stream else f"HTTP {self.status}"


def read_reply(response: httpx.Response, body: bytes, grant: Grant) -> Reply:
    """What a response that is not a success says."""
    message, code = error_words(body)
    return Reply(
        status=response.status_code,
        message=grant.masked(message),
        code=code,
        retry_after_s=retry_after_s(response.headers),
        location=_location(response, grant),
    )


def stream_reply(words: str, code: str, grant: Grant) -> Reply:
    """What an error inside a stream says; ``code`` holds its code and type, lower case."""
    numbers = [int(word) for word in code.split() if re.fullmatch(r"[45][0-9]{2}", word)]
    known = [status for words_, status in _STATUS_OF_CODE if any(word in code for word in words_)]
    status = (numbers or known or [500])[0]
    return Reply(status, grant.masked(words), code, in_stream=True)


_STATUS_OF_CODE: Final = (
    (("overloaded",), 529),
    (("authentication", "api_key", "permission"), 401),
    (("rate_limit", "quota"), 429),
    (("not_found",), 404),
    (("request_too_large",), 413),
    (("invalid_", "bad_request", "badrequest", "context_length", "_policy"), 400),
)


def _location(response: httpx.Response, grant: Grant) -> str | None:
    raw = response.headers.get("location", "")
    if not raw:
        return None
    try:
        return grant.masked(place(response.url.join(raw)))
    except httpx.InvalidURL:
        return None


def status_error(
    reply: Reply, url: httpx.URL, model: str, key_variable: str = KEY_VARIABLE
) -> ModelError:
    """The error that a refusal stands for; ``key_variable`` is where the key is looked for."""
    status, said = reply.status, f": {reply.message}" if reply.message else "."
    host = host_and_port(url)
    code: ErrorCode = "bad_request"
    retryable = False
    advice: str | None
    if is_too_long(status, reply.code, reply.message):
        message = f"{host} refused the prompt as too long ({reply.mark}){said}"
        advice = "Summarise the conversation with compact(), or start a new one."
        return ModelError(code, message, advice=advice, status=status, is_too_long=True)
    if status in (401, 403):
        code = "chat_disabled"
        message = f"{host} refused the key ({reply.mark}){said}"
        advice = (
            f"Set {key_variable}, pass api_key= or choose “API key…” in the model menu, then retry."
        )
    elif status == 429 and "quota" in reply.code:
        code = "rate_limited"
        message = f"The quota of this key is used up ({reply.mark}){said}"
        advice = "Add credit or use another key; waiting does not help."
    elif status == 429:
        code, retryable = "rate_limited", True
        message = f"{host} asks to slow down ({reply.mark}){said}"
        advice = _wait_advice(reply.retry_after_s)
    elif status in (408, 409) or status >= 500:
        code, retryable = "network", True
        message = f"{host} could not answer ({reply.mark}){said}"
        advice = _wait_advice(reply.retry_after_s)
    elif status == 404:
        message = f"Model {model!r} or the address {place(url)} is not there ({reply.mark}){said}"
        advice = "Check the model's name and base_url, which usually ends in /v1."
    elif status < 400:
        target = f" to {reply.location}" if reply.location else ""
        message = f"{place(url)} redirects{target} ({reply.mark}); keys are not sent along."
        advice = "Pass the address it redirects to as base_url."
    else:
        message = f"{host} refused the request ({reply.mark}){said}"
        advice = _refusal_advice(reply.message)
    return ModelError(
        code,
        message,
        advice=advice,
        status=status,
        retryable=retryable,
        retry_after_s=reply.retry_after_s,
    )


def _wait_advice(wait_s: float | None) -> str:
    if wait_s is None:
        return "Wait a little, then retry."
    return f"The server asks to wait {_duration(wait_s)}; then retry."


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{math.ceil(seconds)} s"
    minutes = math.ceil(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{math.ceil(seconds / 3600)} h"


def _refusal_advice(message: str) -> str | None:
    if "stream_options" in message:
        return "Make the model with OpenAIChat(…, include_usage=False)."
    return None


def transport_error(error: httpx.HTTPError, url: httpx.URL, grant: Grant) -> ModelError:
    """The error that a broken or impossible connection stands for."""
    host = host_and_port(url)
    advice = "Check base_url and that the server is running."
    if isinstance(error, httpx.ConnectTimeout):
        message = f"{host} did not accept a connection in time."
    elif isinstance(error, httpx.TimeoutException):
        message = f"{host} fell silent for too long."
        advice = "Retry, or pass a larger timeout_s."
    elif isinstance(error, httpx.ConnectError | httpx.ProxyError):
        message, advice = _connect_words(error, host, advice)
    elif isinstance(error, httpx.TransportError):
        message = f"The connection to {host} broke ({type(error).__name__})."
        advice = "Check the network, then retry."
    else:
        message = f"The answer of {host} cannot be read ({type(error).__name__})."
    return ModelError("network", grant.masked(message), advice=advice, retryable=True)


def _connect_words(error: httpx.HTTPError, host: str, advice: str) -> tuple[str, str]:
    causes = _causes(error)
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return f"There is no server named {host}.", "Check base_url and the network."
    tls = [cause for cause in causes if isinstance(cause, ssl.SSLError)]
    if tls:
        reason = getattr(tls[0], "verify_message", "") or tls[0].reason or type(tls[0]).__name__
        return (
            f"No secure connection to {host}: {reason}.",
            "Check http:// or https:// in base_url, and the server's certificate.",
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return f"{host} refused the connection.", advice
    return f"Cannot connect to {host} ({type(error).__name__}).", advice


def _causes(error: BaseException) -> list[BaseException]:
    """``error`` and everything it was raised from, groups included."""
    found: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is None or cause in found:
            continue
        found.append(cause)
        waiting += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
    return found


def error_words(body: bytes) -> tuple[str, str]:
    """``(message, code)`` of an error body: JSON of any common shape, text or a web page."""
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _plain(body.decode("utf-8", "replace")), ""
    return json_error_words(data)


def json_error_words(data: Any) -> tuple[str, str]:
    """``(message, code)`` of decoded error JSON; ``code`` holds its code and type."""
    if isinstance(data, Mapping):
        inner = data.get("error")
        if isinstance(inner, Mapping | str):
            data = inner
    if isinstance(data, Mapping):
        said = next((data[k] for k in ("message", "detail", "msg") if data.get(k)), None)
        code = " ".join(str(data[k]) for k in ("code", "type", "status") if data.get(k) is not None)
        message = said if isinstance(said, str) else _json_text(data if said is None else said)
        return _plain(message), code.lower()
    return _plain(data if isinstance(data, str) else _json_text(data)), ""


def _json_text(data: Any) -> str:
    return "" if data in (None, {}, []) else json_text(data)


def _plain(text: str) -> str:
    if re.match(r"\s*<(!doctype|html|\?xml)", text, re.IGNORECASE):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = f"a web page titled {title[1].strip()!r}" if title else "a web page"
    text = " ".join(sendable(text).split())
    return text if len(text) <= MAX_MESSAGE_CHARS else text[: MAX_MESSAGE_CHARS - 1] + "…"


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds the server wants us to wait; None where it says nothing sensible.

    A date counts from the server's own Date header. Negative numbers, junk and impossible dates
    are None; a date that has passed is 0.
    """
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,6})?", value):
            return float(value) * unit_s
    until = _http_date(headers.get("retry-after", ""))
    if until is None:
        return None
    now = _http_date(headers.get("date", "")) or datetime.datetime.now(datetime.UTC)
    return max(0.0, (until - now).total_seconds())


def _http_date(text: str) -> datetime.datetime | None:
    try:
        date = email.utils.parsedate_to_datetime(text.strip())
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=datetime.UTC)

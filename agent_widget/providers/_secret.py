"""The API key: kept in one place, read at each request, masked wherever a server echoes it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Final, TypeAlias

import httpx

from ..core.errors import InvalidOptions, ModelError

ApiKey: TypeAlias = str | Callable[[], str] | None
"""A key, a function that returns it (called for each request), or None for servers without one."""

MASK: Final = "***"
_SENSITIVE_HEADER: Final = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)
_SENDABLE: Final = re.compile(r"[\x21-\x7e]+")
_SHORTENED: Final = re.compile(r"([\w\-./+=]*?)(?:\*{2,}|\.{2,}|…|•{2,}|x{4,}|X{4,})([\w\-/+=]*)")
_ECHO_CHARS: Final = 8
"""A piece of a secret this long is masked even where the rest of it is missing."""


class Credentials:
    """What a request is allowed with: the key and headers; neither shows in ``repr``.

    A key function may block, so it is called in a worker thread.
    """

    __slots__ = ("_granted", "_header", "_headers", "_key")

    def __init__(
        self,
        key: ApiKey,
        headers: Mapping[str, str] | None = None,
        header: str = "authorization",
    ) -> None:
        if isinstance(key, str):
            key = checked_key(key)
        elif key is not None and not callable(key):
            raise InvalidOptions(
                f"api_key must be text, a function returning text, or None, not a "
                f"{type(key).__name__}."
            )
        self._key = key
        self._header = header
        self._headers = _checked_headers((headers or {}).items())
        self._granted = Grant(None if callable(key) else key, self._headers)

    async def current(self) -> Grant:
        """Key and headers for one request. Raises ModelError when the key function fails."""
        if callable(self._key):
            grant, problem = await asyncio.to_thread(
                _granted_by, self._key, self._headers, self._header
            )
        else:
            grant, problem = Grant(self._key, self._headers, self._header), ""
        if grant is None:
            raise ModelError(
                "chat_disabled",
                f"The api_key function did not return a key ({problem}).",
                advice="It must return the key as text without spaces.",
            )
        self._granted = grant
        return grant

    def secrets(self) -> tuple[str, ...]:
        """What the last request was allowed with: for those who must not write it down."""
        return tuple(self._granted.secrets())

    def __repr__(self) -> str:
        return "Credentials(***)"


class Grant(httpx.Auth):
    """The key and headers of one request; applies them to it and masks them in text.

    The key goes into ``header``: as a bearer token in ``authorization``, as it is in another one.
    """

    __slots__ = ("_header", "_headers", "_key")

    def __init__(
        self, key: str | None, headers: Mapping[str, str], header: str = "authorization"
    ) -> None:
        self._key = key
        self._headers = headers
        self._header = header

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._key is not None:
            is_bearer = self._header == "authorization"
            request.headers[self._header] = f"Bearer {self._key}" if is_bearer else self._key
        request.headers.update(self._headers)
        yield request

    def masked(self, text: str) -> str:
        """``text`` without the key, sensitive header values, and shortened forms of them."""
        for secret in self.secrets():
            text = _without(text, secret)
        return text

    def secrets(self) -> list[str]:
        """The key, and the words of headers that look like one."""
        values = [v for name, v in self._headers.items() if _SENSITIVE_HEADER.search(name)]
        words = [word for value in values for word in value.split()]
        return [word for word in (self._key, *words) if word]

    def __repr__(self) -> str:
        return "Grant(***)"


def _granted_by(
    key: Callable[[], str], headers: Mapping[str, str], header: str
) -> tuple[Grant | None, str]:
    """What ``key`` grants now, or None and the type of the error.

    Raises nothing: text and traceback of an error may hold the key.
    """
    try:
        fresh: object = key()
        if not isinstance(fresh, str):
            return None, f"it returned a {type(fresh).__name__}"
        return Grant(checked_key(fresh), headers, header), ""
    except Exception as error:  # noqa: BLE001 - anything may go wrong in the user's function
        return None, type(error).__name__


def _without(text: str, secret: str) -> str:
    def shortened(match: re.Match[str]) -> str:
        head, tail = match.groups()
        is_echo = (head or tail) and secret.startswith(head) and secret.endswith(tail)
        return MASK if is_echo else match[0]

    text = text.replace(secret, MASK)
    return _without_pieces(_SHORTENED.sub(shortened, text), secret)


def _without_pieces(text: str, secret: str) -> str:
    """``text`` with every run of ``_ECHO_CHARS`` or more characters of ``secret`` masked."""
    pieces = {secret[i : i + _ECHO_CHARS] for i in range(len(secret) - _ECHO_CHARS + 1)}
    kept: list[str] = []
    at = 0
    while at < len(text):
        end = at
        while text[end : end + _ECHO_CHARS] in pieces:
            end += 1
        if end == at:
            kept.append(text[at])
            at += 1
        else:
            kept.append(MASK)
            at = end + _ECHO_CHARS - 1
    return "".join(kept)


def checked_key(key: str) -> str | None:
    """``key`` without surrounding space; None when blank. The error never shows the value."""
    key = key.strip()
    if not key:
        return None
    if not _SENDABLE.fullmatch(key):
        raise InvalidOptions(
            "api_key holds a space, a line break or a character that no HTTP header can carry.",
            advice="Copy the key again, without the text around it.",
        )
    return key


def _checked_headers(headers: Iterable[tuple[object, object]]) -> dict[str, str]:
    checked: dict[str, str] = {}
    for name, value in headers:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9\-_]+", name):
            raise InvalidOptions(f"headers holds {name!r}, which names no HTTP header.")
        if not isinstance(value, str) or not re.fullmatch(r"[\x20-\x7e\t]*", value):
            raise InvalidOptions(f"headers[{name!r}] must be text of printable ASCII characters.")
        checked[name.lower()] = value
    return checked

"""How an MCP server is reached: what code or a file says of it, checked.

{"command": "uvx", "args": ["mcp-server-git"], "env": {"KEY": "${GIT_KEY}"}}
{"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from ...core.errors import InvalidOptions

CONNECT_S: Final = 25.0
CALL_S: Final = 120.0
MAX_TOOLS: Final = 128
MAX_SCHEMA_BYTES: Final = 256 * 1024

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_HTTP: Final = ("http", "https", "streamable-http", "streamable_http", "streamableHttp")
_TEXT_LISTS: Final = ("args", "tools")
_TEXT_MAPS: Final = ("env", "headers")
_NUMBERS: Final = ("connect_timeout_s", "timeout_s", "max_tools", "max_schema_bytes")


class ServerConfig(Struct, frozen=True):
    """One server: a program of this machine (``command``), or an address (``url``).

    ``env`` is what the program gets beside the environment without keys, ``headers`` what each
    request carries. ``connect_timeout_s`` bounds the start, ``timeout_s`` each call. ``tools``
    (None: all) are the server's own names of those that are wanted; of more than ``max_tools``, or
    ``max_schema_bytes`` of definitions, the rest is left out. With ``trusted`` its word counts that
    a tool only reads. ``files`` are pinned files of a project: path and SHA-256.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    connect_timeout_s: float = CONNECT_S
    timeout_s: float = CALL_S
    tools: tuple[str, ...] | None = None
    max_tools: int = MAX_TOOLS
    max_schema_bytes: int = MAX_SCHEMA_BYTES
    trusted: bool = False
    disabled: bool = False
    origin: str = "mcp_servers"
    files: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        return f"ServerConfig({self.name!r}, {self.shown!r})"

    @property
    def shown(self) -> str:
        """What starts or is called, without what may be secret."""
        if self.url is not None:
            parts = urlsplit(self.url)
            return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
        return " ".join((self.command or "", *self.args))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What of it is shown nowhere."""
        return tuple(value for part in (self.env, self.headers) for value in part.values())


_KNOWN: Final = (
    *(each for each in ServerConfig.__struct_fields__ if each not in ("name", "origin", "files")),
    "type",
)


def server_config(
    name: str,
    data: object,
    *,
    origin: str = "mcp_servers",
    from_code: bool = True,
    files: tuple[tuple[str, str], ...] = (),
) -> ServerConfig:
    """The server that ``data`` describes. Raises InvalidOptions naming the key that is wrong.

    A file cannot say that its server is ``trusted``: only code can.
    """
    place = f"{origin}[{name!r}]"
    if not isinstance(data, Mapping):
        raise InvalidOptions(f"{place} is {data!r}, expected a mapping.", advice=_ADVICE)
    for key, value in data.items():
        if key not in _KNOWN:
            near = get_close_matches(str(key), _KNOWN, 1)
            hint = f"Did you mean {near[0]}?" if near else f"Known ones: {', '.join(_KNOWN)}."
            raise InvalidOptions(f"{place} has no key {key!r}.", advice=hint)
        _require_kind(f"{place}.{key}", key, value)
    if not from_code and data.get("trusted"):
        raise InvalidOptions(f"{place}.trusted: only code can trust a server.")
    _require_one_way(place, data)
    given = {key: value for key, value in data.items() if key != "type" and value is not None}
    for key in _TEXT_LISTS:
        if key in given:
            given[key] = tuple(given[key])
    return ServerConfig(name=name, origin=origin, files=files, **given)


_ADVICE: Final = "Give a command (and args), or a url (and headers)."


def _require_kind(place: str, key: str, value: object) -> None:
    if value is None:
        return
    fits = True
    if key in _TEXT_LISTS:
        fits = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    elif key in _TEXT_MAPS:
        fits = isinstance(value, Mapping) and all(
            isinstance(each, str) for pair in value.items() for each in pair
        )
    elif key in _NUMBERS:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        fits = is_number and value > 0  # type: ignore[operator]
    elif key in ("trusted", "disabled"):
        fits = isinstance(value, bool)
    else:
        fits = isinstance(value, str) and bool(value.strip()) and "\0" not in value
    if not fits:
        secret = "a value that does not fit" if key in _TEXT_MAPS else repr(value)
        raise InvalidOptions(f"{place} is {secret}, expected {_expected(key)}.")


def _expected(key: str) -> str:
    if key in _TEXT_LISTS:
        return "a list of texts"
    if key in _TEXT_MAPS:
        return "a mapping of texts to texts"
    if key in _NUMBERS:
        return "a number above 0"
    return "True or False" if key in ("trusted", "disabled") else "a text"


def _require_one_way(place: str, data: Mapping[str, Any]) -> None:
    kind = data.get("type")
    if kind == "sse":
        advice = "Use the server's streamable HTTP address, with type http or none."
        raise InvalidOptions(f"{place}: the transport sse is no longer spoken.", advice=advice)
    if kind not in (None, "stdio", *_HTTP):
        raise InvalidOptions(f"{place}.type is {kind!r}, expected stdio or http.")
    if (data.get("command") is None) == (data.get("url") is None):
        raise InvalidOptions(f"{place} needs either a command or a url.", advice=_ADVICE)
    url = data.get("url")
    if url is not None and not url.startswith(("http://", "https://")) and "${" not in url:
        raise InvalidOptions(f"{place}.url is {url!r}, expected http:// or https://.")


def expanded(config: ServerConfig, environ: Mapping[str, str]) -> ServerConfig:
    """``config`` with ``${NAME}`` and ``${NAME:-default}`` filled from ``environ``.

    Raises InvalidOptions naming the place and the variable that is not set; never its value.
    """

    def fill(key: str, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            found = environ.get(match[1]) or match[2]
            if found is None:
                raise InvalidOptions(
                    f"{config.origin}[{config.name!r}].{key} needs the environment variable"
                    f" {match[1]}, which is not set.",
                    advice="Set it before the kernel starts, or with os.environ.",
                )
            return found

        return _VARIABLE.sub(value, text)

    def filled_map(key: str, values: Mapping[str, str]) -> dict[str, str]:
        return {name: fill(f"{key}.{name}", value) for name, value in values.items()}

    return replace(
        config,
        command=None if config.command is None else fill("command", config.command),
        args=tuple(fill(f"args[{at}]", each) for at, each in enumerate(config.args)),
        env=filled_map("env", config.env),
        cwd=None if config.cwd is None else fill("cwd", config.cwd),
        url=None if config.url is None else fill("url", config.url),
        headers=filled_map("headers", config.headers),
    )

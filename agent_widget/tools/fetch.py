"""``fetch_url``: a page of the web as text. In no set of tools by default.

A host's name is resolved here, every address it has must be allowed, and the connection is made
to such an address and no other: what the name resolves to later does not matter. A redirect is
checked like the first address and followed on the same host alone; one that leads to another
host is reported instead, so that the model asks for it by a call of its own, which rules judge.

No cookies, no credentials, no proxy of the environment: a proxy would resolve names itself.
"""

from __future__ import annotations

import asyncio
import functools
import ipaddress
import re
import socket
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from ..core.errors import ToolFailure
from ..policy.hosts import Host, host_of
from .addresses import Address, is_public
from .base import CallText, TextBlock, ToolOutput
from .function import FunctionTool, tool
from .textfile import binary_type
from .webtext import page_text

if TYPE_CHECKING:
    import httpx

MAX_BYTES: Final = 1_000_000
MOST_BYTES: Final = 5_000_000
TIMEOUT_S: Final = 30.0
REDIRECTS: Final = 5

_ADDRESSES: Final = 4
_HEADERS: Final = {
    "accept": "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
    "accept-encoding": "identity",
    "user-agent": "agent_widget",
}
_HTML: Final = ("text/html", "application/xhtml+xml")
_TEXT: Final = re.compile(
    r"text/.*|application/(.*\+)?(json|xml|yaml|x-yaml|toml|javascript|x-ndjson|sql)|.*\+xml"
)
_META_CHARSET: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w-]{2,40})", re.IGNORECASE
)

Resolve: TypeAlias = Callable[[str, int], Awaitable[tuple[Address, ...]]]
"""All addresses of a host's name. Raises OSError when it has none."""


def fetch_tool(*, allow_private: bool = False, timeout_s: float = TIMEOUT_S) -> FunctionTool:
    """The ``fetch_url`` tool; a call takes ``timeout_s`` seconds at most, redirects included.

    ``allow_private`` lets it reach this machine and the networks it is in.
    """
    return tool_of(Fetcher(allows=_anywhere if allow_private else is_public), timeout_s)


def tool_of(fetcher: Fetcher, timeout_s: float = TIMEOUT_S) -> FunctionTool:
    """The ``fetch_url`` tool that gets its pages from ``fetcher``."""

    @tool(name="fetch_url", kind="network", timeout_s=timeout_s, describe=_address_text)
    async def fetch_url(url: str, max_bytes: int = MAX_BYTES) -> ToolOutput:
        """Get a page, text or JSON from the web; HTML is turned into text.

        Args:
            url: The address, http or https.
            max_bytes: How much of it to read at most; 5,000,000 at most.
        """
        if not 0 < max_bytes <= MOST_BYTES:
            raise ToolFailure(f"max_bytes={max_bytes:,} is not between 1 and {MOST_BYTES:,}.")
        page = await fetcher.page(url, max_bytes)
        # Its time grows with the page: not on the engine's loop.
        return await asyncio.to_thread(_page_output, page)

    return fetch_url


def _address_text(args: Mapping[str, Any]) -> CallText:
    return CallText(str(args["url"]))


def _anywhere(_address: Address) -> bool:
    return True


class Page(Struct, frozen=True):
    """What came back for ``url``; ``moved_to`` is the other host a redirect leads to."""

    url: str
    status: int
    mime: str = ""
    charset: str | None = None
    data: bytes = b""
    is_whole: bool = True
    size_bytes: int | None = None
    moved_to: str | None = None


async def resolved(name: str, port: int) -> tuple[Address, ...]:
    """All addresses of ``name``, as the system resolves it."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    addresses = (ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found)
    return tuple(dict.fromkeys(addresses))


class Fetcher:
    """Gets pages from hosts all of whose addresses ``allows`` accepts."""

    def __init__(self, *, allows: Callable[[Address], bool], resolve: Resolve = resolved) -> None:
        self._allows = allows
        self._resolve = resolve

    async def page(self, url: str, max_bytes: int) -> Page:
        """What ``url`` leads to; ``max_bytes`` of it at most. Raises ToolFailure."""
        start = required_host(url)
        for _ in range(REDIRECTS + 1):
            page = await self._answer(url, required_host(url), max_bytes)
            if page.moved_to is None:
                return page
            if not _is_same_site(start, required_host(page.moved_to)):
                return page
            url = page.moved_to
        raise ToolFailure(f"{url!r} is redirected more than {REDIRECTS} times.")

    async def _answer(self, url: str, host: Host, max_bytes: int) -> Page:
        """The answer of the first address of ``host`` that takes a connection."""
        import httpx

        problem: Exception | None = None
        for address in (await self._addresses(host))[:_ADDRESSES]:
            try:
                return await self._answer_from(address, url, host, max_bytes)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                problem = error
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise _unreachable(url, error) from None
        raise _unreachable(url, problem or OSError("no address")) from None

    async def _addresses(self, host: Host) -> tuple[Address, ...]:
        try:
            found: tuple[Address, ...] = (ipaddress.ip_address(host.name),)
        except ValueError:
            try:
                found = await self._resolve(host.name, host.port)
            except (OSError, UnicodeError) as error:
                raise ToolFailure(f"The host {host.name!r} is not found ({error}).") from None
        refused = [str(address) for address in found if not self._allows(address)]
        if refused:
            raise ToolFailure(
                f"The host {host.name!r} has the address {refused[0]}, which is not public. "
                "Only public addresses may be fetched."
            )
        return found

    async def _answer_from(self, address: Address, url: str, host: Host, max_bytes: int) -> Page:
        import httpx

        parts = urlsplit(url)
        default_port = {"http": 80, "https": 443}[parts.scheme.lower()]
        port = "" if host.port == default_port else f":{host.port}"
        name = f"[{host.name}]" if ":" in host.name else host.name
        target = httpx.URL(url.partition("#")[0]).copy_with(host=str(address), port=host.port)
        verify: Any = False
        if parts.scheme.lower() == "https":
            verify = await asyncio.to_thread(
                functools.partial(httpx.create_ssl_context, trust_env=False)
            )
        async with (
            httpx.AsyncClient(verify=verify, trust_env=False, timeout=TIMEOUT_S) as client,
            client.stream(
                "GET",
                target,
                headers={**_HEADERS, "host": f"{name}{port}"},
                extensions={"sni_hostname": host.name},
                follow_redirects=False,
            ) as response,
        ):
            return await _page(response, url, max_bytes)


def required_host(url: str) -> Host:
    """Where ``url`` leads, as the rules read it. Raises ToolFailure for what is not fetched."""
    try:
        parts = urlsplit(url)
        has_credentials = "@" in parts.netloc
    except ValueError as error:
        raise ToolFailure(f"{url!r} is no address: {error}.") from None
    if parts.scheme.lower() not in ("http", "https"):
        raise ToolFailure(f"{url!r} does not begin with http:// or https://.")
    if has_credentials:
        raise ToolFailure("The address holds a user name or a password. Leave them out.")
    host = host_of(url)
    if host is None:
        raise ToolFailure(
            f"{url!r} can be read in more than one way. Percent-encode what is not ASCII, "
            "and leave out blanks and backslashes."
        )
    return host


def _is_same_site(start: Host, other: Host) -> bool:
    """True for the same host, at the same port or from http's to https's."""
    return start.name == other.name and other.port in (start.port, 443)


async def _page(response: httpx.Response, url: str, max_bytes: int) -> Page:
    location = response.headers.get("location")
    if response.is_redirect and location:
        return Page(url, response.status_code, moved_to=urljoin(url, location))
    mime = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    size = response.headers.get("content-length", "")
    unpack = _unpacker(response.headers.get("content-encoding", "identity"))
    chunks: list[bytes] = []
    left = max_bytes + 1
    async for packed in response.aiter_raw():
        chunk = unpack(packed, left)
        chunks.append(chunk)
        left -= len(chunk)
        if left <= 0:
            break
    data = b"".join(chunks)
    return Page(
        url,
        response.status_code,
        mime,
        response.charset_encoding,
        data[:max_bytes],
        len(data) <= max_bytes,
        int(size) if size.isdecimal() and len(size) < 20 else None,
    )


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """Undoes ``encoding``, some bytes at most: a small answer may unpack to a huge one."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return lambda data, limit: data[:limit]
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise ToolFailure(f"The answer is packed as {encoding!r}, which was not asked for.")
    unpacker = zlib.decompressobj(wbits=47)

    def unpacked(data: bytes, limit: int) -> bytes:
        try:
            return unpacker.decompress(unpacker.unconsumed_tail + data, limit)
        except zlib.error as error:
            raise ToolFailure(f"The answer cannot be unpacked: {error}.") from None

    return unpacked


def _unreachable(url: str, error: Exception) -> ToolFailure:
    reason = str(error) or type(error).__name__
    return ToolFailure(f"{url!r} could not be fetched: {reason}.")


# Pages as text --------------------------------------------------------------------------------


def _page_output(page: Page) -> ToolOutput:
    if page.moved_to is not None:
        text = f"{page.url} is redirected to another host: {page.moved_to}\nFetch that address."
        return ToolOutput((TextBlock(text),), is_error=True)
    text = _text(page)
    notes = [f"[{page.url}: HTTP {page.status}]"] if page.status != 200 else []
    if not page.is_whole:
        total = f" of {page.size_bytes:,}" if page.size_bytes else ""
        notes.append(f"[Only the first {len(page.data):,}{total} bytes were read.]")
    return ToolOutput((TextBlock("\n".join([*notes, text or "(empty)"])),), page.status >= 400)


def _text(page: Page) -> str:
    is_text = page.mime in _HTML or _TEXT.fullmatch(page.mime) is not None
    if not is_text and (page.mime or b"\0" in page.data):
        size = len(page.data) if page.is_whole else page.size_bytes
        raise ToolFailure(
            f"{page.url} is not text: {page.mime or binary_type(page.data)}, "
            f"{'unknown size' if size is None else f'{size:,} bytes'}."
        )
    text = page.data.decode(_codec(page), errors="replace").removeprefix("\ufeff")
    return page_text(text, page.url) if page.mime in _HTML else text


def _codec(page: Page) -> str:
    named = page.charset
    if named is None and page.mime in _HTML:
        found = _META_CHARSET.search(page.data[:4_000])
        named = found[1].decode() if found else None
    try:
        "".encode(named or "utf-8")  # a codec, and one of text
    except LookupError:
        return "utf-8"
    return named or "utf-8"

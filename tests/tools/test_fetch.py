from __future__ import annotations

import asyncio
import contextlib
import gzip
import ipaddress
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from agent_widget.core.errors import ToolFailure
from agent_widget.tools import ToolOutput, fetch_tool
from agent_widget.tools.addresses import Address, is_public
from agent_widget.tools.fetch import Fetcher, tool_of
from agent_widget.tools.webtext import page_text
from tests.tools.support.calls import Call, output_of

pytestmark = pytest.mark.anyio

HTML = "text/html; charset=utf-8"


class Site:
    """A server on this machine; ``answers`` maps paths to (status, headers, body)."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.reached = threading.Event()
        self.released = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
                site.reached.set()
                if self.path == "/waits":
                    site.released.wait(60)
                    return
                status, headers, body = site.answers[self.path]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


def resolving(**names: str) -> tuple[Callable[[str, int], Any], list[str]]:
    """A name service that knows ``names`` (``_`` for ``.``), and what it was asked.

    A name's addresses are separated by blanks; the answers to one question after the other by
    commas.
    """
    asked: list[str] = []

    async def resolve(name: str, _port: int) -> tuple[Address, ...]:
        asked.append(name)
        answers = names[name.replace(".", "_")].split(",")
        answer = answers[min(asked.count(name), len(answers)) - 1]
        return tuple(ipaddress.ip_address(address) for address in answer.split())

    return resolve, asked


async def fetched(url: str, **args: Any) -> ToolOutput:
    return await output_of(fetch_tool(allow_private=True), url=url, **args)


def test_it_asks_and_shows_the_whole_address() -> None:
    made = fetch_tool()
    assert (made.name, made.kind, made.read_only) == ("fetch_url", "network", False)
    url = "http://example.org/" + "x" * 5_000
    assert made.describe({"url": url}).text == url


@pytest.mark.parametrize(
    ("mime", "body", "text"),
    [
        ("text/plain; charset=latin-1", b"caf\xe9", "café"),
        ("text/plain; charset=nonsense", b"caf\xc3\xa9", "café"),
        ("text/plain; charset=base64", b"a", "a"),
        ("application/json", b'{"a": [1]}', '{"a": [1]}'),
        ("application/ld+json", b"{}", "{}"),
        ("", b"plain", "plain"),
        ("text/plain", b"", "(empty)"),
        ("text/html", b'<meta charset="latin-1"><p>caf\xe9', "café"),
        (HTML, b"\xef\xbb\xbf<h1>A</h1><script>x()</script><p>b <b>c</b>\n d", "# A\n\nb c d"),
    ],
)
async def test_text_comes_as_it_is_and_html_as_text(
    site: Site, mime: str, body: bytes, text: str
) -> None:
    site.answers["/"] = (200, {"content-type": mime} if mime else {}, body)
    assert (await fetched(site.url)).text_for_model() == text


async def test_a_long_page_is_whole_in_a_file_that_is_named(site: Site) -> None:
    page = "".join(f"{n}\n" for n in range(20_000))
    site.answers["/"] = (200, {"content-type": "text/plain"}, page.encode())
    text = (await fetched(site.url)).text_for_model()
    path = text.rpartition("all of it is in ")[2].removesuffix("]")
    assert await asyncio.to_thread(Path(path).read_text) == f"{page}\n"


@pytest.mark.parametrize(
    ("mime", "body", "what"),
    [
        ("image/png", b"\x89PNG", "image/png, 4 bytes"),
        ("application/octet-stream", b"abc", "application/octet-stream, 3 bytes"),
        ("", b"%PDF-\0", "PDF document, 6 bytes"),
    ],
)
async def test_binary_data_is_refused_with_its_type_and_size(
    site: Site, mime: str, body: bytes, what: str
) -> None:
    site.answers["/f"] = (200, {"content-type": mime} if mime else {}, body)
    with pytest.raises(ToolFailure, match=what):
        await fetched(f"{site.url}/f")


async def test_an_error_of_the_server_is_an_error_with_its_text(site: Site) -> None:
    site.answers["/gone"] = (410, {"content-type": "text/plain"}, b"it was here")
    output = await fetched(f"{site.url}/gone")
    assert output.is_error
    assert output.text_for_model() == f"[{site.url}/gone: HTTP 410]\nit was here"


async def test_no_more_than_max_bytes_are_read(site: Site) -> None:
    head = {"content-type": "text/plain", "content-length": "1000000000"}
    site.answers["/"] = (200, head, b"x" * 300_000)
    output = await fetched(site.url, max_bytes=10)
    assert output.text_for_model() == (
        "[Only the first 10 of 1,000,000,000 bytes were read.]\nxxxxxxxxxx"
    )
    with pytest.raises(ToolFailure, match="between 1 and 5,000,000"):
        await fetched(site.url, max_bytes=5_000_001)


async def test_a_packed_answer_is_unpacked_up_to_max_bytes(site: Site) -> None:
    head = {"content-type": "text/plain", "content-encoding": "gzip"}
    site.answers["/small"] = (200, head, gzip.compress(b"small" * 20_000))
    site.answers["/bomb"] = (200, head, gzip.compress(bytes(100_000_000)))
    site.answers["/bad"] = (200, head, b"not packed at all")
    site.answers["/br"] = (200, {**head, "content-encoding": "br"}, b"x")
    whole = await fetched(f"{site.url}/small")
    assert whole.text_for_model().startswith("smallsmall")
    assert "Only the first" not in whole.text_for_model()
    bomb = await fetched(f"{site.url}/bomb", max_bytes=1_000)
    assert "[Only the first 1,000" in bomb.text_for_model()
    for path, problem in [("bad", "cannot be unpacked"), ("br", "packed as 'br'")]:
        with pytest.raises(ToolFailure, match=problem):
            await fetched(f"{site.url}/{path}")


async def test_requests_carry_no_cookie_and_no_credential(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    cookie = {"content-type": "text/plain", "set-cookie": "a=b"}
    site.answers["/"] = (302, {**cookie, "location": "/next"}, b"")
    site.answers["/next"] = (200, cookie, b"ok")
    assert (await fetched(f"{site.url}/#part")).text_for_model() == "ok"
    assert [path for path, _ in site.requests] == ["/", "/next"]
    for _, headers in site.requests:
        assert not headers.keys() & {"cookie", "authorization"}
        assert headers["host"] == f"127.0.0.1:{site.port}"


# Addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ftp://example.org/", "does not begin with"),
        ("file:///etc/passwd", "does not begin with"),
        ("example.org", "does not begin with"),
        ("http://me:pw@example.org/", "user name or a password"),
        ("http://me@example.org/", "user name or a password"),
        ("http://[::1/", "is no address"),
        ("http://exa mple.org/", "more than one way"),
        ("http://example.org\\@127.0.0.1/", "user name or a password|more than one way"),
        ("http://ex\u00e4mple.org/", "more than one way"),
        ("http:///x", "more than one way"),
        ("http://127.0.0.1/", "127.0.0.1, which is not public"),
        ("http://127.1/", "127.0.0.1, which is not public"),
        ("http://0x7f000001/", "127.0.0.1, which is not public"),
        ("http://2130706433/", "127.0.0.1, which is not public"),
        ("http://[::1]:8080/", "::1, which is not public"),
        ("http://[::ffff:10.0.0.1]/", "10.0.0.1, which is not public"),
        ("http://169.254.169.254/latest/meta-data", "not public"),
        ("http://localhost/", "not public"),
        ("http://0/", "not public"),
    ],
)
async def test_an_address_that_may_not_be_fetched_is_refused(url: str, problem: str) -> None:
    with pytest.raises(ToolFailure, match=problem):
        await output_of(fetch_tool(), url=url)


PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
NOT_PUBLIC = [
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.9.9.9",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.1.1",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "2002:7f00:1::",
    "64:ff9b::7f00:1",
    "2001:db8::1",
    "fc00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_that_anybody_reaches_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_of_ours_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


async def test_the_connection_is_made_to_the_address_that_was_checked(site: Site) -> None:
    resolve, asked = resolving(site_test="127.0.0.1,192.0.2.1")
    tool = tool_of(Fetcher(allows=lambda a: str(a) == "127.0.0.1", resolve=resolve))
    site.answers["/"] = (200, {"content-type": "text/plain"}, b"here")
    output = await output_of(tool, url=f"http://site.test:{site.port}/")
    assert output.text_for_model() == "here"
    assert asked == ["site.test"]
    assert site.requests[0][1]["host"] == f"site.test:{site.port}"


async def test_a_name_that_turns_private_at_the_redirect_is_refused(site: Site) -> None:
    resolve, asked = resolving(site_test="127.0.0.1,127.0.0.2")
    tool = tool_of(Fetcher(allows=lambda a: str(a) == "127.0.0.1", resolve=resolve))
    site.answers["/"] = (302, {"location": "/inside"}, b"")
    with pytest.raises(ToolFailure, match=r"127\.0\.0\.2, which is not public"):
        await output_of(tool, url=f"http://site.test:{site.port}/")
    assert asked == ["site.test", "site.test"]
    assert [path for path, _ in site.requests] == ["/"]


async def test_one_private_address_among_public_ones_refuses_the_host() -> None:
    resolve, _ = resolving(site_test="8.8.8.8 10.0.0.1")
    tool = tool_of(Fetcher(allows=is_public, resolve=resolve))
    with pytest.raises(ToolFailure, match=r"10\.0\.0\.1, which is not public"):
        await output_of(tool, url="http://site.test/")


async def test_the_next_address_is_tried_where_one_takes_no_connection(site: Site) -> None:
    resolve, _ = resolving(site_test="127.0.0.9 127.0.0.1")
    tool = tool_of(Fetcher(allows=lambda _: True, resolve=resolve))
    site.answers["/"] = (200, {"content-type": "text/plain"}, b"here")
    output = await output_of(tool, url=f"http://site.test:{site.port}/")
    assert output.text_for_model() == "here"


async def test_a_redirect_to_another_host_is_reported_and_not_followed(site: Site) -> None:
    for place in ("http://other.test/x", "//other.test/x", f"http://127.0.0.1:{site.port + 1}/"):
        site.answers["/"] = (302, {"location": place}, b"")
        output = await fetched(site.url)
        assert output.is_error
        assert "is redirected to another host: http://" in output.text_for_model()
    for place in ("file:///etc/passwd", "http://me:pw@127.0.0.1/", "javascript:x"):
        site.answers["/"] = (302, {"location": place}, b"")
        with pytest.raises(ToolFailure, match=r"does not begin with|password|not be fetched"):
            await fetched(site.url)


async def test_a_redirect_that_never_ends_is_given_up(site: Site) -> None:
    site.answers["/"] = (302, {"location": "/"}, b"")
    with pytest.raises(ToolFailure, match="redirected more than 5 times"):
        await fetched(f"{site.url}/")
    assert len(site.requests) == 6


async def test_an_address_too_long_for_a_request_is_a_failure(site: Site) -> None:
    with pytest.raises(ToolFailure, match="could not be fetched"):
        await fetched(f"{site.url}/{'x' * 70_000}")


async def test_a_host_that_does_not_answer_is_a_failure_that_names_it(site: Site) -> None:
    site.close()
    with pytest.raises(ToolFailure, match=f"{site.url}.*could not be fetched"):
        await fetched(site.url)


async def test_a_slow_server_is_given_up_in_time(site: Site) -> None:
    tool = fetch_tool(allow_private=True, timeout_s=0.3)
    with pytest.raises(ToolFailure, match=r"within 0\.3 s") as failure:
        await output_of(tool, url=f"{site.url}/waits")
    assert failure.value.code == "timeout"


async def test_stop_ends_a_call_that_waits_for_its_server(site: Site) -> None:
    call = asyncio.create_task(Call(fetch_tool(allow_private=True)).run(url=f"{site.url}/waits"))
    await asyncio.to_thread(site.reached.wait)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


# Pages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<title>T</title><body>b", "T\n\nb"),
        ("<ul><li>a<li>b</ul>c", "- a\n- b\n\nc"),
        ("<a href='/x?y=1'>go</a> <a href='#p'>here</a>", "[go](http://h/x?y=1) here"),
        ("<a href='javascript:x()'>go</a>", "go"),
        ("<pre>a\n  b</pre>c", "a\n  b\n\nc"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "| a | b\n | 1 | 2"),
        ("a<style>b{}</style><svg><text>c</text></svg><br>d", "a\nd"),
        ("1 &lt; 2 &amp; 3<!-- no --> 4", "1 < 2 & 3 4"),
        ("<img src=x alt='A fox'>", "(image: A fox)"),
        ("</p></a></script>x", "x"),
    ],
)
def test_a_page_reads_as_its_text(html: str, text: str) -> None:
    assert page_text(html, "http://h/") == text


@pytest.mark.parametrize("piece", ["<!--", "<a ", "<![CDATA[", "</", '<a href="', "<?"])
def test_a_page_that_is_made_to_take_for_ever_is_cut_and_says_so(piece: str) -> None:
    text = page_text("<p>start</p>" + piece * 200_000, "http://h/", limit_s=0.2)
    assert text.startswith("start")
    assert text.endswith("[The rest of the page is too broken to be read.]")

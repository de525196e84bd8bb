"""HTML as text that a model can read: headings, lists, links and code keep their form."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_SILENT: Final = _tags("script style noscript template svg math iframe object select canvas")
_BLOCKS: Final = _tags(
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure footer "
    "form header hr html main nav ol p pre section summary table tbody thead tr ul"
)
_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLANKS: Final = re.compile(r"[ \t\n\r\f]+")
_LINK_CHARS: Final = 500

LIMIT_S: Final = 5.0


def page_text(html: str, url: str, *, limit_s: float = LIMIT_S) -> str:
    """The text of a page at ``url``; links are ``[text](absolute address)``.

    A page that takes longer than ``limit_s`` seconds is cut there, and the text says so.
    """
    reader = _Reader(url, time.monotonic() + limit_s)
    try:
        reader.feed(html)
        reader.close()
    except _TooSlowError:
        return f"{reader.text()}\n[The rest of the page is too broken to be read.]".lstrip()
    return reader.text()


class _TooSlowError(Exception):
    """The parser takes time that grows with the square of broken markup (``<!--<!--…``)."""


class _Reader(HTMLParser):
    def __init__(self, url: str, ends: float) -> None:
        super().__init__(convert_charrefs=True)
        self._url = url
        self._ends = ends
        self._pieces: list[str] = []
        self._silent = 0
        self._preformatted = 0
        self._links: list[str] = []

    def text(self) -> str:
        lines = [line.rstrip() for line in "".join(self._pieces).split("\n")]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SILENT:
            self._silent += 1
        elif tag in _HEADINGS:
            self._pieces.append("\n\n" + _HEADINGS[tag])
        elif tag == "li":
            self._pieces.append("\n- ")
        elif tag == "br":
            self._pieces.append("\n")
        elif tag in ("td", "th"):
            self._pieces.append(" | ")
        elif tag == "a":
            self._links.append(self._address(dict(attrs).get("href")))
            self._pieces.append("[" if self._links[-1] else "")
        elif tag == "img" and dict(attrs).get("alt"):
            self._pieces.append(f"(image: {dict(attrs)['alt']})")
        elif tag in _BLOCKS:
            self._pieces.append("\n" if tag == "tr" else "\n\n")
        self._preformatted += tag == "pre"

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag in _SILENT or tag in ("a", "pre"):
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(self._silent - 1, 0)
        elif tag == "a" and self._links:
            address = self._links.pop()
            self._pieces.append(f"]({address})" if address else "")
        elif tag in _HEADINGS or tag in _BLOCKS or tag == "title":
            self._pieces.append("\n\n" if tag != "tr" else "")
        if tag == "pre":
            self._preformatted = max(self._preformatted - 1, 0)

    def handle_data(self, data: str) -> None:
        if time.monotonic() > self._ends:
            raise _TooSlowError
        if self._silent:
            return
        self._pieces.append(data if self._preformatted else _BLANKS.sub(" ", data))

    def _address(self, href: str | None) -> str:
        """The absolute address, or nothing for one that leads nowhere else."""
        if not href or href.startswith("#") or len(href) > _LINK_CHARS:
            return ""
        try:
            address = urljoin(self._url, href.strip())
        except ValueError:
            return ""
        return address if address.startswith(("http://", "https://")) else ""

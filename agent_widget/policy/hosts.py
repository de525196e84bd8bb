"""Hosts in rules: ``example.org``, ``*.example.org``, ``example.org:8443``."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from ..core.errors import InvalidOptions

_PATTERN: Final = re.compile(
    r"(?P<any>\*|(?P<sub>\*\.)?(?P<host>[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]))"
    r"(:(?P<port>\d{1,5}))?",
    re.IGNORECASE,
)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class Host(Struct, frozen=True):
    """Where a URL leads: lower-case name without a final dot, or an address in its one form."""

    name: str
    port: int


class HostPattern(Struct, frozen=True):
    """``name`` None is any host; ``below`` means names that end in ``.name``."""

    name: str | None
    below: bool = False
    port: int | None = None

    def matches(self, host: Host, *, widely: bool) -> bool:
        """True when ``host`` fits; ``widely`` (deny and ask) counts the name itself as below it."""
        if self.port is not None and self.port != host.port:
            return False
        if self.name is None:
            return True
        if self.below and host.name.endswith(f".{self.name}"):
            return True
        return (widely or not self.below) and host.name == self.name


def host_pattern(text: str) -> HostPattern:
    """The pattern of a rule; raises InvalidOptions when it is not one."""
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise InvalidOptions(
            f"{text!r} is no host of a rule.",
            advice="Write a host: example.org, *.example.org or example.org:8443.",
        )
    port = int(found["port"]) if found["port"] else None
    if found["any"] == "*":
        return HostPattern(None, port=port)
    return HostPattern(_one_form(found["host"]), found["sub"] is not None, port)


def host_of(url: str) -> Host | None:
    """Where ``url`` leads, or None when programs could read it in more than one way."""
    if not url.isascii() or re.search(r"[\x00-\x20\x7f\\]", url):
        return None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    scheme, name = parts.scheme.lower(), parts.hostname
    if scheme not in _DEFAULT_PORTS or not name or "%" in parts.netloc or "@" in parts.netloc:
        return None
    if not re.fullmatch(r"[a-z0-9_.:-]+", name):
        return None
    return Host(_one_form(name), _DEFAULT_PORTS[scheme] if port is None else port)


def _one_form(name: str) -> str:
    """``name`` as compared: numbers that mean an address (0x7f.1) become that address."""
    name = name.lower().strip("[]").removesuffix(".")
    if address := _ipv4(name):
        return address
    try:
        address6 = ipaddress.IPv6Address(name)
    except ValueError:
        return name
    return str(address6.ipv4_mapped or address6)


def _ipv4(name: str) -> str | None:
    """The address that C libraries read from ``name``: one to four numbers, octal and hex too."""
    pieces = name.split(".")
    if len(pieces) > 4 or not all(
        re.fullmatch(r"0x[0-9a-f]{0,8}|0[0-7]{0,11}|[1-9]\d{0,9}", p) for p in pieces
    ):
        return None
    numbers = [
        int(p[2:] or "0", 16) if p[:2] == "0x" else int(p, 8 if p[0] == "0" else 10) for p in pieces
    ]
    *heads, tail = numbers
    if any(head > 255 for head in heads) or tail >= 256 ** (4 - len(heads)):
        return None
    value = tail + sum(head << (24 - 8 * at) for at, head in enumerate(heads))
    return str(ipaddress.IPv4Address(value))

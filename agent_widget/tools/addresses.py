"""Which addresses of the internet protocol are public: reachable by anybody, ours in no way."""

from __future__ import annotations

import ipaddress
from typing import Final, TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


def is_public(address: Address) -> bool:
    """False for loopback, private, link-local, shared, reserved and multicast addresses.

    An IPv6 address that stands for an IPv4 address is as public as that one.
    """
    carried = _carried(address)
    if carried:
        return all(is_public(inner) for inner in carried)
    is_site_local = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    is_special = address.is_multicast or address.is_reserved or is_site_local
    return address.is_global and not is_special


def _carried(address: Address) -> list[ipaddress.IPv4Address]:
    if isinstance(address, ipaddress.IPv4Address):
        return []
    carried = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or address in _COMPATIBLE:
        carried.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [inner for inner in carried if inner is not None]

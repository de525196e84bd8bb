"""A network that is not there: what tries to use it fails and says so."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from unittest.mock import patch


class NetworkUsed(AssertionError):
    """A test reached for the network."""


@contextmanager
def network_blocked() -> Iterator[None]:
    """Within it, connections to other machines, and questions for their names, raise NetworkUsed.

    This machine stays reachable: kernels and test servers need it. Other processes are not touched.
    """

    def guarded(connect: Callable[..., Any]) -> Callable[..., Any]:
        def call(own: socket.socket, address: Any, *rest: Any) -> Any:
            if own.family != getattr(socket, "AF_UNIX", None):
                _require_local(address[0])
            return connect(own, address, *rest)

        return call

    look_up = socket.getaddrinfo

    def getaddrinfo(host: Any, *rest: Any, **options: Any) -> Any:
        _require_local(host)
        return look_up(host, *rest, **options)

    with (
        patch.object(socket.socket, "connect", guarded(socket.socket.connect)),
        patch.object(socket.socket, "connect_ex", guarded(socket.socket.connect_ex)),
        patch.object(socket, "getaddrinfo", getaddrinfo),
    ):
        yield


def _require_local(host: Any) -> None:
    if host is None or host in ("", "localhost", b"localhost"):
        return
    name = host.decode() if isinstance(host, bytes) else str(host)
    try:
        is_local = ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        is_local = False
    if not is_local:
        text = f"This test may not use the network, and something reached for {name}."
        raise NetworkUsed(f"{text} Play a recording instead: model=replay(…).")

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
    """Within it, connections and packets to other machines, and questions for their names, raise
    NetworkUsed.

    This machine stays reachable: kernels and test servers need it. Other processes are not touched.
    """

    def guarded(connect: Callable[..., Any]) -> Callable[..., Any]:
        def call(own: socket.socket, address: Any, *rest: Any) -> Any:
            if own.family != getattr(socket, "AF_UNIX", None):
                _require_local(address[0])
            return connect(own, address, *rest)

        return call

    def asked(look_up: Callable[..., Any]) -> Callable[..., Any]:
        def call(host: Any, *rest: Any, **options: Any) -> Any:
            _require_local(host)
            return look_up(host, *rest, **options)

        return call

    def addressed(send: Callable[..., Any], place: int) -> Callable[..., Any]:
        def call(own: socket.socket, *rest: Any) -> Any:
            address = rest[-1] if len(rest) > place else None
            if isinstance(address, tuple):
                _require_local(address[0])
            return send(own, *rest)

        return call

    with (
        patch.object(socket.socket, "connect", guarded(socket.socket.connect)),
        patch.object(socket.socket, "connect_ex", guarded(socket.socket.connect_ex)),
        patch.object(socket.socket, "sendto", addressed(socket.socket.sendto, 1)),
        patch.object(socket, "getaddrinfo", asked(socket.getaddrinfo)),
        patch.object(socket, "gethostbyname", asked(socket.gethostbyname)),
        patch.object(socket, "gethostbyname_ex", asked(socket.gethostbyname_ex)),
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

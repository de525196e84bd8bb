"""A look at the kernel's shell messages before the kernel gets to them.

While a cell runs, most kernels let a click wait for its end. The shell stream's callback runs
even so: on a thread of its own in ipykernel 7, and in ipykernel 6 whenever the main loop turns or
``pump`` is called. The tap hands the custom messages of watched comms to their inboxes there and
passes every message on unchanged, so that nothing depends on it but speed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from .host import Host, in_main_thread
from .inbox import Inbox, custom_content

_log = logging.getLogger(__name__)

SWITCH: Final = "AGENT_WIDGET_TAP"
"""Environment variable; ``0`` leaves the kernel's stream alone."""

_ATTRIBUTE: Final = "_agent_widget_tap"
_INSTALL_TIMEOUT_S: Final = 2.0
_POLLIN: Final = 1  # zmq.POLLIN, part of zmq's stable API
_MOST_PER_PUMP: Final = 200
_NUDGE_S: Final = 0.25
_LOSES_WAKE_UPS: Final = ((7, 0), (7, 4))
"""Releases from the first up to the second leave a message that comes while they send a reply
unread, until the socket moves again, and the kernel looks dead (ipython/ipykernel#1554)."""


class CommTap:
    """The one tap of a kernel; get it with ``install_tap``. Callable from any thread."""

    def __init__(self, kernel: object, *, nudges: bool = False) -> None:
        self._kernel = kernel
        self._nudges = nudges
        self._stream: Any = getattr(kernel, "shell_stream", None)
        self._inboxes: dict[str, Inbox] = {}
        self._callback: Callable[[Any], Any] | None = None
        self._ready = threading.Event()

    @property
    def installed(self) -> bool:
        """True while the kernel's stream calls this tap; where False, plain ``on_msg`` works."""
        return (
            self._callback is not None
            and getattr(self._stream, "_recv_callback", None) is self._callback
        )

    @property
    def needs_pump(self) -> bool:
        """True where the stream's callback runs on the main thread (ipykernel 6)."""
        return self.installed and self._on_main_loop()

    def watch(self, comm_id: str, inbox: Inbox) -> None:
        """From now on, custom messages to that comm go to ``inbox`` too."""
        self._inboxes[comm_id] = inbox

    def unwatch(self, comm_id: str) -> None:
        self._inboxes.pop(comm_id, None)

    def pump(self) -> None:
        """Let waiting messages reach the tap; for a blocking wait on the main thread.

        The kernel queues what it gets and runs it after the cell, in order, as always.
        Does nothing where the stream has a thread of its own.
        """
        if not self.needs_pump or not in_main_thread():
            return
        self._read()

    def install(self) -> None:
        """Wrap the stream's callback on the stream's own thread; waits until that is done."""
        if self._on_main_loop() and in_main_thread():
            self._wrap()
            return
        self._stream.io_loop.add_callback(self._wrap)
        if not self._on_main_loop():
            self._ready.wait(_INSTALL_TIMEOUT_S)

    def _on_main_loop(self) -> bool:
        return self._stream.io_loop is getattr(self._kernel, "io_loop", None)

    def _wrap(self) -> None:
        try:
            beneath = self._stream._recv_callback  # noqa: SLF001 - pyzmq offers no way to read it
            copies = self._stream._recv_copy  # noqa: SLF001

            def tap(frames: Any) -> Any:
                # A failing peek must never cost the kernel a message.
                with contextlib.suppress(Exception):
                    self._peek(frames)
                return beneath(frames)

            if callable(beneath) and not copies:
                self._stream.on_recv(tap, copy=False)
                self._callback = tap
                if self._nudges:
                    self._nudge()
        except Exception:  # noqa: BLE001 - the kernel's insides may change; on_msg remains
            _log.debug("The kernel's shell stream could not be tapped.", exc_info=True)
        finally:
            self._ready.set()

    def _nudge(self) -> None:
        if self._read():
            self._stream.io_loop.call_later(_NUDGE_S, self._nudge)

    def _read(self) -> bool:
        try:
            self._stream.flush(_POLLIN, limit=_MOST_PER_PUMP)
        except Exception:  # noqa: BLE001 - the kernel's insides may change; on_msg remains
            _log.debug("The kernel's shell stream could not be read.", exc_info=True)
            return False
        return True

    def _peek(self, frames: Sequence[Any]) -> None:
        if not self._inboxes:
            return
        session: Any = getattr(self._kernel, "session", None)
        _, parts = session.feed_identities(frames, copy=False)
        # parts: signature, header, parent header, metadata, content, buffers
        if b"comm_msg" not in bytes(parts[1].buffer):
            return
        # Checks the signature, and does not count as its first use.
        message = session.deserialize(parts, content=False, copy=False)
        if message["header"]["msg_type"] != "comm_msg":
            return
        body = session.unpack(message["content"])
        inbox = self._inboxes.get(body.get("comm_id"))
        content = custom_content(body.get("data"))
        if inbox is not None and content is not None:
            inbox.receive(content, message.get("buffers"), "tap")


def install_tap(host: Host) -> CommTap | None:
    """The kernel's tap, installed on the first call; None where there can be none.

    That is without ipykernel's stream, or when ``AGENT_WIDGET_TAP=0``. Never raises.
    """
    kernel = host.kernel
    if kernel is None or os.environ.get(SWITCH) == "0":
        return None
    stream = getattr(kernel, "shell_stream", None)
    if not all(hasattr(stream, name) for name in ("on_recv", "io_loop", "_recv_callback")):
        return None
    try:
        first, fixed = _LOSES_WAKE_UPS
        nudges = host.release is not None and first <= host.release < fixed
        fresh = CommTap(kernel, nudges=nudges)
        tap: CommTap = vars(kernel).setdefault(_ATTRIBUTE, fresh)
        if tap is fresh:
            tap.install()
    except Exception:  # noqa: BLE001 - the kernel's insides may change; on_msg remains
        _log.debug("The kernel could not be tapped.", exc_info=True)
        return None
    return tap

"""A page without a browser: keeps the wire's promises as the front end's store does."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from typing import Any, Final

from agent_widget.surfaces.bridge import Bridge
from agent_widget.view.patch import GapError, apply
from agent_widget.view.schema import view_to_wire

FORGED: Final[list[dict[str, Any]]] = [
    {"pid": "p-1", "decision": "allow_once"},
    {"pid": "", "decision": "allow_once"},
    {"pid": None, "decision": "allow_once"},
    {"pid": 7, "decision": "allow_once"},
    {"pid": {"$ne": ""}, "decision": "allow_once"},
    {"decision": "allow_once"},
    {"pid": "REAL", "decision": "ALLOW_ONCE"},
    {"pid": "REAL", "decision": "allow"},
    {"pid": "REAL", "decision": True},
    {"pid": "REAL", "decision": ["allow_once"]},
    {"pid": "REAL"},
    {"pid": "REAL", "decision": "allow_project", "rules": ["change"]},
    {"pid": "REAL", "decision": "allow_session", "rules": "change"},
    {"pid": "REAL", "decision": "allow_session", "rules": ["*"]},
    {"pid": "REAL", "decision": "edit", "args": {"name": 1, "more": 2}},
    {"pid": "REAL", "decision": "edit", "args": "x"},
]
"""Decisions that no page makes; REAL stands for the id of the open question."""


class Page:
    """The transport of a bridge and the page behind it; ``lose`` drops messages on their way."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.traits: list[dict[str, Any]] = []
        self.words: dict[str, Any] = {}
        self.wire: dict[str, Any] | None = None
        self.seq = -1
        self.gaps = 0
        self.lose = False
        self.broken = False
        self._numbers = itertools.count(1)
        self._replies: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._rested = asyncio.Event()
        self.bridge: Bridge | None = None

    # --- as a transport ------------------------------------------------------------------------

    def send_message(self, content: dict[str, Any]) -> None:
        if self.broken:
            raise RuntimeError("Cannot send")
        self.sent.append(content)
        if not self.lose:
            self._arrive(content)

    def write_words(self, words: dict[str, Any]) -> None:
        self.words = words

    def write_snapshot(self, snapshot: dict[str, Any]) -> None:
        if self.broken:
            raise RuntimeError("Cannot send")
        self.traits.append(snapshot)
        if snapshot["view"]["phase"] in ("idle", "error"):
            self._rested.set()

    def click_context(self) -> contextvars.Context | None:
        return None

    # --- as a page -----------------------------------------------------------------------------

    def hello(self, view: str = "v1", **fields: Any) -> None:
        self._send({"kind": "hello", "view": view, "epoch": "", "last_seq": self.seq, **fields})

    async def command(self, name: str, **fields: Any) -> dict[str, Any]:
        """Send a command and wait for its reply."""
        reply = asyncio.get_running_loop().create_future()
        request_id = self._send({"kind": "command", "name": name, **fields})
        self._replies[request_id] = reply
        return await asyncio.wait_for(reply, 5)

    async def rested(self) -> None:
        """Wait until the trait of a session at rest was written, and forget it again."""
        await asyncio.wait_for(self._rested.wait(), 5)
        self._rested.clear()

    def replies(self) -> list[dict[str, Any]]:
        return [content for content in self.sent if content["kind"] == "reply"]

    def patches(self) -> list[dict[str, Any]]:
        return [content for content in self.sent if content["kind"] == "patch"]

    def shows(self, bridge_session: Any) -> bool:
        return self.wire == view_to_wire(bridge_session.view)

    def _send(self, content: dict[str, Any]) -> str:
        assert self.bridge is not None
        request_id = f"q-{next(self._numbers)}"
        self.bridge.receive({**content, "request_id": request_id})
        return request_id

    def _arrive(self, content: dict[str, Any]) -> None:
        match content["kind"]:
            case "snapshot":
                self.wire, self.seq = content["view"], content["seq"]
            case "patch":
                self._patched(content)
            case "reply":
                self._replies.pop(content["request_id"]).set_result(content)

    def _patched(self, content: dict[str, Any]) -> None:
        if self.wire is None or content["seq"] <= self.seq:
            return
        try:
            if content["seq"] != self.seq + 1:
                raise GapError
            self.wire, self.seq = apply(self.wire, content["ops"]), content["seq"]
        except GapError:
            self.gaps += 1
            self.hello()

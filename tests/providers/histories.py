"""Random histories: what users, models, tools, Stop, edits and switches leave behind."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, Final

from agent_widget.core import actions as act
from agent_widget.core import empty_state, session_reducer
from agent_widget.core.messages import Conversation, ImagePart, Message, TextPart
from agent_widget.core.state import SessionState
from agent_widget.core.wire import messages_from_wire, messages_to_wire, state_from_wire

WIRES: Final = ("openai-chat", "openai-responses", "anthropic")
PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
CUT_PNG: Final = "iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAA=="

TEXTS: Final = ("", " ", "\n\n", "hi ", " hi\n", "café 😀", "\ud83d", "\udc00x", "\0\x1b[31mred")
IDS: Final = (
    "c1",
    "toolu_01",
    "",
    "functions.search:0/é" + "k" * 70,
    "c1/3",
    "\ud800",
    "call_0123456789012345678901234567890123456789",
)
NAMES: Final = ("ls", "run_python", "a.b", "", "x" * 80, "é\ud800")
INPUTS: Final[tuple[Any, ...]] = (
    None,
    {},
    {"a": 1},
    [1],
    "text",
    {"note": "cut \ud83d"},
    {"x": float("nan")},
    "",
)


def _blocks(*content: dict[str, Any]) -> dict[str, Any]:
    return {"content": [*content], "isError": False}


OUTPUTS: Final = (
    "plain",
    "",
    None,
    " \n",
    {"rows": 3},
    _blocks(),
    _blocks({"type": "text", "text": "ok \udcff", "audience": "all"}),
    _blocks({"type": "image", "mime": "image/png", "data": PNG, "audience": "all"}),
    _blocks({"type": "image", "mime": "image/png", "data": CUT_PNG, "audience": "model"}),
    _blocks({"type": "image", "mime": "image/png", "data": PNG, "audience": "user"}),
    _blocks({"type": "image", "mime": "image/tiff", "data": "AA", "audience": "all"}),
)
ERRORS: Final = (
    {"code": "cancelled", "message": "The user did not allow this call. Reason: no"},
    {"message": ""},
    "boom",
    None,
)


SENT: Final = (
    None,
    None,
    (ImagePart("image/png", PNG),),
    (ImagePart("image/png", CUT_PNG), ImagePart("image/png"), ImagePart("image/png", PNG)),
)
"""Images of a message: none, one, and a good one behind a cut and a lost one."""


def maker(wire: str) -> str:
    return f"{wire}:m@host"


def signed_blocks(wire: str) -> tuple[dict[str, Any], ...]:
    """What a model of ``wire`` wants back of its reasoning."""
    if wire == "anthropic":
        return (
            {"type": "thinking", "thinking": "hm  \n", "signature": "EqQ/+w=="},
            {"type": "thinking", "thinking": "", "signature": "omitted"},
            {"type": "redacted_thinking", "data": "Emw="},
        )
    if wire == "openai-responses":
        part = {"type": "summary_text", "text": "hm "}
        return (
            {"type": "reasoning", "id": "rs_1", "summary": [part], "encrypted_content": "gA=="},
            {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gB=="},
        )
    return (
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s"}]},
        {"extra_content": [[0, {"google": {"thought_signature": "t"}}], [7, {}]]},
    )


OWN: Final = {wire: {json.dumps(b, sort_keys=True) for b in signed_blocks(wire)} for wire in WIRES}


def _reasoning_data(rng: random.Random) -> dict[str, Any] | None:
    wire = rng.choice((*WIRES, ""))
    if not wire:
        return rng.choice((None, {"signature": "of old"}, {"from": maker("anthropic")}))
    place = {"calls": rng.randrange(3), "chars": rng.randrange(8)}
    return {"from": maker(wire), **place, "block": rng.choice(signed_blocks(wire))}


class Player:
    """Plays a random session, step by step."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._count = 0
        self.state: SessionState = empty_state()

    def steps(self, count: int) -> Iterator[Conversation]:
        """The conversation after each of ``count`` steps."""
        moves = (
            *[self._ask] * 3,
            *[self._answer] * 6,
            *[self._end_call] * 4,
            self._stop,
            self._retry,
            self._compact,
            self._fork,
            self._edit,
            self._reload,
            self._import,
        )
        for _ in range(count):
            self._rng.choice(moves)()
            yield self.state.messages

    def _apply(self, action: act.Action) -> None:
        self.state = session_reducer(self.state, action)

    def _ask(self) -> None:
        self._count += 1
        self._apply(act.ApplyPart(act.Finish("stop")))
        self._apply(act.Send(f"u-{self._count}", self._rng.choice(TEXTS), self._rng.choice(SENT)))

    def _answer(self) -> None:
        """A step of the model: parts of any kind in any order, complete or not."""
        rng = self._rng
        self._count += 1
        known = f"a-{self._count}"
        parts: list[act.StreamPart] = [act.MessageStart(known)]
        for _ in range(rng.randrange(5)):
            kind = rng.randrange(3)
            if kind == 0:
                parts.append(act.TextDelta(known, rng.choice(TEXTS)))
            elif kind == 1:
                parts.append(act.Reasoning(known, rng.choice(TEXTS), _reasoning_data(rng)))
            else:
                call = (rng.choice(IDS), rng.choice(NAMES), rng.choice(INPUTS))
                parts.append(act.ToolCall(known, *call))
        for part in parts:
            self._apply(act.ApplyPart(part))

    def _end_call(self) -> None:
        calls = [call for message in self.state.messages for call in message.tool_calls]
        if not calls:
            return
        known = self._rng.choice(calls).id
        if self._rng.random() < 0.7:
            self._apply(act.ApplyPart(act.ToolResult(known, self._rng.choice(OUTPUTS))))
        else:
            self._apply(act.ApplyPart(act.ToolError(known, self._rng.choice(ERRORS))))

    def _stop(self) -> None:
        self._apply(act.Stop())

    def _retry(self) -> None:
        self._apply(act.Retry())

    def _compact(self) -> None:
        messages = [*self.state.messages]
        cut = self._rng.randrange(len(messages) + 1)
        summary = Message("summary", "user", (TextPart.of("Summary."),))
        self._replace([summary, *messages[cut:]])

    def _fork(self) -> None:
        self._replace([*self.state.messages][: self._rng.randrange(len(self.state.messages) + 1)])

    def _edit(self) -> None:
        messages = [*self.state.messages]
        if messages:
            messages.pop(self._rng.randrange(len(messages)))
        self._replace(messages)

    def _reload(self) -> None:
        wire = messages_to_wire(self.state.messages)
        self._replace([*messages_from_wire(wire)])

    def _import(self) -> None:
        """A message of elsewhere, whose text stands behind its calls."""
        call = {"type": "tool", "id": self._rng.choice(IDS), "name": "ls", "input": {}}
        parts = [
            {"type": "text", "text": self._rng.choice(TEXTS)},
            {**call, "state": self._rng.choice(("running", "done", "cancelled"))},
            {"type": "text", "text": self._rng.choice(TEXTS)},
        ]
        role = self._rng.choice(("assistant", "user"))
        message = {"id": "imported", "role": role, "parts": parts}
        wire = [*messages_to_wire(self.state.messages), message]
        self._replace([*messages_from_wire(wire)])

    def _replace(self, messages: list[Message]) -> None:
        wire = {"messages": messages_to_wire(messages), "status": "idle"}
        self.state = state_from_wire(wire)

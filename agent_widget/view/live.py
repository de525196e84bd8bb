"""A view of one's own, kept from a stream of events, in the way one wants answers delivered.

live = LiveView(session.view, Delivery(text="final", thinking="off"))
async for event in session.events():
    live.push(event)
    show(live.snapshot())
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidOptions
from ..core.events import (
    BlockEnd,
    BlockStart,
    BlockType,
    Event,
    MsgRetracted,
    MsgTextDelta,
    MsgThinkingDelta,
    PermissionDecided,
    SessionReset,
    SessionRestored,
    SessionResumed,
    ToolProposed,
    TreeNavigated,
    TurnAborted,
    TurnCompleted,
    TurnError,
)
from ..core.messages import Json, Message, ReasoningPart, TextPart
from ..core.state import SessionState
from .model import SessionView
from .project import project
from .snapshot import snapshot_of

TextDelivery = Literal["stream", "final"]
ThinkingDelivery = Literal["stream", "final", "off"]

WHOLE_VIEW: Final = (SessionResumed, SessionRestored, TreeNavigated)
"""Events after which the conversation is another one, that only the session knows."""


class Delivery(Struct, frozen=True, kw_only=True):
    """When text and thinking are shown: as they come, when a block is whole, or (thinking) never.

    What the model is told and how much it thinks do not depend on it. Raises InvalidOptions at
    construction.
    """

    text: TextDelivery = "stream"
    thinking: ThinkingDelivery = "stream"

    def __post_init__(self) -> None:
        _check("text", self.text, get_args(TextDelivery))
        _check("thinking", self.thinking, get_args(ThinkingDelivery))


def delivery_of(option: object) -> Delivery:
    """The delivery of ``delivery={text, thinking}`` as code writes it; InvalidOptions if wrong."""
    if option is None:
        return Delivery()
    if isinstance(option, Delivery):
        return option
    if not isinstance(option, Mapping):
        raise InvalidOptions(
            f"delivery is {option!r}, expected a mapping.",
            advice="Write delivery={'text': 'final', 'thinking': 'off'}.",
        )
    for name in option:
        _check("an option of delivery", name, Delivery.__struct_fields__)
    return Delivery(**option)


class _Block(Struct):
    """A block under way, how it is delivered, and the text that is not in the view yet."""

    kind: BlockType
    message_id: str
    mode: ThinkingDelivery
    held: TextPart | None = None

    def hold(self, text: str) -> None:
        self.held = TextPart.of(text) if self.held is None else self.held.grow(text)

    @property
    def text(self) -> str:
        return "" if self.held is None else self.held.text


_Place = tuple[str | None, int]
"""Whose block it is (None: the main agent's), and its index."""


class LiveView:
    """The view after the events that were pushed, for one reader; used by one thread.

    With the default delivery it is what the session itself has. Events of other producers of the
    contract may lack a message's or a tool's name after the first event of it.
    """

    def __init__(self, view: SessionView | None = None, delivery: Delivery | None = None) -> None:
        self.view = view or SessionView()
        self.delivery = delivery or Delivery()
        self._open: dict[_Place, _Block] = {}
        self._newest: dict[str | None, tuple[str, int]] = {}
        self._made_up = 0

    def set_delivery(self, delivery: Delivery) -> None:
        """Deliver so from the next block on; a block under way stays as it is."""
        self.delivery = delivery

    def push(self, event: Event, told: SessionView | None = None) -> SessionView:
        """The view after ``event``. ``told`` is the session's own, as its listeners get it.

        It is needed where the event says that the conversation is another one (``WHOLE_VIEW``).
        """
        if told is not None and isinstance(event, WHOLE_VIEW):
            self._open.clear()
            self._newest.clear()
            self.view = _unthought(told) if self.delivery.thinking == "off" else told
            return self.view
        for each in self._delivered(event):
            self.view = project(self.view, each)
        return self.view

    def snapshot(self) -> dict[str, Json]:
        """The view as JSON data of its own, thinking that is under way included."""
        open_thinking = {
            block.message_id: block.text
            for (agent_id, _), block in self._open.items()
            if agent_id is None and block.kind == "thinking" and block.mode == "stream"
        }
        return snapshot_of(self.view, open_thinking)

    def _delivered(self, event: Event) -> Iterator[Event]:
        """What to fold for ``event``, and before it."""
        match event:
            case BlockStart():
                yield self._block_start(event)
            case ToolProposed(message_id=""):
                yield from self._proposed(event)
            case MsgTextDelta() | MsgThinkingDelta():
                yield from self._delta(event)
            case BlockEnd():
                yield from self._block_end(event)
            case MsgRetracted():
                self._open.pop((event.agent_id, event.index), None)
                newest, _ = self._newest.get(event.agent_id, ("", 0))
                yield replace(event, message_id=event.message_id or newest)
            case TurnCompleted() | TurnAborted() | TurnError(recoverable=False):
                yield from self._held_back()
                self._newest.clear()
                yield event
            case PermissionDecided(name=""):
                yield replace(event, name=_call_name(self.view.chat, event.tool_call_id))
            case SessionReset():
                self._open.clear()
                self._newest.clear()
                yield event
            case _:
                yield event

    def _block_start(self, event: BlockStart) -> BlockStart:
        if not event.message_id:
            event = replace(event, message_id=self._message_id(event.agent_id, event.index))
        self._newest[event.agent_id] = (event.message_id, event.index)
        self._open[event.agent_id, event.index] = self._block(event)
        return event

    def _proposed(self, event: ToolProposed) -> Iterator[Event]:
        """A call whose event does not say what answer it is of: the newest one's, or its own."""
        known = self._newest.get(event.agent_id)
        if known is None:
            start = BlockStart(message_id="", index=0, block_type="tool_call")
            started = self._block_start(replace(start, agent_id=event.agent_id))
            known = (started.message_id, 0)
            yield started
        yield replace(event, message_id=known[0])

    def _message_id(self, agent_id: str | None, index: int) -> str:
        """The message of a block that does not say it: indexes count up within a message."""
        known = self._newest.get(agent_id)
        if known is not None and index > known[1]:
            return known[0]
        self._made_up += 1
        return f"answer-{self._made_up}"

    def _block(self, event: BlockStart) -> _Block:
        mode: ThinkingDelivery = "stream"
        if event.block_type == "text":
            mode = self.delivery.text
        elif event.block_type == "thinking":
            mode = self.delivery.thinking
        return _Block(event.block_type, event.message_id, mode)

    def _delta(self, event: MsgTextDelta | MsgThinkingDelta) -> Iterator[Event]:
        block = self._open.get((event.agent_id, event.index))
        if block is None:
            # A reader that came in the middle of a block has not seen it begin.
            if event.message_id and isinstance(event, MsgTextDelta):
                yield event
        elif block.mode == "final" or (block.kind == "thinking" and block.mode == "stream"):
            block.hold(event.text)
        elif block.kind == "text":
            yield event if event.message_id else replace(event, message_id=block.message_id)

    def _block_end(self, event: BlockEnd) -> Iterator[Event]:
        block = self._open.pop((event.agent_id, event.index), None)
        if block is None:
            is_hidden = event.block_type == "thinking" and self.delivery.thinking == "off"
            yield replace(event, text=None, data=None) if is_hidden else event
            return
        kind = "thinking" if event.block_type == "thinking" else block.kind
        text = None
        is_hidden = kind == "thinking" and block.mode == "off"
        if kind == "thinking" and not is_hidden:
            text = event.text or block.text
        yield from _shown(block, event.agent_id, event.index)
        message_id = event.message_id or block.message_id
        data = None if is_hidden else event.data
        yield replace(event, message_id=message_id, block_type=kind, text=text, data=data)

    def _held_back(self) -> Iterator[Event]:
        """What the blocks hold that a run leaves open."""
        for (agent_id, index), block in self._open.items():
            yield from _shown(block, agent_id, index)
        self._open.clear()


def _shown(block: _Block, agent_id: str | None, index: int) -> Iterator[Event]:
    if block.kind == "text" and block.held is not None:
        yield MsgTextDelta(
            message_id=block.message_id, index=index, text=block.text, agent_id=agent_id
        )


def _call_name(chat: SessionState, call_id: str) -> str:
    for message in reversed(chat.messages):
        for call in message.tool_calls:
            if call.id == call_id:
                return call.name
            name = "" if call.agent is None else _call_name(call.agent, call_id)
            if name:
                return name
    return ""


def _unthought(view: SessionView) -> SessionView:
    """``view`` without what the model thought."""
    chat = view.chat
    messages = [_without_thinking(message) for message in chat.messages]
    return replace(view, chat=SessionState.of(messages, chat.status, chat.error))


def _without_thinking(message: Message) -> Message:
    parts = tuple(part for part in message.parts if not isinstance(part, ReasoningPart))
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)


def _check(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise InvalidOptions(f"{name} is {value!r}, expected one of {listed}.")

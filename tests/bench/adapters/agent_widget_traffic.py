"""The widget as a notebook shows it, with a page that has greeted it.

A patch goes out only while a page watches, so ``show`` sends the page's ``hello`` the way a click
comes in. The reply's pieces come from a model object on the engine's loop: what is measured is the
way from the model's event to the comm message.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from concurrent.futures import Future
from typing import Any

from IPython.display import display

from agent_widget import AgentWidget
from agent_widget.core.events import BlockEnd, BlockStart, Event, InputReceived, MsgTextDelta
from agent_widget.engine.runtime import engine_thread
from agent_widget.providers.base import (
    Model,
    ModelEvent,
    ModelInfo,
    ModelRequest,
    StepEnd,
    TextChunk,
)

NAME = "agent_widget"


class Replay:
    """A model whose every answer is the reply of this run, at its pace."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx

    @property
    def info(self) -> ModelInfo:
        return ModelInfo("bench", "replay", "replay")

    async def stream(self, _request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        async for piece in self._ctx.atokens():
            yield TextChunk(piece)
        yield StepEnd("stop")

    async def aclose(self) -> None:
        pass


class Adapter:
    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx
        self.chat = AgentWidget(self.model(), ask_user=lambda _question: False)
        _tell(self.chat, ctx.history)

    def model(self) -> Model:
        return Replay(self.ctx)

    def show(self) -> None:
        display(self.chat)
        hello = {"kind": "hello", "view": "bench", "request_id": "hello"}
        self.chat._chat.inbox.receive(hello, None, "on_msg")
        _engine_done()

    async def stream(self) -> None:
        result = await self.chat.send("hello")
        assert result.ok, result
        assert result.text == "".join(self.ctx._tokens)

    def close(self) -> None:
        self.chat.close()


def _tell(chat: AgentWidget, history: list[tuple[str, str]]) -> None:
    """Fold earlier messages into the session, as the events of a stored one would."""
    for index, (role, text) in enumerate(history):
        message_id = f"{role}-{index}"
        events: list[Event] = [InputReceived(message_id=message_id, text=text)]
        if role == "assistant":
            events = [
                BlockStart(message_id=message_id, index=0, block_type="text"),
                MsgTextDelta(message_id=message_id, index=0, text=text),
                BlockEnd(message_id=message_id, index=0, block_type="text"),
            ]
        for event in events:
            engine_thread().call_soon(chat.session._writer.emit, event)
    _engine_done()


def _engine_done() -> None:
    """Wait until the engine has done what was handed to it before."""
    done: Future[None] = Future()
    engine_thread().call_soon(done.set_result, None)
    done.result()

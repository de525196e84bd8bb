"""A model whose exchanges are recorded, or come from a recording."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from ...core.errors import InvalidOptions, ModelError
from ...providers.base import Model, ModelEvent, ModelInfo, ModelRequest
from . import wire
from .chat import STOPPED_S
from .file import Exchange
from .tape import Recording, Tools


class TapedModel:
    """``inner`` through ``tape``; without ``inner`` every answer is one of the recording.

    ``known`` is then the model that it plays, as a recording has it (None: its first one).
    """

    def __init__(
        self, inner: Model | None, tape: Recording, known: wire.Wire | None = None
    ) -> None:
        self.tape = tape
        self._inner = inner
        secrets = getattr(inner, "secrets", None)
        if callable(secrets):
            tape.masks.add_source(secrets)
        self._known = None
        if known is not None:
            self._known = tape.info_of(known)
        elif tape.is_replay:
            self._known = tape.info_like(None if inner is None else inner.info)
        if inner is None and self._known is None:
            advice = "Record it anew."
            raise InvalidOptions(f"The recording {tape.path} holds no answer.", advice=advice)

    @property
    def info(self) -> ModelInfo:
        if self._known is not None:
            return self._known
        assert self._inner is not None
        return self._inner.info

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """The answer that was recorded, or the model's. Raises ModelError, ReplayMismatch."""
        known = self.tape.given(request, None if self._inner is None else self._inner.info)
        answer = self._live(request) if known is None else self._recorded(known)
        async with aclosing(answer) as events:
            async for event in events:
                yield event

    def __getattr__(self, name: str) -> Any:
        # What a model may offer beside its answers (``ListsModels``) needs its server.
        if name != "list_models" or self.tape.is_replay:
            raise AttributeError(name)
        return getattr(self._inner, name)

    async def aclose(self) -> None:
        if self._inner is not None:
            await self._inner.aclose()

    async def _live(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        assert self._inner is not None
        events: list[ModelEvent] = []
        error: wire.Wire | None = None
        is_stopped = True
        try:
            async with aclosing(self._inner.stream(request)) as stream:
                async for event in stream:
                    events.append(event)
                    yield event
            is_stopped = False
        except ModelError as failure:
            error, is_stopped = wire.error_wire(failure), False
            raise
        finally:
            info = self._inner.info
            self.tape.answered(request, info, events, error, is_stopped=is_stopped)

    async def _recorded(self, known: Exchange) -> AsyncGenerator[ModelEvent, None]:
        for event in wire.events_of(known.events):
            await asyncio.sleep(0)  # as between pieces that arrive: a Stop gets its turn
            await self.tape.pause()
            yield event
        await self.tape.pause()
        if known.error is not None:
            raise wire.error_of(known.error)
        if known.is_stopped:
            self.tape.at_stop()
            await asyncio.sleep(STOPPED_S)
            text = f"The answer in {self.tape.path}:{known.line} was stopped, and this one was not."
            raise ModelError("bad_request", text)


def taped(model: Model, tape: Recording) -> TapedModel:
    """``model`` through ``tape``, once."""
    return model if isinstance(model, TapedModel) else TapedModel(model, tape)


def replay(
    path: str | os.PathLike[str], *, tools: Tools = "recorded", accept: bool = False
) -> TapedModel:
    """A model that gives what was recorded in a file: no network, no key, fixed time and ids.

    ``tools="run"`` runs tools again and compares; ``accept=True`` keeps the recorded answers under
    requests that have changed since, and writes that down. A session fails with ReplayMismatch
    where something differs, where something is asked that was not recorded, and, when it is
    closed, where something recorded was not used. Raises InvalidOptions.
    """
    tape = Recording(path, "none", tools=tools, accept=accept, is_fixed=True)
    return TapedModel(None, tape)

"""Barriers: what a run waits for after its listeners have heard an event, before the next one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

BARRIER_S: Final = 10.0
"""A barrier that takes longer is taken away: it would hold up every event."""

Barrier: TypeAlias = Callable[[], Awaitable[None]]

_log = logging.getLogger(__name__)


class Barriers:
    """Lets those who hear events say when they can take more. Lives on the engine's loop."""

    def __init__(self, timeout_s: float = BARRIER_S) -> None:
        self._timeout_s = timeout_s
        self._barriers: dict[object, Barrier] = {}

    def register(self, barrier: Barrier) -> Callable[[], None]:
        """Await ``barrier()`` after each event of a run; returns the way to end that."""
        key = object()
        self._barriers[key] = barrier

        def remove() -> None:
            self._barriers.pop(key, None)

        return remove

    async def passed(self) -> None:
        """Return once every barrier has let through; one that fails lets through, and is logged."""
        for key in tuple(self._barriers):
            barrier = self._barriers.get(key)
            if barrier is None:  # removed by the one before it
                continue
            try:
                async with asyncio.timeout(self._timeout_s):
                    await barrier()
            except TimeoutError:
                self._barriers.pop(key, None)
                _log.warning("a barrier took more than %g s and was taken away", self._timeout_s)
            except Exception:  # noqa: BLE001  # it is not ours
                _log.exception("a barrier failed")

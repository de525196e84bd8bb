"""An event loop whose clock jumps to the next timer, so that waiting takes no time."""

from __future__ import annotations

import asyncio
import selectors
from typing import Final

_IDLE_LIMIT_S: Final = 10.0


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Runs callbacks in the order of their due times; ``time()`` moves only while nothing is ready.

    A loop that has neither a timer nor anything ready waits for real events (a thread that hands
    something over) and gives up with an error after ten seconds.
    """

    def __init__(self) -> None:
        self._now_s = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self._now_s

    def jump(self, seconds: float) -> None:
        self._now_s += seconds


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            ready = super().select(_IDLE_LIMIT_S)
            if not ready:
                raise TimeoutError(f"nothing is due and nothing came for {_IDLE_LIMIT_S:g} s")
            return ready
        ready = super().select(0)
        if not ready and timeout > 0:
            self._loop.jump(timeout)
        return ready

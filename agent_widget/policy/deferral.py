"""What waits for the end of a run: entries that would tear calls from their results.

Source: AgentSession document (``record_bash_result``, ``flush_pending_bash_messages``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deferral(Generic[T]):
    """Entries in their order: appended at rest, kept for its end while a run is under way.

    ``append`` stores one entry, or raises; then that one and all after it are where they were.
    Calls of ``record`` and ``flush`` come one at a time.
    """

    def __init__(self, pending: Iterable[T] = ()) -> None:
        self._pending = [*pending]

    @property
    def pending(self) -> tuple[T, ...]:
        return (*self._pending,)

    async def record(
        self, entry: T, append: Callable[[T], Awaitable[None]], *, is_streaming: bool
    ) -> None:
        """Append ``entry`` after what is pending, or keep it while ``is_streaming``.

        Raises what ``append`` raises: then it is not recorded.
        """
        if is_streaming:
            self._pending.append(entry)
            return
        await self.flush(append)
        await append(entry)

    async def flush(self, append: Callable[[T], Awaitable[None]]) -> None:
        """Append what is pending, each entry let go of once it is stored."""
        while self._pending:
            await append(self._pending[0])
            del self._pending[0]

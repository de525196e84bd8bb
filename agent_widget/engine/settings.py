"""What a session does by itself and a person may switch, here and in the sessions that come later.

Source: AgentSession document, ``set_auto_compaction_enabled`` and ``set_auto_retry_enabled``.
"""

from __future__ import annotations

import asyncio
from typing import Final, Literal, Protocol

from msgspec.structs import replace

from ..core.errors import InvalidOptions, SessionError
from .compaction import Compactor
from .retry import Retries

Switch = Literal["auto_compaction", "auto_retry"]
NOT_WRITTEN: Final = "settings_not_written"


class SettingsDocument(Protocol):
    """Where a user's choices are kept."""

    def write(self, name: Switch, value: bool) -> None:
        """Keep one, and all else as it is. Raises OSError, InvalidOptions: then nothing is kept."""
        ...


class SessionSettings:
    """The switches of one session; lives on the engine's loop.

    Each is kept in ``document`` first, if there is one, and then used. The setters raise
    SessionError ``settings_not_written``: then nothing has changed.
    """

    def __init__(
        self, compactor: Compactor, retries: Retries, document: SettingsDocument | None
    ) -> None:
        self._compactor = compactor
        self._retries = retries
        self._document = document
        self._writing = asyncio.Lock()

    @property
    def auto_compaction_enabled(self) -> bool:
        """Whether a long conversation is summarised by itself."""
        return self._compactor.options.auto

    async def set_auto_compaction_enabled(self, enabled: bool) -> None:
        """Summarise by itself, or not, from the next request on."""
        async with self._writing:
            await self._keep("auto_compaction", enabled)
            self._compactor.options = replace(self._compactor.options, auto=enabled)

    @property
    def auto_retry_enabled(self) -> bool:
        """Whether model calls that fail in passing are made again."""
        return self._retries.auto_retry_enabled

    async def set_auto_retry_enabled(self, enabled: bool) -> None:
        """Make calls that fail from now on again, or not."""
        async with self._writing:
            await self._keep("auto_retry", enabled)
            self._retries.set_auto_retry_enabled(enabled)

    async def _keep(self, name: Switch, enabled: object) -> None:
        if not isinstance(enabled, bool):
            raise InvalidOptions(f"{name} is {enabled!r}, expected True or False.")
        if self._document is None:
            return
        try:
            await asyncio.to_thread(self._document.write, name, enabled)
        except (OSError, InvalidOptions) as error:
            message = f"The settings could not be changed: {error}"
            raise SessionError(NOT_WRITTEN, message) from error

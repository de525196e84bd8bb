"""What a host lends the extensions of a session: its hooks, and the servers beside it.

Source: AgentSession document, ``bind_extensions``; features D26 to D28 and D39 to D41.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import SessionError
from ..core.events import Event, SessionEnded
from .approvals import Approvals, Attendant
from .hooks import HookFailure, Hooks
from .writer import Writer

NOT_DISCOVERED: Final = "extension.resource_discover"
Mode = Literal["script", "widget"]

_log = logging.getLogger(__name__)


class ExtensionBindings(Struct, frozen=True, kw_only=True):
    """What a host lends: ``mode`` says what it is, ``attendant`` puts questions to its person,
    ``on_error`` hears of hooks that fail, ``on_shutdown`` of the end of the session.

    None leaves what was lent before. They are called on the engine's thread; what they raise is
    logged and reaches nobody else.
    """

    mode: Mode | None = None
    attendant: Attendant | None = None
    on_error: Callable[[HookFailure], None] | None = None
    on_shutdown: Callable[[], None] | None = None


async def _nothing_to_find() -> None:
    """There is no extension that has resources."""


class Extensions:
    """The bindings of one session; lives on the engine's loop.

    ``discover`` looks anew for what extensions have.
    """

    def __init__(self, hooks: Hooks, approvals: Approvals, writer: Writer) -> None:
        self.discover: Callable[[], Awaitable[None]] = _nothing_to_find
        self._bound = ExtensionBindings()
        self._hooks = hooks
        self._approvals = approvals
        self._writer = writer
        self._binding = asyncio.Lock()
        hooks.on_failure = self._failed
        writer.bus.subscribe(self._on_event)

    @property
    def mode(self) -> Mode | None:
        """What the host is; None while none has bound itself."""
        return self._bound.mode

    async def bind(self, bindings: ExtensionBindings) -> None:
        """Use ``bindings`` from now on, tell ``session_start`` if nobody has told it yet, and look
        for what extensions have. A second call waits for the first.

        Raises SessionError ``extension.resource_discover``, SessionClosed.
        """
        async with self._binding:
            self._writer.require_open()
            lent = {name: getattr(bindings, name) for name in bindings.__struct_fields__}
            new = {name: each for name, each in lent.items() if each is not None}
            self._bound = replace(self._bound, **new)
            if bindings.attendant is not None:
                self._approvals.attendant = bindings.attendant
            if self._writer.recorder.read_only is None:
                await self._hooks.session_start(self._writer.emit)
            try:
                await self.discover()
            except Exception as error:
                message = f"What extensions have could not be looked for: {error}"
                raise SessionError(NOT_DISCOVERED, message) from error

    def _failed(self, failure: HookFailure) -> None:
        if self._bound.on_error is not None:
            try:
                self._bound.on_error(failure)
            except Exception:  # noqa: BLE001  # it is of the host, not of the session
                _log.exception("a listener for errors of hooks failed")

    def _on_event(self, event: Event, _view: object) -> None:
        if isinstance(event, SessionEnded) and self._bound.on_shutdown is not None:
            self._bound.on_shutdown()  # what it raises is logged by the bus

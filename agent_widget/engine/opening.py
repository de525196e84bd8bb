"""How a session is taken up: a new one, a stored one that goes on, or one to look at only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..core.errors import SessionError
from ..core.events import (
    PermissionModeChanged,
    SessionCreated,
    TreeNavigated,
    TurnError,
    notice,
)
from ..core.journal import Journal
from ..core.records import FORMAT_VERSION
from ..store.base import FROM_A_VIEW, Owner, SessionInUse
from ..store.owner import this_process
from .hooks import Hooks
from .permissions import Permissions
from .recovery import Resumption, recovered


class Opening:
    """Opens one session; lives on the engine's loop. ``when_lost`` is told that it is read-only."""

    def __init__(
        self,
        resumption: Resumption,
        permissions: Permissions,
        hooks: Hooks,
        *,
        warnings: tuple[str | TurnError, ...],
        when_lost: Callable[[], None],
    ) -> None:
        self._resumption = resumption
        self._writer = resumption.writer
        self._permissions = permissions
        self._hooks = hooks
        self._warnings = warnings
        self._when_lost = when_lost
        self.cwd = str(Path.cwd())

    async def open(self, owner: Owner | None) -> None:
        """Take the session and tell that it is there. Raises StoreError."""
        writer, recorder = self._writer, self._writer.recorder
        try:
            records = await recorder.open(owner or this_process())
        except SessionInUse as in_use:
            records = await recorder.open_read_only(f"{in_use.message} {FROM_A_VIEW}")
        if records:
            await self._resumption.go_on(Journal.of(records), self.cwd)
        else:
            named = {"session_id": writer.session_id, "cwd": self.cwd}
            header = {"version": FORMAT_VERSION, **named}
            await writer.commit("header", header, SessionCreated(cwd=self.cwd))
        self._tell_standing()
        if recorder.read_only is not None:
            self._when_lost()
        for each in self._warnings:
            told = notice("setup", "setup", each) if isinstance(each, str) else each
            writer.emit(told)
        for said in self._permissions.notices:
            writer.emit(notice("permission", said.code, said.message))
        if recorder.read_only is None:
            await self._hooks.session_start(writer.emit)

    async def take_over(self, owner: Owner | None = None) -> None:
        """Go on, here, with a session that could only be read, as it is stored by now.

        Harmless when it can be written. Raises SessionInUse, which says who has it, while its owner
        lives, and SessionError ``unsaved`` when something of this view was never stored.
        """
        writer, recorder = self._writer, self._writer.recorder
        if recorder.read_only is None:
            return
        if recorder.waiting_count:
            raise SessionError(
                "unsaved",
                f"{recorder.waiting_count} records of this view were never stored.",
                advice="Fork it: a fork has them.",
            )
        try:
            records = await recorder.take_over(owner or this_process())
        except SessionInUse as in_use:
            raise SessionInUse(writer.session_id, in_use.owner, read=True) from None
        journal = Journal.of(records)
        moved = TreeNavigated(new_leaf_id=journal.leaf, old_leaf_id=None)
        writer.emit(moved, recovered(journal, writer.session_id)[0])
        await self._resumption.go_on(journal, None)
        self._tell_standing()
        await self._hooks.session_start(writer.emit)

    def _tell_standing(self) -> None:
        writer, resumption = self._writer, self._resumption
        writer.emit(writer.storage_event())
        writer.emit(resumption.staff.model_changed)
        writer.emit(
            resumption.inputs.with_agent_default(resumption.staff.crew.current.while_running)
        )
        mode, warning = self._permissions.mode, self._permissions.warning
        writer.emit(PermissionModeChanged(mode=mode, warning=warning))

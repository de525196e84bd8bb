"""Shell commands of a person, for cells: each method waits for its answer.

``engine.commands.Commands`` lives on the engine's loop; this is the same from any thread.
"""

from __future__ import annotations

import contextvars
import uuid
from collections.abc import Callable

from ..core.bashevents import CommandResult
from .driver import Driver


class ShellCommands:
    """Commands that are part of the conversation: its model reads them and what they printed.

    chat.commands.execute("git status", print)
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    def execute(
        self,
        command: str,
        on_chunk: Callable[[str], object] | None = None,
        *,
        timeout_s: float | None = None,
        exclude_from_context: bool = False,
        id: str | None = None,  # noqa: A002  # as events name it
    ) -> CommandResult:
        """Run ``command`` in the session's folder and wait for it; an interrupt kills it.

        ``on_chunk`` gets its output as it comes. With ``exclude_from_context`` no model reads it.
        Raises CommandFailed for another exit code than 0, a stop, and after ``timeout_s``: its
        ``result`` is what became of it. Raises SessionError STORAGE_ERROR when that could not be
        stored, with the result as ``detail``.
        """
        context = contextvars.copy_context()  # so that what on_chunk prints is this cell's

        def take(text: str) -> None:
            if on_chunk is not None:
                context.run(on_chunk, text)

        driver, commands = self._driver, self._driver.session.commands
        name = id or f"b-{uuid.uuid4().hex}"
        return driver.interruptible(
            lambda: commands.execute(
                command,
                take,
                timeout_s=timeout_s,
                exclude_from_context=exclude_from_context,
                id=name,
            ),
            lambda: driver.engine.call_soon(commands.abort, name),
        )

    def record(
        self, command: str, result: CommandResult, *, exclude_from_context: bool = False
    ) -> None:
        """Record a command that ran elsewhere, as if it had run here."""
        commands = self._driver.session.commands
        self._driver.command(
            lambda: commands.record(command, result, exclude_from_context=exclude_from_context)
        )

    @property
    def has_pending(self) -> bool:
        """Whether something recorded waits for the end of the run under way."""
        return self._driver.session.commands.has_pending

    def flush(self) -> None:
        """Write down what waits although no run is under way: the store had refused it."""
        self._driver.command(self._driver.session.commands.flush)

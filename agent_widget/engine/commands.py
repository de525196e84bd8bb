"""Shell commands of a person, in the session: run, shown, stored, and read by its model.

They are the person's own code, so nobody is asked. Source: AgentSession document
(``execute_bash``, ``record_bash_result``).
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import threading
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import asdict

from ..core.bashevents import CommandResult, command_entry
from ..core.errors import InvalidOptions, SessionError
from ..core.events import BashCompleted, BashOutputDelta, BashStarted, notice
from ..core.ids import IdSource
from ..policy.deferral import Deferral
from ..policy.options import default_dialect
from ..tools.bash import Shell
from ..tools.shellcommand import run_command
from ..tools.truncate import LiveOutput
from ..tools.worker import Body
from .room import ByHand
from .runs import Runs
from .writer import Fact, Writer

Entry = dict[str, Any]
OnChunk = Callable[[str], object]

IN_FLIGHT: Final = 64
"""So many pieces of output may be on their way to the loop before reading waits for it."""
DELIVERY_S: Final = 60.0
"""Reading waits so long at most."""


class CommandFailed(SessionError):
    """A command ended with another exit code than 0, or was killed; ``result`` has its output."""

    def __init__(self, command: str, result: CommandResult) -> None:
        how = "was killed" if result.exit_code is None else f"gave exit code {result.exit_code}"
        message = f"{command!r} {'was stopped' if result.cancelled else how}."
        super().__init__("bash.execution", message, detail=asdict(result))
        self.result = result


class _Call(Struct, frozen=True):
    """A command under way; ``stop`` kills it."""

    id: str
    command: str
    stop: threading.Event = field(default_factory=threading.Event)


class _NotAtRest(Exception):  # not an error: what is recorded waits
    """A run or a summary began before the entry could be written."""


class Commands:
    """The commands of one session; lives on the engine's loop.

    They run in the folder of the session, in ``shell``, after ``prefix`` if there is one. What is
    recorded while a run is under way enters the conversation behind it, before the next one.
    """

    def __init__(
        self,
        writer: Writer,
        runs: Runs,
        summaries: ByHand,
        new_id: IdSource,
        folder: Callable[[], str],
    ) -> None:
        self.shell: Shell = default_dialect(os.name)
        self.prefix: str | None = None
        self.require_allowed: Callable[[], None] = lambda: None
        """Raises where no command may run."""
        self._writer = writer
        self._runs = runs
        self._summaries = summaries
        self._new_id = new_id
        self._folder = folder
        self._deferral = Deferral[Entry]()
        self._recording = asyncio.Lock()
        self._calls: dict[str, _Call] = {}
        self._tasks: set[asyncio.Task[CommandResult]] = set()
        runs.when_ended = self._run_ended

    # --- running -------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return bool(self._tasks)

    async def execute(
        self,
        command: str,
        on_chunk: OnChunk | None = None,
        *,
        timeout_s: float | None = None,
        exclude_from_context: bool = False,
        id: str | None = None,  # noqa: A002  # as events name it
    ) -> CommandResult:
        """Run ``command``, record what became of it and return that.

        ``on_chunk`` gets standard output and error as they come. With ``exclude_from_context`` no
        model reads it. Cancelling this kills the command. Raises CommandFailed for another exit
        code than 0, a stop, and after ``timeout_s``; InvalidOptions, ``session_in_use`` and
        ``session_closed``: then nothing ran; STORAGE_ERROR when it ran and could not be stored,
        with the result as ``detail``.
        """
        self._require_writable()
        self.require_allowed()
        command_id = id or self._new_id("b")
        _require_runnable(command, timeout_s)
        if command_id in self._calls:
            message = f"A command {command_id!r} is running already."
            raise InvalidOptions(message, advice="Leave out the id, or take another one.")
        call = self._calls[command_id] = _Call(command_id, command)
        limit_s = math.inf if timeout_s is None else timeout_s
        task = asyncio.ensure_future(self._run(call, on_chunk, limit_s, exclude_from_context))
        self._tasks.add(task)

        def ended(task: asyncio.Task[CommandResult]) -> None:
            del self._calls[command_id]
            self._tasks.discard(task)
            if not task.cancelled():
                task.exception()  # whoever waited has it, or wants it no more

        task.add_done_callback(ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            call.stop.set()
            await asyncio.wait({task})
            raise

    def abort(self, id: str | None = None) -> None:  # noqa: A002
        """Kill the command of that id, or all; harmless when it does not run."""
        for call in self._calls.values():
            if id in (None, call.id):
                call.stop.set()

    async def idle(self) -> None:
        """Return once no command runs."""
        while self._tasks:
            await asyncio.wait({*self._tasks})

    # --- recording -----------------------------------------------------------------------------

    async def record(
        self, command: str, result: CommandResult, *, exclude_from_context: bool = False
    ) -> None:
        """Record a command that ran elsewhere.

        Raises STORAGE_ERROR, ``session_in_use`` and ``session_closed``: then it is not recorded.
        """
        self._require_writable()
        await self._record(command, result, exclude_from_context)

    @property
    def has_pending(self) -> bool:
        """Whether something recorded waits for the end of a run, or for a store that refused it."""
        return bool(self.pending_count)

    @property
    def pending_count(self) -> int:
        return len(self._deferral.pending)

    async def flush(self) -> None:
        """Write down what waits, in order; while a run is under way its end does that.

        Raises STORAGE_ERROR at the first that is refused: it and those after it wait on.
        """
        if self._runs.active is None:
            with contextlib.suppress(_NotAtRest):
                async with self._recording:
                    await self._deferral.flush(self._append_at_rest)

    async def settle(self) -> None:
        """Wait for what runs, and write down what waits as far as the store takes it."""
        await self.idle()
        with contextlib.suppress(SessionError):
            await self.flush()

    # --- inside --------------------------------------------------------------------------------

    async def _run(
        self,
        call: _Call,
        on_chunk: OnChunk | None,
        timeout_s: float,
        exclude_from_context: bool,
    ) -> CommandResult:
        emit, failures = self._writer.emit, list[Exception]()
        live = LiveOutput(lambda text: emit(BashOutputDelta(id=call.id, delta=text)))

        def take(text: str) -> None:
            live.write(text)
            try:
                if on_chunk is not None and not failures:
                    on_chunk(text)
            except Exception as failure:  # noqa: BLE001  # the caller's own: it is raised below
                failures.append(failure)
                call.stop.set()

        whole = call.command if self.prefix is None else f"{self.prefix}\n{call.command}"
        on_text = _on_loop(take)
        emit(BashStarted(id=call.id, command=call.command))
        try:
            outcome = await Body("command of a person", call.stop).in_thread(
                lambda: run_command(
                    whole,
                    shell=self.shell,
                    folder=self._folder(),
                    timeout_s=timeout_s,
                    cancelled=call.stop,
                    on_text=on_text,
                )
            )
            if outcome.error is not None:
                raise outcome.error
        except SessionError as refused:  # no such shell, no such folder
            emit(BashCompleted(id=call.id, result=CommandResult(output=refused.message)))
            raise
        result: CommandResult = outcome.value
        emit(BashCompleted(id=call.id, result=result))
        try:
            await self._record(call.command, result, exclude_from_context)
        except SessionError as error:
            said = asdict(result)
            raise SessionError(
                error.code, error.message, advice=error.advice, detail=said
            ) from error
        if failures:
            raise failures[0]
        if not result.ok:
            raise CommandFailed(call.command, result)
        return result

    async def _record(
        self, command: str, result: CommandResult, exclude_from_context: bool
    ) -> None:
        entry = {
            "message_id": self._new_id("m"),
            "command": command,
            **asdict(result),
            "exclude_from_context": exclude_from_context,
        }
        is_recorded = False
        while not is_recorded:
            if self._runs.active is None:
                await self._summaries.wait_for_rest()
            with contextlib.suppress(_NotAtRest):
                async with self._recording:
                    is_streaming = self._runs.active is not None
                    append = self._append_at_rest
                    await self._deferral.record(entry, append, is_streaming=is_streaming)
                    is_recorded = True

    async def _append_at_rest(self, entry: Entry) -> None:
        def make() -> Fact:
            if self._runs.active is not None or not self._summaries.is_at_rest:
                raise _NotAtRest
            return entry, (command_entry(entry),)

        await self._writer.commit_made("bash", make)

    async def _append(self, entry: Entry) -> None:
        await self._writer.commit("bash", entry, command_entry(entry))

    async def _run_ended(self) -> None:
        """Write down what waits, behind the end of the run and before anything follows it."""
        try:
            async with self._recording:
                await self._deferral.flush(self._append)
        except SessionError as refused:
            message = f"What a command printed is not stored yet: {refused.message}"
            self._writer.emit(notice("persistence", refused.code, message))

    def _require_writable(self) -> None:
        self._writer.require_open()
        reason = self._writer.recorder.read_only
        if reason is not None:
            advice = "Take it over, or fork it, to go on."
            raise SessionError("session_in_use", reason, advice=advice)


def _require_runnable(command: object, timeout_s: float | None) -> None:
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        raise InvalidOptions(f"{command!r} is no command.", advice="Write it as at a prompt.")
    if timeout_s is not None and not timeout_s > 0:
        raise InvalidOptions(f"timeout_s={timeout_s!r}.", advice="Give more than 0 seconds.")


def _on_loop(take: Callable[[str], None]) -> Callable[[str], None]:
    """``take`` for another thread: it runs on this loop, and the thread waits where it lags."""
    loop, room = asyncio.get_running_loop(), threading.Semaphore(IN_FLIGHT)

    def pass_on(text: str) -> None:
        room.acquire(timeout=DELIVERY_S)

        def deliver() -> None:
            room.release()
            take(text)

        with contextlib.suppress(RuntimeError):  # the loop is gone
            loop.call_soon_threadsafe(deliver)

    return pass_on

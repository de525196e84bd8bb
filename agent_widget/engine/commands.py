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
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from msgspec.structs import asdict

from ..core.bashevents import CommandResult, command_entry
from ..core.errors import SessionError
from ..core.events import BashCompleted, BashOutputDelta, BashStarted, notice
from ..core.ids import IdSource
from ..policy.deferral import Deferral
from ..policy.options import default_dialect
from ..tools.bash import Shell
from ..tools.shellcommand import run_command
from ..tools.truncate import LiveOutput
from .room import ByHand
from .runs import Runs
from .writer import Fact, Writer

T = TypeVar("T")
Entry = dict[str, Any]
OnChunk = Callable[[str], object]

DELIVERY_S: Final = 60.0
"""Output waits so long until what came before was taken; then it is passed over."""


class CommandFailed(SessionError):
    """A command ended with another exit code than 0, or was killed; ``result`` has its output."""

    def __init__(self, command: str, result: CommandResult) -> None:
        how = "was killed" if result.exit_code is None else f"gave exit code {result.exit_code}"
        message = f"{command!r} {'was stopped' if result.cancelled else how}."
        super().__init__("bash.execution", message, detail=asdict(result))
        self.result = result


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
        self._stops: dict[str, threading.Event] = {}
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
        code than 0, a stop, and after ``timeout_s``; INVALID_INPUT, ``session_in_use`` and
        ``session_closed``: then nothing ran; STORAGE_ERROR when it ran and could not be stored,
        with the result as ``detail``.
        """
        self._require_writable()
        self.require_allowed()
        command_id = id or self._new_id("b")
        _require_runnable(command, timeout_s)
        if command_id in self._stops:
            raise SessionError("INVALID_INPUT", f"A command {command_id!r} is running already.")
        stop = self._stops[command_id] = threading.Event()
        limit_s = math.inf if timeout_s is None else timeout_s
        work = self._run(command_id, command, on_chunk, limit_s, stop, exclude_from_context)
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

        def ended(task: asyncio.Task[CommandResult]) -> None:
            del self._stops[command_id]
            self._tasks.discard(task)
            if not task.cancelled():
                task.exception()  # whoever waited has it, or wants it no more

        task.add_done_callback(ended)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait({task})
            raise

    def abort(self, id: str | None = None) -> None:  # noqa: A002
        """Kill the command of that id, or all; harmless when it does not run."""
        for command_id, stop in self._stops.items():
            if id in (None, command_id):
                stop.set()

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
        command_id: str,
        command: str,
        on_chunk: OnChunk | None,
        timeout_s: float,
        stop: threading.Event,
        exclude_from_context: bool,
    ) -> CommandResult:
        loop, failures = asyncio.get_running_loop(), list[Exception]()
        live = LiveOutput(
            lambda text: self._writer.emit(BashOutputDelta(id=command_id, delta=text))
        )

        def take(text: str, taken: threading.Event) -> None:
            try:
                live.write(text)
                if on_chunk is not None and not failures:
                    on_chunk(text)
            except Exception as failure:  # noqa: BLE001  # the caller's own: it is told below
                failures.append(failure)
                stop.set()
            finally:
                taken.set()

        def on_text(text: str) -> None:
            taken = threading.Event()
            with contextlib.suppress(RuntimeError):  # the loop is gone
                loop.call_soon_threadsafe(take, text, taken)
                taken.wait(DELIVERY_S)

        whole = command if self.prefix is None else f"{self.prefix}\n{command}"
        self._writer.emit(BashStarted(id=command_id, command=command))
        try:
            result = await _on_thread(
                lambda: run_command(
                    whole,
                    shell=self.shell,
                    folder=self._folder(),
                    timeout_s=timeout_s,
                    cancelled=stop,
                    on_text=on_text,
                )
            )
        except SessionError as refused:  # no such shell, no such folder
            self._writer.emit(
                BashCompleted(id=command_id, result=CommandResult(output=str(refused)))
            )
            raise
        self._writer.emit(BashCompleted(id=command_id, result=result))
        try:
            await self._record(command, result, exclude_from_context)
        except SessionError as error:
            raise SessionError(
                error.code, error.message, advice=error.advice, detail=asdict(result)
            ) from error
        if failures:
            raise failures[0]
        if not result.ok:
            raise CommandFailed(command, result)
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
            message = f"What a command printed waits, and is not stored: {refused.message}"
            self._writer.emit(notice("persistence", refused.code, message))

    def _require_writable(self) -> None:
        self._writer.require_open()
        reason = self._writer.recorder.read_only
        if reason is not None:
            advice = "Take the session over, or fork it, to go on."
            raise SessionError("session_in_use", reason, advice=advice)


def _require_runnable(command: object, timeout_s: float | None) -> None:
    if not isinstance(command, str) or not command.strip():
        raise SessionError("INVALID_INPUT", f"{command!r} is no command.")
    if "\0" in command:
        raise SessionError("INVALID_INPUT", "The command holds a NUL character.")
    if timeout_s is not None and not timeout_s > 0:
        raise SessionError("INVALID_INPUT", f"timeout_s={timeout_s!r} is no time.")


async def _on_thread(work: Callable[[], T]) -> T:
    """``work()`` on a thread of its own, which keeps neither the program nor other work waiting."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001  # it is raised by whoever waits
            done.set_exception(error)
        else:
            done.set_result(result)

    threading.Thread(target=run, name="command of a person", daemon=True).start()
    return await asyncio.wrap_future(done)

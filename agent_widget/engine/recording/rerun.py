"""A recorded chat, played once more through a session of its own that nobody else sees."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from pathlib import Path
from typing import Final, cast

from ...core.errors import SessionError
from ...core.events import Event, QueueName, Todo, ToolEndedLate
from ...policy.input import TOOL_NAME
from ...policy.paths import Paths
from ...store.memory import MemoryStore
from ...tools.base import MainThread, Tool
from ...tools.final import NAME as FINAL_RESULT
from ...tools.registry import register
from ...tools.todo import Todo as ToolTodo
from ...tools.todo import todo_tool
from ...view.model import SessionView
from ..models import ModelOptions
from ..session import Session
from .model import TapedModel
from .script import Act, Script, script_of
from .stand_ins import Cast, RecordedPermissions
from .tape import Recording

PLAY_S: Final = 60.0
GRACE_S: Final = 3_600.0
"""A Stop ends what was stopped in the recording, and nothing else."""
PLAYED: Final = "Played again from a recording: times and ids are those of the replay."
DERIVED: Final = (
    "The recording does not say what the person did and when; turns are read from its requests."
)


class Rerun:
    """The chat ``number`` (from 1) of the recording at ``path``.

    Tools give what they gave, questions are answered as they were, and nothing else runs.
    ``session`` is to be opened, and followed by whoever wants to see something, before ``play``;
    what ``is_off`` no longer is what was recorded. Raises InvalidOptions for what is no recording.
    """

    def __init__(self, path: Path, number: int, main: MainThread, paths: Paths) -> None:
        self._tape = tape = Recording(path, "none", is_fixed=True)
        tape.accept = False  # it only looks, whatever the environment says
        self._script = script = script_of(tape.items, number)
        todo = todo_tool(self._show_todos)
        tape.always_run(todo)
        cast_of_it = Cast(script, tape, [todo])
        permissions = RecordedPermissions(script.calls, paths)
        names = [tool.name for tool in cast_of_it.tools]
        final = next((each for each in script.setup.tools if each["name"] == FINAL_RESULT), None)
        assert tape.clock_ms is not None
        assert tape.new_id is not None
        self.session = Session(
            model=TapedModel(None, tape, script.setup.model),
            models=ModelOptions(sleep=tape.sleep, chance=lambda: 0.5),
            tools=register(_without(cast_of_it.tools, FINAL_RESULT, TOOL_NAME)),
            agents=cast_of_it.agents,
            system=lambda names: tape.next_system(names, script.setup),
            store=MemoryStore(),
            main=main,
            clock_ms=tape.clock_ms,
            new_id=tape.new_id,
            permissions=permissions,
            while_running=next((act.while_running for act in script.acts), None),
            input_control=TOOL_NAME in names,
            output_type=None if final is None else final["parameters"],
        )
        self._chat = tape.chats[-1]
        self._within: deque[Act] = deque()
        self._late_count = 0
        self._came_late = asyncio.Event()
        self._stops: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        tape.between, tape.at_stop = self._between, self._stop_now
        self._permissions = permissions

    @property
    def is_off(self) -> bool:
        """Whether what happens is not what was recorded any more."""
        return bool(self._tape.problems)

    async def play(self) -> tuple[str, ...]:
        """Play all of it; what has to be known of that, in words. Raises TimeoutError."""
        leave = [self.session.subscribe(self._permissions.heard)]
        leave.append(self.session.subscribe(self._heard))
        try:
            async with asyncio.timeout(PLAY_S):
                await self._turns()
        finally:
            for each in leave:
                each()
        return (*self._words(),)

    async def _turns(self) -> None:
        left = deque(self._script.acts)
        while left and not self.is_off:
            act = left.popleft()
            self._within = deque()
            while left and left[0].after is not None:
                self._within.append(left.popleft())
            with contextlib.suppress(SessionError):  # what comes of it tells
                await self._do(act)
            await self.session.wait_for_idle()
            while self._late_count < self._chat.late_count:
                self._came_late.clear()
                await self._came_late.wait()

    async def _do(self, act: Act) -> None:
        session = self.session
        match act.kind:
            case "input" if act.queue is not None:
                await session.enqueue(act.prompt, cast("QueueName", act.queue))
            case "input":
                await session.submit(act.prompt)
            case "retry":
                await session.retry()
            case "reset":
                await session.reset()
            case "stop":
                await session.stop(GRACE_S)

    async def _between(self) -> None:
        """Do what was done here, while the run waits."""
        while self._within and (self._within[0].after or 0) <= self._chat.place.beats:
            with contextlib.suppress(SessionError):
                await self._do(self._within.popleft())

    def _stop_now(self) -> None:
        task = self._loop.create_task(self.session.interrupt())
        self._stops.add(task)
        task.add_done_callback(self._stops.discard)

    def _heard(self, event: Event, _view: SessionView) -> None:
        if isinstance(event, ToolEndedLate):
            self._late_count += 1
            self._came_late.set()

    def _show_todos(self, items: tuple[ToolTodo, ...]) -> None:
        shown = tuple(Todo(item.content, item.status) for item in items)
        asyncio.run_coroutine_threadsafe(self.session.show_todos(shown), self._loop)

    # --- in words ------------------------------------------------------------------------------

    def _words(self) -> list[str]:
        script = self._script
        words = [PLAYED]
        if not script.is_told:
            words.append(DERIVED)
        if script.chats > 1:
            words.append(f"The recording has {script.chats} chats: session_id='2' is the second.")
        words += _not_held(script)
        problem = next(iter(self._tape.problems), None)
        if problem is not None:
            found = "; ".join(problem.differences[:2])
            words.append(f"It ends here: the recording does not hold how it went on ({found}).")
        elif script.chats == 1 and self._tape.left_count:
            words.append(f"{self._tape.left_count} more recorded lines were not played.")
        return words


def _without(tools: list[Tool], *names: str) -> list[Tool]:
    return [tool for tool in tools if tool.name not in names]


def _not_held(script: Script) -> list[str]:
    """What the recording says that happened, and does not hold."""
    words = []
    if any(
        str(each.get("data")).startswith("sha256:") for act in script.acts for each in act.images
    ):
        words.append("The user's pictures are not in a recording: digests stand for them.")
    if events := dict.fromkeys(act.event for act in script.acts if act.kind == "other"):
        words.append(f"What was done there is not in a recording: {', '.join(events)}.")
    return words

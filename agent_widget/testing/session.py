"""A session that a test drives step by step, without an event loop of its own."""

from __future__ import annotations

import contextlib
from typing import Any, Final, Self

from ..core.events import Event, PermissionRequested
from ..core.messages import Conversation, ToolPart
from ..core.state import SessionState
from ..engine.recording import ReplayMismatch
from ..engine.run import RunResult
from ..store.memory import MemoryStore
from ..surfaces.assembly import Assembly
from ..surfaces.driver import Driver
from ..surfaces.images import prompt_of
from ..surfaces.run import Run
from ..view.model import SessionView, UsageView
from .doubles import ScriptedModel
from .transcripts import transcript

TIMEOUT_S: Final = 60.0


class AgentSession:
    """A session with all that it told: ``events``, ``questions``, ``results``.

    ``model`` is what ``AgentWidget`` takes, or a list of steps for a ``ScriptedModel``; options
    are those of ``create_session``. Without ``ask_user`` a question is denied, as nobody is there.
    ``tools`` given here are all there are, unless ``bare=False`` or ``notebook=True`` says so, and
    it knows nothing of this machine: no settings (``reads_settings=True``: those), no stored chats.
    """

    def __init__(self, model: Any = None, **options: Any) -> None:
        if isinstance(model, list):
            model = ScriptedModel(model)
        if not {"bare", "notebook", "workspace"} & options.keys():
            options["bare"] = True
        if options.get("bare"):
            options = {"agents": (), "workspace": None, "notebook": False, **options}
        if not {"store", "resume"} & options.keys():
            options["store"] = MemoryStore()
        options.setdefault("reads_settings", False)
        self.model = model
        self.events: list[Event] = []
        self.results: list[RunResult] = []
        self._driver = Assembly(model, options).driver  # type: ignore[arg-type]  # it checks them
        self._driver.command(self._listen)

    async def _listen(self) -> None:
        self._driver.session.subscribe(lambda event, _view: self.events.append(event))

    # --- driving -------------------------------------------------------------------------------

    def send(self, text: str = "", *, images: object = ()) -> Run:
        """Say something and return at once; ``images`` are those of ``AgentWidget.send``."""
        said = prompt_of(text, images)
        return self._driver.start(lambda session, context: session.send(said, context))

    def ask(
        self, text: str = "", timeout_s: float = TIMEOUT_S, *, images: object = ()
    ) -> RunResult:
        """Say something and wait for the end of the run. Raises ReplayMismatch."""
        __tracebackhide__ = True  # a replay that differs is told where the test asks
        try:
            result = self.send(text, images=images).result(timeout_s)
        except ReplayMismatch as mismatch:
            raise mismatch.with_traceback(None) from None
        self.results.append(result)
        return result

    def stop(self) -> None:
        """Stop the run under way; harmless when nothing runs."""
        self._driver.stop()

    def close(self) -> None:
        """End the session. Raises ReplayMismatch for a replay that did not use all of its file."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with contextlib.suppress(*(() if kind is None else (ReplayMismatch,))):
            self.close()

    # --- looking -------------------------------------------------------------------------------

    @property
    def driver(self) -> Driver:
        return self._driver

    @property
    def view(self) -> SessionView:
        return self._driver.session.view

    @property
    def state(self) -> SessionState:
        return self._driver.session.state

    @property
    def messages(self) -> Conversation:
        return self._driver.session.messages

    @property
    def calls(self) -> tuple[ToolPart, ...]:
        """The tool calls of the conversation, in order."""
        return tuple(call for message in self.messages for call in message.tool_calls)

    @property
    def questions(self) -> tuple[PermissionRequested, ...]:
        """What was asked of a person or of ``ask_user``, in order."""
        return tuple(e for e in self.events if isinstance(e, PermissionRequested))

    @property
    def steps(self) -> int:
        """How many answers its model gave in its own conversation."""
        return sum(message.role == "assistant" for message in self.messages)

    @property
    def usage(self) -> UsageView:
        return self.view.usage

    def transcript(self) -> str:
        """The conversation as text that is the same at every run."""
        return transcript(self.state)

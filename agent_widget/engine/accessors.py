"""What a session is made of, to be read; and that there is one of it only."""

from __future__ import annotations

from typing import NoReturn

from ..policy.prompt import PromptSummary
from ..store.base import SessionStore
from .hooks import Hooks
from .opening import Opening
from .prompt import SystemPrompt
from .runs import Runs
from .staff import Staff
from .writer import Writer


class Accessors:
    """The parts that a session gives out; ``Session`` sets them."""

    _writer: Writer
    _hooks: Hooks
    _opening: Opening
    _staff: Staff
    runs: Runs

    @property
    def agent_loop(self) -> Runs:
        """The loop underneath, which drives the runs: the very object that is ``runs``."""
        return self.runs

    @property
    def stream_id(self) -> str:
        """Names this stream of events: another one after each opening, also of one session."""
        return self._writer.stream_id

    @property
    def application_prompt(self) -> PromptSummary | None:
        """Where the system text comes from, as of now; None where it is no text of the session."""
        system = self._staff.crew.current.system
        return system.summary if isinstance(system, SystemPrompt) else None

    @property
    def cwd(self) -> str:
        """The working directory when the session was made: the notebook's, by default."""
        return self._opening.cwd

    @property
    def store(self) -> SessionStore:
        """Where it is kept. Read it; only the session writes its records, one at a time."""
        return self._writer.recorder.store

    @property
    def hooks(self) -> Hooks:
        """The hooks that are asked and told, those of code and of settings."""
        return self._hooks

    def __copy__(self) -> NoReturn:
        raise TypeError("A session cannot be copied: it has one writer. Fork it instead.")

    def __deepcopy__(self, _memo: object) -> NoReturn:
        self.__copy__()

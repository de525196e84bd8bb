"""What a session is made of, to be read; and that there is one of it only."""

from __future__ import annotations

from typing import NoReturn

from ..store.base import SessionStore
from .hooks import Hooks
from .opening import Opening
from .writer import Writer


class Accessors:
    """The parts that a session gives out; ``Session`` sets them."""

    _writer: Writer
    _hooks: Hooks
    _opening: Opening

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

"""What a user has switched on or off for all their sessions, in their own settings file.

    {"auto_compaction": false, "auto_retry": true}

A project's file has no say in it.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Final, get_args

from msgspec import Struct

from ..core.errors import InvalidOptions
from ..engine.settings import Switch
from ..policy.rules import Problem, settings_object
from .settings import replaced_file

SWITCHES: Final[tuple[Switch, ...]] = get_args(Switch)
_lock = threading.Lock()  # sessions of one kernel share the file


class Switched(Struct, frozen=True):
    """What is switched (None: as code or the default says), and what is wrong with the rest."""

    auto_compaction: bool | None = None
    auto_retry: bool | None = None
    problems: tuple[Problem, ...] = ()


class UserSwitches:
    """The switches in the settings file of ``folder``, the user's own settings folder."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "settings.json"

    def read(self) -> Switched:
        """What is switched now; a file that cannot be read is told of elsewhere. Never raises."""
        try:
            content = settings_object(self._file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return Switched()
        found: dict[str, bool] = {}
        problems: list[Problem] = []
        for name in (name for name in SWITCHES if name in content):
            value = content[name]
            if isinstance(value, bool):
                found[name] = value
            else:
                wrong = f"is neither true nor false but {type(value).__name__}."
                problems.append(Problem(f"{self._file}: {name}", wrong, "It is not used."))
        return Switched(**found, problems=tuple(problems))

    def write(self, name: Switch, value: bool) -> None:
        """Set one switch, and leave all else as it is.

        Raises InvalidOptions for a file that cannot be read, OSError when it cannot be written: the
        file is replaced as a whole or stays as it was.
        """
        with _lock:
            try:
                text = self._file.read_bytes() if self._file.exists() else b"{}"
                content = settings_object(text) if text.strip() else {}
            except (ValueError, RecursionError) as error:
                message = f"{self._file} cannot be read: {error}."
                raise InvalidOptions(message, advice="Mend the file first.") from error
            text_after = json.dumps({**content, name: value}, indent=2, ensure_ascii=False)
            replaced_file(self._file, text_after + "\n")

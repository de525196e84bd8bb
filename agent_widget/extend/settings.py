"""Permission rules in settings files: the user's own, and those of a project.

A project's file may always make things stricter. Its allow rules hold only where this user made
them on this machine ("Always in this project"): a cloned folder cannot widen what runs. Which ones
those are is kept with the user's settings, rule by rule, so that a changed rule asks again.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ..core.errors import InvalidOptions
from ..policy.rules import EVERYTHING_ASKS, Problem, Rules, read_rules, rule_to_add

PROJECT_FILE: Final = Path(".agent_widget") / "settings.json"
_APPROVED: Final = "approved_rules.json"
_SETTINGS: Final = "settings.json"
_PINS: Final = "approved_tools.json"


def user_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where the user's own settings are: APPDATA, XDG_CONFIG_HOME, else ``~/.config``."""
    environ = os.environ if environ is None else environ
    base = environ.get("APPDATA") if os.name == "nt" else environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "agent_widget"


def user_rules(folder: Path) -> tuple[Rules, tuple[Problem, ...]]:
    """The rules of the user's own settings; none when there is no file."""
    return _rules_in(folder / _SETTINGS)


class ProjectSettings:
    """The rules of the project in ``folder``; ``user`` is the user's own settings folder."""

    def __init__(self, folder: Path, user: Path) -> None:
        self._folder = folder.resolve()
        self._file = self._folder / PROJECT_FILE
        self._approved = user / _APPROVED
        self._pins = user / _PINS

    @property
    def path(self) -> str:
        return str(self._file)

    def rules(self) -> tuple[Rules, tuple[Problem, ...]]:
        """The rules that hold here, and what is wrong or waits. Never raises."""
        rules, problems = _rules_in(self._file)
        mine = self._approved_rules()
        waiting = tuple(rule for rule in rules.allow if rule.text not in mine)
        if not waiting:
            return rules, problems
        listed = ", ".join(rule.text for rule in waiting)
        problem = Problem(
            str(PROJECT_FILE),
            f"allows {listed}, which you did not allow on this machine.",
            "It asks all the same.",
        )
        kept = tuple(rule for rule in rules.allow if rule.text in mine)
        return replace(rules, allow=kept), (*problems, problem)

    def add(self, rules: tuple[str, ...]) -> None:
        """Write allow rules to the project's file and remember that this user made them.

        Raises InvalidOptions for a rule or a file that cannot be changed, OSError when it cannot
        be written; the file is replaced as a whole or stays as it was.
        """
        text = self._file.read_text("utf-8") if self._file.exists() else ""
        for rule in rules:
            text = rule_to_add(text, rule)
        replaced_file(self._file, text)
        approved = self._all_approved()
        mine = sorted({*approved.get(str(self._folder), []), *rules})
        replaced_file(
            self._approved, json.dumps({**approved, str(self._folder): mine}, indent=2) + "\n"
        )

    def pinned(self, tool: str) -> str | None:
        """The fingerprint of the tool that this user allowed here, None: of none."""
        mine = _object_in(self._pins).get(str(self._folder))
        found = mine.get(tool) if isinstance(mine, dict) else None
        return found if isinstance(found, str) else None

    def pin(self, tool: str, fingerprint: str) -> None:
        """Remember which tool this user allowed here. Raises OSError, InvalidOptions."""
        pins = _object_in(self._pins)
        mine = pins.get(str(self._folder))
        kept = {**mine, tool: fingerprint} if isinstance(mine, dict) else {tool: fingerprint}
        replaced_file(self._pins, json.dumps({**pins, str(self._folder): kept}, indent=2) + "\n")

    def _approved_rules(self) -> frozenset[str]:
        return frozenset(self._all_approved().get(str(self._folder), []))

    def _all_approved(self) -> dict[str, list[str]]:
        """What the user approved, by project; nothing when that cannot be read."""
        return {
            folder: [rule for rule in rules if isinstance(rule, str)]
            for folder, rules in _object_in(self._approved).items()
            if isinstance(rules, list)
        }


def _object_in(file: Path) -> dict[str, Any]:
    """The JSON object in ``file``; an empty one when there is none that can be read."""
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _rules_in(file: Path) -> tuple[Rules, tuple[Problem, ...]]:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return Rules(), ()
    except OSError as error:
        said = f"cannot be read ({error.strerror})."
        return EVERYTHING_ASKS, (Problem(str(file), said, "Everything asks."),)
    return read_rules(content)


def replaced_file(file: Path, text: str) -> None:
    """Replace ``file`` as a whole: a crash leaves the old one or the new one.

    Raises InvalidOptions for a link, OSError.
    """
    if file.is_symlink():
        raise InvalidOptions(f"{file} is a link, and rules are not written through links.")
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".settings-", text=False)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(text.encode("utf-8"))
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

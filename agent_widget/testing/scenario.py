"""Scenarios: what is said to an agent, what is decided, what has to come of it.

    name: describes a table
    setup: |
      df = {"x": [1, 2]}
    notebook: true
    model: offline
    turns:
      - say: describe df
        expect: {tools: [describe_variable], text: {contains: df}, max_steps: 2}

A YAML file holds one or several of them (``---``). A Python file makes ``Scenario`` objects, alone
or in lists, under any name of the module.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from ..core.errors import InvalidOptions

SUFFIXES: Final = (".yaml", ".yml", ".py")
Decisions: TypeAlias = str | bool | list[str | bool] | dict[str, str | bool]
"""One answer for all questions, answers in order, or an answer by tool: ``allow_once`` (true),
``allow_session`` or ``deny`` (false). A question without one is denied."""


class TextExpected(Struct, forbid_unknown_fields=True):
    """What the final text has to be, or have in it; ``matches`` is a regular expression."""

    equals: str | None = None
    contains: str | None = None
    matches: str | None = None


class Expect(Struct, kw_only=True, forbid_unknown_fields=True):
    """What has to hold at the end of a turn, or of the scenario.

    ``tools`` are all calls in order, by name or ``{name: {argument: value}}``; ``called`` those
    that have to be among them; ``not_called`` those that must not; ``asked`` the tools that
    permission was asked for. ``text`` is contained in the final text, or says how it is compared.
    ``max_steps`` bounds the calls of the model, ``max_tokens`` and ``max_cost_usd`` what they took.
    """

    tools: list[str | dict[str, dict[str, Any] | None]] | None = None
    called: list[str] = []
    not_called: list[str] = []
    asked: list[str] | None = None
    text: str | TextExpected | None = None
    reason: str | None = None
    max_steps: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None


class Turn(Struct, kw_only=True, forbid_unknown_fields=True):
    """Something that is said, the decisions on what is asked, and what has to come of it.

    A turn has to end as ``completed`` unless it expects another ``reason``.
    """

    say: str
    decide: Decisions | None = None
    expect: Expect | None = None


class Scenario(Struct, kw_only=True, forbid_unknown_fields=True):
    """A conversation and what has to come of it.

    ``model`` is what ``AgentWidget`` takes; in its place ``script`` is a list of steps for a
    ``ScriptedModel`` (``[{text: …}, {call: name, args: {…}}]`` in YAML), ``replay`` a recording.
    ``tools`` are functions, or ``file.py:name`` and ``module:name``. ``notebook`` gives the tools
    for variables and code, whose namespace the code ``setup`` fills; ``workspace`` those for
    files in a folder. ``options`` are further options of ``create_session``. Paths start at the
    scenario's file.
    """

    name: str
    turns: list[Turn]
    model: Any = None
    script: list[Any] | None = None
    replay: str | None = None
    tools: list[Any] = []
    setup: str | None = None
    notebook: bool = False
    workspace: str | None = None
    system: str | None = None
    permission: dict[str, Any] | None = None
    max_steps: int | None = None
    options: dict[str, Any] = {}
    decide: Decisions | None = None
    expect: Expect | None = None

    def __post_init__(self) -> None:
        given = [self.model is not None, self.script is not None, self.replay is not None]
        if sum(given) > 1:
            advice = "Give one of model, script and replay."
            raise InvalidOptions(f"Scenario {self.name!r} has several models.", advice=advice)
        if not self.turns:
            raise InvalidOptions(f"Scenario {self.name!r} has no turns.")


class Source(Struct, frozen=True):
    """Where a scenario comes from: what another process needs to make it."""

    path: str
    text: str
    index: int
    name: str

    def scenario(self) -> Scenario:
        return parsed(self.text, Path(self.path))[self.index]


def sources(paths: str | Path | Iterable[str | Path]) -> list[Source]:
    """The scenarios of files and folders, in order. Raises InvalidOptions for what is none."""
    given = [paths] if isinstance(paths, str | Path) else [*paths]
    found: list[Source] = []
    for file in dict.fromkeys(file for path in given for file in _files(Path(path))):
        text = file.read_text(encoding="utf-8")
        scenarios = parsed(text, file)
        found += (
            Source(str(file.absolute()), text, index, scenario.name)
            for index, scenario in enumerate(scenarios)
        )
    return found


@lru_cache(maxsize=8)
def parsed(text: str, path: Path) -> list[Scenario]:
    """The scenarios that a file of this text holds; made once in a process, as they are many."""
    if path.suffix == ".py":
        return [*_made(text, path)]
    return [_converted(data, path) for data in _documents(text, path) if data is not None]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for file in sorted(path.rglob("*")):
            is_python = file.suffix == ".py"
            if file.suffix in SUFFIXES and (not is_python or file.name.startswith("scenario")):
                yield file
    else:
        raise InvalidOptions(f"There are no scenarios at {path}: no such file or folder.")


def _documents(text: str, path: Path) -> list[Any]:
    try:
        import yaml
    except ImportError as error:
        advice = "pip install 'agent_widget[testing]', or write scenarios in Python."
        raise InvalidOptions("Scenarios in YAML need PyYAML.", advice=advice) from error
    try:
        return [*yaml.safe_load_all(text)]
    except yaml.YAMLError as error:
        raise InvalidOptions(f"{path} is not YAML: {error}") from error


def _converted(data: Any, path: Path) -> Scenario:
    if isinstance(data, dict):
        data = {"name": path.stem, **data}
    try:
        return msgspec.convert(data, Scenario)
    except msgspec.ValidationError as error:
        raise InvalidOptions(f"{path} holds no scenario: {error}.") from error


def _made(text: str, path: Path) -> Iterator[Scenario]:
    module = ModuleType(f"agent_widget_scenarios_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # annotations of its tools are looked up there
    exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102  # it is the user's own
    for value in [*vars(module).values()]:
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, Scenario):
                yield each

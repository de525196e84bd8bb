"""An exercise: students write the reducer of a session, and vectors say where it is right.

    def reduce(state: dict, action: dict) -> dict: ...

    grade(reduce)

States and actions are the JSON of the session reducer document, plain dicts and lists.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from html import escape
from importlib.resources import files
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ..core.actions import read_action
from ..engine.signatures import require_takes
from ..testing.matching import differences

Reducer: TypeAlias = Callable[[Any, Any], Any]
"""``reduce(state, action)``: the state after the action, the state given left as it was."""
VECTORS: Final = "reducer.json"
UNKNOWN: Final = "unknown"
"""The topic of actions that there are not: they change nothing."""
MAX_SHOWN: Final = 5
MAX_PROBLEMS: Final = 4
MAX_CHARS: Final = 300


class Failure(Struct, frozen=True):
    """A vector that does not hold: the rule, what was given and done, and what is wrong."""

    id: str
    topic: str
    rule: str
    given: Any
    actions: list[Any]
    expected: Any
    problems: list[str]

    def __str__(self) -> str:
        lines = [f"✗ {self.id} ({self.topic}): {self.rule}"]
        lines.append(f"    given     {_short(self.given)}")
        lines += [f"    action    {_short(action)}" for action in self.actions]
        lines.append(f"    expected  {_short(self.expected)}")
        shown = self.problems[:MAX_PROBLEMS]
        lines += [f"    wrong     {problem}" for problem in shown]
        if len(self.problems) > len(shown):
            lines.append(f"    … and {len(self.problems) - len(shown)} more")
        return "\n".join(lines)


class Topic(Struct, frozen=True):
    """How the vectors about one kind of action went."""

    name: str
    passed: int
    total: int


class Grade(Struct, frozen=True):
    """How a reducer did; it prints as a table with the first failures."""

    passed: int
    total: int
    topics: tuple[Topic, ...]
    failures: tuple[Failure, ...]

    @property
    def is_complete(self) -> bool:
        return self.passed == self.total

    def __repr__(self) -> str:
        lines = [f"{self.passed} of {self.total} rules hold"]
        width = max(len(topic.name) for topic in self.topics)
        for topic in self.topics:
            done = "✓" if topic.passed == topic.total else " "
            lines.append(f"{done} {topic.name.ljust(width)}  {topic.passed}/{topic.total}")
        shown = self.failures[:MAX_SHOWN]
        lines += ["", *(str(failure) for failure in shown)] if shown else []
        if len(self.failures) > len(shown):
            lines.append(f"… and {len(self.failures) - len(shown)} more: see .failures")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{'✓' if topic.passed == topic.total else ''}</td>"
            f"<td><code>{escape(topic.name)}</code></td>"
            f"<td>{topic.passed} of {topic.total}</td></tr>"
            for topic in self.topics
        )
        failures = "".join(
            f"<details><summary>{escape(failure.id)}: {escape(failure.rule)}</summary>"
            f"<pre>{escape(str(failure))}</pre></details>"
            for failure in self.failures[: 4 * MAX_SHOWN]
        )
        head = f"<p><strong>{self.passed} of {self.total} rules hold</strong></p>"
        return f"<div>{head}<table>{rows}</table>{failures}</div>"


def grade(reducer: Reducer, *, topic: str | None = None) -> Grade:
    """How ``reducer`` does on the vectors; with ``topic`` on those about one kind of action.

    It gets copies, so that a reducer that changes what it is given is found out. Raises ValueError
    for a topic that there is not, InvalidOptions for what is no reducer.
    """
    require_takes("a reducer", reducer, "state", "action")
    vectors = [(_topic(vector), vector) for vector in reducer_vectors()]
    names = [*dict.fromkeys(name for name, _ in vectors)]
    if topic is not None and topic not in names:
        raise ValueError(f"There is no topic {topic!r}. There is {', '.join(names)}.")
    chosen = [(name, vector) for name, vector in vectors if topic in (None, name)]
    failures = []
    for name, vector in chosen:
        problems = _problems(reducer, vector)
        if problems:
            failures.append(
                Failure(
                    vector["id"],
                    name,
                    vector["why"],
                    vector["given"]["state"],
                    vector["when"]["actions"],
                    vector["then"]["state"],
                    problems,
                )
            )
    topics = tuple(_counted(name, chosen, failures) for name in names if topic in (None, name))
    passed = len(chosen) - len(failures)
    return Grade(passed, len(chosen), topics, tuple(failures))


def reducer_vectors() -> list[dict[str, Any]]:
    """The vectors: ``{"id", "why", "given", "when", "then"}`` each."""
    text = files(__package__).joinpath(VECTORS).read_text(encoding="utf-8")
    vectors: list[dict[str, Any]] = json.loads(text)
    return vectors


def _counted(name: str, vectors: Iterable[tuple[str, Any]], failures: Iterable[Failure]) -> Topic:
    total = sum(own == name for own, _ in vectors)
    return Topic(name, total - sum(failure.topic == name for failure in failures), total)


def _topic(vector: Mapping[str, Any]) -> str:
    """The kind of the last action: what a vector is about."""
    action = vector["when"]["actions"][-1]
    return UNKNOWN if read_action(action) is None else _name(action)


def _name(action: Any) -> str:
    part = action.get("part") if isinstance(action, Mapping) else None
    named = part if isinstance(part, Mapping) else action
    return str(named.get("type")) if isinstance(named, Mapping) else str(named)


def _problems(reducer: Reducer, vector: Mapping[str, Any]) -> list[str]:
    """What is wrong, empty when the vector holds."""
    state, before = copy.deepcopy(vector["given"]["state"]), None
    for number, action in enumerate(vector["when"]["actions"], start=1):
        kept, before = copy.deepcopy(state), state
        try:
            state = reducer(before, copy.deepcopy(action))
        except Exception as error:  # noqa: BLE001  # that is what it did
            return [f"action {number} ({_name(action)}) raised {type(error).__name__}: {error}"]
        if before != kept:
            return [f"action {number} ({_name(action)}) changed the state it was given"]
        if not isinstance(state, Mapping):
            return [f"action {number} ({_name(action)}) gave {state!r}, expected a state (a dict)"]
    then = vector["then"]
    problems = differences(then["state"], state)
    if "last_action_same_object" in then and (state is before) != then["last_action_same_object"]:
        problems.append("the last action changes nothing, so the very same state was expected")
    return problems


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"

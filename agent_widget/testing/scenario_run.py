"""Runs a scenario and says what does not hold."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from msgspec import Struct

from ..core.errors import InvalidOptions, SessionError
from ..core.messages import ToolPart
from ..engine.recording import Recording, replay
from ..engine.run import RunResult
from ..policy.permission import Question
from .assertions import asked_problem, text_problem, tools_problem
from .doubles import ScriptedModel, call, end, reasoning, text
from .scenario import Decisions, Expect, Scenario, Source, TextExpected
from .session import TIMEOUT_S, AgentSession

ANSWERS: Final[Mapping[object, str]] = {"allow": "allow_once", True: "allow_once", False: "deny"}


class ScenarioResult(Struct, frozen=True):
    """What became of a scenario with a model; it has passed when there are no ``problems``.

    ``steps`` are calls of the model; ``cost`` is in ``currency``, None where it is not known.
    """

    scenario: str
    file: str
    model: str
    problems: tuple[str, ...] = ()
    text: str = ""
    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: str | None = None
    currency: str | None = None
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.problems


def run_source(
    source: Source, model: Any = None, label: str = "", _run_id: str = ""
) -> ScenarioResult:
    """Run the scenario of a file, in whatever process this is. Raises nothing of its own."""
    began = time.perf_counter()
    try:
        result = run_scenario(source.scenario(), model, file=Path(source.path))
    except Exception as error:  # noqa: BLE001  # whatever it is, this scenario has failed
        problem = f"could not run: {type(error).__name__}: {error}"
        seconds = time.perf_counter() - began
        result = ScenarioResult(source.name, source.path, label, (problem,), seconds=seconds)
    return result


def run_scenario(
    scenario: Scenario, model: Any = None, *, file: Path | None = None
) -> ScenarioResult:
    """Run ``scenario`` with its own model, or with ``model``; paths start at ``file``.

    ``model`` may be a function that makes one. Raises InvalidOptions for what cannot be set up.
    """
    began = time.perf_counter()
    folder = Path() if file is None else file.parent
    questions = _Answers(scenario.decide)
    problems: list[str] = []
    session = AgentSession(**_options(scenario, model, folder, questions))
    try:
        for number, turn in enumerate(scenario.turns, 1):
            where = f"turn {number}"
            questions.begin(turn.decide)
            before, asked = len(session.calls), len(session.questions)
            steps = session.steps
            result = session.ask(turn.say, TIMEOUT_S)
            expect = turn.expect or Expect()
            found = _problems(expect, session, result, before, asked, steps)
            if result.reason != (expect.reason or "completed"):
                found.insert(0, _ended(result, expect.reason or "completed"))
            problems += (f"{where}: {each}" for each in found)
        if scenario.expect is not None:
            last = session.results[-1]
            problems += _problems(scenario.expect, session, last, 0, 0, 0)
        session.close()
    except (SessionError, TimeoutError) as error:
        problems.append(str(error) or type(error).__name__)
        session.driver.command(session.driver.session.close)
    usage = session.usage
    return ScenarioResult(
        scenario=scenario.name,
        file="" if file is None else str(file),
        model=session.view.model.label,
        problems=tuple(problems),
        text=session.results[-1].text if session.results else "",
        steps=session.steps,
        tool_calls=len(session.calls),
        tokens=_tokens(session),
        cost=usage.cost,
        currency=usage.currency,
        seconds=time.perf_counter() - began,
    )


# --- what is expected --------------------------------------------------------------------------


def _problems(
    expect: Expect,
    session: AgentSession,
    result: RunResult,
    first_call: int,
    first_question: int,
    first_step: int,
) -> list[str]:
    """What does not hold of what came after those firsts."""
    calls = [*session.calls[first_call:]]
    found = [*_call_problems(expect, calls)]
    asked = [question.name for question in session.questions[first_question:]]
    if expect.asked is not None and asked != expect.asked:
        found.append(asked_problem(asked, expect.asked))
    if expect.text is not None:
        wanted = expect.text
        wanted = TextExpected(contains=wanted) if isinstance(wanted, str) else wanted
        problem = text_problem(
            result.text, wanted.equals, contains=wanted.contains, matches=wanted.matches
        )
        found += [problem] if problem else []
    steps = session.steps - first_step
    if expect.max_steps is not None and steps > expect.max_steps:
        found.append(f"{steps} steps, expected at most {expect.max_steps}")
    if expect.max_tokens is not None and (tokens := _tokens(session)) > expect.max_tokens:
        found.append(f"{tokens} tokens so far, expected at most {expect.max_tokens}")
    if expect.max_cost_usd is not None:
        found += _cost_problems(session, expect.max_cost_usd)
    return found


def _call_problems(expect: Expect, calls: list[ToolPart]) -> list[str]:
    found = []
    if expect.tools is not None:
        wanted = tuple(
            each if isinstance(each, str) else {name: args or {} for name, args in each.items()}
            for each in expect.tools
        )
        if (problem := tools_problem(calls, wanted)) is not None:
            found.append(problem)
    names = [call.name for call in calls]
    missing = [name for name in expect.called if name not in names]
    if missing:
        found.append(f"not called: {', '.join(missing)}; called: {', '.join(names) or 'none'}")
    unwanted = [name for name in expect.not_called if name in names]
    if unwanted:
        found.append(f"called all the same: {', '.join(unwanted)}")
    return found


def _cost_problems(session: AgentSession, most: float) -> list[str]:
    usage = session.usage
    if usage.cost is None or usage.currency not in (None, "USD"):
        return ["the cost in dollars is not known; prices= in options says what tokens cost"]
    if Decimal(usage.cost) > Decimal(str(most)):
        return [f"cost {usage.cost} USD so far, expected at most {most}"]
    return []


def _ended(result: RunResult, expected: str) -> str:
    error = "" if result.error is None else f" ({result.error.message})"
    return f"ended as {result.reason}{error}, expected {expected}"


def _tokens(session: AgentSession) -> int:
    usage = session.usage
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return usage.input_tokens + usage.output_tokens + cached


# --- how it is set up --------------------------------------------------------------------------


class _Answers:
    """``ask_user`` of a scenario: answers by tool, in order, or the same for all."""

    def __init__(self, default: Decisions | None) -> None:
        self._default = default
        self._now: Decisions | None = default
        self._next = 0

    def begin(self, decisions: Decisions | None) -> None:
        self._now = self._default if decisions is None else decisions
        self._next = 0

    def __call__(self, question: Question) -> Any:
        answer: object = self._now
        if isinstance(self._now, Mapping):
            answer = self._now.get(question.tool, False)
        elif isinstance(self._now, list):
            answer = self._now[self._next] if self._next < len(self._now) else False
            self._next += 1
        return ANSWERS.get(answer, answer)


def _options(scenario: Scenario, model: Any, folder: Path, questions: _Answers) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    if scenario.setup is not None:
        exec(scenario.setup, namespace)  # noqa: S102  # it is the user's own
    is_bare = not (scenario.notebook or scenario.workspace)
    options: dict[str, Any] = {
        "model": _model(scenario, model, folder),
        "tools": [_tool(each, folder) for each in scenario.tools],
        "ask_user": None if scenario.replay and scenario.decide is None else questions,
        "system": scenario.system,
        "permission": scenario.permission,
        "namespace": namespace,
        "bare": is_bare,
        "notebook": scenario.notebook,
        "workspace": folder / scenario.workspace if scenario.workspace else None,
        **scenario.options,
    }
    if any(turn.decide is not None for turn in scenario.turns):
        options["ask_user"] = questions
    if scenario.max_steps is not None:
        options["max_steps"] = scenario.max_steps
    if isinstance(options.get("record"), str):
        options["record"] = Recording(folder / options["record"])
    return options


def _model(scenario: Scenario, model: Any, folder: Path) -> Any:
    if model is not None:
        return model() if callable(model) else model
    if scenario.replay is not None:
        return replay(folder / scenario.replay)
    if scenario.script is not None:
        return ScriptedModel([_step(step) for step in scenario.script])
    return scenario.model() if callable(scenario.model) else scenario.model


def _step(step: Any) -> Any:
    """A step of a script; in YAML events are objects of one key, or text."""
    if not isinstance(step, list):
        return step
    return [_event(item) for item in step]


def _event(item: Any) -> Any:
    if isinstance(item, str):
        return text(item)
    if item is not None and not isinstance(item, dict | bool | int | float):
        return item
    given: dict[str, Any] = item if isinstance(item, dict) else {}
    makers: dict[str, Callable[..., Any]] = {
        "text": text,
        "reasoning": reasoning,
        "call": lambda name: call(name, given.get("args")),
        "end": end,
    }
    for name, make in makers.items():
        if name in given:
            return make(given[name])
    known = ", ".join(makers)
    raise InvalidOptions(
        f"{item!r} is no event of a script.", advice=f"Write one of {known}, or a text in quotes."
    )


def _tool(given: Any, folder: Path) -> Any:
    """A tool, or what ``file.py:name`` or ``module:name`` names."""
    if not isinstance(given, str):
        return given
    where, colon, name = given.rpartition(":")
    if not colon:
        advice = "Write file.py:name or module:name."
        raise InvalidOptions(f"The tool {given!r} names no function.", advice=advice)
    module = _module(folder / where) if where.endswith(".py") else importlib.import_module(where)
    found = getattr(module, name, None)
    if found is None:
        raise InvalidOptions(f"{where} has no {name!r}.")
    return found


def _module(path: Path) -> ModuleType:
    module = ModuleType(f"agent_widget_tools_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # annotations are looked up there
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")
    exec(code, module.__dict__)  # noqa: S102  # it is the user's own
    return module

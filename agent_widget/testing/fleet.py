"""Many scenarios, many models, on any executor: one result for each pair, whatever happens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, as_completed
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from msgspec import Struct
from msgspec.structs import asdict

from ..core.errors import InvalidOptions
from .report import as_html, as_junit, as_table
from .scenario import Source, sources
from .scenario_run import ScenarioResult, run_source

_BAR_CHARS: Final = 30
Progress = Callable[[int, int], None]


class FleetResult(Struct, frozen=True):
    """The results, in the order of scenarios and models. It shows as a table."""

    results: tuple[ScenarioResult, ...]

    @property
    def passed(self) -> bool:
        return all(result.passed for result in self.results)

    @property
    def failed(self) -> tuple[ScenarioResult, ...]:
        return tuple(result for result in self.results if not result.passed)

    def frame(self) -> Any:
        """A pandas DataFrame with a row for each result."""
        import pandas as pd

        rows = [
            {**asdict(result), "passed": result.passed, "problems": "; ".join(result.problems)}
            for result in self.results
        ]
        frame = pd.DataFrame(rows)
        if rows:
            frame["cost"] = pd.to_numeric(frame["cost"])
        return frame

    def cost_by_model(self) -> dict[str, Decimal | None]:
        """What each model cost; None once that is not known of one of its scenarios."""
        sums: dict[str, Decimal | None] = {}
        for result in self.results:
            before = sums.get(result.model, Decimal(0))
            is_known = before is not None and result.cost is not None
            sums[result.model] = before + Decimal(result.cost) if is_known else None  # type: ignore[operator,arg-type]
        return sums

    def junit(self) -> str:
        """The results as JUnit XML."""
        return as_junit(self.results)

    def __str__(self) -> str:
        return as_table(self.results)

    def __repr__(self) -> str:
        count = len(self.failed)
        return f"FleetResult({len(self.results) - count} passed, {count} failed)"

    def _repr_html_(self) -> str:
        return as_html(self.results)


def run_scenarios(
    paths: str | Path | Iterable[str | Path],
    models: Iterable[Any] | Mapping[str, Any] = (None,),
    *,
    executor: Executor | None = None,
    progress: bool | Progress = False,
) -> FleetResult:
    """Run every scenario of ``paths`` with every one of ``models``.

    A model is what ``AgentWidget`` takes, a function that makes one, or None: the scenario's own;
    a mapping gives them names. ``executor`` is any ``concurrent.futures.Executor``, for example
    ``dask_client.get_executor()``; None runs one after the other here. Work that an
    executor loses is a failed result, never a missing one. ``progress`` shows a bar, or is called
    with (done, all). Raises InvalidOptions for what holds no scenarios.
    """
    if executor is not None and not callable(getattr(executor, "submit", None)):
        advice = "Pass a concurrent.futures.Executor, or dask_client.get_executor()."
        raise InvalidOptions(f"executor={executor!r} cannot be given work.", advice=advice)
    named = _named(models)
    pairs = [(source, name) for source in sources(paths) for name in named]
    if not pairs:
        what = f"no scenarios at {paths}" if named else "no models in models=[]"
        raise InvalidOptions(f"There are {what}, so nothing would be tested.")
    results: dict[int, ScenarioResult] = {}
    with _shown(progress) as show:
        for index, result in _run(pairs, named, executor):
            results[index] = result
            show(len(results), len(pairs))
    return FleetResult(tuple(results[index] for index in range(len(pairs))))


def _run(
    pairs: list[tuple[Source, str]], models: Mapping[str, Any], executor: Executor | None
) -> Iterator[tuple[int, ScenarioResult]]:
    """Each pair's index and result, once, in the order in which they end."""
    if executor is None:
        for index, (source, name) in enumerate(pairs):
            yield index, run_source(source, models[name], name)
        return
    futures: dict[Future[ScenarioResult], int] = {}
    try:
        for index, (source, name) in enumerate(pairs):
            futures[_submitted(executor, source, models[name], name)] = index
        for future in as_completed(futures):
            index = futures[future]
            yield index, _result(future, *pairs[index])
    finally:
        for future in futures:
            future.cancel()  # those that have not ended, when this one is left early


def _submitted(executor: Executor, source: Source, model: Any, name: str) -> Future[ScenarioResult]:
    try:
        # Dask answers an equal task from what it has: no two runs are equal.
        return executor.submit(run_source, source, model, name, uuid4().hex)
    except RuntimeError as error:  # a broken pool, or one that was shut down
        future: Future[ScenarioResult] = Future()
        future.set_exception(error)
        return future


def _result(future: Future[ScenarioResult], source: Source, name: str) -> ScenarioResult:
    try:
        return future.result()
    except (Exception, CancelledError) as error:  # noqa: BLE001  # lost work is a failed result
        problem = f"was lost by the executor: {type(error).__name__}: {error}"
        return ScenarioResult(source.name, source.path, name, (problem,))


def _named(models: Iterable[Any] | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(models, Mapping):
        return dict(models)
    if isinstance(models, str):
        advice = "Write models=['openai:NAME']."
        raise InvalidOptions(f"models={models!r} is no list.", advice=advice)
    named: dict[str, Any] = {}
    for number, model in enumerate(models, 1):
        name = "" if model is None else model if isinstance(model, str) else f"model {number}"
        named[name] = model
    return named


@contextmanager
def _shown(progress: bool | Progress) -> Iterator[Progress]:
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda _done, _all: None
    elif "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        yield _widget_bar()
    else:
        yield _text_bar
        sys.stderr.write("\n")


def _text_bar(done: int, count: int) -> None:
    filled = _BAR_CHARS * done // max(count, 1)
    bar = "█" * filled + "·" * (_BAR_CHARS - filled)
    sys.stderr.write(f"\r{bar} {done} of {count}")
    sys.stderr.flush()


def _widget_bar() -> Progress:
    from IPython.display import display
    from ipywidgets import IntProgress

    bar = IntProgress(description="scenarios")
    display(bar)  # type: ignore[no-untyped-call]

    def show(done: int, count: int) -> None:
        bar.max, bar.value, bar.description = count, done, f"{done} of {count}"

    return show

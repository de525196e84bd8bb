"""Scenarios and tools on executors: threads, processes, a Dask cluster that loses a worker."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from agent_widget import ToolContext, tool
from agent_widget.core.errors import InvalidOptions
from agent_widget.core.events import ToolOutputDelta, ToolProgress
from agent_widget.testing import AgentSession, ScriptedModel, call, run_scenarios, text
from agent_widget.testing.doubles import Step
from tests.support.recordings import count

SCENARIOS = """
import os, signal
from pathlib import Path
from agent_widget import tool
from agent_widget.testing import Expect, Scenario, Turn, call, text

HERE = Path(__file__).parent

@tool(read_only=True)
def work(n: int) -> int:
    "Work, or die the first time."
    if n == 5 and os.getpid() != int((HERE / "test.pid").read_text()):
        try:
            os.close(os.open(HERE / "killed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return n
        os.kill(os.getpid(), signal.SIGKILL)
    return n

scenarios = [
    Scenario(
        name=f"number {n}",
        script=[[call("work", {"n": n})], [text(f"did {n}")]],
        tools=[work],
        turns=[Turn(say="go", expect=Expect(text=f"did {n}", tools=[{"work": {"n": n}}]))],
    )
    for n in range(10)
]
"""


@pytest.fixture(scope="module")
def dask() -> Iterator[Any]:
    """A client of a cluster with two worker processes."""
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 2, "processes": True}
    with (
        distributed.LocalCluster(**options, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client


@pytest.fixture
def scenarios(tmp_path: Path) -> Path:
    file = tmp_path / "scenario_numbers.py"
    file.write_text(SCENARIOS, encoding="utf-8")
    (tmp_path / "test.pid").write_text(str(os.getpid()), encoding="utf-8")
    return file


def endless() -> ScriptedModel:
    """A model that answers every scenario alike."""
    return ScriptedModel([[text("did nothing")]], name="lazy", is_endless=True)


def test_a_killed_worker_loses_no_scenario_and_counts_none_twice(
    dask: Any, scenarios: Path
) -> None:
    seen: list[tuple[int, int]] = []
    done = run_scenarios(
        scenarios,
        {"own": None, "lazy": endless},
        executor=dask.get_executor(),
        progress=lambda ended, count: seen.append((ended, count)),
    )
    assert (scenarios.parent / "killed").exists()
    names = [(result.scenario, result.model) for result in done.results]
    assert names == [(f"number {n}", model) for n in range(10) for model in ("scripted", "lazy")]
    assert [result.passed for result in done.results] == [True, False] * 10, str(done)
    assert seen == [(n, 20) for n in range(1, 21)]
    frame = done.frame()
    assert list(frame.groupby("model")["passed"].sum()) == [0, 10]
    assert len(frame) == 20


def test_one_process_and_many_threads_give_the_same(scenarios: Path) -> None:
    here = run_scenarios(scenarios)
    with ThreadPoolExecutor(4) as pool:
        there = run_scenarios(scenarios, executor=pool)
    assert here.passed
    assert [r.scenario for r in here.results] == [r.scenario for r in there.results]
    assert [r.text for r in here.results] == [r.text for r in there.results]


def test_an_executor_that_is_gone_gives_failed_results_not_missing_ones(scenarios: Path) -> None:
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    done = run_scenarios(scenarios, executor=pool)
    assert len(done.failed) == 10
    assert "lost by the executor" in done.failed[0].problems[0]


def test_what_would_test_nothing_is_refused(scenarios: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidOptions, match=r"no scenarios at .*empty"):
        run_scenarios(tmp_path / "empty")
    with pytest.raises(InvalidOptions, match=r"no models in models=\[\]"):
        run_scenarios(scenarios, [])
    with pytest.raises(InvalidOptions, match="executor=3 cannot be given work"):
        run_scenarios(scenarios, executor=3)  # type: ignore[arg-type]


# --- tools -------------------------------------------------------------------------------------


def test_a_body_on_the_cluster_reports_back_and_a_stop_cancels_it(dask: Any) -> None:
    executor = dask.get_executor()

    @tool(read_only=True, executor=executor)
    def train(context: ToolContext, rounds: int) -> str:
        """Train."""
        import os

        import distributed

        context.output(f"in {os.getpid()}\n")
        for number in range(rounds):
            context.progress(f"round {number + 1} of {rounds}")
        if rounds == 2:
            return f"trained in {os.getpid()}"
        if context.cancelled.wait(30):
            distributed.Event("it heard of the stop").set()  # type: ignore[no-untyped-call]
        return ""

    script: list[Step] = [
        [call("train", {"rounds": 2})],
        [text("Done.")],
        [call("train", {"rounds": 3})],
    ]
    with AgentSession(ScriptedModel(script), tools=[train]) as session:
        began = threading.Event()
        session.driver.session.subscribe(
            lambda event, _view: (
                began.set() if getattr(event, "message", None) == "round 3 of 3" else None
            )
        )
        assert session.ask("go").text == "Done."
        output = json.dumps(session.calls[0].output)
        assert "trained in" in output
        assert f"in {os.getpid()}" not in output
        shown = [event.message for event in session.events if isinstance(event, ToolProgress)]
        assert "round 2 of 2" in shown  # of those that come fast, the last one is shown
        assert any(isinstance(event, ToolOutputDelta) for event in session.events)
        run = session.send("again")
        assert began.wait(20)
        session.stop()
        assert run.result(20).reason == "interrupted"
        assert session.calls[1].state == "cancelled"
        heard = pytest.importorskip("distributed").Event("it heard of the stop", client=dask)
        assert heard.wait(20)


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_any_executor_runs_the_body_of_a_tool(kind: str) -> None:
    pool: Executor = (
        ThreadPoolExecutor(1) if kind == "threads" else ProcessPoolExecutor(1, get_context("spawn"))
    )
    with pool:
        own = type(count)(vars(count)["__wrapped__"], read_only=True, executor=pool)
        script: list[Step] = [[call("count", {"word": "abc"})], [text("Done.")]]
        with AgentSession(ScriptedModel(script), tools=[own]) as session:
            assert session.ask("go").ok
            assert session.calls[0].state == "done", session.transcript()
            assert "\n    3\n" in session.transcript()


@pytest.mark.parametrize("is_own_thread", [True, False])
def test_what_tells_a_body_to_end_is_true_then_and_false_before(is_own_thread: bool) -> None:
    begun, over = threading.Event(), threading.Event()

    with ThreadPoolExecutor(1) as pool:

        @tool(read_only=True, executor=None if is_own_thread else pool)
        def work(context: ToolContext) -> str:
            """Work."""
            while not context.cancelled:
                begun.set()
                context.cancelled.wait(0.05)
            over.set()
            return "ended early"

        with AgentSession(ScriptedModel([[call("work")]]), tools=[work]) as session:
            run = session.send("go")
            assert begun.wait(60)
            session.stop()
            assert run.result(60).reason == "interrupted"
            assert over.wait(60)


def test_what_a_body_on_an_executor_raises_and_reports_is_in_its_card() -> None:
    with ThreadPoolExecutor(1) as pool:

        @tool(read_only=True, executor=pool)
        def burn(context: ToolContext) -> str:
            """Burn."""
            context.output("smoke\n")
            raise ValueError("it burns")

        with AgentSession(
            ScriptedModel([[call("burn")], [text("Done.")]]), tools=[burn]
        ) as session:
            session.ask("go")
            assert session.calls[0].state == "error"
            assert "ValueError: it burns" in session.transcript()
            chunks = [e.chunk for e in session.events if isinstance(e, ToolOutputDelta)]
            assert "".join(chunks) == "smoke\n"


def test_an_executor_that_cannot_run_a_tool_is_refused() -> None:
    def add(first: int, second: int) -> int:
        """Add."""
        return first + second

    async def wait() -> None:
        """Wait."""

    wrong: Any = "dask"
    with pytest.raises(InvalidOptions, match="executor='dask'"):
        tool(executor=wrong)(add)
    with ThreadPoolExecutor(1) as pool, pytest.raises(InvalidOptions, match="async"):
        tool(executor=pool)(wait)

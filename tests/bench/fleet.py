"""How 200 trivial scenarios scale over two workers of a Dask cluster against one.

    python -m tests.bench.fleet [COUNT]

Prints seconds and the ratio; nothing is asserted, as machines differ.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from distributed import Client, LocalCluster

from agent_widget.testing import run_scenarios

SCENARIO = """
from agent_widget.testing import Expect, Scenario, Turn, call, pause, text

scenarios = [
    Scenario(
        name=f"number {n}",
        script=[[pause(0.1), text(f"did {n}")]],
        turns=[Turn(say="go", expect=Expect(text=f"did {n}"))],
    )
    for n in range(COUNT)
]
"""


def seconds_with(workers: int, file: Path) -> float:
    options: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "processes": True}
    with LocalCluster(**options, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.wait_for_workers(workers)
        executor = client.get_executor()
        warm = file.with_name("scenario_warm.py")
        warm.write_text(SCENARIO.replace("COUNT", str(4 * workers)), encoding="utf-8")
        run_scenarios(warm, executor=executor)
        began = time.perf_counter()
        done = run_scenarios(file, executor=executor, progress=True)
        took = time.perf_counter() - began
        assert done.passed, str(done)
        return took


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scenario_many.py")
        file.write_text(SCENARIO.replace("COUNT", str(count)), encoding="utf-8")
        one, two = seconds_with(1, file), seconds_with(2, file)
    print(f"{count} scenarios: {one:.2f} s on one worker, {two:.2f} s on two, {one / two:.2f} to 1")


if __name__ == "__main__":
    main()

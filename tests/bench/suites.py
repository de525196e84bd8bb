"""What is measured: one command of the harness for each suite, quick and full."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent
RESULTS: Final = FOLDER / "results"
ADAPTERS: Final = FOLDER / "adapters"

# Peers and floors that take seconds; the others are in the full sweep.
FAST_TRAFFIC: Final = (
    "null floor_delta floor_coalesce print_stream list_trait chatlas_stream chatlas_echo"
)
FAST_PACED: Final = "floor_delta floor_coalesce chatlas_echo panel_comm"
FAST_STATE: Final = (
    "floor_call_append dict_list_copy frozen_dataclass_replace pydantic_model_copy"
    " pydantic_ai_parts_manager"
)
FAST_TURN: Final = "floor_httpx_stream openai_sdk_loop_stream pydantic_ai_stream"
RATES: Final = "--rate 20 50 200"


@dataclass(frozen=True)
class Suite:
    """One run of the harness: its module, our adapters in it, and its sweeps."""

    name: str
    module: str
    adapters: tuple[str, ...]
    quick: str
    full: str
    by_default: bool = True
    """False: only the full sweep has it, and who names it."""

    def command(self, *, full: bool) -> list[str]:
        ours = [f"--adapter={ADAPTERS / name}.py" for name in self.adapters]
        out = f"--out={RESULTS / self.name}.json"
        return [
            sys.executable,
            "-m",
            self.module,
            *ours,
            out,
            *(self.full if full else self.quick).split(),
        ]


SUITES: Final = (
    Suite(
        "state",
        "perfbench.state.run",
        ("agent_widget_state",),
        quick=f"--only {FAST_STATE} --reps 5",
        full="",
    ),
    Suite(
        "turn",
        "perfbench.turn.run",
        ("agent_widget_turn",),
        quick=f"--only {FAST_TURN} --steps 20 100 --reps 2",
        full="",
    ),
    Suite(
        "traffic",
        "perfbench.traffic.run",
        ("agent_widget_traffic", "agent_widget_traffic_openai"),
        quick=f"--systems {FAST_TRAFFIC} --n 1000 5000 --h --reps 3",
        full="--slow 20 --timeout 300",
    ),
    Suite(
        "history",
        "perfbench.traffic.run",
        ("agent_widget_traffic",),
        quick="--systems floor_coalesce --mode paced --rate 200 --paced-h 0 5000 --reps 1",
        full="--systems floor_coalesce --mode paced --rate 200 --paced-h 0 5000 --reps 1",
    ),
    Suite(
        "paced",
        "perfbench.traffic.run",
        ("agent_widget_traffic",),
        quick=f"--mode paced --systems {FAST_PACED} {RATES} --paced-h 0 --reps 1",
        full=f"--mode paced {RATES} --reps 1",
    ),
    Suite(
        "marimo",
        "perfbench.traffic.marimo_run",
        (),
        quick="--n --h --rate 200 --paced-h 0",
        full="",
    ),
    Suite(
        "server",
        "perfbench.traffic.server_ws",
        ("agent_widget_traffic",),
        quick="--systems floor_delta floor_coalesce --case 5000:0:0",
        full="",
        by_default=False,
    ),
)
"""In the order in which they run: what takes seconds first."""


def run(suite: Suite, *, full: bool) -> bool:
    """Run one suite; its rows go to results/<name>.json, its words to results/<name>.log.

    True when the harness ended well.
    """
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{suite.name}.json").unlink(missing_ok=True)
    log = RESULTS / f"{suite.name}.log"
    path = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))
    print(f"{suite.name} ...", end=" ", flush=True)
    start_s = time.monotonic()
    with log.open("w") as words:
        status = subprocess.run(
            suite.command(full=full),
            cwd=FOLDER,
            env={**os.environ, "PYTHONPATH": path},
            stdout=words,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    took_s = time.monotonic() - start_s
    print(f"{took_s:.0f} s" if status == 0 else f"FAILED after {took_s:.0f} s, see {log}")
    return status == 0

"""``agent-widget test``: runs scenarios, prints a table, writes a JUnit file."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ..core.errors import InvalidOptions
from .fleet import run_scenarios


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, help="files and folders with scenarios")
    parser.add_argument(
        "--model", action="append", metavar="MODEL", help="run with this model; may be repeated"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML there")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")


def run(options: argparse.Namespace) -> int:
    """0: all hold; 1: some do not; 2: there is nothing to run, or it cannot be read."""
    if (place := options.junit) is not None and (place.is_dir() or not place.parent.is_dir()):
        # Said before models are paid for what cannot be kept.
        sys.stderr.write(f"--junit {place}: name a file in a folder that there is.\n")
        return 2
    models = options.model or [None]
    progress = sys.stderr.isatty()
    try:
        if options.jobs > 1:
            # Not a fork: threads of this process do not exist in one.
            with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
                done = run_scenarios(options.paths, models, executor=pool, progress=progress)
        else:
            done = run_scenarios(options.paths, models, progress=progress)
    except InvalidOptions as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{done}\n")
    if options.junit is not None:
        options.junit.write_text(done.junit(), encoding="utf-8")
    return 0 if done.passed else 1

"""Measures this package next to its peers: ``python -m tests.bench``.

Needs an environment of its own, with ``requirements.txt`` and this package (``make bench`` makes
it). A missed goal is told and is no failure; a suite that breaks is one.
"""

from __future__ import annotations

import argparse
import json
import sys

from .goals import goals_table
from .growth import growth_table
from .rows import Rows
from .suites import RESULTS, SUITES, run
from .tables import tables


def main() -> int:
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the whole sweep; about 2 hours")
    parser.add_argument("--suites", nargs="*", choices=names, help="only these suites")
    parser.add_argument("--report", action="store_true", help="the tables of the last run again")
    options = parser.parse_args()
    wanted = [
        suite
        for suite in SUITES
        if (suite.name in options.suites if options.suites else options.full or suite.by_default)
    ]
    broken = 0
    for suite in wanted if not options.report else ():
        broken += not run(suite, full=options.full)
    rows = Rows(SUITES if options.report else wanted)
    report = "\n".join([growth_table(), *tables(rows), "### Goals\n", goals_table(rows)])
    machine = json.dumps(rows.machine)
    (RESULTS / "report.md").write_text(f"{report}\n\nMachine: {machine}\n")
    print(f"\n{report}")
    for failure in rows.failures():
        print(f"\nFAILED {failure}", file=sys.stderr)
    return 1 if broken or rows.failures() else 0


if __name__ == "__main__":
    sys.exit(main())

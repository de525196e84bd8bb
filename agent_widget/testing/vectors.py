"""Run a file of test vectors through the public functions.

    python -m agent_widget.testing.vectors FILE [--suite SUITE]

A file holds ``{"vectors": [{"id", "suite", "given", "when", "then"}, …]}`` (or just the list).
Suites this version does not know are counted and named, never passed silently. The exit status is
the number of failures, at most 100.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..core.reducer import session_reducer
from ..core.resumable import resumable
from ..core.wire import messages_from_wire, messages_to_wire, state_from_wire, state_to_wire
from ..tools.registry import active_names, refreshed_names
from . import bash_suites, budget_suites, event_suites, input_suites, model_suites, tree_suites
from .matching import differences

Vector = Mapping[str, Any]


def run_reducer(vector: Vector) -> list[str]:
    """What a ``reducer`` vector finds wrong; empty when it holds."""
    state = state_from_wire(vector["given"]["state"])
    before = state
    for action in vector["when"]["actions"]:
        before, state = state, session_reducer(state, action)
    then = vector["then"]
    problems = differences(then["state"], state_to_wire(state))
    if "last_action_same_object" in then and (state is before) != then["last_action_same_object"]:
        problems.append(f"last_action_same_object is {state is before}")
    return problems


def run_resumable(vector: Vector) -> list[str]:
    """What a ``resumable`` vector finds wrong; empty when it holds."""
    kept = resumable(messages_from_wire(vector["given"]["messages"]))
    return differences(vector["then"]["messages"], messages_to_wire(kept), "messages")


def run_registry(vector: Vector) -> list[str]:
    """What a ``tools.registry`` vector finds wrong; empty when it holds."""
    names = refreshed_names(**vector["given"])
    then = vector["then"]
    actual: dict[str, Any] = {"registry": list(names.registry), "active": list(names.active)}
    if "origin" in then:
        actual["origin"] = names.origin
    return differences(then, actual, "names")


def run_set_active(vector: Vector) -> list[str]:
    """What a ``tools.set_active`` vector finds wrong; empty when it holds."""
    wanted = vector["when"]["set_active_tools_by_name"]
    active = active_names(vector["given"]["registry"], wanted)
    return differences(vector["then"]["active"], list(active), "active")


def run_steering(vector: Vector) -> list[str]:
    """What a ``steering.apply`` vector finds wrong; empty when it holds.

    A failed write gives the store's own error: what is compared is that nothing has changed.
    """
    given, then = vector["given"], vector["then"]
    if not given["write_ok"]:
        then = {key: value for key, value in then.items() if key != "error"}
    return differences(then, input_suites.applied(given, vector["when"]), "result")


def comparing(result: Callable[[Any, Any], object]) -> Callable[[Vector], list[str]]:
    """The check of a suite whose vectors' ``then`` is ``result(given, when)``."""
    return lambda vector: differences(
        vector["then"], result(vector["given"], vector["when"]), "result"
    )


RESULTS: Final = {
    **bash_suites.RESULTS,
    **budget_suites.RESULTS,
    **event_suites.RESULTS,
    **input_suites.RESULTS,
    **model_suites.RESULTS,
    **tree_suites.RESULTS,
}
SUITES: Final[Mapping[str, Callable[[Vector], list[str]]]] = {
    **{suite: comparing(result) for suite, result in RESULTS.items()},
    **event_suites.CHECKS,
    "steering.apply": run_steering,
    "reducer": run_reducer,
    "resumable": run_resumable,
    "tools.registry": run_registry,
    "tools.set_active": run_set_active,
}


def load_vectors(path: Path) -> list[Vector]:
    """The vectors of a file, in order."""
    data = json.loads(path.read_text(encoding="utf-8"))
    vectors: list[Vector] = data["vectors"] if isinstance(data, dict) else data
    return vectors


def failures(vectors: Iterable[Vector]) -> list[tuple[str, list[str]]]:
    """``(id, problems)`` of each vector that does not hold; vectors must be of known suites."""
    found = []
    for vector in vectors:
        try:
            problems = SUITES[vector["suite"]](vector)
        except Exception as error:  # noqa: BLE001  # a crash is a failure of the vector
            problems = [f"raised {error!r}"]
        if problems:
            found.append((vector["id"], problems))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m agent_widget.testing.vectors",
        description="Run test vectors through agent_widget's public functions.",
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--suite", help="only this suite, for example reducer")
    options = parser.parse_args(argv)
    try:
        loaded = load_vectors(options.file)
    except (OSError, ValueError) as error:
        parser.error(f"{options.file} cannot be read as vectors: {error}")
    vectors = [v for v in loaded if options.suite in (None, v["suite"])]
    known = [v for v in vectors if v["suite"] in SUITES]
    failed = failures(known)
    for vector_id, problems in failed:
        print(f"{vector_id}: " + "; ".join(problems))
    unknown = Counter(v["suite"] for v in vectors if v["suite"] not in SUITES)
    for suite, count in sorted(unknown.items()):
        print(f"not run: {count} of suite {suite!r}, which this version does not know")
    if options.suite is not None and not known:
        print(f"no vector of suite {options.suite!r} was run")
        return 1
    print(f"{len(known) - len(failed)} passed, {len(failed)} failed")
    return min(len(failed), 100)


if __name__ == "__main__":
    sys.exit(main())

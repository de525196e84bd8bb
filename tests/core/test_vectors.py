"""The pure functions obey every vector, on input that cannot be mutated."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest

from agent_widget.testing.vectors import SUITES, failures, load_vectors

VECTORS = Path(__file__).parents[1] / "vectors" / "vectors.json"
KNOWN = [vector for vector in load_vectors(VECTORS) if vector["suite"] in SUITES]


class FrozenDict(dict[str, Any]):
    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise AssertionError("input was mutated")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = _refuse
    __ior__ = _refuse


def frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return FrozenDict({key: frozen(item) for key, item in value.items()})
    if isinstance(value, list):
        return tuple(frozen(item) for item in value)
    return value


@pytest.mark.parametrize("vector", KNOWN, ids=lambda vector: vector["id"])
def test_vector_holds_on_frozen_input(vector: Any) -> None:
    assert (
        failures([{**vector, "given": frozen(vector["given"]), "when": frozen(vector["when"])}])
        == []
    )


def test_every_vector_of_a_known_suite_is_run() -> None:
    counted = {suite: sum(v["suite"] == suite for v in KNOWN) for suite in SUITES}
    assert counted == {
        "input_policy.resolve": 7,
        "input_policy.can_send": 7,
        "input_policy.tool": 14,
        "input_policy.event": 5,
        "interaction.next_revision": 5,
        "interaction.merge": 19,
        "delivery.client": 16,
        "steering.apply": 8,
        "steering.prompt_order": 4,
        "steering.failure": 5,
        "stop.commit": 4,
        "queue.drain": 6,
        "queue.clear": 2,
        "tree.navigate": 5,
        "export.jsonl": 1,
        "fork.candidates": 1,
        "last_assistant_text": 4,
        "session.name": 3,
        "extension.label": 2,
        "bash.record": 5,
        "budget.options": 7,
        "budget.gate": 11,
        "context.usage": 9,
        "session.stats": 3,
        "events.backlog": 16,
        "events.options": 7,
        "view.reduce": 15,
        "narrator.line": 2,
        "reducer": 93,
        "resumable": 16,
        "model.cycle": 6,
        "retry.plan": 7,
        "thinking.cycle": 4,
        "thinking.set": 6,
        "tools.registry": 5,
        "tools.set_active": 3,
    }


def run_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agent_widget.testing.vectors", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_command_line_counts_failures_in_its_exit_status(tmp_path: Path) -> None:
    good, bad = KNOWN[0], {**KNOWN[1], "then": {"state": {"messages": [], "status": "error"}}}
    file = tmp_path / "some.json"
    file.write_text(json.dumps({"vectors": [good, bad, {**bad, "id": "RED-X"}]}))
    done = run_command(file)
    assert done.returncode == 2
    assert "RED-X" in done.stdout
    assert "1 passed, 2 failed" in done.stdout


def test_command_line_passes_a_good_suite_and_fails_an_empty_one() -> None:
    assert run_command(VECTORS, "--suite", "resumable").returncode == 0
    assert run_command(VECTORS, "--suite", "no.such").returncode == 1

"""Rows that the harness wrote, found by what they were measured for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from .suites import RESULTS, Suite

OURS = "agent_widget"


class Rows:
    """All rows of these suites, as their last run left them."""

    def __init__(self, suites: Iterable[Suite]) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self.machine: dict[str, Any] = {}
        for suite in suites:
            path = RESULTS / f"{suite.name}.json"
            if path.exists():
                content = json.loads(path.read_text())
                self._rows[suite.name] = content["rows"]
                self.machine = self.machine or content["machine"]

    def of(self, suite: str, **params: object) -> list[dict[str, Any]]:
        """Rows of a suite with these parameters, in the order of the run."""
        rows = self._rows.get(suite, [])
        return [row for row in rows if params.items() <= row["params"].items()]

    def systems(self, suite: str) -> list[str]:
        return list(dict.fromkeys(row["system"] for row in self._rows.get(suite, [])))

    def value(self, suite: str, system: str, metric: str, **params: object) -> float | None:
        """One number, or None where it was not measured."""
        for row in self.of(suite, **params):
            if row["system"] == system:
                found: float | None = row["metrics"].get(metric)
                return found
        return None

    def failures(self) -> list[str]:
        """Our own systems that did not get through, with the reason."""
        return [
            f"{suite}: {row['system']} {row['params']}: {row['metrics']}"
            for suite, rows in self._rows.items()
            for row in rows
            if row["system"].startswith(OURS) and {"error", "timeout_s"} & row["metrics"].keys()
        ]


def ratio(value: float | None, base: float | None) -> float | None:
    """``value / base``, or None where one of them is missing or nothing."""
    return None if value is None or not base or base <= 0 else value / base


def less(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None else value - base


def exponent(low: float | None, high: float | None, sizes: tuple[float, float]) -> float | None:
    """How a cost grows with a size: 0 not at all, 1 with it, 2 with its square."""
    if low is None or high is None or low <= 0 or high <= 0:
        return None
    return math.log(high / low) / math.log(sizes[1] / sizes[0])


def table(head: Sequence[str], lines: Sequence[Sequence[object]]) -> str:
    """A Markdown table whose columns line up in a terminal."""
    cells = [[*head], *([str(cell) for cell in line] for line in lines)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head))]

    def row(line: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        return "| " + " | ".join(padded) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([row(cells[0]), rule, *map(row, cells[1:])])


def short(value: float | None, unit: str = "") -> str:
    """Three digits and a unit; a dash for what was not measured."""
    if value is None:
        return "-"
    for limit, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{suffix}{unit}"
    return f"{value:.3g}{unit}"

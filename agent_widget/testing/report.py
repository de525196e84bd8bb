"""Results of scenarios as a table, as HTML, and as JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as Xml

from .scenario_run import ScenarioResult

_HEAD: Final = ("", "scenario", "model", "steps", "tools", "tokens", "cost", "s")
_NUMBERS: Final = 3
"""Columns from here on are set to the right."""


def as_table(results: Sequence[ScenarioResult]) -> str:
    """A line a result, what is wrong below it, and the sum."""
    rows = [_cells(result) for result in results]
    widths = [max(len(row[at]) for row in [_HEAD, *rows]) for at in range(len(_HEAD))]
    lines = [_line(_HEAD, widths)]
    for result, row in zip(results, rows, strict=True):
        lines.append(_line(row, widths))
        lines += [f"       {line}" for text in result.problems for line in text.split("\n")]
    failed = sum(not result.passed for result in results)
    return "\n".join([*lines, f"{len(results) - failed} passed, {failed} failed"])


def as_html(results: Sequence[ScenarioResult]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in (*_HEAD, "problems"))
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{escape(c)}</td>" for c in (*_cells(r), "; ".join(r.problems)))
        + "</tr>"
        for r in results
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def as_junit(results: Sequence[ScenarioResult]) -> str:
    """One test suite, a test case for each result; its class name is file and model."""
    failed = sum(not result.passed for result in results)
    seconds = f"{sum(result.seconds for result in results):.3f}"
    counts = {"tests": str(len(results)), "failures": str(failed), "time": seconds}
    root = Xml.Element("testsuites", counts)
    suite = Xml.SubElement(root, "testsuite", {"name": "agent_widget scenarios", **counts})
    for result in results:
        stem = Path(result.file).stem
        about = {
            "classname": f"{stem}.{result.model}" if result.model else stem,
            "name": result.scenario,
            "time": f"{result.seconds:.3f}",
        }
        case = Xml.SubElement(suite, "testcase", about)
        if result.problems:
            told = {"message": _sendable(result.problems[0].split("\n")[0])}
            Xml.SubElement(case, "failure", told).text = _sendable("\n".join(result.problems))
        if result.text:
            Xml.SubElement(case, "system-out").text = _sendable(result.text)
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _cells(result: ScenarioResult) -> tuple[str, ...]:
    cost = "?" if result.cost is None else f"{float(result.cost):.4f}".rstrip("0").rstrip(".")
    return (
        "pass" if result.passed else "FAIL",
        result.scenario,
        result.model,
        str(result.steps),
        str(result.tool_calls),
        str(result.tokens),
        f"{cost} {result.currency}" if result.currency else cost,
        f"{result.seconds:.2f}",
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    set_ = (
        cell.ljust(width) if at < _NUMBERS else cell.rjust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(set_).rstrip()


def _sendable(text: str) -> str:
    """``text`` without the characters that XML cannot carry."""
    return "".join(c if c in "\t\n\r" or " " <= c < "\ud800" or c > "\udfff" else "�" for c in text)

"""Scenarios: what a file says is run, and what does not hold is said."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from agent_widget.__main__ import main
from agent_widget.core.errors import InvalidOptions
from agent_widget.core.usage import Usage
from agent_widget.testing import Expect, Scenario, ScriptedModel, Turn, run_scenario, run_scenarios
from agent_widget.testing.doubles import call, end, text
from agent_widget.testing.scenario import sources
from tests.support.recordings import FOLDER, allow_or_say_why, look

HOLDS = """
name: describes a table
notebook: true
model: offline
setup: |
  df = {"x": [1, 2]}
turns:
  - say: describe df
    expect: {tools: [{describe_variable: {name: df}}], asked: [], text: df, max_steps: 2}
  - say: "run this code: df['x']"
    decide: {run_python: true}
    expect: {asked: [run_python], called: [run_python], not_called: [bash]}
---
name: decisions in order
script:
  - [{call: look, args: {name: a}}]
  - [{call: look, args: {name: b}}]
  - ["All ", "done."]
tools: [tools.py:look]
turns:
  - say: go
    decide: [allow, deny]
    expect: {asked: [look, look], text: {equals: All done.}}
expect: {max_steps: 3, tools: [look, look]}
---
replay: look.jsonl
name: a recording
system: Be brief.
tools: ["tests.support.recordings:look", "tests.support.recordings:count"]
turns:
  - {say: "What is penguins?", expect: {text: 8 letters, max_tokens: 200}}
  - {say: "And secret?", expect: {asked: [look], text: {matches: "not allow"}}}
"""
FAILS = """
script:
  - [{call: look, args: {name: a}}]
  - [Hello.]
tools: [tools.py:look]
decide: deny
turns:
  - say: go
    expect:
      tools: [look, look]
      called: [leap]
      not_called: [look]
      asked: []
      text: {equals: Hallo.}
      reason: max_steps
      max_steps: 1
"""
TOOLS = """
from agent_widget import tool

@tool
def look(name: str) -> str:
    "Look."
    return f"seen {name}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(FOLDER / "look.jsonl", tmp_path)
    (tmp_path / "tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "holds.yaml").write_text(HOLDS, encoding="utf-8")
    return tmp_path


def test_what_holds_passes(folder: Path) -> None:
    done = run_scenarios(folder)
    assert done.passed, str(done)
    assert [result.scenario for result in done.results] == [
        "describes a table",
        "decisions in order",
        "a recording",
    ]
    assert str(done).endswith("3 passed, 0 failed")


def test_the_command_says_what_does_not_hold(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "fails.yaml").write_text(FAILS, encoding="utf-8")
    junit = folder / "out.xml"
    assert main(["test", str(folder), "--junit", str(junit)]) == 1
    out = capsys.readouterr().out
    for problem in (
        "ended as completed, expected max_steps",
        "tools called: look; expected: look, look",
        "not called: leap; called: look",
        "called all the same: look",
        "asked about: look; expected: nothing",
        "'Hallo.' → 'Hello.'",
        "2 steps, expected at most 1",
        "3 passed, 1 failed",
    ):
        assert problem in out
    [suite] = Xml.parse(junit).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    [failure] = suite.findall("testcase/failure")
    assert "expected max_steps" in (failure.text or "")
    for nowhere in (folder / "no" / "out.xml", folder):  # said before a model is asked
        assert main(["test", str(folder), "--junit", str(nowhere)]) == 2
        told = capsys.readouterr()
        assert (told.out, str(nowhere) in told.err) == ("", True)


def test_the_command_is_there_by_name_and_runs_in_processes(folder: Path) -> None:
    command = [sys.executable, "-m", "agent_widget", "test", "--jobs", "2", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed, 0 failed" in done.stdout


def test_a_scenario_in_python_has_functions_and_prices() -> None:
    usage = Usage(1_000_000, 0)
    steps = [[call("look", {"name": "secret"})], [text("No."), end("stop", usage)]]
    price = {"scripted": {"input_mtok": 2, "output_mtok": 4}}
    scenario = Scenario(
        name="cost",
        script=steps,
        tools=[look],
        options={"prices": price, "ask_user": allow_or_say_why},
        turns=[Turn(say="go", expect=Expect(max_cost_usd=1.5, asked=["look"]))],
    )
    result = run_scenario(scenario)
    assert result.problems == ("turn 1: cost 2 USD so far, expected at most 1.5",)
    again = run_scenario(scenario, lambda: ScriptedModel([[text("Cheap.")]]))
    assert again.problems == ("turn 1: asked about: nothing; expected: look",)


def test_costs_add_up_by_model(folder: Path) -> None:
    cheap = lambda: ScriptedModel([[text("a"), end("stop", Usage(1, 1))]], name="gpt-5-mini")  # noqa: E731
    done = run_scenarios(folder / "holds.yaml", {"cheap": cheap, "own": None})
    costs = done.cost_by_model()
    assert costs["scripted"] == 0
    assert len(done.results) == 6
    assert "<td>describes a table</td>" in done._repr_html_()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("turns: [{say: hi}]\nmodle: offline\n", "modle"),
        ("turns: [{shout: hi}]\n", "shout"),
        ("- just\n- a list\n", "no scenario"),
        ("turns: []\n", "no turns"),
        ("turns: [{say: hi}]\nmodel: offline\nreplay: a.jsonl\n", "several models"),
        ("turns: [{say: hi\n", "not YAML"),
    ],
)
def test_what_is_no_scenario_is_refused_with_the_word_that_is_wrong(
    tmp_path: Path, content: str, told: str
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidOptions, match=told):
        sources(file)
    assert main(["test", str(file)]) == 2


def test_what_cannot_be_set_up_is_a_failed_result(tmp_path: Path) -> None:
    for name, body in {
        "a": "tools: [none.py:look]",
        "b": "script: [[yes]]",
        "c": "replay: gone.jsonl",
    }.items():
        (tmp_path / f"{name}.yaml").write_text(f"turns: [{{say: hi}}]\n{body}\n", encoding="utf-8")
    done = run_scenarios(tmp_path)
    assert [result.passed for result in done.results] == [False] * 3
    assert "none.py" in done.results[0].problems[0]
    assert "in quotes" in done.results[1].problems[0]

"""No line gets past a rule: what is silently allowed is run, and makes no mark."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from agent_widget.policy.decision import ruling_on
from agent_widget.policy.options import Call, Mode, PermissionOptions
from agent_widget.policy.rules import Rules, rules_of
from tests.policy.attacks import touching, writing
from tests.policy.bashrun import BashRun
from tests.policy.support import MadePaths

ONLY_ECHO: Final = rules_of(allow=["bash(echo *)"])
NO_TOUCH: Final = rules_of(allow=["bash(*)"], deny=["bash(touch *)"])
ONLY_NO_TOUCH: Final = rules_of(deny=["bash(touch *)"])
NO_MARK: Final = rules_of(allow=["bash(*)", "read", "write"], deny=["write(**/MARK)"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> BashRun:
    return BashRun(tmp_path_factory.mktemp("attacks"))


@pytest.fixture(scope="module")
def marked(place: BashRun) -> dict[str, bool]:
    return place.marked([*touching(), *writing()])


def allowed(lines: list[str], rules: Rules, mode: Mode | None = None) -> list[str]:
    options = PermissionOptions(mode=mode, rules=rules)
    return [
        line
        for line in lines
        if ruling_on(
            Call(tool="bash", args={"command": line}, kind="execute"), options, MadePaths()
        ).verdict
        == "allow"
    ]


def test_there_are_enough_attacks() -> None:
    assert len(touching()) >= 300
    assert len(writing()) >= 90


def test_every_attack_makes_its_mark_when_everything_is_allowed(marked: dict[str, bool]) -> None:
    assert [line for line, made in marked.items() if not made] == []


def test_allow_all_without_rules_allows_every_attack() -> None:
    everything = [*touching(), *writing()]
    assert allowed(everything, Rules(), "allow_all") == everything


@pytest.mark.parametrize(
    ("lines", "rules", "mode"),
    [
        pytest.param(touching(), ONLY_ECHO, None, id="only echo, touching"),
        pytest.param(writing(), ONLY_ECHO, None, id="only echo, writing"),
        pytest.param(touching(), NO_TOUCH, None, id="all but touch"),
        pytest.param(touching(), ONLY_NO_TOUCH, "allow_all", id="mode allow_all but touch"),
        pytest.param(writing(), NO_MARK, None, id="all but the file"),
        pytest.param(touching(), Rules(), "accept_edits", id="accept_edits"),
        pytest.param(touching(), Rules(), "plan", id="plan"),
    ],
)
def test_what_is_silently_allowed_makes_no_mark(
    lines: list[str], rules: Rules, mode: Mode | None, marked: dict[str, bool]
) -> None:
    assert [line for line in allowed(lines, rules, mode) if marked[line]] == []


@pytest.mark.parametrize("text", ["echo '$(touch MARK)'", "echo a > /dev/null", "echo a 2>&1"])
def test_what_only_looks_like_an_attack_is_allowed_and_makes_no_mark(
    text: str, place: BashRun
) -> None:
    assert allowed([text], ONLY_ECHO) == [text]
    assert place.marked([text]) == {text: False}


def test_the_controls_are_run_in_folders_that_are_gone_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / "lines"
    folder.mkdir()
    assert BashRun(folder).marked(["touch MARK", "true"]) == {"touch MARK": True, "true": False}
    assert {path.name for path in folder.iterdir()} == {"bin", "template"}

"""Everyday commands run without needless questions, fast."""

from __future__ import annotations

import time

import pytest

from agent_widget.policy.decision import ruling_on
from agent_widget.policy.options import Call, PermissionOptions
from agent_widget.policy.rules import Rules, rules_of
from agent_widget.surfaces.defaults import SECRETS
from tests.policy.everyday import ALLOW, ASK, DENY, LINES
from tests.policy.support import MadePaths, ruling

SECRET_READS = (
    "cat .env",
    "cat ./a/../.env",
    "head -c 9 keys/host.pem",
    "cp ~/.ssh/id_rsa /tmp/x",
    "grep -c . .env.local",
    "git status && cat < .netrc",
    "cat $(echo a) .env",
)


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(rules_of(ALLOW, ASK, DENY), id="rules that name commands"),
        pytest.param(rules_of(ALLOW, ASK, DENY).joined(SECRETS), id="the same in a chat"),
        pytest.param(rules_of(["bash"]).joined(SECRETS), id="every command, in a chat"),
        pytest.param(rules_of(["bash(*)"]).joined(SECRETS), id="by a star, in a chat"),
    ],
)
def test_at_most_one_everyday_line_in_ten_asks(rules: Rules) -> None:
    options = PermissionOptions(rules=rules)
    needless = [line for line in LINES if verdict(line, options) != "allow"]
    assert len(LINES) >= 300
    assert len(needless) <= len(LINES) // 10, needless


@pytest.mark.parametrize("line", SECRET_READS)
@pytest.mark.parametrize("allow", [(), ("bash",), ("bash(*)",), ("bash(cat *)", "bash(head *)")])
def test_what_is_seen_to_read_a_secret_asks_whatever_allows_its_command(
    line: str, allow: tuple[str, ...]
) -> None:
    assert verdict(line, PermissionOptions(rules=rules_of(allow).joined(SECRETS))) == "ask"


def verdict(line: str, options: PermissionOptions) -> str:
    call = Call(tool="bash", args={"command": line}, kind="execute")
    return ruling_on(call, options, MadePaths()).verdict


def test_a_decision_takes_less_than_5_ms_of_the_processor() -> None:
    durations = []
    for line in LINES:
        started = time.process_time()
        ruling(line, allow=("bash(git *)", "bash(ls *)"), deny=DENY)
        durations.append(time.process_time() - started)
    durations.sort()
    assert durations[int(len(durations) * 0.99)] < 0.005

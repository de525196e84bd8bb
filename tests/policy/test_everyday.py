"""Everyday commands run without needless questions, fast."""

from __future__ import annotations

import time

from tests.policy.everyday import ALLOW, ASK, DENY, LINES
from tests.policy.support import ruling


def test_at_most_one_everyday_line_in_ten_asks() -> None:
    rulings = {line: ruling(line, allow=ALLOW, ask=ASK, deny=DENY) for line in LINES}
    needless = [line for line, each in rulings.items() if each.verdict != "allow"]
    assert len(LINES) >= 300
    assert len(needless) <= len(LINES) // 10, needless


def test_a_decision_takes_less_than_5_ms_of_the_processor() -> None:
    durations = []
    for line in LINES:
        started = time.process_time()
        ruling(line, allow=("bash(git *)", "bash(ls *)"), deny=DENY)
        durations.append(time.process_time() - started)
    durations.sort()
    assert durations[int(len(durations) * 0.99)] < 0.005

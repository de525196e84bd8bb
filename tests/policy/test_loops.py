"""A run that goes round in circles ends, and one that works does not."""

from __future__ import annotations

from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.policy.loops import CallOutcome, LoopLimits, Progress

LIMITS = LoopLimits(failing_calls=3, nudges=2, compactions=2)
TESTS = CallOutcome("bash", {"command": "pytest", "timeout": 9}, failed=True)


def edit(number: int) -> CallOutcome:
    return CallOutcome("edit", {"path": "a.py", "text": str(number)}, failed=False)


LOOK = CallOutcome("read_file", {"path": "a.py"}, failed=False)


def ends_at(rounds: list[list[CallOutcome]]) -> int | None:
    """After which round the run is stuck, counted from 1."""
    progress = Progress()
    for number, outcomes in enumerate(rounds, 1):
        progress = progress.after_answer(is_empty=False).after_calls(outcomes)
        if progress.stuck(LIMITS) is not None:
            return number
    return None


def test_the_same_call_that_fails_again_and_again_ends_the_run() -> None:
    assert ends_at([[TESTS]] * 99) == 3


def test_the_order_of_arguments_does_not_make_another_call() -> None:
    other = CallOutcome("bash", {"timeout": 9, "command": "pytest"}, failed=True)
    assert ends_at([[TESTS], [other], [TESTS]]) == 3


def test_looking_at_the_same_thing_in_between_is_no_progress() -> None:
    assert ends_at([[LOOK], *[[TESTS], [LOOK]] * 99]) == 6


def test_failing_calls_side_by_side_are_counted_one_by_one() -> None:
    other = CallOutcome("bash", {"command": "make"}, failed=True)
    assert ends_at([[TESTS, other]] * 99) == 3
    assert ends_at([[TESTS], [other]] * 99) == 5


def test_tests_that_fail_after_each_edit_are_work() -> None:
    assert ends_at([[edit(n), TESTS] for n in range(99)]) is None


def test_a_call_with_new_arguments_each_time_is_left_to_the_step_limit() -> None:
    rounds = [[CallOutcome("bash", {"command": f"try {n}"}, failed=True)] for n in range(99)]
    assert ends_at(rounds) is None


def test_a_call_that_succeeds_in_between_starts_over() -> None:
    works = CallOutcome(TESTS.tool, TESTS.args, failed=False)
    assert ends_at([[TESTS], [TESTS], [works], [TESTS], [TESTS], [works], [TESTS]]) is None
    assert ends_at([[works], [TESTS], [TESTS], [works], [TESTS], [TESTS]]) is None


def test_what_succeeds_over_and_over_is_left_to_the_step_limit() -> None:
    assert ends_at([[LOOK]] * 99) is None


def test_empty_answers_are_nudged_and_then_end_the_run() -> None:
    progress = Progress()
    for nudge in range(LIMITS.nudges):
        progress = progress.after_answer(is_empty=True)
        assert progress.stuck(LIMITS) is None, nudge
    stuck = progress.after_answer(is_empty=True).stuck(LIMITS)
    assert stuck is not None
    assert stuck.reason == "empty_answers"
    assert progress.after_answer(is_empty=False).after_answer(is_empty=True).stuck(LIMITS) is None


def test_a_prompt_that_stays_too_long_is_compacted_and_then_ends_the_run() -> None:
    progress = Progress()
    for compaction in range(LIMITS.compactions):
        progress = progress.after_too_long()
        assert progress.stuck(LIMITS) is None, compaction
    stuck = progress.after_too_long().stuck(LIMITS)
    assert stuck is not None
    assert stuck.reason == "too_long"
    assert progress.after_answer(is_empty=False).after_too_long().stuck(LIMITS) is None


def test_the_reason_names_the_tool_and_the_count_and_says_the_way_out() -> None:
    stuck = Progress().after_calls([TESTS] * 3).stuck(LIMITS)
    assert stuck is not None
    assert stuck.reason == "failing_call"
    assert stuck.message.startswith("The same call of bash failed 3 times")
    assert stuck.advice


@pytest.mark.parametrize("bad", [{"nudges": 0}, {"failing_calls": 2.0}, {"compactions": True}])
def test_a_limit_that_makes_no_sense_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidOptions, match=next(iter(bad))):
        LoopLimits(**bad)

"""When a run gets nowhere: the same failing call, empty answers, a prompt that stays too long.

Each is bounded by itself, well before the limits of a run, and each ends it with a reason that a
person can read. Asked for nothing new, a run may go on as long as its steps last: to look at the
same thing again, or to run the tests after each edit, is work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidOptions

NUDGE: Final = "Your last answer was empty. Go on, or say in words what is done or missing."
"""What follows an empty answer in the request that asks again; it is stored nowhere."""

LoopReason = Literal["failing_call", "empty_answers", "too_long"]


class LoopLimits(Struct, frozen=True, kw_only=True):
    """How often in a row each may happen; raises InvalidOptions unless all are at least 1.

    A run ends with failing call number ``failing_calls``; when an answer is empty after
    ``nudges``; and when a prompt is too long after ``compactions``.
    """

    failing_calls: int = 5
    nudges: int = 3
    compactions: int = 1

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidOptions(f"{name} is {value!r}, expected a whole number above 0.")


class CallOutcome(Struct, frozen=True):
    """A call that has ended; ``args`` is JSON. A refused or denied call has failed."""

    tool: str
    args: object
    failed: bool


class Stuck(Struct, frozen=True):
    """Why a run is ended, in a word and as a person reads it, and the way out."""

    reason: LoopReason
    message: str
    advice: str


class Progress(Struct, frozen=True):
    """What a run has come to, for telling work from going round; ``Progress()`` is its start.

    Calls are kept as their hashes: large arguments are not held twice.
    """

    _done: frozenset[int] = frozenset()
    _failures: Mapping[int, tuple[int, str]] = {}
    empty_answers: int = 0
    too_long: int = 0

    def after_answer(self, *, is_empty: bool) -> Progress:
        """After an answer; an empty one has neither text nor a call that can be run.

        An answer that came at all means that its prompt was not too long.
        """
        return replace(self, empty_answers=self.empty_answers + 1 if is_empty else 0, too_long=0)

    def after_too_long(self) -> Progress:
        """After a server refused a prompt for its length."""
        return replace(self, too_long=self.too_long + 1)

    def after_calls(self, outcomes: Iterable[CallOutcome]) -> Progress:
        """After the calls of an answer, in their order.

        A call that succeeds for the first time is progress: failures before it count no more. One
        that has succeeded before is none, so that looking around in between ends no count.
        """
        progress = self
        for outcome in outcomes:
            progress = progress._after_call(outcome)
        return progress

    def stuck(self, limits: LoopLimits) -> Stuck | None:
        """Why the run has to end here; None while it may go on.

        Until then an empty answer is followed by a nudge, and a prompt that is too long by a
        compaction.
        """
        failures, tool = max(self._failures.values(), default=(0, ""))
        if failures >= limits.failing_calls:
            return Stuck(
                "failing_call",
                f"The same call of {tool} failed {failures} times, and nothing new was done.",
                "Say what to do instead, or send a message to let it try again.",
            )
        if self.empty_answers > limits.nudges:
            return Stuck(
                "empty_answers",
                f"The model gave {self.empty_answers} empty answers in a row.",
                "Send a message to try again, or take another model.",
            )
        if self.too_long > limits.compactions:
            return Stuck(
                "too_long",
                f"The prompt is still too long after {_times(limits.compactions)}.",
                "Start a new session, shorten the last message, or take fewer tools or a model "
                "with a larger window.",
            )
        return None

    def _after_call(self, outcome: CallOutcome) -> Progress:
        key = hash((outcome.tool, json.dumps(outcome.args, sort_keys=True)))
        if outcome.failed:
            count, _ = self._failures.get(key, (0, ""))
            return replace(self, _failures={**self._failures, key: (count + 1, outcome.tool)})
        if key not in self._done:
            return replace(self, _done=self._done | {key}, _failures={})
        failures = {other: count for other, count in self._failures.items() if other != key}
        return replace(self, _failures=failures)


def _times(compactions: int) -> str:
    return "a compaction" if compactions == 1 else f"{compactions} compactions"

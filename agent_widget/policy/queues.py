"""Which of the messages that wait are delivered, and when.

Steering goes in at the next step's boundary, follow-ups where the run would stop. Sources:
AgentSession document (queue modes) and the unified model, K04, K05 and section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

QueueMode = Literal["all", "one-at-a-time"]
Boundary = Literal["step_boundary", "would_stop", "after_stop"]

T = TypeVar("T")


class Queues(Struct, Generic[T], frozen=True):
    """What waits, oldest first; T is a text, an id or a row."""

    steering: tuple[T, ...] = ()
    follow_up: tuple[T, ...] = ()
    steering_mode: QueueMode = "all"
    follow_up_mode: QueueMode = "one-at-a-time"


class Delivered(Struct, Generic[T], frozen=True):
    """``items`` go into the run now, in this order; ``queues`` is what still waits."""

    items: tuple[T, ...]
    queues: Queues[T]


def taken(waiting: Sequence[T], mode: QueueMode) -> tuple[T, ...]:
    """Those of ``waiting``, oldest first, that one boundary takes."""
    return tuple(waiting if mode == "all" else waiting[:1])


def delivered(queues: Queues[T], boundary: Boundary) -> Delivered[T]:
    """What goes into the run at ``boundary``.

    Steering goes before follow-ups, and never both at once; once a Stop is stored, nothing goes.
    """
    if boundary == "after_stop":
        return Delivered((), queues)
    if queues.steering or boundary == "step_boundary":
        items = taken(queues.steering, queues.steering_mode)
        return Delivered(items, replace(queues, steering=queues.steering[len(items) :]))
    items = taken(queues.follow_up, queues.follow_up_mode)
    return Delivered(items, replace(queues, follow_up=queues.follow_up[len(items) :]))


def cleared(queues: Queues[T]) -> Queues[T]:
    """``queues`` with nothing waiting and the same modes."""
    return replace(queues, steering=(), follow_up=())

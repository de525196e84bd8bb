"""What the functions for models, thinking and retries make of a test vector, as its ``then``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..policy.models import clamped_level, next_choice, next_level
from ..policy.retry import RetrySettings, retry_plan

Json = Any
Wire = Mapping[str, Json]


def thinking_set(given: Wire, when: Wire) -> Wire:
    """Only a change is stored and told, and only what is stored is live."""
    current = given["current"]
    level = clamped_level(when["set_thinking_level"], given["supported"])
    is_changed = level != current
    is_done = given["append_ok"] or not is_changed
    return {
        "level": level if is_done else current,
        "returned": is_done,
        "persisted": is_changed and is_done,
        "event": is_changed and is_done,
    }


def thinking_cycled(given: Wire, _when: Wire) -> Wire:
    level = next_level(given["current"], given["supported"])
    if level is None or not given["append_ok"]:
        return {"returned": None, "level": given["current"]}
    return {"returned": level, "level": level}


def model_cycled(given: Wire, when: Wire) -> Wire:
    candidates = given["scoped"] or given["available"]
    return {"model": next_choice(candidates, given["current"], when["cycle_model"])}


def retried(given: Wire, _when: Wire) -> Wire:
    wanted = given["settings"]
    settings = RetrySettings(
        enabled=wanted["enabled"],
        max_retries=wanted["maxRetries"],
        base_delay_ms=wanted["baseDelayMs"],
    )
    plan = retry_plan(settings, given["attempt"], given["kind"])
    told = {"retry": plan.retry, "attempt": plan.attempt}
    return {**told, "delay_ms": plan.delay_ms} if plan.retry else told


RESULTS: Final[Mapping[str, Callable[[Wire, Wire], Wire]]] = {
    "thinking.set": thinking_set,
    "thinking.cycle": thinking_cycled,
    "model.cycle": model_cycled,
    "retry.plan": retried,
}

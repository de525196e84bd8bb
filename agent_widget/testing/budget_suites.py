"""What the functions for budget, usage and statistics make of a test vector, as its ``then``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.errors import InvalidOptions
from ..core.stats import StatsEntry, StatsKind, session_stats
from ..core.usage import Cost, ModelCall, Totals, Usage, exact
from ..policy.budget import ABORT_REASON, NOTICE_SCOPE, Budget, budget_option, gate
from ..policy.context import ContextEntry, context_usage

Json = Any
Wire = Mapping[str, Json]

_OPTIONS: Final = {
    "maxUsd": "max_usd",
    "maxTotalTokens": "max_total_tokens",
    "onExceeded": "on_exceeded",
}
_KINDS: Final[Mapping[str, StatsKind]] = {
    "user": "user",
    "assistant": "assistant",
    "tool_result": "tool_result",
}


def budget_of(given: Wire) -> Budget | None:
    """The budget of a vector, whose wire has the casing of the command line's settings."""
    return budget_option({_OPTIONS.get(key, key): value for key, value in given.items()})


def validated(given: Wire, _when: Wire) -> Wire:
    """Whether the option is taken; it is checked when it is made, so before any I/O."""
    try:
        budget_of(given["budget"])
    except InvalidOptions as error:
        return {"ok": False, "code": error.code, "before_io": True}
    return {"ok": True}


def usage_of_event(usage: Wire) -> Usage:
    return Usage(
        usage["inputTokens"],
        usage["outputTokens"],
        usage["cacheReadInputTokens"],
        usage["cacheCreationInputTokens"],
    )


def spent_of(given: Wire) -> Totals:
    """What the session has spent; a vector tells usage and money apart, not by call."""
    used = (Totals(usage_of_event(usage), calls=1) for usage in given["usage"])
    paid = (
        Totals(costs=(Cost(exact(each["amount"]), each["currency"]),))
        for each in given.get("spend", ())
    )
    return sum((*used, *paid), Totals())


def gated(given: Wire, _when: Wire) -> Wire:
    spent = spent_of(given)
    warned = given.get("warned_this_query", False)
    verdict = gate(budget_of(given["budget"]), spent, is_warned=warned)
    result: dict[str, Json] = {"total_tokens": spent.usage.total_tokens, "decision": "continue"}
    if verdict.decision == "block":
        event = {"type": "turn.aborted", "reason": ABORT_REASON}
        return {**result, "decision": "abort", "event": event, "session_open": True}
    if verdict.decision == "warn":
        result["event"] = {"type": "turn.error", "scope": NOTICE_SCOPE, "recoverable": True}
    return result


def usage_of_entry(usage: Wire) -> Usage:
    return Usage(usage["input"], usage["output"], usage["cacheRead"], usage["cacheWrite"])


def context_entry(row: Wire) -> ContextEntry:
    usage = row.get("usage")
    return ContextEntry(
        role=row["role"],
        chars=row.get("chars", 0),
        stop_reason=row.get("stopReason"),
        usage=None if usage is None else usage_of_entry(usage),
        total_tokens=0 if usage is None else usage["totalTokens"],
    )


def in_use(given: Wire, _when: Wire) -> Wire:
    window = None if given["model"] is None else given["model"]["contextWindow"]
    used = context_usage(window, [context_entry(row) for row in given["branch"]])
    if used is None:
        return {"usage": None}
    return {"usage": {name: getattr(used, name) for name in used.__struct_fields__}}


def stats_entry(entry: Wire) -> StatsEntry:
    usage = entry.get("usage")
    call = usage and ModelCall(
        model="m", usage=usage_of_entry(usage), cost=Cost(exact(usage["cost"]))
    )
    kind = _KINDS.get(entry["kind"], "other")
    return StatsEntry(kind=kind, tool_calls=entry.get("tool_calls", 0), call=call)


def counted(given: Wire, _when: Wire) -> Wire:
    stats = session_stats(stats_entry(entry) for entry in given["entries"])
    usage, cost = stats.totals.usage, stats.totals.cost
    return {
        "user_messages": stats.user_messages,
        "assistant_messages": stats.assistant_messages,
        "tool_calls": stats.tool_calls,
        "tool_results": stats.tool_results,
        "total_messages": stats.total_messages,
        "tokens": {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_read": usage.cache_read_tokens,
            "cache_write": usage.cache_write_tokens,
            "total": usage.total_tokens,
        },
        "cost": None if cost is None else float(cost.amount),
    }


RESULTS: Final[Mapping[str, Callable[[Wire, Wire], Wire]]] = {
    "budget.options": validated,
    "budget.gate": gated,
    "context.usage": in_use,
    "session.stats": counted,
}

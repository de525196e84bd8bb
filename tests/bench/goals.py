"""The goals of these suites and whether one run met them. README.md says where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .rows import OURS, Rows, exponent, less, ratio, short, table
from .tables import cpu_per_token


@dataclass(frozen=True)
class Goal:
    """``value`` has to be at most ``limit``; None: not measured in this run.

    Counts and bytes repeat exactly. Where ``is_time``, the machine decides too: only a margin of 2
    over several runs says that the goal is met.
    """

    number: str
    text: str
    value: float | None
    limit: float
    is_time: bool = True

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        if self.value > self.limit:
            return f"MISSED by {self.value / self.limit:.2f}x"
        margin = self.limit / self.value if self.value > 0 else float("inf")
        if not self.is_time:
            return "met"
        return "met" if margin >= 2 else f"met, margin {margin:.2f}x"


def goals_table(rows: Rows) -> str:
    lines = [
        (goal.number, goal.text, short(goal.value), short(goal.limit), goal.verdict)
        for goal in goals(rows)
    ]
    return table(["#", "goal", "measured", "at most", "verdict"], lines)


def goals(rows: Rows) -> Iterator[Goal]:
    """The goals in the order of the README."""
    yield from _wire_bytes(rows)
    yield from _kernel_cpu(rows)
    yield from _delay(rows)
    yield from _reducer(rows)
    yield from _turn(rows)


def _wire_bytes(rows: Rows) -> Iterator[Goal]:
    def bytes_of(system: str, suite: str = "paced", earlier: int = 0) -> float | None:
        params = {"rate": 200.0, "h": earlier}
        return rows.value(suite, system, "ws_per_token", **params)

    ours = bytes_of(OURS)
    for text, base, limit in (
        ("bytes/token at 200 tokens/s / floor_coalesce30", bytes_of("floor_coalesce30"), 1.25),
        ("bytes/token / marimo", bytes_of("marimo_chat", "marimo"), 1 / 2.5),
        ("bytes/token / Panel", bytes_of("panel_comm"), 1 / 18),
        ("bytes/token / chatlas", bytes_of("chatlas_echo"), 1 / 38),
    ):
        yield Goal("1", text, ratio(ours, base), limit, is_time=False)
    grown = ratio(bytes_of(OURS, "history", 5000), bytes_of(OURS, "history", 0))
    yield Goal("1", "bytes/token after 5,000 messages / after none", grown, 1.02, is_time=False)
    sent = [rows.value("traffic", OURS, "ws", axis="N", n=n) for n in (1000, 5000)]
    growth = exponent(*sent, (1000, 5000))
    yield Goal("1", "exponent of the bytes in N, 1,000 to 5,000", growth, 1.02, is_time=False)


def _kernel_cpu(rows: Rows) -> Iterator[Goal]:
    def cpu(system: str, tokens: int = 5000) -> float | None:
        return cpu_per_token(rows, system, tokens)

    ours = cpu(OURS)
    yield Goal("3", "CPU/token, N=5000 / floor_delta", ratio(ours, cpu("floor_delta")), 1 / 5)
    display = less(cpu("chatlas_echo"), cpu("chatlas_stream_noecho"))
    yield Goal("3", "CPU/token / chatlas's display", ratio(ours, display), 1 / 45)
    yield Goal("3", "CPU/token / Panel", ratio(ours, cpu("panel_comm")), 1 / 1000)
    growth = exponent(cpu(OURS, 1000), ours, (1000, 5000))
    per_token = None if growth is None else 1 + growth
    yield Goal("3", "exponent of the CPU in N, 1,000 to 5,000", per_token, 1.05)


def _delay(rows: Rows) -> Iterator[Goal]:
    def delay(system: str, rate: float, metric: str) -> float | None:
        return rows.value("paced", system, metric, rate=rate, h=0)

    first = [delay(system, 20.0, "lag_ms_p50") for system in (OURS, "floor_delta")]
    yield Goal("4", "delay p50 of tokens after a pause / floor_delta", ratio(*first), 2)
    for rate in (50.0, 200.0):
        p95 = [delay(system, rate, "lag_ms_p95") for system in (OURS, "floor_coalesce30")]
        yield Goal("4", f"delay p95 at {rate:g} tokens/s / floor_coalesce30", ratio(*p95), 1.1)
    wall = delay(OURS, 200.0, "wall")
    late = ratio(wall, 8.0)
    yield Goal("4", "time for the reply at 200 tokens/s / ideal", late, 1.01, is_time=False)


def _reducer(rows: Rows) -> Iterator[Goal]:
    def cost(system: str, earlier: int = 10, chars: int = 1000) -> float | None:
        return rows.value("state", system, "ns_per_event", h=earlier, chars=chars)

    points = [(row["params"]["h"], row["params"]["chars"]) for row in rows.of("state")]
    floors = [ratio(cost(OURS, *at), cost("floor_call_append", *at)) for at in set(points)]
    known = [times for times in floors if times is not None]
    worst = max(known) if known else None
    yield Goal("5", "delta / floor_call_append, worst of all H and L", worst, 10)
    in_h = exponent(cost(OURS, 10), cost(OURS, 10_000), (10, 10_000))
    yield Goal("5", "exponent in H, 10 to 10,000", in_h, 0.05)
    in_l = exponent(cost(OURS), cost(OURS, chars=100_000), (1_000, 100_000))
    yield Goal("5", "exponent in L, 1,000 to 100,000", in_l, 0.05)
    for peer in ("dict_list_copy", "frozen_dataclass_replace", "pydantic_model_copy"):
        share = ratio(cost(OURS, 10_000), cost(peer, 10_000))
        yield Goal("5", f"delta / {peer}, H=10,000", share, 1 / 100)
    share = ratio(cost(OURS), cost("pydantic_ai_parts_manager"))
    yield Goal("5", "delta / pydantic-ai's accumulator", share, 1 / 3)


def _turn(rows: Rows) -> Iterator[Goal]:
    for steps, limit in ((20, 1 / 5), (100, 1 / 10)):
        own, floor, peer = (
            rows.value("turn", system, "gap_ms_p50", steps=steps)
            for system in (OURS, "floor_httpx_stream", "pydantic_ai_stream")
        )
        yield Goal("8", f"gap at {steps} steps / floor_httpx_stream", ratio(own, floor), 3)
        yield Goal("8", f"gap at {steps} steps / pydantic-ai", ratio(own, peer), limit)

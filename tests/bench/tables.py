"""Tables of one run: our row among those of floors and peers, with ratios to the floor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from .rows import OURS, Rows, less, ratio, short, table

TOKEN_BYTES: Final = 4


def tables(rows: Rows) -> Iterator[str]:
    """Every table there are rows for, with its heading."""
    for suite, make in _TABLES.items():
        if rows.of(suite):
            yield make(rows)


def _marked(system: str) -> str:
    return f"**{system}**" if system.startswith(OURS) else system


def _state(rows: Rows) -> str:
    points = list(
        dict.fromkeys((row["params"]["h"], row["params"]["chars"]) for row in rows.of("state"))
    )
    lines = []
    for system in rows.systems("state"):
        line = [_marked(system)]
        for earlier, chars in points:
            ns = rows.value("state", system, "ns_per_event", h=earlier, chars=chars)
            floor = rows.value("state", system, "x_floor", h=earlier, chars=chars)
            line.append("-" if ns is None else f"{short(ns)} ({short(floor)}x)")
        lines.append(line)
    head = ["state", *(f"H={earlier} L={short(chars)}" for earlier, chars in points)]
    return _titled(
        "Reducer: ns for one text delta (x the floor, a Python call that appends to a list); "
        "H earlier messages, L characters of answer so far",
        table(head, lines),
    )


def _traffic(rows: Rows) -> str:
    lines = []
    sizes = sorted({row["params"]["n"] for row in rows.of("traffic", axis="N")})
    low, high = sizes[-2:]
    floor = cpu_per_token(rows, "floor_delta", high)
    for system in rows.systems("traffic"):
        sent = [rows.value("traffic", system, "ws", axis="N", n=n) for n in (low, high)]
        messages = rows.value("traffic", system, "msgs", axis="N", n=high)
        cpu = [cpu_per_token(rows, system, n) for n in (low, high)]
        lines.append(
            [
                _marked(system),
                short(messages),
                *(short(size) for size in sent),
                short(ratio(sent[1], TOKEN_BYTES * high), "x"),
                *(short(cost) for cost in cpu),
                short(ratio(cpu[1], floor), "x"),
                short(ratio(high, rows.value("traffic", system, "wall", axis="N", n=high))),
            ]
        )
    head = ["traffic, burst", f"messages N={high}", f"bytes N={low}", f"N={high}", "/ text"]
    head += [f"CPU us/token N={low}", f"N={high}", "/ floor_delta", "tokens/s"]
    return _titled(
        "One reply of N tokens (4 characters each) as fast as it goes", table(head, lines)
    )


def cpu_per_token(rows: Rows, system: str, tokens: int) -> float | None:
    """CPU of the kernel's process in microseconds, that of the ``null`` system taken off."""
    own = rows.value("traffic", system, "cpu", axis="N", n=tokens)
    null = rows.value("traffic", "null", "cpu", axis="N", n=tokens)
    per_run = less(own, null)
    return None if per_run is None else per_run / tokens * 1e6


def _paced(rows: Rows) -> str:
    lines = []
    for row in [*rows.of("paced", h=0), *rows.of("marimo", axis="P", h=0)]:
        params, metrics = row["params"], row["metrics"]
        if row["system"] == "null" or "ws" not in metrics:
            continue
        rate, ideal_s = params["rate"], params["n"] / params["rate"]
        base = rows.value("paced", "floor_coalesce30", "ws_per_token", rate=rate, h=0)
        lines.append(
            [
                _marked(row["system"]),
                f"{rate:g}",
                short(metrics["msgs"] / ideal_s),
                short(metrics["ws_per_token"]),
                short(ratio(metrics["ws_per_token"], base), "x"),
                short(metrics.get("lag_ms_p50")),
                short(metrics.get("lag_ms_p95")),
                f"{metrics.get('marks_seen', 0):g}/{metrics.get('marks_sent', 0):g}",
                f"{metrics['wall'] / ideal_s:.3f}",
            ]
        )
    lines.sort(key=lambda line: float(line[1]))
    head = ["traffic, paced", "tokens/s", "messages/s", "bytes/token", "/ floor30"]
    head += ["delay ms p50", "p95", "marks seen", "wall / ideal"]
    return _titled("One reply of 8 s at the pace of a model", table(head, lines))


def _history(rows: Rows) -> str:
    lines = []
    for system in rows.systems("history"):
        per_token = [rows.value("history", system, "ws_per_token", h=h) for h in (0, 5000)]
        shown = rows.value("history", system, "show_ws", h=5000)
        took_s = rows.value("history", system, "show_wall", h=5000)
        grown = ratio(per_token[1], per_token[0])
        line = [*(short(size) for size in per_token), short(grown, "x"), short(shown)]
        lines.append([_marked(system), *line, short(took_s)])
    head = ["traffic after a history", "bytes/token H=0", "H=5000", "ratio"]
    head += ["bytes to show H=5000", "s to show"]
    return _titled("One reply of 1600 tokens at 200 tokens/s after H messages", table(head, lines))


def _turn(rows: Rows) -> str:
    steps = sorted({row["params"]["steps"] for row in rows.of("turn")})
    lines = []
    for system in rows.systems("turn"):
        line = [_marked(system)]
        for count in steps:
            gap = rows.value("turn", system, "gap_ms_p50", steps=count)
            floor = rows.value("turn", system, "x_floor", steps=count)
            line.append("-" if gap is None else f"{short(gap)} ({short(floor)}x)")
        first, last = (
            rows.value("turn", system, name, steps=steps[-1])
            for name in ("gap_first_ms", "gap_last_ms")
        )
        cpu = rows.value("turn", system, "cpu_ms_per_step", steps=steps[-1])
        lines.append([*line, f"{short(first)} -> {short(last)}", short(cpu)])
    head = ["turn", *(f"{count} steps" for count in steps)]
    head += [f"first -> last quarter of {steps[-1]}", "CPU ms/step"]
    return _titled(
        "Tool loop: ms from the last byte of a reply to the next request (x the floor)",
        table(head, lines),
    )


def _server(rows: Rows) -> str:
    names = ("kernel_msgs", "browser_msgs", "dropped", "browser_bytes")
    lines = [
        [
            _marked(row["system"]),
            row["params"]["n"],
            f"{row['params']['rate']:g}" if row["params"]["rate"] else "burst",
            *(short(row["metrics"].get(name)) for name in names),
            row["metrics"].get("idle_seen", "-"),
        ]
        for row in rows.of("server")
    ]
    head = ["through a server", "tokens", "tokens/s", "sent", "reached the browser", "dropped"]
    return _titled(
        "What a real Jupyter server lets through",
        table([*head, "bytes", "idle seen"], lines),
    )


def _titled(title: str, body: str) -> str:
    return f"### {title}\n\n{body}\n"


_TABLES: Final[dict[str, Callable[[Rows], str]]] = {
    "state": _state,
    "traffic": _traffic,
    "paced": _paced,
    "history": _history,
    "turn": _turn,
    "server": _server,
}

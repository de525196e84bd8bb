"""What the functions for events make of a test vector, as its ``then``."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.errors import InvalidOptions
from ..core.events import Event, EventsDropped, SessionStopping
from ..core.eventwire import event_from_wire, event_to_wire
from ..engine.bus import Bus, EventStream
from ..policy.events import EventOptions, event_options
from ..view.live import LiveView, delivery_of
from ..view.narrate import Narrator
from .matching import differences

Json = Any
Wire = Mapping[str, Json]

OPTION_NAMES: Final = {
    "maxBacklogEvents": "max_backlog_events",
    "maxBacklogBytes": "max_backlog_bytes",
}
NUMBERS: Final = {"Infinity": math.inf, "NaN": math.nan}
"""The numbers that JSON has no spelling for."""
ENVELOPE: Final = ("sessionId", "seq", "ts", "v", "source", "turnId", "agentId")


def options_of(events: Wire) -> EventOptions:
    """The options of a vector. Raises InvalidOptions."""
    return event_options(
        {
            OPTION_NAMES.get(name, name): NUMBERS.get(value, value) if is_word else value
            for name, value in events.items()
            for is_word in [isinstance(value, str)]
        }
    )


def checked_options(given: Wire, _when: Wire) -> Wire:
    try:
        options_of(given["events"])
    except InvalidOptions as error:
        return {"ok": False, "code": error.code}
    return {"ok": True}


def received(given: Wire, when: Wire) -> Wire:
    """What each subscriber reads until it leaves, or until the end."""
    sizes = {op["push"]["seq"]: op["push"]["bytes"] for op in when["ops"] if "push" in op}
    bus = Bus(options_of(given["bounds"]), size_bytes=lambda event: sizes[event.seq])
    streams: dict[str, EventStream] = {}
    read: dict[str, list[Json]] = {}

    async def leave(name: str) -> None:
        stream = streams.pop(name)
        await stream.aclose()
        read[name] = [told(event) async for event in stream]

    async def play() -> None:
        for op in when["ops"]:
            if "push" in op:
                bus.publish(SessionStopping(seq=op["push"]["seq"]))
            elif "subscribe" in op:
                streams[op["subscribe"]] = bus.events()
            else:
                await leave(op["unsubscribe"])
        for name in tuple(streams):
            await leave(name)

    asyncio.run(play())
    return read


def told(event: Event) -> Json:
    """An event as the vectors write it: its seq, or a report without its envelope."""
    if not isinstance(event, EventsDropped):
        return event.seq
    wire = event_to_wire(event)
    return {name: value for name, value in wire.items() if name not in ENVELOPE}


def run_view(vector: Wire) -> list[str]:
    """What a ``view.reduce`` vector finds wrong; only the keys it lists are compared."""
    live = LiveView(delivery=delivery_of(vector["given"]["options"].get("delivery")))
    for wire in vector["when"]["events"]:
        event = event_from_wire(wire)
        if event is not None:
            live.push(event)
    view = live.snapshot()
    spelled: dict[str, Json] = {
        **view,
        "messages": [[_spelled(part) for part in m["parts"]] for m in view["messages"]],
        "tools": {call_id: card["state"] for call_id, card in view["tools"].items()},
        "usage_total_tokens": view["usage"]["total_tokens"],
        "notices": [
            {name: value for name, value in notice.items() if name != "nid"}
            for notice in view["notices"]
        ],
    }
    then = vector["then"]
    return differences(then, {name: spelled[name] for name in then if name in spelled}, "view")


def _spelled(part: Wire) -> str:
    return f"{part['type']}:{part['name'] if part['type'] == 'tool' else part['text']}"


def run_narrator(vector: Wire) -> list[str]:
    """What a ``narrator.line`` vector finds wrong; empty when it holds."""
    event = event_from_wire(vector["when"]["event"])
    line = None if event is None else Narrator().line(event)
    wanted = vector["then"]["line_contains"]
    return [] if line is not None and wanted in line else [f"line is {line!r}, expected {wanted!r}"]


RESULTS: Final[Mapping[str, Callable[[Wire, Wire], Wire]]] = {
    "events.backlog": received,
    "events.options": checked_options,
}
CHECKS: Final[Mapping[str, Callable[[Wire], list[str]]]] = {
    "view.reduce": run_view,
    "narrator.line": run_narrator,
}

"""What the recording of a person's commands makes of a test vector, as its ``then``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from ..policy.deferral import Deferral

Wire = Mapping[str, Any]


def recorded(given: Wire, when: Wire) -> Wire:
    session: list[str] = []
    answers = iter(given["append_ok"])
    deferral = Deferral[str](given["pending"])

    async def append(entry: str) -> None:
        if not next(answers):
            raise OSError("refused")
        session.append(entry)

    async def act() -> None:
        if "record" in when:
            await deferral.record(when["record"], append, is_streaming=given["streaming"])
        else:
            await deferral.flush(append)

    failed: dict[str, str] = {}
    try:
        asyncio.run(act())
    except OSError:
        failed = {"error": "session"}
    return {"session": session, "pending": [*deferral.pending], **failed}


RESULTS: Final[Mapping[str, Callable[[Wire, Wire], Wire]]] = {"bash.record": recorded}

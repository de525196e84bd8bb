"""What a stored session is when it is opened again (unified model, section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from ..core.events import Event
from ..core.journal import Journal, OpenRun
from ..view.history import view_of
from ..view.model import SessionView
from .runs import ended_data, ended_events
from .toolrun import left_open

UNKNOWN: Final = (
    "The kernel ended while this call was running. Whether it did its work is not known; it was"
    " not run again."
)
NOT_STARTED: Final = "The kernel ended before this call was allowed; it did not run."


def recovered(
    journal: Journal, session_id: str
) -> tuple[SessionView, tuple[dict[str, Any], tuple[Event, ...]] | None]:
    """The view of a stored session, and how to end a run that was cut off (None: none was).

    The end is the data of its ``run_ended`` record, but for the interaction, and its events: each
    call without a result gets one, so that no history is left that a model would refuse.
    """
    view = replace(view_of(journal, journal.leaf), session_id=session_id)
    run = journal.open_run
    if run is None:
        return view, None
    data = ended_data(run.run_id, "recovered", None, _outcomes(view, run))
    return view, (data, ended_events(data))


def _outcomes(view: SessionView, run: OpenRun) -> Iterable[dict[str, Any]]:
    for call in left_open(view.chat, "recovered"):
        if call["tool_call_id"] in run.started:
            yield {**call, "error_type": "unknown", "message": UNKNOWN}
        else:
            yield {**call, "message": NOT_STARTED}

"""What a stored session is when it is opened again (unified model, section 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.events import Event, SessionCreated, SessionResumed, notice
from ..core.journal import Journal, OpenRun
from ..core.records import RecordKind
from ..view.history import view_of
from ..view.model import SessionView
from .commits import HistoryCommits
from .inputs import Inputs
from .models import Models
from .runs import Runs, ended_data, ended_events
from .staff import Staff
from .toolrun import left_open
from .tree import SessionTree
from .writer import Fact, Writer

UNKNOWN: Final = (
    "The kernel ended while this call was running. Whether it did its work is not known; it was"
    " not run again."
)
CUT_OFF: Final = (
    "The kernel ended while a run was under way. What was streaming then is not kept; Retry goes on"
    " from what is."
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


class Resumption(Struct, frozen=True):
    """The parts of a session that a stored one goes on with."""

    writer: Writer
    inputs: Inputs
    staff: Staff
    models: Models
    runs: Runs
    tree: SessionTree
    commits: HistoryCommits

    async def go_on(self, journal: Journal, cwd: str | None) -> None:
        """Take up what is stored, close a run that was cut off, and tell; nothing is started.

        ``cwd`` is told where this is the beginning of the stream of events.
        """
        writer = self.writer
        gone = self.models.restore(journal)
        self.runs.call_ids |= journal.call_ids
        self.tree.look_ahead(journal)
        writer.view, ended = recovered(journal, writer.session_id)
        kind: RecordKind = "notice" if ended is None else "run_ended"
        data, events = ({"code": "recovered"}, ()) if ended is None else ended

        def make() -> Fact:
            interaction, told = self.inputs.transition_to_rest()
            return {**data, "interaction": interaction}, (*events, *told)

        if writer.recorder.read_only is not None:
            writer.tell(make()[1])  # it may go on where it is held; what is shown here rests
        elif ended is not None or make()[1]:
            await writer.commit_made(kind, make)
        messages = writer.view.chat.messages
        self.commits.start_from(messages)
        if cwd is not None:
            writer.emit(SessionCreated(cwd=cwd))
        if ended is not None and writer.recorder.read_only is None:
            writer.emit(notice("recovery", "recovered", CUT_OFF))
        if gone is not None:
            writer.emit(gone)
        waiting = len(self.inputs.waiting)
        writer.emit(SessionResumed(message_count=len(messages), pending_count=waiting))
        await self.runs.late.give_up(journal)

"""Sessions read back: from a file of records or events, or out of a store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from ..core.errors import InvalidOptions, SessionError
from ..core.events import Event
from ..core.eventwire import event_from_wire
from ..core.records import Record
from ..core.replay import events_of
from ..engine.runtime import engine_thread
from ..store.base import SessionStore
from ..store.jsonl_log import read_log
from ..store.urls import open_store
from ..view.timeline import Timeline, timeline_of, timeline_of_events

DATABASE: Final = b"SQLite format 3"
SESSION_LINE: Final = b'{"agent_widget_session":'
RECORDING_LINE: Final = b'{"agent_widget_recording":'
LOAD_TIMEOUT_S: Final = 30.0


def events_on(line: bytes) -> Iterable[Event]:
    """The events of a line: one event, those that a stored record stands for, or none.

    Raises ValueError for what is not JSON or no record, SessionError for what is no event.
    """
    data: Any = json.loads(line)
    if not isinstance(data, Mapping):
        raise SessionError("invalid_event", f"expected a JSON object, not {data!r}.")
    if "type" in data:
        event = event_from_wire(data)
        return () if event is None else (event,)
    if "agent_widget_session" in data:  # the first line of a stored session
        return ()
    try:
        return events_of(msgspec.convert(data, Record))
    except (msgspec.ValidationError, LookupError, TypeError) as error:
        raise ValueError(f"neither an event nor a record of a session ({error}).") from error


def session_file(path: Path) -> Path | None:
    """The file of one session that ``path`` names, None where it names a store of many."""
    if path.is_dir():
        file = path / "records.jsonl"
        return file if file.is_file() else None
    if not path.is_file():
        return None
    with path.open("rb") as file_of_bytes:
        return None if file_of_bytes.read(len(DATABASE)) == DATABASE else path


def is_recording(path: Path) -> bool:
    """Whether that file is a recording of model calls (see ``engine/recording``)."""
    with path.open("rb") as file_of_bytes:
        return file_of_bytes.read(len(RECORDING_LINE)) == RECORDING_LINE


def timeline_in_file(path: Path) -> Timeline:
    """The timeline of a stored session (JSON Lines) or of events as JSON Lines.

    Raises SessionError ``session_store_corrupted``, and InvalidOptions naming the line that is
    neither.
    """
    content = path.read_bytes()
    if content.startswith(SESSION_LINE):
        return timeline_of(read_log(content, path.name).records())
    events: list[Event] = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        try:
            events += events_on(line) if line.strip() else ()
        except (ValueError, SessionError) as error:
            advice = "Give the records.jsonl of a session, or its events as JSON Lines."
            raise InvalidOptions(f"{path.name}, line {number}: {error}", advice=advice) from error
    return timeline_of_events(events)


def records_in_store(
    store: SessionStore | str | os.PathLike[str], session_id: str | None
) -> tuple[str, list[Record]]:
    """The id and the records of a stored session; without an id, of the one written last.

    Raises SessionError ``session_not_found``, StoreError when it cannot be read.
    """
    where = open_store(store) if isinstance(store, str | os.PathLike) else store

    async def load() -> tuple[str, list[Record]]:
        try:
            found = session_id
            if found is None:
                rows = await where.list()
                found = rows[0].session_id if rows else ""
            return found, [*await where.load(found)] if found else []
        finally:
            if where is not store:
                await where.aclose()

    found, records = engine_thread().submit(load).result(LOAD_TIMEOUT_S)
    if not records:
        what = "no session" if session_id is None else f"no session {session_id!r}"
        raise SessionError("session_not_found", f"There is {what} in {where.label}.")
    return found, records

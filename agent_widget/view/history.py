"""The view that stored records add up to: the same fold as live, over what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ..core.journal import Journal, user_message_in
from ..core.records import Record
from ..core.replay import events_of
from .model import Branch, InputView, SessionView, UsageView
from .project import project


def view_of(journal: Journal, leaf: str | None) -> SessionView:
    """The view of the conversation that ends at the entry ``leaf``.

    Nothing runs in it: a run that has no end in the records is shown as far as it came.
    """
    path = journal.path(leaf)
    view = SessionView()
    for record in path:
        for event in events_of(record):
            view = project(view, event)
    for record in journal.late.values():  # whatever path was shown when it was written
        for event in events_of(record):
            view = project(view, event)
    interaction: Mapping[str, Any] = journal.interaction or {"can_send": True, "revision": 0}
    waiting = InputView(journal.waiting_inputs(), session=journal.input_override)
    return replace(
        view,
        can_send=interaction["can_send"],
        revision=interaction["revision"],
        input=waiting,
        name=journal.name,
        usage=_context_of(_usage(journal.usage), path),
        run_usage=_usage(_of_last_run(journal.usage, path)),
        branches=branches_of(journal, path),
    )


def branches_of(journal: Journal, path: Sequence[Record]) -> dict[str, Branch]:
    """Which user messages of the path have siblings, and which one each is."""
    found: dict[str, Branch] = {}
    for record in path:
        message = user_message_in(record)
        if not message:
            continue
        versions = journal.versions(record)
        if len(versions) > 1:
            found[message["id"]] = Branch(versions.index(record.id), len(versions))
    return found


def _of_last_run(
    calls: Sequence[Mapping[str, Any]], path: Sequence[Record]
) -> list[Mapping[str, Any]]:
    runs = [record.data["run_id"] for record in path if record.kind == "run_admitted"]
    return [call for call in calls if runs and call.get("run_id") == runs[-1]]


def _usage(calls: Sequence[Mapping[str, Any]]) -> UsageView:
    usage = UsageView()
    for call in calls:
        usage = usage.plus(
            (
                call.get("input_tokens", 0),
                call.get("output_tokens", 0),
                call.get("cache_read_tokens", 0),
                call.get("cache_write_tokens", 0),
            ),
            call.get("amount"),
            call.get("currency"),
            call.get("uncached_cost"),
        )
    return usage


def _context_of(usage: UsageView, path: Sequence[Record]) -> UsageView:
    """``usage`` with what the context of the path holds: other paths have contexts of their own."""
    is_compacted = False
    for record in reversed(path):
        is_compacted = is_compacted or record.kind == "compaction"
        counted = record.data.get("usage")
        if record.kind == "message" and counted is not None and "agent_id" not in record.data:
            window = record.data.get("context_window")
            tokens = None if is_compacted or window is None else sum(counted.values())
            return replace(usage, context_tokens=tokens, context_window=window)
    return usage

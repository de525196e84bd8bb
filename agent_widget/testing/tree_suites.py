"""What the functions for the tree and its names make of a test vector, as its ``then``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.branch import Entry, Tree, chained, fork_candidates
from ..core.errors import SessionError
from ..core.messages import Message, TextPart
from ..core.transcript import last_assistant_text, session_name
from ..extend.labels import extension_label

Json = Any
Wire = Mapping[str, Json]


def tree_of(given: Wire) -> Tree:
    return Tree.of(Entry(entry_id, parent, role) for entry_id, parent, role in given["tree"])


def navigated(given: Wire, when: Wire) -> Wire:
    leaf = given["leaf"]
    try:
        gone = tree_of(given).navigation(leaf, when["target"])
    except SessionError as error:
        return {"error": error.code.removeprefix("tree."), "leaf": leaf}
    result: dict[str, Json] = {"leaf": gone.leaf, "cancelled": False}
    if gone.is_noop:
        return {**result, "noop": True}
    result["abandoned"] = list(gone.abandoned)
    return result if gone.edit is None else {**result, "editor_text_of": gone.edit}


def exported(given: Wire, _when: Wire) -> Wire:
    line = chained(tree_of(given).path(given["leaf"]))
    return {"lines": ["header", *([entry.id, entry.parent_id] for entry in line)]}


def forkable(given: Wire, _when: Wire) -> Wire:
    entries = (
        Entry(entry["id"], None, entry.get("role"), entry.get("text", ""))
        for entry in given["entries"]
    )
    return {"candidates": [[entry_id, text] for entry_id, text in fork_candidates(entries)]}


def last_text(given: Wire, _when: Wire) -> Wire:
    messages = (
        Message(f"a-{at}", message["role"], tuple(map(TextPart.of, message["texts"])))
        for at, message in enumerate(given["messages"])
    )
    return {"text": last_assistant_text(messages)}


def named(_given: Wire, when: Wire) -> Wire:
    return {"name": session_name(when["set_session_name"])}


def labelled(_given: Wire, when: Wire) -> Wire:
    return {"label": extension_label(when["path"])}


RESULTS: Final[Mapping[str, Callable[[Wire, Wire], Wire]]] = {
    "tree.navigate": navigated,
    "export.jsonl": exported,
    "fork.candidates": forkable,
    "last_assistant_text": last_text,
    "session.name": named,
    "extension.label": labelled,
}

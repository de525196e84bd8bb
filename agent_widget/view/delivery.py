"""What became of a message that was sent: the law that js/src/delivery.ts shares.

The draft stays until a receipt for exactly that request came. Nothing is ever sent again by itself.
Source: session steering document, "Delivery confirmation"; held by the vectors of
``delivery.client``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.inputs import InputMark, merged_mark, read_input_mark

Delivery = Literal["none", "waiting", "confirmed", "rejected", "unconfirmed"]

MAX_EARLY: Final = 200
"""Marks kept for rows that have not come; beyond it the oldest goes, and a refresh brings it."""


class Draft(Struct, frozen=True):
    text: str = ""
    attachments: tuple[str, ...] = ()


class Sent(Struct, frozen=True):
    """The draft as it was when it was sent, and the request that took it."""

    request_id: str
    draft: Draft


class Row(Struct, frozen=True):
    """A message of the history; ``input`` is None unless it was sent into a run."""

    message_id: str
    text: str
    attachments: tuple[str, ...] = ()
    input: InputMark | None = None


class Rejection(Struct, frozen=True):
    code: str
    message: str


class Client(Struct, frozen=True):
    """What a page knows of the history and of the one message on its way.

    ``sent`` is there until it is confirmed; ``early`` holds marks of rows that have not come yet.
    """

    rows: tuple[Row, ...] = ()
    draft: Draft = Draft()
    sent: Sent | None = None
    delivery: Delivery = "none"
    error: Rejection | None = None
    early: Mapping[str, InputMark] = field(default_factory=dict)


def with_sent(client: Client, request_id: str) -> Client:
    """``client`` once its draft was sent: it waits, and the draft stays where it is."""
    sent = Sent(request_id, client.draft)
    return replace(client, sent=sent, delivery="waiting", error=None)


def with_event(client: Client, event: object) -> Client:
    """``client`` once ``event`` came; the same object when it changes nothing.

    ``event`` is a mapping of ``type`` ``received``, ``update``, ``error``, ``timeout`` or
    ``refresh``. Anything else, and what is malformed, is ignored.
    """
    if not isinstance(event, Mapping):
        return client
    match event.get("type"):
        case "received":
            return _received(client, event)
        case "update":
            return _updated(client, event)
        case "error" if _is_ours(client, event):
            rejection = Rejection(_text(event.get("code")), _text(event.get("message")))
            return replace(client, delivery="rejected", error=rejection)
        case "timeout" if _is_ours(client, event) and client.delivery == "waiting":
            return replace(client, delivery="unconfirmed")
        case "refresh":
            return _refreshed(client, event.get("messages"))
        case _:
            return client


def _is_ours(client: Client, event: Mapping[str, object]) -> bool:
    return client.sent is not None and event.get("request_id") == client.sent.request_id


def _received(client: Client, event: Mapping[str, object]) -> Client:
    row = _row(event)
    if row is None:
        return client
    at = _index(client.rows, row.message_id)
    client = _with_new_row(client, row) if at is None else _with_mark(client, at, row.input)
    return _confirmed(client) if _is_ours(client, event) else client


def _updated(client: Client, event: Mapping[str, object]) -> Client:
    message_id, mark = event.get("message_id"), read_input_mark(event.get("input"))
    if mark is None or not isinstance(message_id, str) or not message_id:
        return client
    at = _index(client.rows, message_id)
    if at is not None:
        return _with_mark(client, at, mark)
    known = client.early.get(message_id)
    mark = merged_mark(known, mark)
    if mark is None or mark is known:
        return client
    early = {**client.early, message_id: mark}
    if len(early) > MAX_EARLY:
        del early[next(iter(early))]
    return replace(client, early=early)


def _refreshed(client: Client, messages: object) -> Client:
    if not isinstance(messages, list | tuple):
        return client
    # What is stored decides which rows there are; only applied outlasts an older reading.
    known = {row.message_id: row.input for row in client.rows} | dict(client.early)
    rows: dict[str, Row] = {}
    for message in messages:
        row = _row(message)
        if row is not None:
            mark = merged_mark(known.get(row.message_id), row.input)
            rows[row.message_id] = row if mark == row.input else replace(row, input=mark)
    early = {key: mark for key, mark in client.early.items() if key not in rows}
    return replace(client, rows=tuple(rows.values()), early=early)


def _confirmed(client: Client) -> Client:
    """``client`` without what was sent; what was typed or attached since then stays."""
    assert client.sent is not None
    sent, draft = client.sent.draft, client.draft
    attachments = tuple(each for each in draft.attachments if each not in sent.attachments)
    rest = Draft(draft.text.removeprefix(sent.text), attachments)
    return replace(client, draft=rest, sent=None, delivery="confirmed", error=None)


def _with_new_row(client: Client, row: Row) -> Client:
    early = client.early.get(row.message_id)
    if early is None:
        return replace(client, rows=(*client.rows, row))
    row = replace(row, input=merged_mark(early, row.input))
    left = {key: mark for key, mark in client.early.items() if key != row.message_id}
    return replace(client, rows=(*client.rows, row), early=left)


def _with_mark(client: Client, at: int, mark: InputMark | None) -> Client:
    row = client.rows[at]
    merged = merged_mark(row.input, mark)
    if merged is row.input:
        return client
    changed = replace(row, input=merged)
    return replace(client, rows=(*client.rows[:at], changed, *client.rows[at + 1 :]))


def _row(value: object) -> Row | None:
    """The row of a receipt or of a full answer; None without the server's id or a text."""
    if not isinstance(value, Mapping):
        return None
    message_id, text = value.get("message_id"), value.get("text")
    if not isinstance(message_id, str) or not message_id or not isinstance(text, str):
        return None
    given = value.get("attachments")
    listed = given if isinstance(given, list | tuple) else ()
    attachments = tuple(each for each in listed if isinstance(each, str))
    return Row(message_id, text, attachments, read_input_mark(value.get("input")))


def _index(rows: tuple[Row, ...], message_id: str) -> int | None:
    found = (at for at in range(len(rows) - 1, -1, -1) if rows[at].message_id == message_id)
    return next(found, None)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

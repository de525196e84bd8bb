"""What stores share: a record as one line of JSON, and the title of a session."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final
from unicodedata import category

import msgspec

from ..core.records import Record
from .base import StoreCorrupted, StoreError

TITLE_LIMIT: Final = 80
"""A title has at most so many characters."""

_decoder: Final = msgspec.json.Decoder(Record)


def encoded(record: Record) -> bytes:
    r"""``record`` as one JSON object in UTF-8, without a line break in it.

    Half of a surrogate pair is kept, as an escape. Raises StoreError STORAGE_ERROR when ``data``
    holds what JSON has no word for.
    """
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    try:
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"The {record.kind} record {record.id!r} is not JSON: {error}"
        raise StoreError("STORAGE_ERROR", message) from error
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(fields, separators=(",", ":")).encode()


def decoded(line: bytes) -> Record:
    """The record that ``encoded`` gave ``line`` for. Raises StoreCorrupted."""
    try:
        return _decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError):
        pass  # half a surrogate pair, or a number beyond JSON, are read by the slower parser alone
    try:
        return msgspec.convert(json.loads(line), Record)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        start = line[:60].decode(errors="replace")
        raise StoreCorrupted(f"This is no record: {start!r} ({error}).") from error


def title_of(records: Iterable[Record]) -> str | None:
    """The name given last (``session_info``), else the start of the first user message, or None.

    One line of at most ``TITLE_LIMIT`` characters.
    """
    name: str | None = None
    first: str | None = None
    for record in records:
        if record.kind == "session_info":
            name = _line(record.data.get("name"))
        elif record.kind == "run_admitted" and first is None:
            message = record.data.get("message")
            first = _line(message.get("text")) if isinstance(message, dict) else None
    return name or first


def _line(text: Any) -> str | None:
    """``text`` on one line and cut to the limit; None when it is empty or no text.

    Without what a terminal, a database or a browser cannot show: control characters, and halves
    of surrogate pairs.
    """
    if not isinstance(text, str):
        return None
    start = text[: 8 * TITLE_LIMIT].encode(errors="replace").decode()
    line = " ".join("".join(c if category(c) != "Cc" else " " for c in start).split())
    return (line if len(line) <= TITLE_LIMIT else f"{line[: TITLE_LIMIT - 1]}…") or None

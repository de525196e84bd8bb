"""Pictures of results and messages, kept beside the records: a journal stays small and quick.

In a stored record a large picture is named by the SHA-256 of its bytes; everywhere else its block
holds them. Sources: features C111 to C113.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ..core.records import Record
from ..core.replay import LATE_RESULT
from ..store.base import Lease, SessionStore

MIN_CHARS: Final = 16_000
"""Base64 of this length and more is set aside; less costs more apart than within."""

Data = dict[str, Any]


async def set_aside(store: SessionStore, lease: Lease, record: Record) -> Record:
    """``record`` with its large pictures kept as artifacts. Raises StoreError.

    A store without artifacts keeps them within the record.
    """
    if not hasattr(store, "put_artifact"):
        return record

    async def aside(block: Data) -> Data:
        if not _is_large_picture(block):
            return block
        try:
            content = b64decode(block["data"], validate=True)
        except binascii.Error:  # not ours to judge: it is kept as it is
            return block
        sha256 = await store.put_artifact(lease, content)
        rest = {key: value for key, value in block.items() if key != "data"}
        return {**rest, "artifact": sha256}

    return await _with_blocks(record, aside)


async def brought_back(
    store: SessionStore, session_id: str, records: Iterable[Record]
) -> list[Record]:
    """``records`` with their pictures. One that is lost or damaged is said to be unavailable."""

    async def back(block: Data) -> Data:
        sha256 = block.get("artifact")
        if not isinstance(sha256, str):
            return block
        has_artifacts = hasattr(store, "artifact")
        content = await store.artifact(session_id, sha256) if has_artifacts else None
        rest = {key: value for key, value in block.items() if key != "artifact"}
        if content is None:
            return {**rest, "type": "unavailable", "artifact_unavailable": True}
        return {**rest, "data": b64encode(content).decode("ascii")}

    return [await _with_blocks(record, back) for record in records]


def _is_large_picture(block: Mapping[str, Any]) -> bool:
    data = block.get("data")
    return block.get("type") == "image" and isinstance(data, str) and len(data) >= MIN_CHARS


async def _with_blocks(record: Record, change: Callable[[Data], Awaitable[Data]]) -> Record:
    """``record`` with each block of its pictures changed; the same object when none was."""
    data = record.data
    if record.kind == "message" or data.get("custom_type") == LATE_RESULT:
        data = await _with_output(data, change)
    if record.kind in ("run_admitted", "message") and isinstance(data.get("message"), dict):
        message = await _with_images(data["message"], change)
        data = data if message is data["message"] else {**data, "message": message}
    elif record.kind == "input_pending":
        data = await _with_images(data, change)
    elif record.kind == "input_applied":
        said = data["messages"]
        messages = [await _with_images(message, change) for message in said]
        if any(new is not old for new, old in zip(messages, said, strict=True)):
            data = {**data, "messages": messages}
    elif record.kind in ("run_ended", "agent_run"):
        left = data.get("open_calls", [])
        calls = [await _with_output(call, change) for call in left]
        if any(new is not old for new, old in zip(calls, left, strict=True)):
            data = {**data, "open_calls": calls}
    return record if data is record.data else replace(record, data=data)


async def _with_output(data: Data, change: Callable[[Data], Awaitable[Data]]) -> Data:
    """``data`` with each block of its output changed; the same object when none was."""
    output = data.get("output")
    if not isinstance(output, dict):
        return data
    changed = await _with_list(output, "content", change)
    return data if changed is output else {**data, "output": changed}


async def _with_images(data: Data, change: Callable[[Data], Awaitable[Data]]) -> Data:
    """A message with each of its pictures changed; the same object when none was."""
    return await _with_list(data, "images", change)


async def _with_list(data: Data, key: str, change: Callable[[Data], Awaitable[Data]]) -> Data:
    blocks = data.get(key)
    if not isinstance(blocks, list):
        return data
    changed = [await change(block) for block in blocks]
    if all(new is old for new, old in zip(changed, blocks, strict=True)):
        return data
    return {**data, key: changed}

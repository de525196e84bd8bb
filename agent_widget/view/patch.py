"""Difference of two views as operations that turn one's wire form into the other's.

Law: ``apply(wire(old), diff(old, new)) == wire(new)`` for every pair of views; the browser's
``patch.ts`` obeys the same one, on the vectors in ``tests/vectors/patch.json``. Where the two
views share structure (they do: see ``core.messages``) the cost is that of what changed, not of the
session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..core.messages import ImagePart, Message, Part, TextPart, ToolPart
from ..core.state import SessionState
from .model import SessionView
from .schema import (
    agent_status,
    branch_to_wire,
    call_to_wire,
    drafts_to_wire,
    message_to_wire,
    part_to_wire,
    top_to_wire,
)

Path: TypeAlias = list[str | int]
Op: TypeAlias = list[Any]
"""``["set", path, value]``, ``["append", path, text]``, ``["push", path, items]`` or
``["trim", path, length]``. Indexes under ``messages`` count from the first message."""


class GapError(Exception):
    """An operation does not fit the value it is applied to: ask for a snapshot."""


def diff(old: SessionView, new: SessionView) -> list[Op]:
    """The operations from ``old`` to ``new``, in order; empty when nothing is shown anew."""
    if old is new:
        return []
    return [*_top_ops(old, new), *_draft_ops(old, new), *_message_ops(old, new)]


_TOP_FIELDS = (
    "session_id",
    "phase",
    "stopping",
    "can_send",
    "revision",
    "model",
    "question",
    "queue",
    "mode",
    "mode_warning",
    "todos",
    "error",
    "notices",
    "usage",
    "input",
    "storage",
    "name",
    "servers",
)


def _top_ops(old: SessionView, new: SessionView) -> list[Op]:
    same = all(getattr(old, name) is getattr(new, name) for name in _TOP_FIELDS)
    if same and old.chat.status == new.chat.status and old.can_retry == new.can_retry:
        return []
    before, after = _fields(top_to_wire(old)), _fields(top_to_wire(new))
    return [["set", [key], value] for key, value in after.items() if before[key] != value]


def _draft_ops(old: SessionView, new: SessionView) -> list[Op]:
    if old.drafts is new.drafts:
        return []
    olds = [old.drafts[index] for index in sorted(old.drafts)]
    news = [new.drafts[index] for index in sorted(new.drafts)]
    if [draft.name for draft in olds] != [draft.name for draft in news]:
        return [["set", ["drafts"], drafts_to_wire(new)]]
    ops: list[Op] = []
    for index, (before, after) in enumerate(zip(olds, news, strict=True)):
        ops += _text_ops(["drafts", index, "arguments"], before.arguments, after.arguments)
    return ops


def _message_ops(old: SessionView, new: SessionView) -> list[Op]:
    olds, news = old.chat.messages, new.chat.messages
    if (
        old.chat is new.chat
        and old.live is new.live
        and old.facts is new.facts
        and old.marks is new.marks
        and old.branches is new.branches
    ):
        return []
    ops: list[Op] = []
    start = news.shared_with(olds)
    told = _changed_calls(old, new) | _changed_marks(old, new)
    for index in sorted(_told_before(new, start, told)):
        ops += _changed_message(["messages", index], olds[index], news[index], old, new)
    if len(news) < len(olds):
        ops.append(["trim", ["messages"], len(news)])
    common = min(len(olds), len(news))
    for index in range(start, common):
        ops += _changed_message(["messages", index], olds[index], news[index], old, new)
    if len(news) > common:
        added = [message_to_wire(message, new) for message in news[common:]]
        ops.append(["push", ["messages"], added])
    return ops


def _changed_calls(old: SessionView, new: SessionView) -> set[str]:
    ids: set[str] = set()
    for name in ("live", "facts"):
        before, after = getattr(old, name), getattr(new, name)
        if before is not after:
            keys = before.keys() | after.keys()
            ids |= {key for key in keys if before.get(key) is not after.get(key)}
    return ids


def _changed_marks(old: SessionView, new: SessionView) -> set[str]:
    """Messages whose mark or whose place among siblings changed."""
    changed: set[str] = set()
    for name in ("marks", "branches"):
        before, after = getattr(old, name), getattr(new, name)
        if before is not after:
            keys = before.keys() | after.keys()
            changed |= {key for key in keys if before.get(key) != after.get(key)}
    return changed


def _told_before(view: SessionView, end: int, ids: set[str]) -> set[int]:
    """Indexes below ``end`` of messages that are, or hold calls, of these ids.

    Looks from the end and stops when all are found: what changes is nearly always last.
    """
    left = set(ids)
    found: set[int] = set()
    messages = view.chat.messages
    for index in range(len(messages) - 1, -1, -1):
        if not left:
            break
        mentioned = _ids_in(messages[index]) & left
        left -= mentioned
        if mentioned and index < end:
            found.add(index)
    return found


def _ids_in(message: Message) -> set[str]:
    ids = {message.id}
    for call in message.tool_calls:
        ids.add(call.id)
        if call.agent is not None:
            for nested in call.agent.messages:
                ids |= _ids_in(nested)
    return ids


def _changed_message(
    path: Path, before: Message, after: Message, old: SessionView, new: SessionView
) -> list[Op]:
    if before.id != after.id or before.role != after.role or _other_pictures(before, after):
        return [["set", path, message_to_wire(after, new)]]
    ops = _part_list_ops([*path, "parts"], before.parts, after.parts, old, new)
    if old.marks.get(after.id) != new.marks.get(after.id):
        ops.append(["set", [*path, "mark"], new.marks.get(after.id)])
    if old.branches.get(after.id) != new.branches.get(after.id):
        ops.append(["set", [*path, "branch"], branch_to_wire(new.branches.get(after.id))])
    return ops


def _other_pictures(before: Message, after: Message) -> bool:
    """Whether a message must be written whole: its pictures share their room."""
    if before.parts == after.parts:
        return False
    return any(isinstance(part, ImagePart) for part in (*before.parts, *after.parts))


def _part_list_ops(
    path: Path, olds: Sequence[Part], news: Sequence[Part], old: SessionView, new: SessionView
) -> list[Op]:
    ops: list[Op] = []
    if len(news) < len(olds):
        ops.append(["trim", path, len(news)])
    common = min(len(olds), len(news))
    for index in range(common):
        ops += _part_ops([*path, index], olds[index], news[index], old, new)
    if len(news) > common:
        ops.append(["push", path, [part_to_wire(part, new) for part in news[common:]]])
    return ops


def _part_ops(
    path: Path, before: Part, after: Part, old: SessionView, new: SessionView
) -> list[Op]:
    if isinstance(before, TextPart) and isinstance(after, TextPart):
        if before is after:
            return []
        return _text_ops([*path, "text"], before, after)
    if isinstance(before, ToolPart) and isinstance(after, ToolPart) and before.id == after.id:
        return _call_ops(path, before, after, old, new)
    was, now = part_to_wire(before, old), part_to_wire(after, new)
    return [] if was == now else [["set", path, now]]


def _text_ops(path: Path, before: TextPart, after: TextPart) -> list[Op]:
    added = after.since(before)
    if added is None:
        return [["set", path, after.text]]
    return [["append", path, added]] if added else []


def _call_ops(
    path: Path, before: ToolPart, after: ToolPart, old: SessionView, new: SessionView
) -> list[Op]:
    ops: list[Op] = []
    if before.agent is not None and after.agent is not None:
        ops += _nested_ops([*path, "agent", "messages"], before.agent, after.agent, old, new)
        if agent_status(before) != agent_status(after):
            ops.append(["set", [*path, "agent", "status"], agent_status(after)])
    elif before.agent is not after.agent:
        ops.append(["set", [*path, "agent"], _fields(part_to_wire(after, new))["agent"]])
    was_live, is_live = old.live.get(before.id), new.live.get(after.id)
    grows = bool(was_live and is_live and was_live.output and is_live.output)
    if was_live and is_live and was_live.output and is_live.output:
        ops += _text_ops([*path, "live"], was_live.output, is_live.output)
    if before is after and was_live is is_live and old.facts is new.facts:
        return ops
    was, now = _fields(call_to_wire(before, old)), _fields(call_to_wire(after, new))
    changed = (key for key in now if now[key] != was[key] and not (key == "live" and grows))
    return ops + [["set", [*path, key], now[key]] for key in changed]


def _fields(wire: Mapping[str, object]) -> Mapping[str, Any]:
    """A wire object as a plain mapping, to compare field by field."""
    return wire


def _nested_ops(
    path: Path, before: SessionState, after: SessionState, old: SessionView, new: SessionView
) -> list[Op]:
    olds, news = before.messages, after.messages
    ops: list[Op] = []
    if len(news) < len(olds):
        ops.append(["trim", path, len(news)])
    common = min(len(olds), len(news))
    for index in range(common):
        ops += _changed_message([*path, index], olds[index], news[index], old, new)
    if len(news) > common:
        ops.append(["push", path, [message_to_wire(m, new) for m in news[common:]]])
    return ops


# --- applying ---------------------------------------------------------------------------------


def apply(wire: dict[str, Any], ops: Sequence[Op]) -> dict[str, Any]:
    """``wire`` after ``ops``; ``wire`` stays as it is. Raises GapError where an op does not fit.

    Ops on messages below the window's ``first`` are skipped: they are not loaded.
    """
    for op in ops:
        wire = _applied(wire, op)
    return wire


def _applied(wire: dict[str, Any], op: Op) -> dict[str, Any]:
    try:
        name, path, value = op
        if path[0] != "messages":
            return _edited(wire, path, name, value)  # type: ignore[no-any-return]
        window = wire["messages"]
        first, items = window["first"], window["items"]
        if len(path) > 1 and path[1] < first:
            return wire
        if len(path) > 1:
            items = _edited(items, [path[1] - first, *path[2:]], name, value)
        elif name == "trim":
            first = min(first, value)
            items = items[: max(0, value - first)]
        else:
            items = _edited(items, [], name, value)
        return {**wire, "messages": {"first": first, "items": items}}
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise GapError(f"operation {op!r} does not fit") from error


def _edited(target: Any, path: Path, name: str, value: Any) -> Any:
    if path:
        key, *rest = path
        if isinstance(target, list):
            if not isinstance(key, int) or not 0 <= key < len(target):
                raise KeyError(key)
        elif key not in target and (rest or name != "set"):
            raise KeyError(key)
        copy = target.copy()
        copy[key] = value if not rest and name == "set" else _edited(target[key], rest, name, value)
        return copy
    if name == "append" and isinstance(target, str) and isinstance(value, str):
        return target + value
    if name == "push" and isinstance(target, list) and isinstance(value, list):
        return [*target, *value]
    if name == "trim" and isinstance(target, list) and isinstance(value, int):
        return target[:value]
    raise ValueError(name)

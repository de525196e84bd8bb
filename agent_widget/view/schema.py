"""The view as the JSON that the browser mirrors (wire protocol, version 1).

Reasoning is named but never carries its text: it is kept for the model and not rendered.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Final, cast

from msgspec import UNSET
from msgspec.json import encode

from ..core.events import QueuedInput
from ..core.messages import Conversation, ImagePart, Json, Message, Part, TextPart, ToolPart
from ..core.state import Status
from . import protocol as wire
from .model import NO_FACTS, NOT_LIVE, Branch, CallFacts, ModelView, NoteView, SessionView

WINDOW_MESSAGES: Final = 50
WINDOW_BYTES: Final = 750_000
"""Bounds of a snapshot: a comm message stays under 1 MB; older messages come on demand."""

TRAIT_BYTES: Final = 8_000
"""Bound of what is synced as a trait and thus saved with a notebook."""

AGENT_PREFIX: Final = "delegate_to_"


def view_to_wire(view: SessionView, *, max_bytes: int = WINDOW_BYTES) -> wire.SessionView:
    """The whole view with its last messages: at most 50 of them and ``max_bytes`` of JSON."""
    items = _last_messages(view, max_bytes)
    first = len(view.chat.messages) - len(items)
    messages: wire.MessageWindow = {"first": first, "items": items}
    return {**top_to_wire(view), "drafts": drafts_to_wire(view), "messages": messages}


def top_to_wire(view: SessionView) -> wire.Top:
    """Everything of the view that changes rarely: all but messages and drafts."""
    question, error, usage = view.question, view.error, view.usage
    return {
        "session_id": view.session_id,
        "status": view.chat.status,
        "phase": view.phase,
        "interaction": {"can_send": view.can_send, "revision": view.revision},
        "can_stop": view.can_stop,
        "can_retry": view.can_retry,
        "model": _model(view.model),
        "question": None
        if question is None
        else {
            "pid": question.pid,
            "tid": question.tid,
            "tool": question.tool,
            "agent": question.agent,
            "reason": question.reason,
            "text": question.text,
            "language": question.language,
            "args": question.args,
            "options": cast("list[wire.DecisionWord]", list(question.options)),
            "rules": list(question.rules),
            "project_file": question.project_file,
            "is_form": question.is_form,
        },
        "queue": [
            {"tid": q.tool_call_id, "tool": q.name, "agent": q.agent, "text": q.text}
            for q in view.queue
        ],
        "permission": {"mode": view.mode, "warning": view.mode_warning},
        "waiting": [_waiting(row) for row in view.input.waiting],
        "input_policy": {
            "while_running": view.input.while_running,
            "override": view.input.session,
        },
        "storage": {
            "label": view.storage.label,
            "is_durable": view.storage.is_durable,
            "trouble": view.storage.trouble,
            "read_only": view.storage.read_only,
        },
        "name": view.name,
        "todos": [{"content": todo.content, "status": todo.status} for todo in view.todos],
        "error": None
        if error is None
        else {"code": error.code, "message": error.message, "advice": error.advice},
        "notices": [
            {"nid": n.nid, "code": n.code, "message": n.message or n.code} for n in view.notices
        ],
        "servers": [
            {
                "name": server.name,
                "state": server.state,
                "message": server.message,
                "tool_count": server.tool_count,
                "commands": [{"text": each.text, "hint": each.hint} for each in server.commands],
            }
            for server in view.servers.values()
        ],
        "usage": None
        if not usage.requests
        else {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "cached_tokens": usage.cache_read_tokens,
            "requests": usage.requests,
            "cost": usage.cost,
            "saved": usage.saved,
            "currency": usage.currency,
            "context_tokens": usage.context_tokens,
            "context_window": usage.context_window,
        },
    }


def _model(model: ModelView) -> wire.ModelView:
    retry = model.retry
    return {
        "label": model.label,
        "offline": model.offline,
        "notice": model.notice,
        "alias": model.alias,
        "choices": list(model.choices),
        "thinking_levels": list(model.thinking_levels),
        "thinking": model.thinking,
        "retry": None
        if retry is None
        else {
            "attempt": retry.attempt,
            "max_attempts": retry.max_attempts,
            "delay_ms": retry.delay_ms,
            "reason": retry.reason,
        },
    }


def drafts_to_wire(view: SessionView) -> list[wire.Draft]:
    """Calls whose arguments are still arriving, in the order of the answer."""
    drafts = [view.drafts[index] for index in sorted(view.drafts)]
    return [{"name": draft.name, "arguments": draft.arguments.text} for draft in drafts]


def history_to_wire(view: SessionView, before: int) -> wire.MessageWindow:
    """Up to 50 messages that end just before absolute index ``before``."""
    messages = view.chat.messages
    end = max(0, min(before, len(messages)))
    items: list[wire.Message] = []
    size = 0
    for index in range(end - 1, max(-1, end - 1 - WINDOW_MESSAGES), -1):
        item = message_to_wire(messages[index], view)
        size += len(encode(item))
        if size > WINDOW_BYTES and items:
            break
        items.append(item)
    return {"first": end - len(items), "items": items[::-1]}


def message_to_wire(message: Message, view: SessionView) -> wire.Message:
    return {
        "mid": message.id,
        "role": message.role,
        "parts": parts_to_wire(message, view),
        "mark": view.marks.get(message.id),
        "is_steering": message.id in view.steered,
        "branch": branch_to_wire(view.branches.get(message.id)),
        "note": _note(view.notes.get(message.id)),
    }


def _waiting(row: QueuedInput) -> wire.WaitingInput:
    told: wire.WaitingInput = {"mid": row.message_id, "text": row.text, "queue": row.queue}
    return {**told, "images": len(row.images)} if row.images else told


def _note(note: NoteView | None) -> wire.Note | None:
    return None if note is None else {"kind": note.kind, "is_shown": note.is_shown}


def branch_to_wire(branch: Branch | None) -> wire.Branch | None:
    return None if branch is None else {"index": branch.index, "count": branch.count}


def parts_to_wire(message: Message, view: SessionView) -> list[wire.Part]:
    """The parts of ``message``; of its pictures as many as ``PICTURE_CHARS`` leaves room for."""
    parts: list[wire.Part] = []
    left = wire.PICTURE_CHARS
    for part in message.parts:
        if isinstance(part, ImagePart):
            size = len(part.data or "")
            parts.append(_picture(part) if size <= left else _named(part))
            left -= size if size <= left else 0
        else:
            parts.append(part_to_wire(part, view))
    return parts


def _picture(part: ImagePart) -> wire.Part:
    return cast("wire.Part", part.block)


def _named(part: ImagePart) -> wire.SvgBlock:
    """A drawing that names a picture too large for a page: the model gets the picture itself."""
    text = f'<text x="8" y="24" font-family="sans-serif" font-size="14">{escape(str(part))}</text>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="200" height="36">{text}</svg>'
    return {"type": "svg", "svg": svg}


def part_to_wire(part: Part, view: SessionView) -> wire.Part:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ToolPart):
        call = call_to_wire(part, view)
        if part.agent is not None:
            call["agent"] = _agent_to_wire(part, part.agent.messages, view)
        return call
    if isinstance(part, ImagePart):
        return _picture(part)
    return {"type": "reasoning"}


def call_to_wire(part: ToolPart, view: SessionView) -> wire.ToolPart:
    """A call without its nested run: ``agent`` is null."""
    facts = view.facts.get(part.id, NO_FACTS)
    live = view.live.get(part.id, NOT_LIVE)
    failed = part.error is not UNSET
    return {
        "type": "tool",
        "tid": part.id,
        "name": part.name,
        "input": part.input,
        "state": part.state,
        "code": _code(facts),
        "prompt": part.prompt,
        "progress": live.progress,
        "live": None if live.output is None else live.output.text,
        "output": _blocks(part.error if failed else part.output),
        "error": _error(part.error) if failed else None,
        "duration_ms": facts.duration_ms,
        "is_edited": facts.is_edited,
        "stop": facts.stop,
        "refusal": _refusal(part, facts),
        "agent": None,
    }


def _refusal(part: ToolPart, facts: CallFacts) -> wire.CallRefusal | None:
    if facts.is_denied:
        return "denied"
    is_blocked = isinstance(part.error, Mapping) and part.error.get("code") == "hook_blocked"
    return "blocked" if is_blocked else None


def _code(facts: CallFacts) -> wire.Code | None:
    if facts.text is None or facts.language is None or facts.language == "json":
        return None
    return {"text": facts.text, "language": facts.language}


def _agent_to_wire(part: ToolPart, messages: Conversation, view: SessionView) -> wire.AgentView:
    return {
        "name": part.name.removeprefix(AGENT_PREFIX),
        "status": agent_status(part),
        "messages": [message_to_wire(message, view) for message in messages],
    }


def agent_status(part: ToolPart) -> Status:
    """How the nested run of a delegate call is doing."""
    if part.is_open:
        return "streaming"
    return "error" if part.state == "error" else "idle"


def _blocks(output: Json) -> list[wire.Block] | None:
    """Output blocks for the person: those not meant for the model alone."""
    if output is UNSET:
        return None
    if isinstance(output, Mapping) and isinstance(output.get("content"), list):
        shown = [block for block in output["content"] if block.get("audience") != "model"]
        return [_block(block) for block in shown]
    if isinstance(output, Mapping) and "message" in output:
        return None
    if output is None:
        return []
    text = output if isinstance(output, str) else encode(output).decode()
    return [{"type": "text", "text": text}]


def _block(stored: Json) -> wire.Block:
    return cast("wire.Block", {key: stored[key] for key in stored if key != "audience"})


def _error(error: Json) -> wire.ToolErrorView:
    if isinstance(error, Mapping) and isinstance(error.get("message"), str):
        return {"code": error.get("code"), "message": error["message"]}
    if isinstance(error, Mapping) and isinstance(error.get("content"), list):
        lines = "\n".join(b["text"] for b in error["content"] if b.get("type") == "text")
        return {"code": "exception", "message": lines.strip().rpartition("\n")[2]}
    return {"code": None, "message": error if isinstance(error, str) else repr(error)}


# --- windows ----------------------------------------------------------------------------------


def _last_messages(view: SessionView, max_bytes: int) -> list[wire.Message]:
    messages = view.chat.messages
    items: list[wire.Message] = []
    left = max_bytes
    for message in reversed(messages):
        item = message_to_wire(message, view)
        size = len(encode(item))
        if size > left and any(isinstance(part, ImagePart) for part in message.parts):
            item = _with_pictures_named(item, message)
            size = len(encode(item))
        if size > left:
            if not items:
                items.append(_shortened(item, left))
            break
        left -= size
        items.append(item)
        if len(items) == WINDOW_MESSAGES:
            break
    return items[::-1]


def _with_pictures_named(item: wire.Message, message: Message) -> wire.Message:
    pairs = zip(item["parts"], message.parts, strict=True)
    named = [_named(part) if isinstance(part, ImagePart) else known for known, part in pairs]
    return {**item, "parts": named}


def _shortened(item: wire.Message, max_bytes: int) -> wire.Message:
    """The one message that does not fit: ends of its texts, no outputs, no nested runs."""
    budget = max(200, max_bytes // (2 * max(1, len(item["parts"]))))
    parts = [_shortened_part(part, budget) for part in item["parts"]]
    while len(parts) > 1 and len(encode(parts)) > max_bytes:
        parts = parts[len(parts) // 2 :]
    return {**item, "parts": parts}


def _shortened_part(part: wire.Part, budget: int) -> wire.Part:
    if part["type"] == "text":
        text = part["text"]
        return part if len(text) <= budget else {**part, "text": "… " + text[-budget:]}
    if part["type"] != "tool":
        return part
    code = part["code"]
    if code is not None and len(code["text"]) > budget:
        code = {**code, "text": code["text"][:budget] + " …"}
    note: list[wire.Block] = [{"type": "text", "text": "[shown in the live view]"}]
    return {**part, "input": None, "code": code, "live": None, "output": note, "agent": None}

"""A judge of request bodies that is stricter than any server: what it accepts, all accept."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def problems_of(body: bytes) -> list[str]:
    """What a strict server would refuse about a Chat Completions body; empty when nothing."""
    try:
        request = json.loads(body.decode(), parse_constant=_refuse)
        body.decode().encode()
        json.dumps(request, ensure_ascii=False).encode()
    except ValueError as error:
        return [f"not sendable: {error}"]
    found = [] if isinstance(request.get("model"), str) else ["no model"]
    if request.get("stream") is not True:
        found.append("not a stream")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return [*found, "no messages"]
    for index, message in enumerate(messages):
        found += [f"message {index}: {problem}" for problem in _message_problems(message, index)]
    if not found:
        found += _pairing_problems(messages)
    if messages[-1].get("role") not in ("user", "tool"):
        found.append("the last word is not the user's or a tool's")
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _message_problems(message: dict[str, Any], index: int) -> list[str]:
    role = message.get("role")
    allowed = {
        "system": {"role", "content"},
        "user": {"role", "content"},
        "assistant": {"role", "content", "tool_calls", "reasoning_content", "reasoning_details"},
        "tool": {"role", "content", "tool_call_id"},
    }
    if role not in allowed:
        return [f"role {role!r}"]
    found = [f"unknown key {key}" for key in message.keys() - allowed[role]]
    content = message.get("content")
    if role == "system" and index:
        found.append("system is not first")
    if isinstance(content, str):
        if not content.strip():
            found.append("blank content")
        if role == "assistant" and content != content.rstrip():
            found.append("trailing space")
    elif role == "user" and isinstance(content, list) and content:
        found += [problem for part in content for problem in _part_problems(part)]
    elif content is not None or role != "assistant":
        found.append("content is no text")
    if role == "assistant":
        found += _call_problems(message)
    return found


def _part_problems(part: dict[str, Any]) -> list[str]:
    if part.get("type") == "text":
        return [] if part["text"].strip() else ["blank text"]
    url = part.get("image_url", {}).get("url", "")
    is_image = re.match(r"data:image/(png|jpeg|gif|webp);base64,", url)
    return [] if is_image and b"IEND" in base64.b64decode(url.partition(",")[2]) else ["no image"]


def _call_problems(message: dict[str, Any]) -> list[str]:
    calls = message.get("tool_calls")
    if calls is None:
        return [] if message.get("content") else ["an empty answer"]
    if not isinstance(calls, list) or not calls:
        return ["tool_calls is empty"]
    found = []
    for call in calls:
        function = call.get("function", {})
        if call.get("type") != "function" or not NAME.fullmatch(function.get("name", "")):
            found.append("a call of no function")
        if not ID.fullmatch(call.get("id", "")):
            found.append(f"id {call.get('id')!r}")
        arguments = function.get("arguments")
        try:
            if not isinstance(arguments, str) or not isinstance(json.loads(arguments), dict):
                found.append(f"arguments {arguments!r}")
        except ValueError:
            found.append(f"arguments {arguments!r}")
    return found


def _pairing_problems(messages: list[dict[str, Any]]) -> list[str]:
    """Calls without exactly one answer right after them, answers without a call, repeated ids."""
    found: list[str] = []
    seen: set[str] = set()
    waiting: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(f"message {index} answers no call")
            continue
        if waiting:
            found.append(f"message {index} comes before the answers of {waiting}")
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        if len(set(waiting)) < len(waiting) or seen.intersection(waiting):
            found.append(f"message {index} repeats an id")
        seen.update(waiting)
    return found + ([f"no answer to {waiting}"] if waiting else [])

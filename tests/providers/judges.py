"""Judges of request bodies, stricter than the servers: what they accept, all accept.

From the vendors' documented rules of the Responses and the Messages API; ``sendable`` has that of
Chat Completions. ``own`` holds the signed blocks that a body may contain, byte for byte.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")

Found = Iterator[str]


def read_body(body: bytes) -> Any:
    """The body as JSON. Raises ValueError for what is not strict JSON in sound Unicode."""
    data = json.loads(body.decode(), parse_constant=_refuse)
    json.dumps(data, ensure_ascii=False).encode()
    return data


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def canonical(block: Any) -> str:
    return json.dumps(block, sort_keys=True)


# --- Anthropic ---------------------------------------------------------------------------------


def anthropic_problems(body: bytes, own: Collection[str] | None = None) -> list[str]:
    """What the Messages API would refuse; empty when nothing."""
    try:
        request = read_body(body)
    except ValueError as error:
        return [f"not sendable: {error}"]
    return [*_anthropic(request, own)]


def _anthropic(request: dict[str, Any], own: Collection[str] | None) -> Found:
    known = {"model", "max_tokens", "messages", "stream", "system", "tools", "tool_choice"}
    yield from (f"key {k}" for k in request.keys() - known - {"thinking", "output_config"})
    limit = request.get("max_tokens")
    if not isinstance(request.get("model"), str) or request.get("stream") is not True:
        yield "no model or no stream"
    if not isinstance(limit, int) or limit < 1:
        yield "max_tokens"
    if json.dumps(request).count('"cache_control"') > 4:
        yield "more than four cache marks"
    for block in request.get("system", ()):
        yield from _anthropic_block(block, {"text"}, own)
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "no messages"
        return
    roles = [message.get("role") for message in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] or len(roles) % 2 == 0:
        yield f"roles {roles}"
        return
    for at, message in enumerate(messages):
        yield from (f"message {at}: {found}" for found in _anthropic_message(message, own))
    yield from _anthropic_pairs(messages)
    yield from _anthropic_tools(request, messages)
    yield from _anthropic_thinking(request, messages)


def _anthropic_message(message: dict[str, Any], own: Collection[str] | None) -> Found:
    content = message.get("content")
    if not isinstance(content, list) or not content:
        yield "no content"
        return
    kinds = {"user": {"text", "tool_result", "image"}}.get(
        message["role"], {"text", "tool_use", "thinking", "redacted_thinking"}
    )
    for block in content:
        yield from _anthropic_block(block, kinds, own)
    types = [block.get("type") for block in content]
    if message["role"] == "user":
        results = types.count("tool_result")
        if types[:results] != ["tool_result"] * results:
            yield "results are not first"
    else:
        if types[-1] in ("thinking", "redacted_thinking"):
            yield "thinking is last"
        if "text" in types[types.index("tool_use") :] if "tool_use" in types else False:
            yield "text behind a call"
        if any(b["type"] == "text" and b["text"] != b["text"].rstrip() for b in content):
            yield "trailing space"


def _anthropic_block(block: Any, kinds: set[str], own: Collection[str] | None) -> Found:
    kind = block.get("type")
    if kind not in kinds:
        yield f"block {kind}"
        return
    yield from {
        "text": _anthropic_text,
        "thinking": _anthropic_signed,
        "redacted_thinking": _anthropic_signed,
        "tool_use": _anthropic_call,
        "tool_result": _anthropic_result,
        "image": _anthropic_image,
    }[kind](block)
    if own is not None and "thinking" in kind and canonical(block) not in own:
        yield "thinking that is not its own"


def _anthropic_text(block: dict[str, Any]) -> Found:
    if not isinstance(block.get("text"), str) or not block["text"].strip():
        yield "blank text"


def _anthropic_signed(block: dict[str, Any]) -> Found:
    if block["type"] == "redacted_thinking":
        if not block.get("data"):
            yield "redacted thinking without data"
    elif not isinstance(block.get("thinking"), str) or not block.get("signature"):
        yield "unsigned thinking"


def _anthropic_call(block: dict[str, Any]) -> Found:
    if not ID.fullmatch(str(block.get("id"))) or not NAME.fullmatch(str(block.get("name"))):
        yield f"call {block.get('id')!r} {block.get('name')!r}"
    if not isinstance(block.get("input"), dict):
        yield "arguments are no object"


def _anthropic_result(block: dict[str, Any]) -> Found:
    content = block.get("content")
    if isinstance(content, str):
        if not content.strip():
            yield "blank result"
    elif isinstance(content, list) and content:
        for inner in content:
            yield from _anthropic_block(inner, {"text", "image"}, None)
    else:
        yield "no result"


def _anthropic_image(block: dict[str, Any]) -> Found:
    source = block.get("source", {})
    if source.get("type") != "base64" or source.get("media_type") not in IMAGES:
        yield "image of no kind"
    elif not _is_whole_png(source.get("data", "")):
        yield "image that is damaged"


def _is_whole_png(data: str) -> bool:
    return b"IEND" in base64.b64decode(data, validate=True)


def _anthropic_pairs(messages: list[Any]) -> Found:
    seen: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "assistant":
            waiting = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
            if len({*waiting}) < len(waiting) or seen.intersection(waiting):
                yield "an id again"
            seen.update(waiting)
            continue
        results = [b["tool_use_id"] for b in message["content"] if b["type"] == "tool_result"]
        if sorted(results) != sorted(waiting):
            yield f"calls {waiting} have the results {results}"
        waiting = []


def _anthropic_tools(request: dict[str, Any], messages: list[Any]) -> Found:
    tools = request.get("tools", [])
    names = [tool.get("name") for tool in tools]
    if len({*names}) < len(names):
        yield "two tools of a name"
    for tool in tools:
        if not NAME.fullmatch(str(tool.get("name"))):
            yield f"tool {tool.get('name')!r}"
        if tool.get("input_schema", {}).get("type") != "object":
            yield "a schema of no object"
    calls = any(b["type"] == "tool_use" for message in messages for b in message["content"])
    if calls and not tools:
        yield "calls without tools"
    if "tool_choice" in request and not tools:
        yield "tool_choice without tools"


def _anthropic_thinking(request: dict[str, Any], messages: list[Any]) -> Found:
    thinking = request.get("thinking", {"type": "disabled"})
    if thinking["type"] not in ("enabled", "disabled", "adaptive"):
        yield "thinking of no kind"
    if thinking["type"] == "enabled":
        budget = thinking.get("budget_tokens", 0)
        if not 1024 <= budget < request["max_tokens"]:
            yield f"budget {budget}"
        last = messages[-2]["content"] if len(messages) > 1 else []
        if any(b["type"] == "tool_use" for b in last) and "thinking" not in last[0]["type"]:
            yield "calls without the thinking that led to them"
    is_forced = request.get("tool_choice", {}).get("type") in ("any", "tool")
    if is_forced and thinking["type"] != "disabled":
        yield "thinking with a forced tool"


# --- OpenAI Responses --------------------------------------------------------------------------


def responses_problems(body: bytes, own: Collection[str] | None = None) -> list[str]:
    """What the Responses API would refuse; empty when nothing."""
    try:
        request = read_body(body)
    except ValueError as error:
        return [f"not sendable: {error}"]
    return [*_responses(request, own)]


def _responses(request: dict[str, Any], own: Collection[str] | None) -> Found:
    known = {"model", "input", "stream", "store", "instructions", "tools", "include", "reasoning"}
    yield from (f"key {k}" for k in request.keys() - known - {"prompt_cache_key"})
    if not isinstance(request.get("model"), str) or request.get("stream") is not True:
        yield "no model or no stream"
    if len(request.get("prompt_cache_key", "")) > 64:
        yield "prompt_cache_key"
    if request.get("reasoning", {}).get("effort", "low") not in EFFORTS:
        yield "effort"
    for tool in request.get("tools", ()):
        if tool.get("type") != "function" or not NAME.fullmatch(str(tool.get("name"))):
            yield f"tool {tool}"
        if tool.get("parameters", {}).get("type") != "object":
            yield "a schema of no object"
    items = request.get("input")
    if not isinstance(items, list) or not items:
        yield "no input"
        return
    for at, item in enumerate(items):
        yield from (f"item {at}: {found}" for found in _responses_item(item, own))
    if items[-1].get("role") != "user" and items[-1].get("type") != "function_call_output":
        yield "the last word is not the user's or a tool's"
    yield from _responses_order(items)


def _responses_item(item: dict[str, Any], own: Collection[str] | None) -> Found:
    kind = item.get("type") or item.get("role")
    judge = {
        "user": _responses_user,
        "assistant": _responses_answer,
        "reasoning": _responses_reasoning,
        "function_call": _responses_call,
        "function_call_output": _responses_output,
    }.get(kind or "")
    if judge is None:
        yield f"item {kind}"
        return
    yield from judge(item)
    if own is not None and kind == "reasoning" and canonical(item) not in own:
        yield "reasoning that is not its own"


def _responses_user(item: dict[str, Any]) -> Found:
    yield from _responses_content(item.get("content"))


def _responses_answer(item: dict[str, Any]) -> Found:
    content = item.get("content")
    if not isinstance(content, str) or not content.strip():
        yield "blank answer"
    elif content != content.rstrip():
        yield "trailing space"


def _responses_reasoning(item: dict[str, Any]) -> Found:
    if not item.get("encrypted_content") or not isinstance(item.get("summary"), list):
        yield "reasoning that only the server has"


def _responses_call(item: dict[str, Any]) -> Found:
    arguments = item.get("arguments")
    try:
        if not isinstance(arguments, str) or not isinstance(json.loads(arguments), dict):
            yield f"arguments {arguments!r}"
    except ValueError:
        yield f"arguments {arguments!r}"
    if not ID.fullmatch(str(item.get("call_id"))) or not NAME.fullmatch(str(item.get("name"))):
        yield f"call {item.get('call_id')!r} {item.get('name')!r}"


def _responses_output(item: dict[str, Any]) -> Found:
    output = item.get("output")
    if not isinstance(output, str):
        yield from _responses_content(output)
    elif not output.strip():
        yield "blank output"


def _responses_content(content: Any) -> Found:
    if not isinstance(content, list) or not content:
        yield "no content"
        return
    for part in content:
        if part.get("type") == "input_text":
            if not isinstance(part.get("text"), str) or not part["text"].strip():
                yield "blank text"
        elif part.get("type") == "input_image":
            head, _, data = part.get("image_url", "").partition(";base64,")
            if head.removeprefix("data:") not in IMAGES or not _is_whole_png(data):
                yield "image that is damaged"
            if part.get("detail") not in ("low", "high", "auto", "original"):
                yield "image without detail"
        else:
            yield f"content {part.get('type')}"


def _responses_order(items: list[Any]) -> Found:
    """Calls without exactly one output before the next word, reasoning that led to nothing."""
    seen: set[str] = set()
    waiting: list[str] = []
    for at, item in enumerate(items):
        kind = item.get("type") or item.get("role")
        if kind == "function_call":
            if item["call_id"] in seen:
                yield "an id again"
            seen.add(item["call_id"])
            waiting.append(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] in waiting:
                waiting.remove(item["call_id"])
            else:
                yield f"item {at} answers no call"
        elif waiting and kind == "user":
            yield f"item {at} comes before the outputs of {waiting}"
        if kind == "reasoning":
            following = items[at + 1] if at + 1 < len(items) else {}
            next_kind = following.get("type") or following.get("role")
            if next_kind not in ("reasoning", "assistant", "function_call"):
                yield f"item {at} is reasoning that led to nothing"
    if waiting:
        yield f"no output of {waiting}"

"""Parts of a conversation as a model server accepts them: text, arguments, results, ids.

All functions are pure and total: what cannot be sent as it is gets the nearest thing that can.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from ..core.messages import ToolPart

INTERRUPTED: Final = "Interrupted: this call did not finish and its effect is unknown."
CANCELLED: Final = "Cancelled by the user"
NO_OUTPUT: Final = "(no output)"

_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CANCELLED: Final = re.compile(
    r"^(?:(?:cancelled|denied) by the user|the user did not allow this call)\b[.:;]?\s*"
    r"(?:reason:)?",
    re.IGNORECASE,
)
"""How the engine begins the message of a cancellation; what follows are the user's words."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_SHORT_ID: Final = re.compile(r"[A-Za-z0-9]{9}")
_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KINDS: Final = {
    "text": "text",
    "image": "image",
    "unavailable": "image",
    "svg": "image/svg+xml",
    "html": "text/html",
}
"""Types of blocks, and what the model is told of one that only a person sees."""


def sendable(text: str) -> str:
    """``text`` as UTF-8 can carry it: halves of surrogate pairs joined, lone ones replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def link(title: str, url: str) -> str:
    """``[title](url)`` as Markdown; empty where ``url`` is not one of the web."""
    if not re.match(r"https?://[^\s/]", url) or re.search(r"[\s<>]", url):
        return ""
    title = " ".join(re.sub(r"[\[\]\\`<>]", " ", sendable(title)).split()) or url
    return f"[{title}]({sendable(url).replace('(', '%28').replace(')', '%29')})"


def json_text(value: Any) -> str:
    """``value`` as JSON text; what JSON does not know becomes its ``repr``."""
    try:
        return msgspec.json.encode(value, enc_hook=repr).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(sendable_json(value), enc_hook=repr).decode()
    except (RecursionError, TypeError, ValueError, OverflowError):
        return f'"({type(value).__name__} that is not JSON)"'


def encoded(value: Any) -> Raw:
    """``value`` as JSON that every server can read."""
    try:
        return Raw(msgspec.json.encode(value))
    except UnicodeEncodeError:
        return Raw(msgspec.json.encode(sendable_json(value)))


def encoded_schema(parameters: Mapping[str, Any]) -> Raw:
    """The schema of a tool's arguments, which is that of an object."""
    if parameters.get("type") != "object":
        parameters = {**parameters, "type": "object"}
    return Raw(json_text(parameters).encode())


def sendable_json(value: Any) -> Any:
    """``value`` with all its text as ``sendable`` makes it."""
    if isinstance(value, str):
        return sendable(value)
    if isinstance(value, Mapping):
        return {sendable_json(k): sendable_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [sendable_json(item) for item in value]
    return value


def arguments_text(call: ToolPart) -> str:
    """The arguments of ``call`` as the text of a JSON object.

    Arguments that could not be read are ``{}``; other JSON is wrapped, because servers parse the
    text and expect an object.
    """
    value = call.input
    if value is None or value == "":
        return "{}"
    return json_text(value if isinstance(value, Mapping) else {"arguments": value})


def call_id(stored: str) -> str:
    """``stored`` where every server takes it, else an id derived from it; equal for equal ids."""
    if _ID.fullmatch(stored):
        return stored
    digest = hashlib.blake2b(stored.encode("utf-8", "surrogatepass"), digest_size=16)
    return f"call_{digest.hexdigest()}"


def short_id(stored: str) -> str:
    """An id of nine letters and digits, derived from ``stored``; itself where it is one."""
    if _SHORT_ID.fullmatch(stored):
        return stored
    digest = hashlib.blake2b(stored.encode("utf-8", "surrogatepass"), digest_size=8)
    number, letters = int.from_bytes(digest.digest()), ""
    for _ in range(9):
        number, rest = divmod(number, len(_LETTERS))
        letters += _LETTERS[rest]
    return letters


def tool_name(stored: str) -> str:
    """``stored`` where every server takes it, else with what it refuses replaced."""
    if _NAME.fullmatch(stored):
        return stored
    return re.sub(r"[^A-Za-z0-9_-]", "_", stored)[:64] or "unknown"


def result_text(call: ToolPart) -> str:
    """What the model is told about how ``call`` ended; never blank."""
    if call.is_open:
        return INTERRUPTED
    if call.state == "done":
        text = output_text(call.output)
    elif call.state == "cancelled":
        text = _cancelled_text(call.error)
    else:
        text = f"Error: {error_text(call.error) or 'the call failed without a message.'}"
    text = sendable(text)
    return text if text.strip() else NO_OUTPUT


def output_text(output: Any) -> str:
    """The part of a result that is meant for the model; may be empty.

    ``output`` is a stored ``ToolOutput`` (``{"content": [block, …], "isError": bool}``) or other
    JSON.
    """
    blocks = _blocks(output)
    if blocks is None:
        if output is UNSET:
            return ""
        return _ANSI.sub("", output) if isinstance(output, str) else json_text(output)
    texts = [
        _ANSI.sub("", block["text"])
        for block in blocks
        if isinstance(block.get("text"), str) and block.get("audience", "all") != "user"
    ]
    text = "\n".join(texts)
    return text if text.strip() else "\n".join(_shown(block) for block in blocks)


def _blocks(output: Any) -> list[Mapping[str, Any]] | None:
    """The blocks of a stored ``ToolOutput``; None when ``output`` is other JSON."""
    content = output.get("content") if isinstance(output, Mapping) else None
    if not isinstance(content, list | tuple):
        return None
    blocks = [block for block in content if isinstance(block, Mapping)]
    if len(blocks) != len(content) or any(str(block.get("type")) not in _KINDS for block in blocks):
        return None
    return blocks


def _shown(block: Mapping[str, Any]) -> str:
    if block["type"] == "text":
        return "[text shown to the user]" if str(block.get("text", "")).strip() else ""
    kind = block.get("mime") if block["type"] in ("image", "unavailable") else None
    return f"[{kind or _KINDS[block['type']]} shown to the user]"


def error_text(error: Any) -> str:
    """The words of a stored error; may be empty.

    ``error`` is the stored ``ToolOutput`` of a call that ran and failed, an object with a
    ``message`` and perhaps the output that it is about, text, or other JSON.
    """
    if error is UNSET or error is None:
        return ""
    message = error.get("message") if isinstance(error, Mapping) else None
    if not isinstance(message, str):
        return output_text(error).strip()
    shown = "" if _blocks(error) is None else output_text(error)
    return f"{output_text(message)}\n{shown}".strip()


def cancel_reason(error: Any) -> str:
    """Why a person ended a call, in that person's words; empty when no reason was given."""
    text = error_text(error) if isinstance(error, Mapping) and "message" in error else ""
    return _CANCELLED.sub("", text).strip()


def _cancelled_text(error: Any) -> str:
    reason = cancel_reason(error)
    return f"{CANCELLED}: {reason}" if reason else f"{CANCELLED}."

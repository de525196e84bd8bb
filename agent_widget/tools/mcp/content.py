"""What a server sends, as blocks and texts of this program."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Final

from ..base import Block, TextBlock, ToolOutput
from ..mime import IMAGE_MIMES, image_block
from ..outputfile import OutputFile
from ..text import plain_text
from ..truncate import fitted, head_and_tail

MAX_ATTACHED_CHARS: Final = 50_000
MAX_TITLE_CHARS: Final = 300


def result_of(result: Any) -> ToolOutput:
    """The output of a call: text, images, and a note for what can be shown to nobody here.

    It is within the limits of every tool; where text is cut, a file has the whole.
    """
    blocks: list[Block] = [block for each in result.content for block in blocks_of(each)]
    structured = result.structured_content
    if structured is not None and not any(isinstance(block, TextBlock) for block in blocks):
        blocks.append(TextBlock(json.dumps(structured, ensure_ascii=False)))
    if not blocks:
        blocks.append(TextBlock("(no result)"))
    whole = OutputFile()
    for block in blocks:
        if isinstance(block, TextBlock) and block.audience != "user":
            whole.write(block.text.encode("utf-8", "replace"))
    return fitted(ToolOutput(tuple(blocks), is_error=bool(result.is_error)), whole)


def blocks_of(content: Any) -> tuple[Block, ...]:
    """The blocks of one piece of content."""
    match content.type:
        case "text":
            return (TextBlock(content.text),)
        case "image":
            return _picture(content.mime_type, content.data)
        case "audio":
            return (TextBlock(_left_out(content.mime_type, content.data)),)
        case "resource_link":
            return (TextBlock(f"[resource {content.uri}: {content.title or content.name}]"),)
        case "resource":
            return resource_blocks(content.resource)
    return (TextBlock(f"[content of type {content.type} left out]"),)


def resource_blocks(contents: Any) -> tuple[Block, ...]:
    """The blocks of one content of a resource."""
    if (text := getattr(contents, "text", None)) is not None:
        return (TextBlock(text),)
    return _picture(contents.mime_type or "application/octet-stream", contents.blob)


def _picture(mime: str, data: str) -> tuple[Block, ...]:
    if mime not in IMAGE_MIMES:
        return (TextBlock(_left_out(mime, data)),)
    return (image_block(mime, data), TextBlock(f"[{mime}, shown to the user]", "model"))


def _left_out(mime: str, data: str) -> str:
    return f"[{one_line(mime, 100)} of about {len(data) * 3 // 4:,} bytes left out]"


def text_of(blocks: Iterable[Block]) -> str:
    """All text of ``blocks`` that is for a model, cleaned, cut where it is very long."""
    text = ToolOutput(tuple(blocks)).text_for_model()
    return head_and_tail(plain_text(text), MAX_ATTACHED_CHARS)


def prompt_text(messages: Iterable[Any]) -> str:
    """A prompt's messages as one text that a person says."""
    parts = []
    for message in messages:
        text = text_of(blocks_of(message.content))
        parts.append(text if message.role == "user" else f"Assistant: {text}")
    return "\n\n".join(parts)


def one_line(text: str | None, most: int = MAX_TITLE_CHARS) -> str:
    """``text`` on one line, nothing in it invisible, at most ``most`` characters of it."""
    line = " ".join(plain_text(text or "").split())
    cut = line if len(line) <= most else f"{line[: most - 1]}…"
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in cut)

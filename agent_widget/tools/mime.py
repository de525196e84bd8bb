"""What a mime bundle (the data of a notebook output) shows to the person and to the model."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from .base import Block, HtmlBlock, ImageBlock, SvgBlock, TextBlock

_SIGNATURES: Final = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
IMAGE_MIMES: Final = frozenset(_SIGNATURES)
"""The kinds of pictures that are shown and sent."""
_TEXTS: Final = ("text/plain", "text/markdown", "text/latex")


def bundle_blocks(data: Mapping[str, Any]) -> tuple[Block, ...]:
    """The blocks of one output: its richest form for the person, its text for the model.

    ``data`` maps mime types to text, and images to bytes or base64 text. Text alone is for
    both; a bundle with neither a known rich form nor text gives one line naming its types.
    """
    text = next((str(data[mime]) for mime in _TEXTS if data.get(mime)), None)
    rich = _richest(data)
    if rich is None:
        if text is None:
            text = f"[output of type {', '.join(data) or 'unknown'}]"
        return (TextBlock(text),)
    return (rich,) if text is None else (rich, TextBlock(text, "model"))


def _richest(data: Mapping[str, Any]) -> Block | None:
    for mime in _SIGNATURES:
        if data.get(mime):
            return image_block(mime, data[mime])
    if data.get("image/svg+xml"):
        return SvgBlock(_joined(data["image/svg+xml"]))
    if data.get("text/html"):
        return HtmlBlock(_joined(data["text/html"]))
    return None


def image_block(mime: str, data: bytes | str) -> Block:
    """An image block, or a note where ``data`` is no whole ``mime`` image.

    ``data`` is the file's bytes or their base64. A broken image must not reach a
    conversation: servers refuse every later request that carries it.
    """
    try:
        raw = base64.b64decode(data, validate=False) if isinstance(data, str) else bytes(data)
    except (binascii.Error, ValueError):
        raw = b""
    whole = raw.startswith(_SIGNATURES[mime]) and (mime != "image/png" or b"IEND" in raw[-64:])
    if not whole:
        return TextBlock(f"[broken {mime} of {len(raw):,} bytes left out]")
    return ImageBlock(mime, base64.b64encode(raw).decode("ascii"))


def _joined(text: Any) -> str:
    return "".join(text) if isinstance(text, list | tuple) else str(text)

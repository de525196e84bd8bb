"""Images of a conversation as a model may see them: whole, of a known kind, not too large."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from ..core.messages import MAX_IMAGE_CHARS, ImagePart, Message

_MARKS: Final[Mapping[str, tuple[bytes, bytes]]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"),
    "image/jpeg": (b"\xff\xd8\xff", b"\xff\xd9"),
    "image/gif": (b"GIF8", b";"),
    "image/webp": (b"RIFF", b""),
}
"""How the bytes of a kind begin, and what stands at their end."""
_END_BYTES: Final = 64
"""How much padding may follow the end of an image."""
_FOR_MODEL: Final = frozenset({"all", "model"})


class Image(Struct, frozen=True):
    """An image that vendors take: its media type and its bytes as base64."""

    mime: str
    data: str

    @property
    def url(self) -> str:
        return f"data:{self.mime};base64,{self.data}"


def images_for_model(output: object, refused: Collection[str] = ()) -> tuple[list[Image], int]:
    """The images of a stored ``ToolOutput`` that are meant for the model, and how many of those
    cannot be sent: damaged, too large, or with a digest in ``refused``.
    """
    return _sendable_of(_image_blocks(output), refused)


def images_of_message(message: Message, refused: Collection[str] = ()) -> tuple[list[Image], int]:
    """The images that came with a message, and how many of them cannot be sent."""
    blocks = (part.block for part in message.parts if isinstance(part, ImagePart))
    return _sendable_of(blocks, refused)


def digest(data: str) -> str:
    """What an image is known by."""
    return hashlib.blake2b(data.encode("utf-8", "replace"), digest_size=16).hexdigest()


def image_digests(messages: Iterable[Message]) -> frozenset[str]:
    """All images of ``messages`` that a model may see."""
    messages = (*messages,)
    calls = (call for message in messages for call in message.tool_calls)
    outputs = (output for call in calls for output in (call.output, call.error))
    found = [images_for_model(output)[0] for output in outputs]
    found += [images_of_message(message)[0] for message in messages]
    return frozenset(digest(image.data) for images in found for image in images)


def _sendable_of(
    blocks: Iterable[Mapping[str, Any]], refused: Collection[str]
) -> tuple[list[Image], int]:
    images, left_out = [], 0
    for block in blocks:
        mime, data = block.get("mime"), block.get("data")
        image = Image(mime, data) if isinstance(mime, str) and isinstance(data, str) else None
        if image is None or not is_whole(image) or (refused and digest(image.data) in refused):
            left_out += 1
        else:
            images.append(image)
    return images, left_out


def _image_blocks(output: object) -> Iterable[Mapping[str, Any]]:
    content = output.get("content") if isinstance(output, Mapping) else None
    for block in content if isinstance(content, list | tuple) else ():
        is_image = isinstance(block, Mapping) and block.get("type") == "image"
        if is_image and block.get("audience", "user") in _FOR_MODEL:
            yield block


def is_whole(image: Image) -> bool:
    """Whether vendors take the image: one of a known kind, from its first mark to its last."""
    begin, end = _MARKS.get(image.mime, (b"", b""))
    if not begin or len(image.data) > MAX_IMAGE_CHARS:
        return False
    try:
        content = base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        return False
    if image.mime == "image/webp":
        size = int.from_bytes(content[4:8], "little")
        return content[8:12] == b"WEBP" and len(content) >= size + 8
    return content.startswith(begin) and end in content[-_END_BYTES:]

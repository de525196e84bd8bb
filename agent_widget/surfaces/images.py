"""Pictures that a message is about, from what a notebook has: figures, images, bytes, files."""

from __future__ import annotations

import io
import os
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ..core.errors import SessionError
from ..core.messages import MAX_IMAGE_CHARS, MAX_IMAGES, ImagePart, Images, Prompt
from ..providers._images import Image, is_whole
from ..tools.textfile import image_mime
from ..view.protocol import PAGE_CHARS

MAX_BYTES: Final = MAX_IMAGE_CHARS * 3 // 4
MAX_TOTAL_BYTES: Final = 15_000_000
"""What all of them may have together: as base64, a request of 20 MB is the least that is taken."""

_ADDRESS: Final = re.compile(r"data:(image/[a-z]+);base64,([A-Za-z0-9+/=]+)")
_WAY_OUT: Final = (
    "Pass a matplotlib figure, a PIL image, a path, or the bytes of a PNG, JPEG, WebP or GIF file."
)


def prompt_of(text: Any, images: object) -> Any:
    """What a session is told: ``text``, as a ``Prompt`` where ``images`` come with it.

    ``images`` is one image or a list of them. Raises SessionError INVALID_INPUT for what is none,
    too large or too many.
    """
    given = [*images] if isinstance(images, list | tuple) else [images]
    if images is None or not given:
        return text
    if len(given) > MAX_IMAGES:
        advice = "Send them in several messages, or put several plots into one figure."
        raise _refused(f"images has {len(given)} images, and a message takes {MAX_IMAGES}.", advice)
    found = tuple(_image_of(value) for value in given)
    total = sum(image.size_bytes for image in found)
    if total > MAX_TOTAL_BYTES:
        message = f"The images have {_mb(total)} together, and a message takes "
        raise _refused(message + f"{_mb(MAX_TOTAL_BYTES)}.", _smaller())
    return Prompt(text, found)


def prompt_of_page(text: Any, addresses: object) -> Any:
    """What a page says: ``text``, as a ``Prompt`` where data addresses of images come with it.

    Raises SessionError INVALID_INPUT for what is no such image, too large or too many.
    """
    if addresses is None:
        return text
    given = addresses if isinstance(addresses, list) else [addresses]
    if len(given) > MAX_IMAGES or sum(len(str(each)) for each in given) > PAGE_CHARS:
        raise _refused("The images of this message are too many or too large.", "Send fewer.")
    return Prompt(text, tuple(_image_at(each) for each in given))


def addresses_of(images: Images) -> dict[str, list[str]]:
    """The images as a receipt takes them to a page; empty where there are none."""
    found = [f"data:{each.mime};base64,{each.data}" for each in images or () if each.data]
    return {"images": found} if found else {}


def _image_at(address: object) -> ImagePart:
    """The image of a data address, whose bytes say what it is."""
    found = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
    image = Image(found[1], found[2]) if found else None
    if image is None or not is_whole(image):
        message = "An image of this message is damaged, too large, or no PNG, JPEG, WebP or GIF."
        raise _refused(message, "Remove it, or save it again and attach that.")
    return ImagePart(image.mime, image.data)


def _image_of(value: object) -> ImagePart:
    name, content = _named_bytes(value)
    mime = image_mime(content[:64])
    if mime is None:
        raise _refused(f"{name} is no PNG, JPEG, WebP or GIF image.", _WAY_OUT)
    if len(content) > MAX_BYTES:
        message = f"{name} has {_mb(len(content))}, and model servers take {_mb(MAX_BYTES)}."
        raise _refused(message, _smaller())
    data = b64encode(content).decode("ascii")
    if not is_whole(Image(mime, data)):
        raise _refused(f"{name} is a damaged {mime}: it is cut off.", "Save the image again.")
    return ImagePart(mime, data)


def _named_bytes(value: object) -> tuple[str, bytes]:
    """What an error calls the image, and the bytes of its file."""
    if isinstance(value, bytes | bytearray | memoryview):
        return f"An image of {len(bytes(value)):,} bytes", bytes(value)
    if isinstance(value, str | os.PathLike):
        return _file(Path(value))
    name = f"A {type(value).__module__}.{type(value).__qualname__}"
    figure: Any = value if hasattr(value, "savefig") else getattr(value, "figure", None)
    if hasattr(figure, "savefig"):
        return name, _written(
            name, lambda file: figure.savefig(file, format="png", bbox_inches="tight")
        )
    image: Any = value
    if hasattr(image, "save") and hasattr(image, "mode"):
        return name, _written(name, lambda file: image.save(file, format="PNG"))
    for method in ("_repr_png_", "_repr_jpeg_"):
        if callable(make := getattr(type(value), method, None)) and (made := make(value)):
            made = made[0] if isinstance(made, tuple) else made
            if isinstance(made, bytes):
                return name, made
    raise _refused(f"{name} is no image.", f"{_WAY_OUT} Of an array: PIL.Image.fromarray(array).")


def _file(path: Path) -> tuple[str, bytes]:
    try:
        with path.expanduser().open("rb") as file:
            content = file.read(MAX_TOTAL_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        advice = f"{_WAY_OUT} Addresses are not fetched."
        raise _refused(f"The image {str(path)[:200]!r} cannot be read: {why}.", advice) from None
    return f"The image {str(path)!r}", content


def _written(name: str, write: Callable[[io.BytesIO], Any]) -> bytes:
    file = io.BytesIO()
    try:
        write(file)
    except Exception as error:
        advice = "Of a PIL image, send image.convert('RGB')."
        raise _refused(f"{name} cannot be written as PNG: {error}", advice) from error
    return file.getvalue()


def _smaller() -> str:
    return "Make it smaller: image.thumbnail((1568, 1568)) of PIL, or a lower figure.set_dpi(…)."


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:,.1f} MB"


def _refused(message: str, advice: str) -> SessionError:
    return SessionError("INVALID_INPUT", message, advice=advice)

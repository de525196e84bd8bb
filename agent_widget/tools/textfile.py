"""Text in files: which encoding, which line endings, and back to the same bytes."""

from __future__ import annotations

import codecs
from typing import Final

from msgspec import Struct

_MARKS: Final = (  # the longer mark first: UTF-32 begins as UTF-16 does
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NAMES: Final = {"utf-8": "UTF-8", "latin-1": "Latin-1"}
_SAMPLE_BYTES: Final = 65_536
_CONTROLS: Final = bytes(sorted({*range(32)} - {*b"\t\n\r\f\x1b\b"}))
_CONTROL_SHARE: Final = 0.02

IMAGES: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_OTHERS: Final = (
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "zip archive (or a document in one)"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\x7fELF", "executable"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\x89HDF", "HDF5 file"),
    (b"PAR1", "Parquet file"),
)


class Encoding(Struct, frozen=True):
    """How text is written as bytes: the codec, and the byte order mark before it (or none)."""

    codec: str
    mark: bytes = b""

    @property
    def label(self) -> str:
        """As a person reads it: ``UTF-8``, ``UTF-16-LE``."""
        return _NAMES.get(self.codec, self.codec.upper())

    @property
    def full_label(self) -> str:
        return f"{self.label} with byte order mark" if self.mark else self.label


UTF_8: Final = Encoding("utf-8")


class Text(Struct, frozen=True):
    r"""A text file. ``text`` has ``\n`` line ends where ``newline`` is ``\r\n``.

    In a file whose line ends are not all ``\r\n``, ``newline`` is ``\n`` and ``text`` is as the
    file has it.
    """

    text: str
    encoding: Encoding = UTF_8
    newline: str = "\n"

    def data(self, text: str) -> bytes:
        """``text`` as bytes of this file's encoding and line ends. Raises UnicodeEncodeError."""
        if self.newline == "\r\n":
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return self.encoding.mark + text.encode(self.encoding.codec)


def encoding_of(data: bytes, *, is_whole: bool = True) -> Encoding | None:
    """The encoding of a text that begins with ``data``; None for binary data.

    Marked Unicode, else UTF-8, else Latin-1, which fits any text without being certain.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return Encoding(codec, mark) if _decodes(data[len(mark) :], codec, is_whole) else None
    sample = data[:_SAMPLE_BYTES]
    if b"\0" in data:
        return None
    if _decodes(data, "utf-8", is_whole):
        return UTF_8
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    return None if controls > len(sample) * _CONTROL_SHARE else Encoding("latin-1")


def text_of(data: bytes) -> Text | None:
    """The text that ``data`` is, whole; None for binary data."""
    encoding = encoding_of(data)
    if encoding is None:
        return None
    text = data[len(encoding.mark) :].decode(encoding.codec)
    ends = text.count("\n")
    if ends and text.count("\r\n") == ends:
        return Text(text.replace("\r\n", "\n"), encoding, "\r\n")
    return Text(text, encoding)


def binary_type(head: bytes) -> str:
    """What binary data seems to be, by its first bytes."""
    image = image_mime(head)
    if image is not None:
        return image
    return next((name for start, name in _OTHERS if head.startswith(start)), "binary file")


def image_mime(head: bytes) -> str | None:
    """The type of the raster image that begins with ``head``, if it is one a card can show."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in IMAGES if head.startswith(start)), None)


def _decodes(data: bytes, codec: str, is_whole: bool) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(data, is_whole)
    except UnicodeDecodeError:
        return False
    return True

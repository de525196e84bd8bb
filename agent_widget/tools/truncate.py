"""Bounds on what a call hands on. Whatever a tool produces, these limits hold.

=====================  ==========================================================
``MODEL_TEXT_CHARS``   text of a call that the model reads, characters
``USER_TEXT_BYTES``    text of a call that its card shows, bytes of UTF-8
``RICH_BYTES``         one image, SVG or HTML block, bytes on the wire
``OUTPUT_BYTES``       the whole output of a call, bytes on the wire
``LIVE_CHARS``         live output of a call while it runs, characters
=====================  ==========================================================

Text that is too long keeps its head and its tail, and a line between them says how much is
missing; a last line says where all of it is (see ``outputfile``). Images, SVG and HTML cannot be
cut: a note takes their place.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from .base import Block, HtmlBlock, ImageBlock, SvgBlock, TextBlock, ToolOutput
from .outputfile import OutputFile
from .text import coloured_text, plain_text

MODEL_TEXT_CHARS: Final = 20_000
USER_TEXT_BYTES: Final = 64_000
RICH_BYTES: Final = 700_000
OUTPUT_BYTES: Final = 1_000_000
LIVE_CHARS: Final = 64_000

_BLOCKS: Final = 100
_ROOM_FOR_MARK: Final = 100
_CLEANED_CHARS: Final = 4 * USER_TEXT_BYTES
_LIVE_MARK: Final = "\n[More output follows when the call ends.]\n"


def head_and_tail(text: str, limit: int, *, missing: int = 0) -> str:
    """``text`` when it has at most ``limit`` characters, else its head and tail with a mark.

    The result has at most ``limit`` characters where ``limit`` leaves room for the mark (about
    a hundred), and at most the mark's otherwise. ``missing`` counts characters that were taken
    out of the middle of ``text`` before.
    """
    if len(text) <= limit and not missing:
        return text
    kept = min(max(limit - _ROOM_FOR_MARK, 0), len(text))
    head, tail = text[: kept - kept // 2], text[len(text) - kept // 2 :]
    return head + _mark(len(text) - kept + missing, len(text) + missing) + tail


def head_and_tail_bytes(text: str, limit: int, *, missing: int = 0) -> str:
    """As ``head_and_tail``, with ``limit`` in bytes of UTF-8. ``text`` is valid Unicode."""
    if (len(text) * 4 <= limit or len(text.encode()) <= limit) and not missing:
        return text
    data = text.encode()
    kept = min(max(limit - _ROOM_FOR_MARK, 0), len(data))
    head = data[: kept - kept // 2].decode(errors="ignore")
    tail = data[len(data) - kept // 2 :].decode(errors="ignore")
    left_out = len(text) - len(head) - len(tail)
    return head + _mark(left_out + missing, len(text) + missing) + tail


def _mark(missing: int, total: int) -> str:
    return f"\n… [{missing:,} of {total:,} characters left out; ask for a smaller part] …\n"


def shares(sizes: Sequence[int], budget: int) -> list[int]:
    """How much of ``budget`` each of ``sizes`` gets: small ones all, the rest equal parts.

    Every share is at most its size, and their sum at most ``budget``.
    """
    given = [0] * len(sizes)
    left = max(budget, 0)
    ascending = sorted(range(len(sizes)), key=sizes.__getitem__)
    for position, index in enumerate(ascending):
        given[index] = min(sizes[index], left // (len(sizes) - position))
        left -= given[index]
    return given


class BoundedText:
    """Text that keeps its first and last ``limit / 2`` characters; memory is O(limit)."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head: list[str] = []
        self._tail: list[str] = []
        self._head_chars = self._tail_chars = 0
        self.size_chars = 0

    @property
    def is_cut(self) -> bool:
        return self.size_chars > 2 * self._half

    def append(self, text: str) -> None:
        self.size_chars += len(text)
        room = self._half - self._head_chars
        if room > 0:
            self._head.append(text[:room])
            self._head_chars += len(self._head[-1])
            text = text[room:]
        if not text:
            return
        self._tail.append(text[-self._half :])
        self._tail_chars += len(self._tail[-1])
        if self._tail_chars > 2 * self._half:
            self._tail = ["".join(self._tail)[-self._half :]]
            self._tail_chars = self._half

    def text(self) -> str:
        head, tail = "".join(self._head), "".join(self._tail)[-self._half :]
        missing = self.size_chars - len(head) - len(tail)
        return head + (_mark(missing, self.size_chars) if missing else "") + tail


class LiveOutput:
    """Passes on the first ``LIVE_CHARS`` characters of live output, then one line, then none."""

    def __init__(self, output: Callable[[str], None]) -> None:
        self._output = output
        self._left = LIVE_CHARS
        self._lock = threading.Lock()

    def write(self, text: str) -> None:
        with self._lock:
            if self._left <= 0:
                return
            passed = text[: self._left]
            self._left -= len(text)
            ends = self._left <= 0
        self._output(coloured_text(passed) if "\r" not in passed else passed)
        if ends:
            self._output(_LIVE_MARK)

    def close(self) -> None:
        """Pass on nothing more."""
        with self._lock:
            self._left = 0


def fitted(
    output: ToolOutput, whole: OutputFile | None = None, *, is_cut: bool = False
) -> ToolOutput:
    """``output`` within all limits of this module, its text cleaned for each audience.

    ``whole`` has got all text that is not for the user alone. It stays, and a last line names it,
    where some of that is missing here or, with ``is_cut``, was before.
    """
    content = output.content
    if len(content) > _BLOCKS:
        left_out = len(content) - _BLOCKS
        content = (*content[:_BLOCKS], TextBlock(f"[{left_out:,} more outputs left out]"))
        is_cut = True
    blocks = _with_rich_fitted(content)
    if whole is not None:
        if is_cut or _is_too_long(blocks):
            whole.close()
            blocks += [TextBlock(whole.note)] if whole.note is not None else []
        else:
            whole.discard()
    return replace(output, content=tuple(_with_texts_fitted(blocks)))


def _is_too_long(content: Sequence[Block]) -> bool:
    for_model = [_cleaned(block, "model", plain_text) for block in content]
    for_user = [_cleaned(block, "user", coloured_text) for block in content]
    return (
        any(missing for _, missing in (*for_model, *for_user))
        or sum(len(text) for text, _ in for_model) > MODEL_TEXT_CHARS
        or sum(len(text.encode()) for text, _ in for_user) > USER_TEXT_BYTES
    )


def _with_rich_fitted(content: Sequence[Block]) -> list[Block]:
    left = RICH_BYTES
    blocks: list[Block] = []
    for block in content:
        if isinstance(block, TextBlock):
            blocks.append(block)
            continue
        size_bytes = _wire_bytes(block)
        if size_bytes <= left:
            left -= size_bytes
            blocks.append(block)
        else:
            blocks.append(TextBlock(_note(block, size_bytes), block.audience))
    return blocks


def _wire_bytes(block: ImageBlock | SvgBlock | HtmlBlock) -> int:
    if isinstance(block, ImageBlock):
        return len(block.data)
    return len(msgspec.json.encode(block.svg if isinstance(block, SvgBlock) else block.html))


def _note(block: ImageBlock | SvgBlock | HtmlBlock, size_bytes: int) -> str:
    kind = type(block).__name__.removesuffix("Block").lower()
    kind = {"svg": "SVG image", "html": "HTML"}.get(kind, kind)
    return f"[{kind} of {size_bytes / 1000:,.0f} kB left out: more than a card can hold]"


def _with_texts_fitted(content: Sequence[Block]) -> list[Block]:
    blocks: list[Block] = []
    for block, model, user in zip(
        content, _texts_for_model(content), _texts_for_user(content), strict=True
    ):
        if not isinstance(block, TextBlock):
            blocks.append(block)
        elif block.audience == "all" and model == user:
            blocks.append(TextBlock(user))
        else:
            if block.audience != "model":
                blocks.append(TextBlock(user, "user"))
            if block.audience != "user":
                blocks.append(TextBlock(model, "model"))
    return blocks


def _texts_for_model(content: Sequence[Block]) -> list[str]:
    texts = [_cleaned(block, "model", plain_text) for block in content]
    limits = shares([len(text) for text, _ in texts], MODEL_TEXT_CHARS)
    return [
        head_and_tail(text, limit, missing=missing)
        for (text, missing), limit in zip(texts, limits, strict=True)
    ]


def _texts_for_user(content: Sequence[Block]) -> list[str]:
    texts = [_cleaned(block, "user", coloured_text) for block in content]
    limits = shares([len(text.encode()) for text, _ in texts], USER_TEXT_BYTES)
    return [
        head_and_tail_bytes(text, limit, missing=missing)
        for (text, missing), limit in zip(texts, limits, strict=True)
    ]


def _cleaned(block: Block, audience: str, clean: Callable[[str], str]) -> tuple[str, int]:
    """The text of ``block`` for ``audience``, and how many characters are missing in its middle.

    The middle goes first: cleaning 50 MB only to keep 64 kB of it would be slow.
    """
    if not isinstance(block, TextBlock) or block.audience not in ("all", audience):
        return "", 0
    missing = max(len(block.text) - 2 * _CLEANED_CHARS, 0)
    if missing:
        return clean(block.text[:_CLEANED_CHARS]) + clean(block.text[-_CLEANED_CHARS:]), missing
    return clean(block.text), 0

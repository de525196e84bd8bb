"""Captures exactly what one call prints and displays, in order, whatever runs beside it.

The context decides: text and displays of code that runs in the capture's context (its thread,
its tasks, threads started with a copy of it) are the call's; everything else goes where it
always went. Output that arrives after the capture was closed goes nowhere.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from .base import Block, TextBlock
from .detours import Detour, detoured
from .mime import bundle_blocks
from .outputfile import OutputFile
from .streams import SINK, route_streams
from .truncate import BoundedText

_TEXT_CHARS: Final = 256_000
_ITEMS: Final = 100


class _Shown:
    """One display; ``display_id`` lets a later update replace it."""

    def __init__(self, blocks: tuple[Block, ...], display_id: str | None) -> None:
        self.blocks = blocks
        self.display_id = display_id


class Capture:
    """What a call printed and displayed so far. Bounded; every method works on any thread.

    ``live`` gets each piece of text as it is written. ``whole`` gets all text that is not for the
    user alone, also what is cleared or updated later.
    """

    def __init__(self, live: Callable[[str], None] | None = None) -> None:
        self._live = live
        self.whole = OutputFile()
        self._lock = threading.RLock()
        self._items: list[BoundedText | _Shown] = []
        self._closed = False
        self._clear_on_next = False
        self._left_out = 0

    @property
    def is_cut(self) -> bool:
        """True when ``blocks`` has not all that was captured."""
        with self._lock:
            texts = (item for item in self._items if isinstance(item, BoundedText))
            return self._left_out > 0 or any(text.is_cut for text in texts)

    def write(self, text: str, raw: bytes | None = None) -> None:
        """Append text; neighbouring texts become one block.

        ``raw`` are the bytes that it was, where it comes from a program.
        """
        with self._lock:
            if self._closed:
                return
            self.whole.write(text.encode(errors="replace") if raw is None else raw)
            if not text:
                return
            self._clear_if_due()
            last = self._items[-1] if self._items else None
            if not isinstance(last, BoundedText):
                last = BoundedText(_TEXT_CHARS)
                if not self._add(last):
                    return
            last.append(text)
        if self._live is not None:
            self._live(text)

    def show(
        self, data: Mapping[str, Any], *, display_id: str | None = None, update: bool = False
    ) -> None:
        """Append a display, or replace the one with that id."""
        self._show(_Shown(bundle_blocks(data), display_id), update=update)

    def add(self, *blocks: Block) -> None:
        """Append finished blocks."""
        self._show(_Shown(blocks, None), update=False)

    def clear(self, *, wait: bool) -> None:
        """Forget what was captured: now, or with ``wait`` when something new comes."""
        with self._lock:
            self._clear_on_next = wait
            if not wait:
                self._items.clear()

    def keep(self, blocks: Iterable[Block]) -> None:
        """Write the text of what does not come from here, but is part of the output too."""
        with self._lock:
            for block in blocks:
                if isinstance(block, TextBlock) and block.audience != "user":
                    self.whole.write(f"{block.text}\n".encode(errors="replace"))

    def close(self) -> None:
        """Take nothing more."""
        with self._lock:
            self._closed = True

    def blocks(self) -> tuple[Block, ...]:
        with self._lock:
            blocks: list[Block] = []
            for item in self._items:
                blocks += item.blocks if isinstance(item, _Shown) else _text_blocks(item)
            if self._left_out:
                blocks.append(TextBlock(f"[{self._left_out:,} more outputs left out]"))
            return tuple(blocks)

    def _show(self, shown: _Shown, *, update: bool) -> None:
        with self._lock:
            if self._closed:
                return
            self._clear_if_due()
            self.keep(shown.blocks)
            if update and shown.display_id is not None:
                for item in self._items:
                    if isinstance(item, _Shown) and item.display_id == shown.display_id:
                        item.blocks = shown.blocks
                        return
            self._add(shown)

    def _add(self, item: BoundedText | _Shown) -> bool:
        if len(self._items) >= _ITEMS:
            self._left_out += 1
            return False
        self._items.append(item)
        return True

    def _clear_if_due(self) -> None:
        if self._clear_on_next:
            self._items.clear()
            self._clear_on_next = False


def _text_blocks(written: BoundedText) -> list[Block]:
    """A block as a terminal shows it: the last line's end adds no line."""
    text = written.text().removesuffix("\n")
    return [TextBlock(text)] if text else []


def ipython_shell() -> Any | None:
    """The running IPython shell, or None. Never imports IPython."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


@contextlib.contextmanager
def capturing(capture: Capture) -> Iterator[Capture]:
    """While it lasts, ``capture`` takes the output of this context.

    In a coroutine, enter it in a task of its own: the task's context is the capture's.
    """
    route_streams()
    shell = ipython_shell()
    detours = () if shell is None else _publisher_detours(shell.display_pub, capture)
    with detoured(capture, detours):
        token = SINK.set(capture)
        try:
            yield capture
        finally:
            SINK.reset(token)


def _publisher_detours(publisher: Any, capture: Capture) -> tuple[Detour, ...]:
    """Detours and not the publisher's own hooks.

    Those are of one thread, leave out ``clear_output`` before ipykernel 6.20, and do not exist
    in IPython's terminal.
    """

    def publish(
        data: Mapping[str, Any],
        metadata: Any = None,  # noqa: ARG001
        *,
        transient: Mapping[str, Any] | None = None,
        update: bool = False,
        **_: Any,
    ) -> None:
        display_id = (transient or {}).get("display_id")
        capture.show(data, display_id=display_id, update=update)

    def clear_output(wait: bool = False) -> None:
        capture.clear(wait=wait)

    return (
        Detour(publisher, "publish", publish),
        Detour(publisher, "clear_output", clear_output),
    )


def current_capture() -> Capture | None:
    """The capture this context writes to, if any."""
    sink = SINK.get()
    return sink if isinstance(sink, Capture) else None

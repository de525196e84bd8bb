"""A shell command of a person: as the ``bash`` tool runs one, with the end of its output.

===============  ================================================================
``TAIL_LINES``   of the output are kept, the last ones; all of it is in a file then
``TAIL_BYTES``   of them at most, in UTF-8
===============  ================================================================
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from ..core.bashevents import CommandResult
from .bash import Shell, notes_on_end, shell_arguments, shell_program
from .environment import command_environment
from .outputfile import OutputFile
from .process import run_in_group
from .text import plain_text

TAIL_LINES: Final = 2_000
TAIL_BYTES: Final = 50 * 1024
_KEPT_CHARS: Final = 4 * TAIL_BYTES
"""So much is held of the output while it comes: what is not text is taken out at its end."""


def run_command(
    command: str,
    *,
    shell: Shell,
    folder: str,
    timeout_s: float,
    cancelled: threading.Event,
    on_text: Callable[[str], None],
) -> CommandResult:
    """Run ``command`` in ``folder`` and wait for its end.

    ``cancelled`` kills it and all it started. ``on_text`` gets what it prints as it comes, on a
    thread. Raises InvalidOptions when the shell
    is not installed, ToolFailure when it cannot be started.
    """
    whole, tail = OutputFile(), Tail()

    def on_output(data: bytes, text: str) -> None:
        whole.write(data)
        if text:
            tail.write(text)
            on_text(text)

    try:
        ended = run_in_group(
            shell_arguments(shell_program(shell), shell, command),
            folder=folder,
            environment=command_environment(os.environ),
            timeout_s=timeout_s,
            cancelled=cancelled,
            on_output=on_output,
        )
    except BaseException:
        whole.discard()
        raise
    output, is_cut = tail.text()
    if is_cut:
        whole.keep()
    else:
        whole.discard()
    has_code = ended.reason == "exited" and ended.code is not None and ended.code >= 0
    return CommandResult(
        output="\n".join(filter(None, (output, *notes_on_end(ended, timeout_s)))),
        exit_code=ended.code if has_code else None,
        cancelled=ended.reason == "stopped",
        truncated=is_cut,
        full_output_path=None if whole.path is None else str(whole.path),
    )


class Tail:
    """The end of a text that comes in pieces; memory is bounded."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._chars = 0
        self._is_cut = False

    def write(self, text: str) -> None:
        self._pieces.append(text)
        self._chars += len(text)
        while self._chars - len(self._pieces[0]) >= _KEPT_CHARS:
            self._chars -= len(self._pieces.popleft())
            self._is_cut = True

    def text(self) -> tuple[str, bool]:
        """Its last whole lines within the limits, cleaned, and whether something is missing."""
        lines = plain_text("".join(self._pieces)).removesuffix("\n").split("\n")
        kept = "\n".join(lines[-TAIL_LINES:])
        data = kept.encode()
        if len(data) <= TAIL_BYTES:
            return kept, self._is_cut or len(lines) > TAIL_LINES
        kept = data[-TAIL_BYTES:].decode(errors="ignore")
        _, end, rest = kept.partition("\n")
        return (rest if end else kept), True

"""Finds lines in text. Also a program: a regular expression that never ends must not hang us.

The regular expression engine holds the interpreter's lock while it matches, so neither a thread
nor a check of the time between lines could end a pattern such as ``(a+)+$``. ``search`` therefore
runs this file as a process of its own, which it can kill. It imports the standard library alone:
it starts without this package.

On standard input: a line of JSON (``pattern``, ``ignore_case``), then for each text a line with
its size in bytes and the most matches wanted, then the text in UTF-8. On standard output: a line
of JSON ``{"error": …}``, or for each text one with a list of ``[line number, text]``.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys

SHOWN_CHARS = 300
"""Characters of a line that are shown, around its first match."""

_CPU_S = 60
_MEMORY_BYTES = 1 << 30


def line_matches(text: str, pattern: re.Pattern[str], limit: int) -> list[tuple[int, str]]:
    """The first ``limit`` lines of ``text`` in which ``pattern`` is found, each with its number."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        match = pattern.search(line.removesuffix("\r"))
        if match is None:
            continue
        if len(found) >= limit:
            break
        found.append((number, shown_line(line.removesuffix("\r"), match.start())))
    return found


def shown_line(line: str, at: int) -> str:
    """``line``, or where it is long, the part of it around position ``at``."""
    if len(line) <= SHOWN_CHARS:
        return line
    start = min(max(at - SHOWN_CHARS // 3, 0), len(line) - SHOWN_CHARS)
    end = start + SHOWN_CHARS
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def compiled(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    """Raises ValueError, which says what is wrong, for what is no regular expression."""
    try:
        return re.compile(pattern, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        raise ValueError(str(error) or type(error).__name__) from None


def _limit_resources() -> None:
    """So that nothing is left behind when whoever started this is killed."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


def _main() -> None:
    _limit_resources()
    source, sink = sys.stdin.buffer, sys.stdout.buffer

    def answer(value: object) -> None:
        sink.write(json.dumps(value).encode() + b"\n")
        sink.flush()

    order = json.loads(source.readline())
    try:
        pattern = compiled(order["pattern"], ignore_case=order["ignore_case"])
    except ValueError as error:
        answer({"error": str(error)})
        return
    answer({})
    while header := source.readline():
        size_bytes, limit = map(int, header.split())
        answer(line_matches(source.read(size_bytes).decode(), pattern, limit))


if __name__ == "__main__":
    _main()

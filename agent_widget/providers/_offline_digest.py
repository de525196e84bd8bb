"""The summary that the offline model makes: what was said, counted and cut. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Final

from ..policy.compaction import read_request

LEAD: Final = (
    "*A digest by the offline demo model, which is not a language model: requests and calls as "
    "they were made, cut short, with nothing understood.*"
)
MAX_REQUESTS: Final = 12
MAX_CHARS: Final = 200
MAX_EARLIER_CHARS: Final = 4_000


def digest_of(request: str) -> str:
    """A Markdown digest of the conversation that ``request`` quotes."""
    earlier, lines = read_request(request)
    said = [str(line["user"]) for line in lines if "user" in line]
    answers = [str(line["assistant"]) for line in lines if "assistant" in line]
    calls = Counter((str(line["call"]), str(line["state"])) for line in lines if "call" in line)
    pieces = [LEAD]
    if earlier:
        kept = earlier.removeprefix(LEAD).strip()
        pieces.append(f"## Earlier digest\n{_cut(kept, MAX_EARLIER_CHARS)}")
    pieces.append(_list("Requests", [_cut(text) for text in said[-MAX_REQUESTS:]]))
    ended = [f"`{name}` {state}: {count}" for (name, state), count in calls.items()]
    pieces.append(_list("Calls", ended))
    if answers:
        pieces.append(f"## Last answer\n{_cut(answers[-1])}")
    return "\n\n".join(piece for piece in pieces if piece)


def _list(heading: str, items: list[str]) -> str:
    return "\n".join((f"## {heading}", *(f"- {item}" for item in items))) if items else ""


def _cut(text: str, max_chars: int = MAX_CHARS) -> str:
    line = " ".join(text.split()) if max_chars == MAX_CHARS else text
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"

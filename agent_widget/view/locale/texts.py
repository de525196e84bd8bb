"""English texts of the kernel in another language: recognised by the sentences they are made of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final

_PLACE: Final = re.compile(r"\{(\w+)\}")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?]) ")
MAX_CHARS: Final = 4_000
"""A longer text is not looked at."""
MOST_SENTENCES: Final = 4
"""No line has more of them."""


class Translator:
    """Says the texts that are like the ``source`` lines as the ``target`` lines of the same key."""

    def __init__(self, source: Mapping[str, str], target: Mapping[str, str]) -> None:
        # What has more words of its own is tried first: "{used} of {limit}" fits much.
        order = sorted(source, key=lambda key: len(_PLACE.sub("", source[key])), reverse=True)
        self._forms = [(_Form(source[key]), target[key]) for key in order]
        self._known: dict[str, str] = {}

    def translated(self, text: str) -> str:
        """``text`` with what is known of it in the other language, sentence by sentence."""
        if len(text) > MAX_CHARS:
            return text
        if text not in self._known:
            if len(self._known) > 200:
                self._known.clear()
            self._known[text] = self._made(text)
        return self._known[text]

    def _made(self, text: str) -> str:
        whole = self._matched(text)
        if whole is not None:
            return whole
        for end in islice(_SENTENCE_END.finditer(text), MOST_SENTENCES):
            head = self._matched(text[: end.start()])
            if head is not None:
                return f"{head} {self._made(text[end.end() :])}"
        first = _SENTENCE_END.search(text)
        if first is None:
            return text
        return f"{text[: first.start()]} {self._made(text[first.end() :])}"

    def _matched(self, text: str) -> str | None:
        for form, target in self._forms:
            if found := form.match(text):
                parts = found.groupdict()
                if "said" in parts:  # it may be a text of the kernel itself
                    parts["said"] = self._made(parts["said"])
                return _PLACE.sub(lambda place: parts[place[1]], target)  # noqa: B023
        return None


class _Form:
    """What texts that are like ``source`` look like."""

    def __init__(self, source: str) -> None:
        self._words = [piece for piece in _PLACE.split(source)[::2] if piece]
        self._pattern = _pattern(source)

    def match(self, text: str) -> re.Match[str] | None:
        if not all(words in text for words in self._words):  # far cheaper than the pattern
            return None
        return self._pattern.fullmatch(text)


def _pattern(source: str) -> re.Pattern[str]:
    pieces = _PLACE.split(source)
    for at in range(0, len(pieces), 2):
        pieces[at] = re.escape(pieces[at])
    for at in range(1, len(pieces), 2):
        anything = r".+?" if pieces[at] == "said" else r"(?:(?!\.\s).)+?"
        pieces[at] = f"(?P<{pieces[at]}>{anything})"
    return re.compile("".join(pieces), re.DOTALL)

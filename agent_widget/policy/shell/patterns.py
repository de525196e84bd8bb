"""Patterns of shell commands: ``git status``, ``git *``, or the exact text of a whole line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from ...core.errors import InvalidOptions
from ..patterns import Pattern, could_match, glob_pattern
from .model import GLOB, UNKNOWN, Command, Word
from .powershell import canonical_name
from .wrappers import program_name

Match = Literal["sure", "possible"]

_WILD: Final = frozenset({UNKNOWN, GLOB})
_OPERATORS: Final = frozenset(";&|<>()$`\n#")
_LONG_FLAGS: Final = {"--recursive": "r", "--force": "f", "--all": "a", "--dir": "d"}


class ShellPattern(Struct, frozen=True):
    """``words`` None marks a star that stands alone: any number of words.

    ``literal`` are the words of a pattern without any wildcard, else None. ``whole`` is the text
    of a line with operators, which matches as it stands. ``general`` names no program.
    """

    text: str
    words: tuple[Pattern | None, ...]
    literal: tuple[str, ...] | None
    whole: bool
    folded: tuple[Pattern | None, ...]
    joined: Pattern
    source: Pattern

    @property
    def general(self) -> bool:
        return bool(self.words) and (self.words[0] is None or not self.words[0].parts[0])

    def allows(self, command: Command) -> bool:
        """True when the words of ``command`` fit, letter for letter."""
        if self.whole:
            return False
        words = command.words
        named = (Word(program_name(command)), *words[1:])
        return _fits(self.words, words) or _fits(self.words, named)

    def allows_text(self, source: str) -> bool:
        """True when this is the exact text of ``source``."""
        return self.text.strip() == source.strip() if self.whole else False

    def restricts(self, command: Command) -> Match | None:
        """Whether this names ``command``: letter case, folders and the order of flags are no way
        out; ``possible`` when that depends on what only the run knows.
        """
        name = re.split(r"[/\\]", program_name(command))[-1]
        words = (
            Word(name.casefold()),
            *(Word(w.text.casefold(), w.many) for w in command.words[1:]),
        )
        prefix = tuple(Word(f"{a.name}={a.value.text}".casefold()) for a in command.assignments)
        as_written = (Word(command.name.casefold()), *words[1:])
        found: Match | None = None
        for form in dict.fromkeys((words, as_written, (*prefix, *words))):
            text = " ".join(word.text for word in form)
            if _fits(self.folded, form) or self._has_flags(form):
                return "sure"
            if all(word.known for word in form):
                if self.joined.matches(text):
                    return "sure"
            elif could_match(self.joined, text, _WILD):
                found = "possible"
        return found

    def restricts_text(self, source: str) -> bool:
        """True when a pattern with operators fits the line as it was written."""
        squeezed = " ".join(source.split()).casefold()
        return self.whole and self.source.matches(squeezed)

    def _has_flags(self, words: Sequence[Word]) -> bool:
        """True when the flags of this pattern are among those of ``words``, however spelt."""
        if any(word is None for word in self.folded[:-1]) or not self.folded:
            return False
        texts = ["*" if word is None else "*".join(word.parts) for word in self.folded]
        flags, operands = _sorted_out(texts)
        if not flags:
            return False
        given, names = _sorted_out([word.text for word in words])
        return flags <= given and glob_pattern(" ".join(operands)).matches(" ".join(names))


def shell_pattern(text: str) -> ShellPattern:
    """The pattern ``text``: words as in a shell, ``*`` outside quotes is a wildcard.

    ``rm:*`` means ``rm *``. Raises InvalidOptions when a quote does not close.
    """
    written = text
    text = re.sub(r":\*$", " *", text)
    words: list[Pattern | None] = []
    whole = False
    for token, operator in _tokens(text):
        whole = whole or operator
        words.append(None if token.parts == ("", "") else token)
    if not words:
        raise InvalidOptions(
            f"{written!r} names no command.", advice="Write bash(git status) or bash(git *)."
        )
    return _built(written, " ".join(text.split()).casefold(), tuple(words), whole=whole)


def _built(
    text: str, squeezed: str, words: tuple[Pattern | None, ...], *, whole: bool
) -> ShellPattern:
    folded = tuple(None if word is None else _at_home(word.folded()) for word in words)
    joined: list[str] = [""]
    for number, word in enumerate(folded):
        parts = ("", "") if word is None else word.parts
        joined[-1] += " " * bool(number) + parts[0]
        joined.extend(parts[1:])
    plain = tuple(w.literal for w in words if w is not None and w.literal is not None)
    literal = plain if len(plain) == len(words) and not whole else None
    source = Pattern(tuple(squeezed.split("*")))
    return ShellPattern(text, words, literal, whole, folded, Pattern(tuple(joined)), source)


@lru_cache(maxsize=512)
def in_powershell(pattern: ShellPattern) -> ShellPattern:
    """The pattern with its program under the one name that PowerShell commands are given."""
    first = pattern.words[0]
    if first is None or first.literal is None:
        return pattern
    words = (Pattern((canonical_name(first.literal),)), *pattern.words[1:])
    return _built(pattern.text, "*".join(pattern.source.parts), words, whole=pattern.whole)


def _tokens(text: str) -> list[tuple[Pattern, bool]]:
    """The words of a pattern, and whether each holds an operator of the shell."""
    tokens: list[tuple[list[str], bool]] = []
    quote, within, at = "", False, 0
    while at < len(text):
        char = text[at]
        at += 1
        if not quote and char in " \t\n" and not (char == "\n" and within):
            if char == "\n":
                tokens.append(([""], True))
            within = False
            continue
        if not within:
            tokens.append(([""], False))
            within = True
        parts, operator = tokens[-1]
        if char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote = char
        elif char == "\\" and quote != "'" and at < len(text):
            parts[-1] += text[at]
            at += 1
        elif char == "*" and not quote:
            parts.append("")
        else:
            parts[-1] += char
            special = char in _OPERATORS and (not quote or (quote == '"' and char in "$`"))
            tokens[-1] = (parts, operator or special)
    if quote:
        raise InvalidOptions(f"{text!r} has a quote that does not close.")
    return [(Pattern(tuple(parts)), operator) for parts, operator in tokens]


def _at_home(word: Pattern) -> Pattern:
    """``$HOME`` is written ``~``, as it is in the words of a command."""
    first = re.sub(r"^\$(?:home\b|\{home\})", "~", word.parts[0])
    return Pattern((first, *word.parts[1:]))


def _fits(pattern: Sequence[Pattern | None], words: Sequence[Word]) -> bool:
    """True when the words fit in every run: a word that is not known fits only a lone star."""
    first = pattern[0] if pattern else None
    if first is not None and not (words and first.matches(words[0].text)):
        return False
    row = [True] + [False] * len(words)
    for part in pattern:
        if part is None:
            reached = False
            following = []
            for before in row:
                reached = reached or before
                following.append(reached)
        else:
            following = [False]
            for at, word in enumerate(words):
                following.append(row[at] and word.known and part.matches(word.text))
        row = following
    return row[-1]


def _sorted_out(words: Sequence[str]) -> tuple[frozenset[str], list[str]]:
    """The flags of a command, one by one, and its other words; ``--`` is neither."""
    flags: set[str] = set()
    others: list[str] = []
    for word in words:
        if word == "--":
            continue
        if word in _LONG_FLAGS:
            flags.add(_LONG_FLAGS[word])
        elif re.fullmatch(r"-[a-z]+", word):
            flags.update(word[1:])
        elif re.fullmatch(r"--[a-z][a-z-]*", word):
            flags.add(word)
        else:
            others.append(word)
    return frozenset(flags), others

"""A shell line as data: words, commands, redirections, and what could not be understood."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

Dialect = Literal["posix", "powershell"]

UNKNOWN: Final = "\x00"
"""Stands in a word's text for a stretch that only the run will know (a variable, an output)."""

GLOB: Final = "\x01"
"""Stands in a word's text for a file name wildcard: like UNKNOWN, but never ``..``."""


def names(text: str) -> frozenset[str]:
    """The words of ``text``, as a set."""
    return frozenset(text.split())


class Word(Struct, frozen=True):
    """One word after quotes are gone; ``many`` when it may become no word or several."""

    text: str
    many: bool = False

    @property
    def known(self) -> bool:
        """True when the word is exactly ``text`` in every run."""
        return not self.many and UNKNOWN not in self.text and GLOB not in self.text


ANY_WORDS: Final = Word(UNKNOWN, many=True)


class Assignment(Struct, frozen=True):
    """``NAME=value``; ``exported`` when programs that start later can see it."""

    name: str
    value: Word
    exported: bool = True


class Redirect(Struct, frozen=True):
    """A file that the shell itself opens."""

    access: Literal["read", "write"]
    target: Word


class Command(Struct, frozen=True):
    """One simple command.

    ``transparent`` marks a wrapper that needs no rule of its own, because what it runs is listed
    as a command too. ``stdin`` is the text it reads, where the line itself says so. ``unseen`` says
    why a rule for every command does not cover this one: it may run what no rule can see.
    """

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    stdin: Word | None = None
    transparent: bool = False
    unseen: str | None = None

    @property
    def name(self) -> str:
        """The program as it was written; empty for a bare assignment."""
        return self.words[0].text if self.words else ""

    @property
    def known(self) -> bool:
        return all(word.known for word in self.words)

    @property
    def text(self) -> str:
        """The words joined by blanks, unknown stretches still marked."""
        return " ".join(word.text for word in self.words)


class Script(Struct, frozen=True):
    """All that a line would do, whatever the order; ``doubts`` are reasons to ask."""

    commands: tuple[Command, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    doubts: tuple[str, ...] = ()
    variables: frozenset[str] = frozenset()

    def joined(self, *others: Script) -> Script:
        """This script and ``others`` as one."""
        scripts = (self, *others)
        return Script(
            tuple(command for script in scripts for command in script.commands),
            tuple(redirect for script in scripts for redirect in script.redirects),
            tuple(dict.fromkeys(doubt for script in scripts for doubt in script.doubts)),
            frozenset(name for script in scripts for name in script.variables),
        )


def doubtful(*reasons: str) -> Script:
    """A script of which nothing is known but why."""
    return Script(doubts=reasons)


def readable(text: str) -> str:
    """``text`` with unknown stretches as a person reads them."""
    return text.replace(UNKNOWN, "…").replace(GLOB, "*")

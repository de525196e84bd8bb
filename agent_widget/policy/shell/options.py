"""Options of a command line, read with care: what is not certain is not guessed."""

from __future__ import annotations

from collections.abc import Sequence

from .model import Word
from .syntax import NotUnderstood


def has_option(words: Sequence[Word], options: Sequence[str]) -> bool:
    """True when a word is one of ``options``, holds it in a cluster, or shortens it (``--outp=f``).

    A word that is not known might be any option.
    """
    return any(_could_be(word.text, option) for word in words for option in options)


def _could_be(text: str, option: str) -> bool:
    if text[:1] in {"\x00", "\x01"}:
        return True
    head = text.partition("=")[0]
    if option.startswith("--"):
        return head == option or (len(head) > 2 and option.startswith(head) and head[:2] == "--")
    if len(option) == 2 and not text.startswith("--"):
        return text.startswith("-") and option[1] in text
    return option in {text, head}


def rest_after_options(
    words: Sequence[Word],
    *,
    flags: str = "",
    valued: str = "",
    longs: str = "",
) -> tuple[Word, ...]:
    """The words after a wrapper's options.

    ``flags`` are letters without a value, ``valued`` letters with one, ``longs`` long options
    divided by blanks, a final ``=`` meaning a value. Raises NotUnderstood for any other option.
    """
    long_names = set(longs.split())
    at = 0
    while at < len(words) and words[at].text.startswith("-") and words[at].text != "-":
        text = _certain(words[at])
        at += 1
        if text == "--":
            break
        if text.startswith("--"):
            name, equals, _ = text.partition("=")
            if f"{name}=" in long_names:
                at += 0 if equals else 1
            elif name not in long_names or equals:
                raise NotUnderstood(f"the option {text} of a wrapper is not understood")
        else:
            at += _values_of_cluster(text, flags, valued)
    return tuple(words[at:])


def _values_of_cluster(text: str, flags: str, valued: str) -> int:
    """How many further words the options of ``-abc`` take."""
    for place, letter in enumerate(text[1:], start=1):
        if letter in valued:
            return 0 if text[place + 1 :] else 1
        if letter not in flags:
            raise NotUnderstood(f"the option {text} of a wrapper is not understood")
    return 0


def _certain(word: Word) -> str:
    if not word.known:
        raise NotUnderstood("an argument of a wrapper is only known in the run")
    return word.text

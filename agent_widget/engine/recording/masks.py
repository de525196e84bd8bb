"""What may not be in a recording: keys, wherever they stand."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

MASK: Final = "***"
_SHORTEST_CHARS: Final = 8
"""Shorter values are words that stand in texts for other reasons."""
_SECRET_NAME: Final = re.compile(
    r"(?:^|[_-])(?:api_?key|key|token|secret|password|passwd|credentials?)$", re.IGNORECASE
)
_PATTERNS: Final = (
    re.compile(r"(?<=[Bb]earer )[\w\-.~+/=]{8,}"),
    re.compile(r"\bsk-[A-Za-z0-9_\-]{16,}"),
    re.compile(r"\b(?:ghp|gho|ghs|github_pat|xox[abp]|AKIA|AIza)[A-Za-z0-9_\-]{12,}"),
    re.compile(
        r"(?i)(\b(?:authorization|x-api-key|api-key)\"?\s*:\s*\"?(?:(?:basic|bearer|token)\s+)?)"
        r"(?!\*\*\*|basic\b|bearer\b|token\b)[^\s\"',}]{8,}"
    ),
    re.compile(r"(?i)(\b(?:set-)?cookie\"?\s*:\s*\"?[\w\-]+=)[^\s\"',;}]+"),
    re.compile(r"(?i)([?&][\w\-]*(?:key|token|secret|password|sig|signature)=)[^&#\s\"']+"),
    re.compile(r"(?<=://)[^/\s:@]+:[^/\s:@]+(?=@)"),
)


class Masks:
    """Takes known keys, and what looks like one, out of JSON data.

    Known are those that are added, and the values of variables of the environment whose name says
    key, token, secret or password. A value that equals one, or holds one, loses it.
    """

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        self._known: set[str] = set()
        self._sources: list[Callable[[], Iterable[str]]] = []
        self.add(value for name, value in environ.items() if _SECRET_NAME.search(name))

    def add(self, secrets: Iterable[str]) -> None:
        self._known |= {s for s in secrets if len(s) >= _SHORTEST_CHARS}

    def add_source(self, secrets: Callable[[], Iterable[str]]) -> None:
        """Take what ``secrets()`` says at each look: keys may be fetched anew."""
        self._sources.append(secrets)

    def masked(self, value: Any) -> Any:
        """``value`` without keys; what holds none is returned as it is."""
        for source in self._sources:
            self.add(source())
        return self._masked(value)

    def _masked(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return {self._masked(key): self._masked(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._masked(each) for each in value]
        return value

    def _text(self, text: str) -> str:
        for secret in sorted(self._known, key=len, reverse=True):
            if secret in text:
                text = text.replace(secret, MASK)
        for pattern in _PATTERNS:
            text = pattern.sub(_kept_prefix, text)
        return text


def _kept_prefix(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}" if match.re.groups else MASK

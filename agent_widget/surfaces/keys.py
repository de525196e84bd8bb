"""The key that code gives for a model's server, and the texts it must not get into."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

_REMEMBERED: Final = 16
"""So many values of a key function are known: rotated keys are short-lived."""


class KnownKey:
    """The ``api_key`` of one chat: text, a function that is called at each request, or None.

    ``key`` is what the model gets; ``hidden`` takes every value out of a text that was given
    through it. For any thread.
    """

    def __init__(self, api_key: str | Callable[[], str] | None) -> None:
        self.key = self._remembering(api_key) if callable(api_key) else api_key
        self._values: deque[str] = deque(maxlen=_REMEMBERED)
        if isinstance(api_key, str):
            self._remember(api_key)

    @property
    def values(self) -> tuple[str, ...]:
        """The keys that are known so far."""
        return tuple(self._values)

    def hidden(self, text: str) -> str:
        for value in self.values:
            text = text.replace(value, "***")
        return text

    def _remembering(self, read: Callable[[], str]) -> Callable[[], str]:
        def key() -> str:
            value = read()
            self._remember(value)
            return value

        return key

    def _remember(self, value: object) -> None:
        if isinstance(value, str) and (value := value.strip()) and value not in self._values:
            self._values.append(value)

"""Where keys come from besides an argument and the environment: a keyring, or a person who types.

A key goes to the server it is meant for and nowhere else. No object here shows one: not in its
``repr``, not in an error, not in a pickle.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from typing import Final, NoReturn

from ..core.errors import InvalidOptions
from ._defaults import KEY_VARIABLE

SERVICE: Final = "agent_widget"


class Secret:
    """A text that is not shown; ``reveal()`` is the one way to it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret cannot be copied or stored.")


class TypedKeys:
    """Keys that a person typed, by provider; in the memory of this process only."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, Secret] = {}

    def put(self, provider: str, key: Secret) -> None:
        """Keep ``key`` for the models of ``provider``, in the place of one before."""
        with self._lock:
            self._keys[provider] = key

    def getter(self, provider: str) -> Callable[[], str] | None:
        """What reads the key at each request; None while there is none."""
        with self._lock:
            if provider not in self._keys:
                return None

        def read() -> str:
            return self._keys[provider].reveal()

        return read

    def hidden(self, text: str) -> str:
        """``text`` without any of the keys."""
        with self._lock:
            keys = [key.reveal() for key in self._keys.values()]
        for key in keys:
            text = text.replace(key, "***")
        return text

    def __repr__(self) -> str:
        return "TypedKeys(***)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Keys cannot be copied or stored.")


def keyring_key(user: str = KEY_VARIABLE, *, service: str = SERVICE) -> Callable[[], str]:
    """What reads the key from the system's keyring at each request: pass it as ``api_key=``.

    Store it once with ``keyring set SERVICE USER``. Raises InvalidOptions where the package
    ``keyring`` is not installed.
    """
    if importlib.util.find_spec("keyring") is None:
        raise InvalidOptions(
            "The package keyring is not installed.",
            advice="Install it: pip install 'agent_widget[keyring]'.",
        )

    def read() -> str:
        import keyring  # slow to import, and some of its backends ask the person

        key: str | None = keyring.get_password(service, user)
        if not key:
            raise LookupError(f"The keyring has no {user} of {service}.")
        return key

    return read

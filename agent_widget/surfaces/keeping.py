"""Where chats are kept, which one a new widget goes on with, and which are open here."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from typing import Final, Protocol

from msgspec import Struct

from ..core.errors import InvalidOptions, SessionError
from ..store.base import SessionStore
from ..store.urls import FORMS, open_store

Where = str | os.PathLike[str] | SessionStore | None

VARIABLE: Final = "AGENT_WIDGET_STORE"
"""Environment variable with the place of chats for which no ``store`` is given."""
LAST: Final = "last"


class Kept(Struct, frozen=True):
    """Where a chat is kept, and which stored session it is.

    ``resume`` must be there (``"last"``: the last one written, or a new one); ``session_id`` may
    be, and is made when it is not. ``is_own`` says that nobody else uses the store object.
    """

    store: SessionStore
    resume: str | None = None
    session_id: str | None = None
    is_own: bool = True


def kept_at(where: Where, resume: str | None, session_id: str | None) -> Kept:
    """What these options of a widget say. Raises InvalidOptions for what cannot work."""
    if resume is not None and session_id is not None:
        raise InvalidOptions("resume and session_id are both given.", advice="Give one of them.")
    ids: tuple[tuple[str, object], ...] = (("resume", resume), ("session_id", session_id))
    for name, value in ids:
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise InvalidOptions(f"{name}={value!r} is no id of a session.")
    store, is_own = where, False
    if isinstance(where, str | os.PathLike | None):
        store, is_own = open_store(_named_place() if where is None else where), True
    assert not isinstance(store, str | os.PathLike)
    if store is None or not hasattr(store, "acquire"):
        raise InvalidOptions(f"store={where!r} is no place for sessions.", advice=FORMS)
    if resume is not None and is_own and not store.is_durable:
        raise InvalidOptions(
            f"resume={resume!r} needs a store that outlives the kernel.",
            advice=f"Pass store='chats.db', or set {VARIABLE}.",
        )
    return Kept(store, resume, session_id, is_own=is_own)


def _named_place() -> str | None:
    named = os.environ.get(VARIABLE, "")
    return named if named.strip() else None


async def taken_up(kept: Kept) -> str | None:
    """The id of the session to open; None: a new one. Raises ``session_not_found``."""
    if kept.resume is None:
        return kept.session_id
    rows = await kept.store.list()
    if kept.resume == LAST:
        return rows[0].session_id if rows else None
    if all(row.session_id != kept.resume for row in rows):
        known = ", ".join(row.session_id for row in rows[:5]) or "none"
        message = f"There is no session {kept.resume!r} in {kept.store.label}. The last: {known}."
        raise SessionError("session_not_found", message)
    return kept.resume


class OpenDriver(Protocol):
    """What holds a session in this process."""

    @property
    def session_id(self) -> str: ...
    def close(self) -> None: ...


class OpenDrivers:
    """The drivers of this process that hold a stored session; none is kept alive by it."""

    def __init__(self) -> None:
        self._labels: weakref.WeakKeyDictionary[OpenDriver, str] = weakref.WeakKeyDictionary()

    def add(self, kept: Kept, driver: OpenDriver) -> None:
        if kept.store.is_durable:
            self._labels[driver] = kept.store.label

    def discard(self, driver: OpenDriver) -> None:
        self._labels.pop(driver, None)

    def holding(self, kept: Kept, session_id: str | None) -> Iterator[OpenDriver]:
        """The drivers that hold that session of that store."""
        for driver, label in [*self._labels.items()]:
            if label == kept.store.label and driver.session_id == session_id:
                yield driver


open_drivers: Final = OpenDrivers()

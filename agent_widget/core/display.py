"""Events of how a session is shown."""

from __future__ import annotations

from .envelope import Event


class LocaleChanged(Event, frozen=True, kw_only=True):
    """The language in which the chat is shown: ``en``, ``de``, ...

    Events and exceptions stay English. Not stored: a session that goes on asks its page again.
    """

    type = "session.locale.changed"
    locale: str

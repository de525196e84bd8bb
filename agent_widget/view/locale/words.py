"""The words of one language, from its table."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final

from msgspec import Struct

from ...core.errors import InvalidOptions
from .plural import FORMS, form_of
from .texts import Translator

ENGLISH: Final = "en"
LOCALES: Final = tuple(FORMS)
_PLACE: Final = re.compile(r"\{(\w+)\}")

Entry = str | Mapping[str, str]


class Said(Struct, frozen=True):
    """A string of the ``narrator`` table and what is put into it."""

    key: str
    params: Mapping[str, Any]

    def about(self, name: str | Said) -> Said:
        """This, said of ``name``."""
        return Said(self.key, {**self.params, "name": name})


def said(key: str, **params: str | float | Said) -> Said:
    """The string ``key`` of the ``narrator`` table, with ``params``."""
    return Said(key, params)


class Words:
    """The words of one language; ``words_of`` makes it."""

    def __init__(self, locale: str, table: Mapping[str, Any]) -> None:
        self.locale = locale
        self.direction: str = table["direction"]
        self._table = table

    def text(self, section: str, key: str, **params: object) -> str:
        """The string ``key`` of a section with ``params`` in it; ``count`` chooses its form.

        A ``reason`` is a text of the kernel.
        """
        entry: Entry = self._table[section][key]
        if not isinstance(entry, str):
            count = params["count"]
            form = form_of(self.locale, count if isinstance(count, int) else 0)
            entry = entry.get(form) or entry["other"]
        reason = params.get("reason")
        if isinstance(reason, str):
            params["reason"] = self.translated(reason)
        return _PLACE.sub(lambda found: self._written(params[found[1]]), entry)

    def sentence(self, said: Said | str) -> str:
        """What ``said`` says; a text as it is."""
        return said if isinstance(said, str) else self.text("narrator", said.key, **said.params)

    def translated(self, text: str) -> str:
        """``text`` of the kernel, whose known sentences are English ones of the ``kernel`` table.

        What is not known stays as it is.
        """
        return text if self._translator is None else self._translator.translated(text)

    def for_page(self) -> dict[str, Any]:
        """What the page needs: ``locale``, ``direction`` and its ``words`` by key."""
        words = self._table["page"]
        return {"locale": self.locale, "direction": self.direction, "words": words}

    @cached_property
    def _translator(self) -> Translator | None:
        if self.locale == ENGLISH:
            return None
        return Translator(_table_of(ENGLISH)["kernel"], self._table["kernel"])

    def _written(self, value: object) -> str:
        if isinstance(value, Said):
            return self.sentence(value)
        if isinstance(value, int):
            return f"{value:,}".replace(",", self._table["group"])
        if isinstance(value, float):
            return f"{value:.1f}".replace(".", self._table["decimal"])
        return str(value)


def match_of(tag: str) -> str | None:
    """The language of a tag such as ``de-AT`` or ``zh_CN.UTF-8``; None when it is not there."""
    language = re.split(r"[-_.@]", tag.strip().lower(), maxsplit=1)[0]
    return language if language in FORMS else None


def locale_of(tag: object) -> str:
    """The language that ``tag`` asks for. Raises InvalidOptions when there is none for it."""
    found = match_of(tag) if isinstance(tag, str) else None
    if found is None:
        message = f"locale={tag!r} is no language of this chat."
        raise InvalidOptions(message, advice=f"Take one of {', '.join(LOCALES)}.")
    return found


@cache
def words_of(locale: str) -> Words:
    """The words of one of ``LOCALES``; its table is read when it is first asked for."""
    return Words(locale, _table_of(locale))


def _table_of(locale: str) -> Mapping[str, Any]:
    file = files(__package__ or "") / f"{locale}.json"
    table: Mapping[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return table

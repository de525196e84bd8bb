"""Plural forms of whole numbers, by the rules of CLDR.

French and Spanish have a form for whole millions, too, which is ``other`` where there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "en": ("one", "other"),
    "de": ("one", "other"),
    "fr": ("one", "other"),
    "es": ("one", "other"),
    "ja": ("other",),
    "zh": ("other",),
    "ar": ("zero", "one", "two", "few", "many", "other"),
}
"""The languages that there are, each with the forms of its strings that count."""


def form_of(locale: str, count: int) -> str:
    """The form in which ``locale`` counts ``count`` things."""
    if locale == "ar":
        return _arabic(count)
    if "one" not in FORMS[locale]:
        return "other"
    singular = (0, 1) if locale == "fr" else (1,)
    return "one" if count in singular else "other"


def _arabic(count: int) -> str:
    exact = {0: "zero", 1: "one", 2: "two"}
    if count in exact:
        return exact[count]
    rest = count % 100
    return "few" if 3 <= rest <= 10 else "many" if rest >= 11 else "other"

"""What a person reads is in every language, all of it, and nowhere else."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.events import Event, RetryScheduled, StorageChanged, ToolCompleted
from agent_widget.view.locale.plural import FORMS, form_of
from agent_widget.view.locale.shown import Shown
from agent_widget.view.locale.texts import Translator
from agent_widget.view.locale.words import LOCALES, locale_of, words_of
from agent_widget.view.model import ModelView, RetryView, SessionView
from agent_widget.view.narrate import Narrator
from tests.policy.attacks import touching, writing
from tests.policy.support import ruling
from tests.support.spokentexts import PACKAGE, spoken_texts, written

FRONT_END: Final = PACKAGE.parent / "js/src"
TABLES: Final[Mapping[str, Mapping[str, Any]]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in (PACKAGE / "view/locale").glob("*.json")
}
ENGLISH: Final = TABLES["en"]
SECTIONS: Final = ("page", "export", "narrator", "kernel")
PLACE: Final = re.compile(r"\{(\w+)\}")
EVERY = pytest.mark.parametrize("locale", LOCALES)
OTHER = pytest.mark.parametrize("locale", [each for each in LOCALES if each != "en"])


def of_the_chat() -> list[Path]:
    """The sources of the chat's front end; the explorer is for developers, and speaks English."""
    return [
        path
        for path in sorted(FRONT_END.rglob("*.ts*"))
        if not path.name.endswith(".gen.ts") and "explorer" not in path.parts
    ]


def strings(table: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for section in SECTIONS:
        for key, entry in table[section].items():
            yield section, key, entry


def forms(entry: str | Mapping[str, str]) -> Mapping[str, str]:
    return {"": entry} if isinstance(entry, str) else entry


def front_end() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in of_the_chat())


# --- the tables -------------------------------------------------------------------------------


def test_there_is_a_table_for_each_language_and_no_other() -> None:
    assert sorted(TABLES) == sorted(LOCALES)


@EVERY
def test_a_table_has_the_keys_of_english_in_its_order(locale: str) -> None:
    table = TABLES[locale]
    assert list(table) == list(ENGLISH)
    for section in SECTIONS:
        assert list(table[section]) == list(ENGLISH[section])


@EVERY
def test_a_string_has_the_places_of_english_and_the_forms_of_its_language(locale: str) -> None:
    wrong: list[tuple[object, ...]] = []
    for section, key, entry in strings(TABLES[locale]):
        source = ENGLISH[section][key]
        if isinstance(entry, str) != isinstance(source, str):
            wrong.append((key, "counts in one language only"))
            continue
        if not isinstance(entry, str) and tuple(entry) != FORMS[locale]:
            wrong.append((key, tuple(entry)))
        places = {place for text in forms(source).values() for place in PLACE.findall(text)}
        for form, text in forms(entry).items():
            # "one line", "no line": the number may be in the word.
            optional = {"count"} if form in ("zero", "one", "two") else set()
            if not places - optional <= set(PLACE.findall(text)) <= places:
                wrong.append((key, form, text))
            if not text.strip() or "  " in text or re.search(r"\{\W|\{\w*[^\w}]", text):
                wrong.append((key, form, text))
    assert wrong == []


@OTHER
def test_a_string_is_translated(locale: str) -> None:
    same = {
        key
        for section, key, entry in strings(TABLES[locale])
        if entry == ENGLISH[section][key]
        and isinstance(entry, str)
        and len(PLACE.sub("", entry).split()) > 3
    }
    assert same == set()


def test_plural_forms_are_those_of_the_languages() -> None:
    counts = (0, 1, 2, 3, 10, 11, 99, 100, 102, 103, 111, 1000)
    arabic = [
        "zero",
        "one",
        "two",
        "few",
        "few",
        "many",
        "many",
        "other",
        "other",
        "few",
        "many",
        "other",
    ]
    assert [form_of("ar", count) for count in counts] == arabic
    assert [form_of("fr", count) for count in (0, 1, 2)] == ["one", "one", "other"]
    assert [form_of("de", count) for count in (0, 1, 2)] == ["other", "one", "other"]
    assert {form_of("ja", count) for count in counts} == {"other"}
    for locale in LOCALES:
        assert {form_of(locale, count) for count in range(120)} == {*FORMS[locale]}


# --- what uses them ---------------------------------------------------------------------------


def is_used(key: str, literals: set[str], families: set[str]) -> bool:
    return key in literals or any(re.fullmatch(family, key) for family in families)


def test_the_page_uses_each_string_and_no_other() -> None:
    source = front_end()
    literals = {*re.findall(r'"([\w.-]+)"', source)}
    made = re.findall(r"\bt(?:\.known)?\(\s*`([^`]+)`", source)
    families = {re.sub(r"\\\$\\\{.*?\\\}", r"[\\w.-]+", re.escape(each)) for each in made}
    page = ENGLISH["page"]
    assert [key for key in page if not is_used(key, literals, families)] == []
    named = {*re.findall(r'\bt(?:\.rich)?\(\s*"([^"]+)"', source)}
    assert named - page.keys() == set()
    assert [each for each in families if not any(re.fullmatch(each, key) for key in page)] == []


def test_python_uses_each_string_of_its_sections() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    literals = {*re.findall(r'"([\w.-]+)"', text)}
    for section, families in (("narrator", set()), ("export", {r"call\.[\w-]+"})):
        keys = ENGLISH[section]
        assert [key for key in keys if not is_used(key, literals, families)] == []
    sentences = (PACKAGE / "view/sentences.py").read_text(encoding="utf-8")
    assert {*re.findall(r'\bsaid\(\s*"([^"]+)"', sentences)} - ENGLISH["narrator"].keys() == set()


def test_no_component_holds_words_of_its_own() -> None:
    found = []
    for path in of_the_chat():
        if path.name == "grammars.ts":
            continue
        text = re.sub(
            r"/\*.*?\*/|(?<!:)//[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        found += [
            f"{path.name}: {words}"
            for pattern in (
                r'\b(?:aria-label|title|placeholder|alt|label|action|note)="([^"]+)"',
                r'"((?:[A-Z][a-z]+|[a-z]+) [a-z]+ [^"]*)"',
                r'"([A-Z][a-z]+(?: [a-z]+)*[.…?:])"',
                r">\s*\{?(?:visible\(\w+\)\})?([A-Z]?[a-z]+(?:,? [a-z]+)+[.:…]?)\s*(?:<|\{)",
            )
            for words in re.findall(pattern, text)
            if not re.search(r"[{}()=;]|^[a-z-]+(?: [a-z-]+)*-|return |const ", words)
        ]
    assert [each for each in found if not each.startswith(ALLOWED_WORDS)] == []


ALLOWED_WORDS: Final = ("sanitize.ts:", "highlight.ts:", "modes.ts:", "render.ts:", "Icons.tsx:")
"""Files whose strings are names of elements, of languages and of classes."""


# --- texts that Python made in English --------------------------------------------------------


def literals_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        if isinstance(node, ast.JoinedStr):
            yield written(node)


def test_the_english_lines_are_those_that_the_code_makes() -> None:
    """A text that is worded anew in the code would no longer be translated."""
    spoken = " ".join(
        literal.replace("X", " ")
        for path in PACKAGE.rglob("*.py")
        for literal in literals_of(ast.parse(path.read_text(encoding="utf-8")))
    )
    known = " ".join(spoken.split())
    parts = r"(?<=[.:]) | has no | have no | and all below| deletes | a compaction"
    lost = []
    for key, line in ENGLISH["kernel"].items():
        pieces = [
            piece.strip(" .():,;$")
            for part in PLACE.split(line)[::2]
            for piece in re.split(parts, part)
        ]
        lost += [(key, piece) for piece in pieces if piece not in known]
    assert lost == []


BARE: Final = Translator(
    ENGLISH["kernel"],
    {
        key: " ".join(f"{{{name}}}" for name in PLACE.findall(line))
        for key, line in ENGLISH["kernel"].items()
    },
)
"""Leaves of a line only what is put into it."""


def untranslated(text: str) -> str:
    """What no line of the kernel's table says, of a text with X where something is put in."""
    # What is made of other texts begins with them; code to copy is no text.
    for each in (text, re.sub(r"^(X )+", "", text)):
        if not re.search(r"[a-z]{2}", re.sub(r"\w+\(.*\)", "", BARE.translated(each))):
            return ""
    return text


def test_a_text_that_can_reach_the_page_is_in_the_tables() -> None:
    """Notices, errors of models and stores, refusals of commands, and why a call asks."""
    told = [*spoken_texts()]
    assert len(told) > 200
    assert [(place, text) for place, text in told if untranslated(text)] == []


def test_why_a_command_asks_is_translated() -> None:
    german, told = words_of("de"), set[str]()
    for line in [*touching(), *writing()]:
        judged = ruling(line, allow=["bash(echo *)"], deny=["bash(touch *)"])
        if judged.reason and judged.verdict == "ask" and judged.source != "mode":
            told.add(judged.reason)
    assert len(told) > 20
    assert [reason for reason in told if german.translated(reason) == reason] == []


@OTHER
def test_each_line_is_recognised_with_anything_in_its_places(locale: str) -> None:
    words = words_of(locale)
    for key, line in ENGLISH["kernel"].items():
        values = {name: f"<{name} 1.5 a/b>" for name in PLACE.findall(line)}
        made = PLACE.sub(lambda found: values[found[1]], line)  # noqa: B023
        expected = PLACE.sub(lambda found: values[found[1]], TABLES[locale]["kernel"][key])  # noqa: B023
        assert words.translated(made) == expected, key


def test_sentences_are_translated_one_by_one_and_what_is_unknown_stays() -> None:
    german = words_of("de")
    error = "localhost:1 refused the key (HTTP 401): Bad key. Check the network, then retry."
    assert german.translated(error) == (
        "localhost:1 hat den Schlüssel abgelehnt (HTTP 401): Bad key. "
        "Prüfen Sie das Netzwerk, dann versuchen Sie es erneut."
    )
    assert german.translated("Eins. A run is under way. Two!") == (
        "Eins. Ein Lauf ist im Gange. Two!"
    )
    nested = "What waits could not be sent: This session is closed."
    assert german.translated(nested).endswith("gesendet werden: Diese Sitzung ist geschlossen.")
    for text in ("", "Nothing of this is known.", "A {x} run.", "a. " * 2000):
        assert german.translated(text) == text
    assert words_of("en").translated("A run is under way.") == "A run is under way."


# --- choosing, telling ------------------------------------------------------------------------


def test_a_region_falls_back_to_its_language_and_others_are_refused_by_name() -> None:
    tags = {"de-AT": "de", "zh-TW": "zh", "zh_Hans_CN": "zh", "EN-us": "en", "fr_FR.UTF-8": "fr"}
    assert {tag: locale_of(tag) for tag in tags} == tags
    for wrong in ("xx", "", "deutsch", 7, None):
        with pytest.raises(InvalidOptions, match="en, de, fr, es, ja, zh, ar"):
            locale_of(wrong)


def test_what_a_page_shows_and_a_narrator_tells_of_a_retry_is_translated() -> None:
    retry = RetryView(1, 3, 2000, "localhost asks to slow down (HTTP 429).")
    view = SessionView(locale="de", model=ModelView(retry=retry))
    shown = Shown().of(view).model.retry
    assert shown is not None
    assert shown.reason == "localhost bittet um langsamere Anfragen (HTTP 429)."
    told = RetryScheduled(
        message_id="m", attempt=1, max_attempts=3, delay_ms=2000, error_message=retry.reason
    )
    line = Narrator("de").line(told)
    assert line is not None
    assert line.endswith(f": {shown.reason}")


EVENTS: Final[tuple[Event, ...]] = (
    StorageChanged(label="x.db", is_durable=True, trouble="Full", waiting_count=1200),
    ToolCompleted(tool_call_id="t1", output="a", is_error=False, duration_ms=1234),
)


LINES: Final[Mapping[str, tuple[str, str]]] = {
    "en": (
        "Session is not stored, 1,200 records waiting: Full",
        "A tool completed after 1.2 s",
    ),
    "de": (
        "Sitzung wird nicht gespeichert, wartend: 1.200 Einträge: Full",
        "Ein Werkzeug fertig nach 1,2 s",
    ),
    "ja": (
        "セッションは保存されていません（待機中：レコード 1,200 件）：Full",  # noqa: RUF001
        "ツール が完了しました（1.2 秒）",  # noqa: RUF001
    ),
}


@pytest.mark.parametrize("locale", LINES)
def test_the_narrator_speaks_the_language_and_writes_its_numbers(locale: str) -> None:
    narrator = Narrator(locale)
    assert tuple(narrator.line(event) for event in EVENTS) == LINES[locale]

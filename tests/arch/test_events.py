"""No event type is forgotten: each is shown, told and documented, or left out by name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from agent_widget.core import events, feed
from agent_widget.core.events import BlockEnd, Event
from agent_widget.core.eventwire import EVENT_KINDS
from agent_widget.view import narrate, project, sentences
from tests.support.eventdocs import generated

DOCUMENT = Path(events.__file__).with_name("events.md")
KINDS = pytest.mark.parametrize("kind", EVENT_KINDS.values(), ids=lambda kind: kind.type)


@KINDS
def test_a_type_changes_the_view_or_is_named_as_one_that_does_not(kind: type[Event]) -> None:
    is_shown = kind in feed._MAKERS or kind in project._SHOWN
    assert is_shown != (kind in project.UNSHOWN)


@KINDS
def test_a_type_has_a_sentence_or_is_named_as_silent(kind: type[Event]) -> None:
    said = [kind in sentences.SENTENCES, kind in sentences.OF_CALLS, kind in sentences.OF_AGENTS]
    said += [kind in narrate.SILENT, kind is BlockEnd]
    assert sum(said) == 1


@KINDS
def test_a_type_has_a_row_in_the_document_and_a_class_for_readers(kind: type[Event]) -> None:
    assert f"| `{kind.type}` |" in DOCUMENT.read_text(encoding="utf-8")
    assert getattr(events, kind.__name__) is kind
    assert kind.__name__ in events.__all__


def test_the_document_is_that_of_the_classes() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == generated(), (
        "Run: python -m tests.support.eventdocs > agent_widget/core/events.md"
    )


def test_each_type_has_one_class() -> None:
    named = [kind for kind in Event.__subclasses__() if kind.__module__.startswith("agent_widget")]
    assert Counter(kind.type for kind in named) == Counter(dict.fromkeys(EVENT_KINDS, 1))

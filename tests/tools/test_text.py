from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_widget.tools.text import coloured_text, plain_text, valid_unicode

TRICKS = (
    "\x1b[31mred\x1b[0m ok\x1b[1A\x1b[2Khidden \x1b]8;;javascript:P=1\x07click\x1b]8;;\x07"
    " \x1b]52;c;cHduZWQ=\x07 \x1b]0;title\x07 \x9b31m \x1bP1$r\x1b\\ end"
)


def test_only_colours_survive_for_a_person_and_nothing_for_a_model() -> None:
    assert plain_text(TRICKS) == "red okhidden click     end"
    assert coloured_text(TRICKS) == "\x1b[31mred\x1b[0m okhidden click     end"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb", "a\nb"),
        ("10%\r20%\r100%\ndone", "100%\ndone"),
        ("10%\r", "10%"),
        ("ab\x08c", "abc"),
    ],
)
def test_overwritten_text_is_gone(text: str, shown: str) -> None:
    assert plain_text(text) == shown


def test_halves_of_a_pair_are_joined_and_lone_ones_replaced() -> None:
    assert valid_unicode("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"


@given(st.text(st.characters()))
def test_cleaned_text_can_always_be_encoded_and_holds_no_escape(text: str) -> None:
    cleaned = plain_text(text)
    cleaned.encode()
    assert "\x1b" not in cleaned
    assert "\x9b" not in cleaned
    assert plain_text(cleaned) == cleaned

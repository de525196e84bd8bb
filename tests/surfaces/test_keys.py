"""A key that code gives is in nothing that hooks are told, however it is given."""

from __future__ import annotations

import itertools

import pytest

from agent_widget.surfaces.keys import KnownKey


@pytest.mark.parametrize("is_function", [False, True])
def test_a_key_is_hidden_once_it_was_given(is_function: bool) -> None:
    known = KnownKey((lambda: "tok-1\n") if is_function else "tok-1")
    if callable(known.key):
        assert known.key() == "tok-1\n"
    assert known.hidden("bearer tok-1!") == "bearer ***!"


def test_keys_that_change_are_all_hidden() -> None:
    numbers = itertools.count(1)
    known = KnownKey(lambda: f"tok-{next(numbers)}-end")
    assert callable(known.key)
    for _ in range(3):
        known.key()
    assert known.hidden("tok-1-end tok-3-end tok-4-end") == "*** *** tok-4-end"


def test_without_a_key_nothing_is_hidden() -> None:
    known = KnownKey(None)
    assert (known.key, known.hidden("text")) == (None, "text")

"""Sending, streaming, stopping and trying again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.host import Notebook

in_both = pytest.mark.parametrize("notebook", ["lab", "notebook"], indirect=True)


@in_both
def test_text_streams_in(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("count slowly to 4")
    chat.await_text("1,")
    assert "4" not in chat.last_answer.inner_text()
    chat.await_text("4. Done.")
    chat.await_rest()
    expect(chat.answers).to_have_count(1)

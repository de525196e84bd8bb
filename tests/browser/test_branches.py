"""Messages said anew, and the way between their versions."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.notebook import Notebook, in_both_if_thorough

NOT_UNDONE = "What was done before stays done: variables, files and money are not undone"


@in_both_if_thorough
def test_a_message_said_anew_is_a_version_and_its_versions_are_stepped_through(
    notebook: Notebook,
) -> None:
    chat = notebook.chat()
    notebook.run("chat")
    chat, other = notebook.shown_chats(2)
    for view in (chat, other):
        expect(view.stepper).to_have_count(0)
    chat.send("count to 2")
    chat.await_text("2. Done.")
    chat.await_rest()
    chat.send("count to 3")
    chat.await_text("3. Done.")
    chat.await_rest()
    as_it_was = chat.transcript()

    field = chat.edit(0)
    expect(field).to_have_value("count to 2")
    expect(chat.root.locator("form.editor")).to_contain_text(NOT_UNDONE)
    field.press("Escape")
    expect(field).to_be_hidden()
    expect(chat.said.first.get_by_role("button", name="Edit message")).to_be_focused()
    field = chat.edit(0)
    field.fill("count to 4")
    field.press("Enter")
    for view in (chat, other):
        view.await_text("4. Done.")
        view.await_rest()
        expect(view.stepper).to_have_text("2/2")
        expect(view.messages).to_have_count(2)
    expect(chat.field).to_be_focused()

    previous = chat.stepper.get_by_role("button", name="Previous version")
    following = chat.stepper.get_by_role("button", name="Next version")
    expect(following).to_have_attribute("aria-disabled", "true")
    previous.click()
    for view in (chat, other):
        expect(view.stepper).to_have_text("1/2")
        expect(view.messages).to_have_count(4)
    assert [text.replace("\n1/2", "") for text in chat.transcript()] == as_it_was
    expect(previous).to_be_focused()
    expect(previous).to_have_attribute("aria-disabled", "true")
    notebook.page.keyboard.press("Tab")
    expect(following).to_be_focused()
    notebook.page.keyboard.press("Enter")
    expect(chat.stepper).to_have_text("2/2")
    expect(following).to_be_focused()
    notebook.page.keyboard.press("Shift+Tab")
    notebook.page.keyboard.press("Space")
    for view in (chat, other):
        expect(view.stepper).to_have_text("1/2")
    expect(previous).to_be_focused()
    assert chat.transcript() == other.transcript()
    # What is said now goes on from the version that is shown.
    chat.send("count to 5")
    chat.await_text("5. Done.")
    chat.await_rest()
    expect(chat.messages).to_have_count(6)


@pytest.mark.parametrize("notebook", ["notebook"], indirect=True)
def test_an_editor_open_when_a_run_begins_stops_it_before_it_sends(notebook: Notebook) -> None:
    chat = notebook.chat()
    notebook.run("chat")
    chat, other = notebook.shown_chats(2)
    chat.send("count to 2")
    chat.await_text("2. Done.")
    chat.await_rest()
    field = chat.edit(0)
    field.fill("count to 3")
    other.send("count slowly to 200")
    editor = chat.root.locator("form.editor")
    expect(editor.get_by_role("button", name="Stop and send")).to_be_enabled()
    expect(editor).to_contain_text("A run is under way. It is stopped first.")
    expect(other.said.first.get_by_role("button", name="Edit message")).to_have_count(0)
    other.await_text("1, 2,")
    expect(field).to_have_value("count to 3")
    field.press("Enter")
    for view in (chat, other):
        view.await_text("3. Done.")
        view.await_rest()
        expect(view.said).to_have_count(1)
        expect(view.stepper).to_have_text("2/2")
    other.stepper.get_by_role("button", name="Previous version").click()
    for view in (chat, other):
        expect(view.messages).to_have_count(4)
        expect(view.last_answer.locator(".mark")).to_have_text("Stopped")

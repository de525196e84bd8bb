"""Keys typed into the chat stay there, and suffice for everything."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook import Notebook, in_both_if_thorough

# Asks once the file is there: no cell has to run for it, which would move the focus.
ASKS_LATER = """
import pathlib, threading, time
from agent_widget.testing.doubles import Gate, ScriptedModel, call, text
gate = Gate()
def open_gate():
    while not pathlib.Path({file!r}).exists():
        time.sleep(0.1)
    gate.open()
threading.Thread(target=open_gate).start()
code = {{"code": "6 * 7"}}
model = ScriptedModel([[text("Wait."), gate, call("run_python", code)], [text("So it is.")]])
"""


def test_keys_typed_into_the_composer_never_reach_the_notebook(notebook: Notebook) -> None:
    chat = notebook.chat()
    notebook.add("kept = 1")
    before = notebook.sources()
    chat.field.click()
    # As commands: insert above, below, delete, restart, cut, merge, to Markdown.
    typed = "a b dd 00 x M m ii"
    notebook.page.keyboard.type(typed)
    notebook.page.keyboard.press("Escape")
    notebook.page.keyboard.press("Shift+Enter")
    notebook.page.keyboard.type("dd")
    expect(chat.field).to_have_value(f"{typed}\ndd")
    expect(chat.field).to_be_focused()
    notebook.page.keyboard.press("Enter")
    chat.await_text("offline demo model")
    chat.await_rest()
    assert chat.said.locator(".said").inner_text() == f"{typed}\ndd"
    assert notebook.sources() == before
    expect(notebook.page.locator(".jp-Dialog")).to_have_count(0)


@in_both_if_thorough
def test_a_question_is_answered_with_keys_alone(notebook: Notebook) -> None:
    chat = notebook.chat()
    page = notebook.page
    chat.field.focus()
    page.keyboard.type("run: 6 * 7")
    page.keyboard.press("Enter")
    chat.await_question()
    button = chat.question.get_by_role
    expect(button("button", name="Deny")).to_be_focused()
    expect(button("button", name="Allow once")).to_be_enabled()
    for name in ("Allow more", "Edit and allow", "Allow once"):
        page.keyboard.press("Tab")
        expect(button("button", name=name)).to_be_focused()
    page.keyboard.press("Enter")
    expect(chat.field).to_be_focused()
    expect(chat.await_card("done")).to_contain_text("42")
    chat.await_rest()


def test_a_draft_keeps_the_focus_when_a_question_comes(notebook: Notebook) -> None:
    asks = notebook.server.notebooks / "asks"
    chat = notebook.chat("model=model", ASKS_LATER.format(file=str(asks)))
    page = notebook.page
    chat.send("compute")
    page.keyboard.type("and then")
    asks.touch()
    chat.await_question()
    expect(chat.question.get_by_role("button", name="Allow once")).to_be_enabled()
    page.keyboard.type(" more")
    expect(chat.field).to_have_value("and then more")
    page.keyboard.press("Shift+Tab")
    expect(chat.question.get_by_role("button", name="Allow once")).to_be_focused()
    page.keyboard.press("Space")
    expect(chat.field).to_be_focused()
    expect(chat.await_card("done")).to_contain_text("42")
    chat.await_rest()
    expect(chat.field).to_have_value("and then more")


def test_the_enter_that_ends_a_composition_sends_nothing(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.field.focus()
    protocol = notebook.page.context.new_cdp_session(notebook.page)
    kana = {"text": "にほん", "selectionStart": 3, "selectionEnd": 3}
    protocol.send("Input.imeSetComposition", kana)
    expect(chat.field).to_have_value("にほん")
    enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229}
    protocol.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
    protocol.send("Input.insertText", {"text": "日本"})
    protocol.send("Input.dispatchKeyEvent", {"type": "keyUp", **enter})
    expect(chat.field).to_have_value("日本")
    expect(chat.messages).to_have_count(0)
    notebook.page.keyboard.press("Enter")
    expect(chat.said).to_contain_text("日本")
    protocol.detach()

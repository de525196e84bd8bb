"""Reloaded pages, restarted kernels, saved notebooks."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.host import Host
from tests.browser.notebook import CELL_MS, Notebook, in_both

HELD_ANSWER = """
from agent_widget.testing.doubles import Gate, ScriptedModel, text
kept, gate = 6 * 7, Gate()
model = ScriptedModel([[text("This came before the reload"), gate, text(" and this after it.")]])
telling = AgentWidget(model=model)
telling
"""


@in_both
def test_a_reload_brings_back_the_question_and_the_text_that_streams(notebook: Notebook) -> None:
    notebook.chat()
    notebook.run(HELD_ANSWER)
    asking, telling = notebook.shown_chats(2)
    asking.send("run: kept")
    asking.await_question()
    telling.send("tell")
    telling.await_text("This came before the reload")
    notebook.save()
    notebook.reload()
    asking, telling = notebook.shown_chats(2)
    expect(telling.last_answer).to_contain_text("This came before the reload")
    expect(telling.status).to_have_text("Answering")
    expect(asking.question).to_contain_text("kept")
    asking.allow()
    expect(asking.await_card("done")).to_contain_text("42")
    notebook.run("gate.open()")
    telling.await_text("This came before the reload and this after it.")
    telling.await_rest()
    assert asking.transcript()[0] == "You\nrun: kept"


def test_after_a_restart_the_old_view_says_so_and_keeps_the_draft(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("count to 2")
    chat.await_text("2. Done.")
    chat.await_rest()
    chat.field.fill("a thought not yet sent")
    notebook.restart_kernel()
    expect(chat.connection).to_have_text(
        "The kernel of this chat is gone. Run the cell again to continue."
    )
    expect(chat.field).to_have_value("a thought not yet sent")
    expect(chat.last_answer).to_contain_text("2. Done.")
    chat.field.press("Enter")
    expect(chat.field).to_have_value("a thought not yet sent")
    notebook.await_kernel("idle")
    again = notebook.chat()
    again.send("count to 3")
    again.await_text("3. Done.")


MADE = """
from agent_widget import AgentWidget
chat = AgentWidget()
made = [*globals().get("made", []), chat.session]
"""
PHASES = "[session.view.phase for session in made]"


def test_a_chat_whose_cell_is_run_again_is_closed_once_no_page_shows_it(notebook: Notebook) -> None:
    making = notebook.start(MADE)
    notebook.end_of(making)
    showing = notebook.start("chat")
    [old] = notebook.shown_chats(1)
    old.await_live()
    notebook.rerun(making)
    notebook.end_of(making)
    old.send("count to 2")  # nothing in the notebook means it, but here it is
    old.await_text("2. Done.")
    old.await_rest()
    assert notebook.run(PHASES) == "['idle', 'idle']"
    frame = old.root.element_handle()
    notebook.rerun(showing)
    notebook.page.wait_for_function("frame => !frame.isConnected", arg=frame)
    [new] = notebook.shown_chats(1)
    new.await_live()
    # The page says that the old one is gone when it likes, and after each cell it is looked for.
    phases = (notebook.run(PHASES) for _ in range(20))
    assert any(each == "['closed', 'idle']" for each in phases)
    new.send("count to 3")
    new.await_text("3. Done.")


def test_a_downloaded_notebook_shows_the_conversation_without_a_kernel(
    notebook: Notebook, lab: Host
) -> None:
    chat = notebook.chat()
    chat.send("count to 2")
    chat.await_text("2. Done.")
    chat.await_rest()
    notebook.run("chat")
    saved = notebook.save()
    notebook.close()
    # Another's notebook: what is signed as trusted is the content as it was.
    saved["cells"][0]["source"] += "\n# from elsewhere"
    copy = lab.show_without_kernel("downloaded.ipynb", saved)
    fallback = copy.cell(1).locator(".jp-OutputArea-output")
    expect(fallback).to_contain_text("agent_widget · offline demo · 2 messages", timeout=CELL_MS)
    expect(fallback).to_contain_text("2. Done.")

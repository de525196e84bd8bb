"""Messages typed while a run is under way: what waits, what enters, what is refused."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, expect

from tests.browser.notebook import Notebook, in_both

BEFORE_THE_NEXT_STEP = "Before the next step"
AFTER_THIS_RUN = "After this run"

TWO_STEPS = """
from agent_widget.testing.doubles import Gate, ScriptedModel, call, text
first, second = Gate(), Gate()
model = ScriptedModel([
    [text("I look around."), first, call("list_variables", {})],
    [text("I looked."), second],
    [text("I did what was to follow.")],
    [text("And I am still here.")],
])
"""
ASKED = """
users = [m.text for m in model.requests[-1].messages if m.role == "user"]
print(len(model.requests), *users, sep="\\n")
"""
HELD = """
import os
from agent_widget.testing.doubles import Gate, ScriptedModel, text
gate = Gate()
model = ScriptedModel([[text("I begin."), gate], [text("I go on.")]])
"""
# The deadlines of the page, not its frames.
HASTE = """factor => {
  window.patientTimeout ??= window.setTimeout;
  window.setTimeout = (work, ms = 0, ...rest) => window.patientTimeout(work, ms / factor, ...rest);
}"""


@contextmanager
def in_haste(page: Page) -> Iterator[None]:
    """While it lasts, what the page waits for is due 20 times earlier."""
    page.evaluate(HASTE, 20)
    try:
        yield
    finally:
        page.evaluate(HASTE, 1)


@contextmanager
def stopped_process(pid: int) -> Iterator[None]:
    """While it lasts, that process does nothing, and what is sent to it waits."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@in_both
def test_what_waits_is_listed_edited_removed_and_enters_where_it_was_said_to(
    notebook: Notebook,
) -> None:
    chat = notebook.chat('model=model, while_running="steer"', TWO_STEPS)
    chat.send("begin")
    chat.await_text("I look around.")
    chat.queue("use the metric system")
    chat.queue("never mind this")
    chat.queue("plot it", "Alt+Enter")
    chat.queue("mail it", "Alt+Enter")
    expect(chat.waiting(BEFORE_THE_NEXT_STEP)).to_have_text(
        ["use the metric system", "never mind this"]
    )
    expect(chat.waiting(AFTER_THIS_RUN)).to_have_text(["plot it", "mail it"])
    chat.change_waiting("use the metric system", "use miles")
    chat.change_waiting("plot it", "plot it in red")
    chat.take_back("never mind this")
    expect(chat.field).to_have_value("never mind this")
    chat.field.fill("")
    chat.take_back("mail it")
    expect(chat.waiting(BEFORE_THE_NEXT_STEP)).to_have_text(["use miles"])
    expect(chat.waiting(AFTER_THIS_RUN)).to_have_text(["plot it in red"])
    notebook.run("first.open()")
    chat.await_text("I looked.")
    assert notebook.run(ASKED) == "2\nbegin\nuse miles\n"
    expect(chat.said).to_have_count(2)
    expect(chat.said.last).to_contain_text("Sent while working")
    expect(chat.said.first).not_to_contain_text("Sent while working")
    expect(chat.waiting()).to_have_text(["plot it in red"])
    notebook.run("second.open()")
    chat.await_text("I did what was to follow.")
    chat.await_rest()
    expect(chat.waiting()).to_have_count(0)
    expect(chat.messages).to_have_text(
        [
            re.compile(words, re.DOTALL)
            for words in (
                "begin",
                "I look around.",
                "use miles",
                "I looked.",
                "plot it in red",
                "to follow",
            )
        ]
    )
    chat.send("go on")
    chat.await_text("And I am still here.")


def test_blocked_says_why_until_messages_are_taken_and_stop_works_in_either_case(
    notebook: Notebook,
) -> None:
    chat = notebook.chat()
    notebook.run("chat")
    chat, other = notebook.shown_chats(2)
    chat.send("count slowly to 200")
    for view in (chat, other):
        expect(view.send_button).to_have_attribute("aria-disabled", "true")
        expect(view.root.locator("#composer-hint")).to_contain_text("still working")
        expect(view.taking).to_have_attribute("aria-checked", "false")
    chat.field.fill("count to 1")
    chat.field.press("Enter")
    chat.send_button.click(force=True)  # it says that it cannot, and does nothing
    expect(chat.field).to_have_value("count to 1")
    chat.stop()
    chat.await_rest()
    expect(chat.field).to_have_value("count to 1")
    expect(chat.said).to_have_count(1)

    chat.field.press("Enter")  # it is said now, and gets a short answer
    expect(chat.said).to_have_count(2)
    chat.await_rest()
    chat.send("count slowly to 200")
    other.taking.click()
    for view in (chat, other):
        expect(view.taking).to_have_attribute("aria-checked", "true")
        expect(view.send_button).to_have_count(0)
    chat.queue("count to 3")
    expect(other.waiting(BEFORE_THE_NEXT_STEP)).to_have_text(["count to 3"])
    other.stop()
    for view in (chat, other):
        view.await_rest()
        expect(view.waiting("With your next message")).to_have_text(["count to 3"])
    other.send("count to 2")
    for view in (chat, other):
        view.await_text("2. Done.")
        view.await_rest()
        expect(view.waiting()).to_have_count(0)
        expect(view.said).to_have_count(5)
    assert chat.transcript() == other.transcript()


def test_what_the_store_refuses_stays_in_the_field_and_what_is_not_saved_is_said(
    notebook: Notebook,
) -> None:
    chat = notebook.chat('model=model, while_running="steer", store="kept.db"', HELD)
    chat.send("begin")
    chat.await_text("I begin.")
    notebook.run('os.rename("kept.db", "away.db")')
    chat.field.fill("is this kept?")
    chat.field.press("Enter")
    refusal = chat.root.locator(".refusal")
    expect(refusal).to_have_text("The chat could not be stored, so nothing was done.")
    expect(chat.field).to_have_value("is this kept?")
    expect(chat.waiting()).to_have_count(0)
    notebook.run("gate.open()")
    chat.await_rest()
    trouble = chat.root.locator(".connection.trouble")
    expect(trouble).to_contain_text("Not saved")
    expect(trouble).to_contain_text("was removed or replaced")
    notebook.run('os.rename("away.db", "kept.db")')
    expect(trouble).to_be_hidden()
    chat.field.press("Enter")
    chat.await_text("I go on.")
    expect(chat.said).to_have_count(2)
    expect(refusal).to_be_hidden()


def test_what_is_not_confirmed_in_time_says_so_and_a_late_receipt_clears_it(
    notebook: Notebook,
) -> None:
    chat = notebook.chat()
    pid = int(notebook.run("import os; print(os.getpid())"))
    hint = chat.root.locator("#composer-hint")
    unconfirmed = chat.root.locator(".unconfirmed")
    with in_haste(notebook.page), stopped_process(pid):
        chat.field.fill("count to 2")
        chat.field.press("Enter")
        expect(hint).to_contain_text("Not confirmed yet")
        expect(unconfirmed).to_contain_text("may or may not have arrived")
        expect(unconfirmed.get_by_role("button", name="Send again")).to_be_enabled()
        expect(chat.field).to_have_value("count to 2")
        chat.field.press("Enter")  # never sent again by itself, nor by the same key
        expect(hint).to_contain_text("Send it again, or change the text")
        chat.field.press("End")
        chat.field.press_sequentially(" and more")
    expect(unconfirmed).to_be_hidden()
    expect(chat.field).to_have_value(" and more")
    chat.await_text("2. Done.")
    chat.await_rest()
    expect(chat.said).to_have_count(1)

"""Conversations that outlive their kernel, and sessions that are open more than once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.host import Host
from tests.browser.notebook import Notebook

TWO_CHATS = """
import pandas as pd
from agent_widget import AgentWidget
df = pd.DataFrame({"price": [1.0, 2.0, 2.5, 9.0]})
analysis = AgentWidget(store="restarted.db", session_id="analysis")
counting = AgentWidget(store="restarted.db", session_id="counting", while_running="steer")
display(analysis, counting)
"""
LAST = """
from agent_widget import AgentWidget
chat = AgentWidget(store="held.db", resume="last")
chat
"""


def run_again(notebook: Notebook, cell: int, count: int = 1) -> list[Chat]:
    """Run a cell in a kernel that knows nothing yet; the views it shows, all there were."""
    notebook.await_kernel("idle")
    old = notebook.shown_chats(count)[-1].root.element_handle()
    notebook.rerun(cell)
    notebook.end_of(cell)
    notebook.page.wait_for_function("frame => !frame.isConnected", arg=old)
    chats = notebook.shown_chats(count)
    for chat in chats:
        chat.await_live()
    return chats


def test_a_kernel_restarted_in_the_middle_of_runs_shows_the_conversations_after_one_cell(
    notebook: Notebook,
) -> None:
    cell = notebook.start(TWO_CHATS)
    asking, counting = notebook.shown_chats(2)
    asking.send("plot column price of df")
    asking.await_question()
    asking.allow()
    expect(asking.await_card("done").locator("img")).to_be_visible()
    asking.await_rest()
    asking.send("run: made = True")
    asking.await_question()
    counting.send("count slowly to 200")
    counting.await_text("1, 2,")
    counting.queue("count to 7", "Alt+Enter")
    notebook.restart_kernel()
    for chat in (asking, counting):
        expect(chat.connection).to_contain_text("The kernel of this chat is gone.")

    asking, counting = run_again(notebook, cell, 2)
    expect(asking.said).to_have_count(2)
    expect(asking.question).to_be_hidden()
    picture = asking.open_card(0).locator("img")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    expect(asking.open_card()).to_contain_text("ended before this call was allowed; it did not run")
    expect(asking.card()).to_have_attribute("data-state", "cancelled")
    expect(counting.said).to_have_count(1)
    expect(counting.stop_button).to_be_hidden()
    expect(counting.waiting("After the next run")).to_have_text(["count to 7"])
    assert notebook.run("'made' in globals()") == "False"

    asking.send("count to 3")
    counting.send("count to 2")
    asking.await_text("3. Done.")
    counting.await_text("7. Done.")
    said = [re.compile(words) for words in ("count slowly", "count to 2", "count to 7")]
    expect(counting.said).to_have_text(said)
    for chat in (asking, counting):
        chat.await_rest()


def test_a_session_held_elsewhere_is_read_only_and_goes_on_when_its_holder_has_gone(
    notebook: Notebook, lab: Host
) -> None:
    chat = notebook.chat('store="held.db", session_id="analysis"')
    chat.send("count to 2")
    chat.await_rest()
    with further_notebook(lab) as second:
        cell = second.start(LAST)
        second.end_of(cell)
        [reader] = second.shown_chats(1)
        held = re.compile(r"^Read-only here: The session analysis is in use by process \d+ on")
        expect(reader.connection).to_have_text(held)
        expect(reader.root.locator("#composer-hint")).to_contain_text("can only be read here")
        reader.await_text("2. Done.")
        expect(reader.field).not_to_be_editable()
        expect(reader.send_button).to_have_attribute("aria-disabled", "true")
        expect(reader.root.get_by_role("button", name="Edit message")).to_have_count(0)

        # Tomorrow: the kernel that held it has ended, the notebook is opened again.
        lab.server.stop_kernel(kernel_of(notebook))
        [reader] = run_again(second, cell)
        reader.await_text("2. Done.")
        reader.send("count to 3")
        reader.await_text("3. Done.")
        reader.await_rest()
        expect(reader.said).to_have_count(2)


def test_two_browser_tabs_on_one_session_stay_equal(notebook: Notebook, lab: Host) -> None:
    here = notebook.chat('while_running="steer"')
    here.send("count to 2")
    here.await_rest()
    notebook.save()
    with lab.further_page():
        tab = lab.show(notebook.path)
        [there] = tab.shown_chats(1)
        there.await_live()
        there.send("count slowly to 200")
        here.await_text("1, 2,")
        here.queue("count to 3", "Alt+Enter")
        expect(there.waiting()).to_have_text(["count to 3"])
        there.change_waiting("count to 3", "count to 4")
        expect(here.waiting()).to_have_text(["count to 4"])
        here.stop()
        for view in (here, there):
            view.await_rest()
            expect(view.last_answer.locator(".mark")).to_have_text("Stopped")
            expect(view.waiting()).to_have_text(["count to 4"])
        assert here.transcript() == there.transcript()


@contextmanager
def further_notebook(lab: Host) -> Iterator[Notebook]:
    """Another notebook with a kernel of its own, in front of the first."""
    notebook, kernel_id = lab.open()
    yield notebook
    lab.end_kernel(kernel_id)


def kernel_of(notebook: Notebook) -> str:
    """The id of its kernel."""
    sessions = notebook.server.request("GET", "/api/sessions")
    return next(str(each["kernel"]["id"]) for each in sessions if each["path"] == notebook.path)

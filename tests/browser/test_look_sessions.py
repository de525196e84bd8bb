"""What waiting messages, versions, and sessions that cannot be written look like."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.notebook import VIEWPORT, Notebook
from tests.browser.pictures import picture
from tests.browser.test_look import assert_nothing_sticks_out, assert_readable

FOUR_CHATS = """
import os
from agent_widget import AgentWidget
from agent_widget.store.owner import this_process
from agent_widget.store.urls import open_store
from agent_widget.testing.doubles import Gate, ScriptedModel, text

steered = AgentWidget(
    while_running="steer",
    model=ScriptedModel([[text("I compare the three species first."), Gate()]]),
)
branched = AgentWidget()

with AgentWidget(store="look.db", session_id="penguins") as held:
    held.ask("count to 2")
store = open_store("look.db")
lease = await store.acquire("penguins", this_process())
read_only = AgentWidget(store="look.db", session_id="penguins")

gate = Gate()
unsaved = AgentWidget(
    store="unsaved.db", model=ScriptedModel([[text("The mean is **4.2 kg**."), gate]])
)
display(steered, branched, read_only, unsaved)
"""
LONG = "Use the metric system everywhere, round to two places, and name the unit in each heading. "


def fill_lists(chat: Chat) -> None:
    chat.send("compare the species")
    chat.await_text("I compare")
    chat.queue("use the metric system")
    chat.queue(LONG * 3)
    chat.queue("then plot the masses", "Alt+Enter")
    chat.queue("and save the figure", "Alt+Enter")
    chat.field.fill("one more thing")
    row = chat.waiting().filter(has_text="and save")
    row.get_by_role("button", name="Edit waiting message").click()
    expect(chat.root.get_by_role("button", name="Save")).to_be_in_viewport(ratio=1)


def make_versions(chat: Chat) -> None:
    """Two versions of a message, the second with a field in which a later one is changed."""
    for text in ("count to 2", "count to 3"):
        chat.send(text)
        chat.await_rest()
    chat.edit(0).fill("count to 4")
    chat.root.get_by_role("button", name="Send as new branch").click()
    expect(chat.stepper).to_have_text("2/2")
    chat.await_rest()
    chat.send("count to 5")
    chat.await_rest()
    chat.edit(1)
    send = chat.root.get_by_role("button", name="Send as new branch")
    expect(send).to_be_in_viewport(ratio=1)


def test_waiting_versions_and_what_cannot_be_written_are_readable(notebook: Notebook) -> None:
    notebook.run(FOUR_CHATS)
    chats = notebook.shown_chats(4)
    steered, branched, read_only, unsaved = chats
    fill_lists(steered)
    make_versions(branched)
    unsaved.send("how heavy are they?")
    unsaved.await_text("4.2 kg")
    notebook.run('os.rename("unsaved.db", "away.db"); gate.open()')
    expect(unsaved.root.locator(".connection.trouble")).to_be_visible()
    expect(read_only.root.locator(".connection.saved")).to_be_visible()
    names = ("steering", "branches", "read_only", "unsaved")
    try:
        for theme, looks in (("Dark", "dark"), ("Light", "light"), (None, "narrow")):
            if theme is not None:
                notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
            else:
                make_narrow(steered, 400)
            for chat, name in zip(chats, names, strict=True):
                picture(chat, f"{name}_{looks}")
                assert_nothing_sticks_out(chat)
                assert_readable(chat)
    finally:
        notebook.page.set_viewport_size(VIEWPORT)
        notebook.command("apputils:change-theme", theme="JupyterLab Light")


def make_narrow(chat: Chat, width_px: int) -> None:
    """Make the page so narrow that the view is that wide."""
    box = chat.root.bounding_box()
    assert box is not None
    width = VIEWPORT["width"] - box["width"] + width_px
    chat.page.set_viewport_size({"width": round(width), "height": VIEWPORT["height"]})
    is_narrow = f"frame => Math.abs(frame.offsetWidth - {width_px}) <= 2"
    chat.page.wait_for_function(is_narrow, arg=chat.root.element_handle())

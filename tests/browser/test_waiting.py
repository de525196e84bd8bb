"""A cell that waits for a run never keeps it from going on."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook import Notebook, in_both, in_both_if_thorough

# Prints which way the click came while the cell waited: by the tap, by on_msg.
WAITING = """
before = chat._chat.inbox.statistics
result = {wait}
after = chat._chat.inbox.statistics
print(result.reason, after.tap - before.tap, after.on_msg - before.on_msg)
"""
# Nothing of the chat is called here: only the kernel's own thread can bring a click.
BUSY = """
import pathlib, time
while not pathlib.Path({file!r}).exists():
    time.sleep(0.1)
order = ["cell"]
print("busy no more")
"""
WAYS = {"result": "chat.ask({text!r})", "await": "await chat.send({text!r})"}


def assert_a_click_ends_a_waiting_cell(notebook: Notebook) -> None:
    chat = notebook.chat()
    for number, way in enumerate(WAYS.values(), 6):
        wait = way.format(text=f"run: print({number} * 7)")
        cell = notebook.start(WAITING.format(wait=wait))
        chat.await_question()
        chat.await_text("I run this code")
        assert notebook.is_running(cell)
        chat.allow()
        # The canary: a kernel that brings clicks another way has changed under us.
        assert notebook.end_of(cell) == "completed 1 0\n"
        expect(chat.await_card("done")).to_contain_text(str(number * 7))
        chat.await_rest()


@in_both
def test_a_click_ends_a_waiting_cell(notebook: Notebook) -> None:
    assert_a_click_ends_a_waiting_cell(notebook)


def test_a_click_ends_a_waiting_cell_without_subshells(
    notebook_without_subshells: Notebook,
) -> None:
    page = notebook_without_subshells.page
    kernel = "jupyterapp.shell.currentWidget.sessionContext.session.kernel"
    assert page.evaluate(f"{kernel}.commsOverSubshells") == "disabled"
    assert_a_click_ends_a_waiting_cell(notebook_without_subshells)


def test_a_click_ends_a_waiting_cell_of_ipykernel_6(notebook6: Notebook) -> None:
    version = notebook6.run("import ipykernel; print(ipykernel.__version__)")
    assert version.startswith("6.")
    assert_a_click_ends_a_waiting_cell(notebook6)


@in_both_if_thorough
def test_text_streams_while_a_cell_waits_and_stop_ends_the_cell(notebook: Notebook) -> None:
    chat = notebook.chat()
    for number, way in enumerate(WAYS.values(), 1):
        wait = way.format(text="count slowly to 100")
        cell = notebook.start(f"result = {wait}; print(result.reason)")
        expect(chat.answers).to_have_count(number)
        chat.await_text("1, 2,")
        assert notebook.is_running(cell)
        chat.stop()
        assert notebook.end_of(cell) == "interrupted\n"
        chat.await_rest()


@in_both_if_thorough
def test_the_hosts_interrupt_ends_the_wait_and_the_run(notebook: Notebook) -> None:
    chat = notebook.chat()
    for number, way in enumerate(WAYS.values(), 1):
        cell = notebook.start(way.format(text="count slowly to 100"))
        expect(chat.answers).to_have_count(number)
        chat.await_text("1,")
        notebook.command("notebook:interrupt-kernel")
        chat.await_rest()
        expect(chat.last_answer.locator(".mark")).to_have_text("Stopped")
        notebook.await_end(cell)
        assert notebook.outputs(cell)[-1]["ename"] in {"KeyboardInterrupt", "CancelledError"}
        assert notebook.run("print('free')") == "free\n"


def test_a_click_arrives_while_another_cell_is_busy_and_its_code_waits_for_it(
    notebook: Notebook,
) -> None:
    chat = notebook.chat()
    free = notebook.server.notebooks / "free"
    cell = notebook.start(BUSY.format(file=str(free)))
    notebook.await_running(cell)
    chat.send("run: order.append('card'); 6 * 7")
    chat.await_question()
    chat.allow()
    expect(chat.card()).to_contain_text("Waiting for the running cell to finish")
    assert notebook.is_running(cell)
    free.touch()
    expect(chat.await_card("done")).to_contain_text("42")
    assert notebook.end_of(cell) == "busy no more\n"
    assert notebook.run("print(order)") == "['cell', 'card']\n"

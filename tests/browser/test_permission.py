"""The question before code runs, and what each answer does."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook import Notebook, in_both, in_both_if_thorough
from tests.surfaces.support import FORGED

DECIDE = """([comm_id, decisions]) => {
  const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const comm = kernel._comms.get(comm_id);
  for (const [at, decision] of decisions.entries()) {
    const content = {kind: "command", name: "decide", request_id: `forged-${at}`, ...decision};
    comm.send({method: "custom", content});
  }
}"""
FRAME = """
import pandas as pd
df = pd.DataFrame({"price": [1.0, 2.0, 2.5, 9.0], "name": ["a", "b", "c", "d"]})
"""


@in_both
def test_allow_once_shows_the_table_and_the_plot_in_the_card(notebook: Notebook) -> None:
    chat = notebook.chat(before=FRAME)
    chat.send("run: df.head(2)")
    chat.await_question()
    expect(chat.question).to_contain_text("df.head(2)")
    chat.allow()
    table = chat.await_card("done").locator("table")
    expect(table.locator("tbody tr")).to_have_count(2)
    chat.await_rest()
    chat.send("plot column price of df")
    chat.await_question()
    expect(chat.question).to_contain_text("axes.hist(column.dropna(), bins=30)")
    chat.allow()
    picture = chat.await_card("done").locator("img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    chat.await_rest()


@in_both
def test_a_denial_cancels_the_call_and_its_reason_reaches_the_model(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("run: made = True")
    chat.await_question()
    chat.deny("wrong file")
    chat.await_card("cancelled")
    chat.await_text("wrong file")
    chat.await_rest()
    assert notebook.run("'made' in globals()") == "False"


@in_both_if_thorough
def test_allowed_for_the_session_a_second_call_asks_nothing(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("run: 6 * 7")
    chat.await_question()
    chat.allow_for_session()
    expect(chat.await_card("done")).to_contain_text("42")
    chat.await_rest()
    chat.root.evaluate(
        """frame => {
          const isAsking = () => frame.querySelector("[role=alertdialog]") !== null;
          const seen = () => { window.asked ||= isAsking(); };
          new MutationObserver(seen).observe(frame, {subtree: true, childList: true});
        }"""
    )
    chat.send("run: 2 ** 10")
    expect(chat.cards).to_have_count(2)
    expect(chat.await_card("done")).to_contain_text("1024")
    chat.await_rest()
    assert not notebook.page.evaluate("window.asked")


@in_both_if_thorough
def test_stop_while_asking_withdraws_the_question(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("run: made = True")
    chat.await_question()
    chat.stop()
    expect(chat.question).to_be_hidden()
    chat.await_card("cancelled")
    chat.await_rest()
    assert notebook.run("'made' in globals()") == "False"
    chat.send("count to 2")
    chat.await_text("2. Done.")


@in_both_if_thorough
def test_forged_and_late_decisions_of_a_page_run_nothing(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("run: made = True")
    chat.await_question()
    comm_id, pid = notebook.run("print(chat.comm.comm_id, chat.session.view.question.pid)").split()
    forged = [
        {**each, "pid": pid} if each.get("pid") == "REAL" else each
        for each in FORGED
        if each.get("decision") != "allow_project"  # which is on offer here
    ]
    notebook.page.evaluate(DECIDE, [comm_id, forged])
    assert notebook.run("chat.session.view.question.pid") == repr(pid)
    chat.deny("no")  # goes the way of the others, so that it arrives after them
    chat.await_card("cancelled")
    chat.await_rest()
    late = [{"pid": pid, "decision": word} for word in ("allow_once", "allow_session", "edit")]
    notebook.page.evaluate(DECIDE, [comm_id, late])
    assert len(forged) + len(late) >= 12
    chat.send("count to 2")
    chat.await_text("2. Done.")
    assert notebook.run("'made' in globals()") == "False"


@in_both_if_thorough
def test_a_helper_asks_under_its_own_name(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("ask a helper to run: 6 * 7")
    chat.await_question()
    expect(chat.question).to_contain_text("helper asks")
    chat.allow()
    chat.await_rest()
    expect(chat.cards.first.locator("section.card")).to_contain_text("42")

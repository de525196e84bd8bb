"""What axe-core finds in the view, in a real JupyterLab: nothing serious, in any state."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from playwright.sync_api import expect

from tests.browser.chat import Chat
from tests.browser.notebook import Notebook

AXE: Final = Path(__file__).parents[2] / "js/node_modules/axe-core/axe.min.js"
FOUND: Final = """async frame => {
  const changes = frame.getAnimations({subtree: true}).filter(one => one instanceof CSSTransition);
  await Promise.all(changes.map(one => one.finished));
  const found = await axe.run(frame, {resultTypes: ["violations"]});
  const serious = found.violations.filter(one => ["serious", "critical"].includes(one.impact));
  return {
    checked: found.passes.map(one => one.id),
    serious: serious.flatMap(one => one.nodes.map(
      node => `${one.id}: ${node.failureSummary} ${node.html.slice(0, 200)}`)),
  };
}"""
BREAK: Final = """frame => {
  const send = frame.querySelector(".composer button, button");
  send.removeAttribute("aria-label"); send.removeAttribute("title"); send.textContent = "";
}"""


def assert_nothing_serious(chat: Chat, *checked: str) -> None:
    """No serious or critical finding; ``checked`` are rules that had something to look at."""
    found = chat.root.evaluate(FOUND)
    assert not found["serious"], "\n".join(found["serious"])
    assert {"button-name", "color-contrast", "aria-allowed-attr", *checked} <= {*found["checked"]}


def test_axe_finds_nothing_serious_at_rest_with_a_question_or_with_an_error(
    notebook: Notebook,
) -> None:
    chat = notebook.chat("agents=()")
    notebook.page.evaluate(AXE.read_text("utf-8"))
    chat.send("describe nothing")
    chat.await_rest()
    assert_nothing_serious(chat, "label")
    chat.send("run: 6 * 7")
    chat.await_question()
    expect(chat.question.get_by_role("button", name="Allow once")).to_be_enabled()
    assert_nothing_serious(chat, "aria-dialog-name")
    chat.deny("no")
    chat.await_rest()
    chat.send("fail 401")
    expect(chat.banner).to_be_visible()
    chat.await_rest("Failed")
    assert_nothing_serious(chat)
    chat.root.evaluate(BREAK)  # that it would find something
    assert chat.root.evaluate(FOUND)["serious"]

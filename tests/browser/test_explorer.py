"""The explorer in JupyterLab and in an HTML export: through time by slider and keys; what if."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import nbformat
import pytest
from ipywidgets.embed import dependency_state, embed_data
from nbconvert import HTMLExporter
from playwright.sync_api import Browser, Locator, Page, expect

from agent_widget import AgentWidget, SessionExplorer, tool
from agent_widget.testing.doubles import ScriptedModel, call, text
from tests.browser.notebook import VIEWPORT, VIEWS, Notebook, Problems
from tests.browser.pictures import SCREENSHOTS
from tests.browser.test_access import AXE, FOUND
from tests.browser.test_look import LEAST_CONTRAST, STICKING_OUT, UNREADABLE

MADE: Final = """
from agent_widget import AgentWidget, SessionExplorer, tool
from agent_widget.testing.doubles import ScriptedModel, call, text

@tool
def change(name: str) -> str:
    "Change something."
    return f"changed {name}"

model = ScriptedModel([[text("I change it."), call("change", {"name": "x"})], [text("Done.")]])
chat = AgentWidget(
    model, tools=[change], notebook=False, workspace=None, agents=(), ask_user=lambda _: True
)
explorer = SessionExplorer(chat)
explorer
"""
# What a page does with the state that an export holds, where no kernel is: this much of a manager.
MANAGER: Final = """async () => {
  const holder = "application/vnd.jupyter.widget-state+json";
  const {state} = JSON.parse(document.querySelector(`script[type="${holder}"]`).textContent);
  const {state: own} = Object.values(state).find(one => one.state.frames);
  const model = {get: name => own[name], on() {}, off() {}, send() { throw Error("no comm"); }};
  const url = URL.createObjectURL(new Blob([own._esm], {type: "text/javascript"}));
  const widget = (await import(url)).default();
  await widget.initialize({model});
  const el = document.body.appendChild(document.createElement("div"));
  await widget.render({model, el});
}"""


class Explorer:
    """One view of an explorer."""

    def __init__(self, page: Page, root: Locator) -> None:
        self.page = page
        self.root = root
        self.slider = root.get_by_role("slider")
        self.place = root.locator(".place")
        self.steps = root.get_by_role("option")
        self.current = root.get_by_role("option", selected=True)
        self.detail = root.get_by_role("tabpanel")
        self.session = root.locator("figure.session")
        self.calls = root.locator("figure.call")

    def open_tab(self, name: str) -> None:
        self.root.get_by_role("tab", name=name).click()

    def go(self, action: str) -> None:
        """Choose the first step that folded that action."""
        name = self.page.locator(".step-name", has_text=action)
        self.steps.filter(has=name).first.click()

    def look(self, name: str) -> None:
        """Nothing sticks out, all can be read; and a picture for people."""
        assert self.root.evaluate(STICKING_OUT) == []
        poor = self.page.evaluate(UNREADABLE, [self.root.element_handle(), LEAST_CONTRAST])
        assert not poor, "\n".join(poor)
        SCREENSHOTS.mkdir(exist_ok=True)
        self.root.screenshot(path=SCREENSHOTS / f"explorer_{name}.png")


def test_a_running_chat_is_followed_walked_through_and_folded_again(notebook: Notebook) -> None:
    page = notebook.page
    notebook.run(MADE)
    explorer = Explorer(page, page.locator(VIEWS).last)
    expect(explorer.root.locator(".source")).to_have_text("live")
    notebook.run('_ = chat.ask("Change x.")')
    expect(explorer.session.locator(".lit")).to_have_text("idle")
    expect(explorer.calls.locator(".lit")).to_contain_text("done")
    walk_through(explorer)
    deny_instead(explorer)
    assert "done" in notebook.run("print(chat.messages[1].tool_calls[0].state)")
    try:
        explorer.look("light")
        notebook.command("apputils:change-theme", theme="JupyterLab Dark")
        expect(explorer.root).to_have_class("aw aw-explorer dark")
        explorer.open_tab("What if")
        explorer.look("dark")
    finally:
        notebook.command("apputils:change-theme", theme="JupyterLab Light")
    explorer.root.get_by_label("as JSON").fill('{"type": "jump"}')
    explorer.root.get_by_role("button", name="Fold again").click()
    expect(explorer.detail.get_by_role("alert")).to_contain_text("This is no action: 'jump'")
    explorer.root.get_by_role("button", name="Remove").click()
    expect(explorer.root.locator(".flag")).to_have_count(0)


def walk_through(explorer: Explorer) -> None:
    """By keys, by the list and by the slider, which all say the same; then the request."""
    page = explorer.page
    explorer.slider.focus()
    page.keyboard.press("Home")
    expect(explorer.current).to_contain_text("send")
    expect(explorer.session.locator("figcaption")).to_have_text(
        "send takes it from idle to streaming"
    )
    expect(explorer.session.locator(".way.taken title").first).to_contain_text("idle → streaming")
    page.keyboard.press("ArrowRight")
    expect(explorer.place).to_contain_text("2 /")
    explorer.steps.first.click()
    page.keyboard.press("ArrowDown")
    expect(explorer.place).to_contain_text("2 /")
    explorer.root.get_by_role("searchbox").fill("permission")
    expect(explorer.steps).to_have_count(2)
    explorer.steps.first.click()
    expect(explorer.calls.locator(".lit")).to_contain_text("awaiting-confirmation")
    expect(explorer.detail.locator(".node-row.changed")).to_contain_text("awaiting-confirmation")
    explorer.root.get_by_role("searchbox").fill("")
    explorer.open_tab("Request")
    expect(explorer.detail).to_contain_text("Request 1 of 2")
    expect(explorer.detail).to_contain_text("Change x.")


def deny_instead(explorer: Explorer) -> None:
    """Answer the question the other way, in what axe finds nothing serious in."""
    page = explorer.page
    explorer.go("toolPhase")
    page.keyboard.press("ArrowRight")
    explorer.open_tab("What if")
    page.evaluate(AXE.read_text("utf-8"))
    found = explorer.root.evaluate(FOUND)
    assert not found["serious"], "\n".join(found["serious"])
    explorer.root.get_by_label("Reason the model reads").fill("Not today.")
    explorer.root.get_by_role("button", name="Deny instead").click()
    expect(explorer.detail.get_by_role("status")).to_contain_text("First difference: step")
    expect(explorer.root.locator(".flag")).to_have_count(1)
    explorer.open_tab("State")
    expect(explorer.detail.get_by_role("tree", name="otherwise")).to_contain_text("Not today.")


@tool
def change(name: str) -> str:
    """Change something."""
    return f"changed {name}"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder with a stored session, and with the recording of it."""
    model = ScriptedModel([[text("I do."), call("change", {"name": "x"})], [text("Done.")]])
    with AgentWidget(
        model,
        tools=[change],
        notebook=False,
        workspace=None,
        system="Be brief.",
        store=tmp_path,
        session_id="s",
        record=tmp_path / "s.jsonl",
    ) as chat:
        chat.ask("Change x.")
    return tmp_path


def exported(source: Path) -> Path:
    """A notebook with the explorer of ``source``, exported to HTML."""
    explorer = SessionExplorer(source)
    new: Any = nbformat.v4
    cell = new.new_code_cell("explorer", execution_count=1)
    cell.outputs = [new.new_output("display_data", explorer._repr_mimebundle_()[0])]
    saved = new.new_notebook(cells=[cell])
    alone = dependency_state([explorer])  # not with what other tests have left open
    state = embed_data(views=[explorer], state=alone)["manager_state"]
    saved.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    explorer.close()
    exporter: Any = HTMLExporter
    body, _ = exporter().from_notebook_node(saved)
    file = source.with_suffix(".html")
    file.write_text(body, "utf-8")
    return file


def opened(browser: Browser, file: Path) -> tuple[Explorer, Problems]:
    """The explorer of an HTML export, without a network."""
    page = browser.new_page(viewport=VIEWPORT)
    page.route("http*://**", lambda route: route.abort())
    page.goto(file.as_uri())
    problems = Problems(page)
    page.evaluate(MANAGER)
    return Explorer(page, page.locator(".aw")), problems


def test_a_recording_in_an_html_export_shows_its_requests_and_says_what_it_is(
    browser: Browser, kept: Path
) -> None:
    explorer, problems = opened(browser, exported(kept / "s.jsonl"))
    expect(explorer.root.locator(".note")).to_have_text(
        "Played again from a recording: times and ids are those of the replay."
    )
    explorer.go("tool-error")
    expect(explorer.detail).to_contain_text("denied")
    explorer.open_tab("Request")
    expect(explorer.detail).to_contain_text("Be brief.")
    expect(explorer.detail).to_contain_text("Change something.")
    explorer.look("recording")
    assert not problems.errors
    explorer.page.close()


def test_an_html_export_shows_all_but_what_if_without_a_kernel(
    browser: Browser, kept: Path
) -> None:
    explorer, problems = opened(browser, exported(kept / "s" / "records.jsonl"))
    page = explorer.page
    expect(explorer.root.locator(".source")).to_have_text("recorded")
    explorer.go("tool-error")
    expect(explorer.calls.locator(".lit")).to_contain_text("error")
    expect(explorer.detail).to_contain_text("denied")
    explorer.slider.fill("0")
    expect(explorer.current).to_contain_text("send")
    explorer.open_tab("Request")
    explorer.root.get_by_role("button", name="Next request").click()
    expect(explorer.detail).to_contain_text("A journal keeps the conversation")
    explorer.open_tab("What if")
    expect(explorer.detail).to_contain_text("What if needs a running kernel")
    page.set_viewport_size({"width": 440, "height": 900})
    explorer.look("narrow")
    explorer.root.get_by_role("button", name="First step").click()
    explorer.root.get_by_role("button", name="Play").click()
    expect(explorer.root.get_by_role("button", name="Pause")).to_be_visible()
    expect(explorer.place).to_contain_text("3 /")
    explorer.root.get_by_role("button", name="Pause").click()
    assert not problems.errors
    page.close()

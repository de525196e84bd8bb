"""What the chat looks like: nothing sticks out, all is readable, and pictures for people to judge.

The pictures are in tests/screenshots, which git ignores.
"""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image
from playwright.sync_api import FilePayload, expect

from tests.browser.chat import Chat
from tests.browser.notebook import VIEWPORT, Notebook
from tests.browser.pictures import SCREENSHOTS, picture, picture_of_page

FRAME = """
import numpy as np
import pandas as pd
random = np.random.default_rng(0)
df = pd.DataFrame({
    "species": random.choice(["Adelie", "Chinstrap", "Gentoo"], 300),
    "bill_mm": random.normal(44, 5, 300).round(1),
    "mass_g": random.normal(4200, 800, 300).round(),
})
"""
QUICKSTART = """\
from vega_datasets import data
from agent_widget import AgentWidget

cars = data.cars()
chat = AgentWidget()
chat"""
# So that all of a conversation fits into one picture.
FLAT_FIGURES = "import matplotlib.pyplot as plt; plt.rcParams['figure.figsize'] = 6.4, 2.8"
ALL_STATES = """
from agent_widget.testing.doubles import ScriptedModel, call, text

model = ScriptedModel([
    [text("First the numbers."), call("run_python", {"code": "sum(range(10))"})],
    [text("Then the ratio."), call("run_python", {"code": "print('dividing')\\n1 / 0"})],
    [text("Now I clean up."), call("run_python", {"code": "import shutil\\nshutil.rmtree('old')"})],
    [text("Then not. The helper will look."), call("delegate_to_helper", {"task": "Read report."})],
    [text("I read it."), call("run_python", {"code": "report.head()"})],
])
"""
UNREADABLE = """async ([frame, least]) => {
  const changes = frame.getAnimations({subtree: true}).filter(one => one instanceof CSSTransition);
  await Promise.all(changes.map(one => one.finished));
  const rgba = text => {
    const numbers = text.match(/[\\d.]+(e-?\\d+)?/g).map(Number);
    const [r, g, b, a = 1] = numbers;
    return text.startsWith("color(srgb") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((x, i) => x * a + below[i] * (1 - a));
  const parent = node => node.parentElement ?? node.getRootNode().host ?? null;
  const chain = node => node ? [...chain(parent(node)), node] : [];
  const ground = node => chain(node).reduce(
    (below, n) => over(rgba(getComputedStyle(n).backgroundColor), below), [255, 255, 255]);
  const light = color => {
    const linear = x => x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4;
    const [r, g, b] = color.map(x => linear(x / 255));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const walker = document.createTreeWalker(frame, NodeFilter.SHOW_TEXT);
  const poor = new Set();
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const isInert = node.closest("[disabled], [aria-disabled=true], .sr, style");
    if (!walker.currentNode.data.trim() || isInert || !node.checkVisibility()) continue;
    const below = ground(node);
    const faded = chain(node).reduce((all, n) => all * Number(getComputedStyle(n).opacity), 1);
    const [r, g, b, a] = rgba(getComputedStyle(node).color);
    const lights = [light(over([r, g, b, a * faded], below)), light(below)];
    const contrast = (Math.max(...lights) + .05) / (Math.min(...lights) + .05);
    const name = node.tagName.toLowerCase() + "." + node.className;
    const text = node.textContent.slice(0, 40);
    if (contrast < least) poor.add(`${contrast.toFixed(2)} ${name}: ${text}`);
  }
  return [...poor];
}"""
LOOK_OF_A_CARD = """card => {
  const style = getComputedStyle(card);
  return `${style.borderInlineStartColor} ${style.borderBlockStartStyle}`;
}"""
STICKING_OUT = """frame => {
  const edge = frame.getBoundingClientRect();
  const scrolls = node => ["auto", "scroll", "hidden"].includes(getComputedStyle(node).overflowX);
  const inScroller = node => {
    for (let n = node.parentElement; n && n !== frame; n = n.parentElement)
      if (scrolls(n) && !n.matches("[role=log]")) return true;
    return false;
  };
  return [...frame.querySelectorAll("*")].filter(node => {
    const box = node.getBoundingClientRect();
    if (box.width === 0 || node.closest(".sr") || inScroller(node)) return false;
    return box.right > edge.right + 1 || box.left < edge.left - 1;
  }).map(node => `${node.tagName} ${node.className}`);
}"""
# As WCAG 2 wants it of text at level AA.
LEAST_CONTRAST = 4.5


def make_tall(chat: Chat, height_px: int) -> None:
    """As if the handle at the lower edge had been dragged, on a screen that is high enough."""
    chat.page.set_viewport_size({"width": VIEWPORT["width"], "height": height_px + 300})
    tall = f"frame => {{ frame.style.maxHeight = 'none'; frame.style.height = '{height_px}px'; }}"
    chat.root.evaluate(tall)


def assert_readable(chat: Chat) -> None:
    poor = chat.page.evaluate(UNREADABLE, [chat.root.element_handle(), LEAST_CONTRAST])
    assert not poor, "\n".join(poor)


def assert_nothing_sticks_out(chat: Chat) -> None:
    assert chat.root.evaluate(STICKING_OUT) == []
    assert chat.root.evaluate("frame => frame.scrollWidth <= frame.clientWidth")
    assert chat.root.get_by_role("log").evaluate("log => log.scrollWidth <= log.clientWidth")


def talk_about_the_frame(chat: Chat) -> None:
    chat.send("describe df")
    chat.await_rest()
    chat.send("plot column bill_mm of df")
    chat.await_question()
    chat.allow()
    expect(chat.await_card("done").locator("img")).to_be_visible()
    chat.await_rest()


def send_an_image_alone(chat: Chat) -> None:
    """Two are attached, one is taken out again; what was sent is shown in the conversation."""
    files: list[FilePayload] = []
    for colour in ("steelblue", "orange"):
        file = BytesIO()
        Image.new("RGB", (320, 200), colour).save(file, "PNG")
        files.append({"name": "a.png", "mimeType": "image/png", "buffer": file.getvalue()})
    chat.root.locator("input[type=file]").set_input_files(files)
    attached = chat.root.locator(".thumbnails img")
    expect(attached).to_have_count(2)
    assert_nothing_sticks_out(chat)
    picture(chat, "narrow_images")
    chat.root.get_by_role("button", name="Remove image 2").click()
    expect(attached).to_have_count(1)
    chat.field.press("Enter")
    expect(attached).to_have_count(0)
    expect(chat.messages.locator("img[alt=Image]")).to_be_visible()
    chat.await_rest()
    assert_nothing_sticks_out(chat)
    picture(chat, "narrow_image_sent")


def test_a_conversation_is_readable_in_the_light_and_in_the_dark(
    notebook: Notebook,
) -> None:
    chat = notebook.chat(before=FRAME)
    talk_about_the_frame(chat)
    try:
        for theme, name in (("JupyterLab Dark", "dark"), ("JupyterLab Light", "light")):
            notebook.command("apputils:change-theme", theme=theme)
            dark = str(name == "dark").lower()
            expect(chat.root).to_have_class(f"aw {name}")
            assert notebook.page.evaluate(f"document.body.dataset.jpThemeLight !== '{dark}'")
            picture_of_page(chat, name)
            assert_nothing_sticks_out(chat)
            assert_readable(chat)
    finally:
        notebook.command("apputils:change-theme", theme="JupyterLab Light")


def test_nothing_sticks_out_of_a_view_400_px_wide(notebook: Notebook) -> None:
    chat = notebook.chat(before=FRAME)
    talk_about_the_frame(chat)
    try:
        wide = chat.root.bounding_box()
        assert wide is not None
        width = VIEWPORT["width"] - wide["width"] + 400
        notebook.page.set_viewport_size({"width": round(width), "height": VIEWPORT["height"]})
        notebook.page.wait_for_function(
            "frame => Math.abs(frame.offsetWidth - 400) <= 2", arg=chat.root.element_handle()
        )
        assert_nothing_sticks_out(chat)
        picture(chat, "narrow")
        send_an_image_alone(chat)
        chat.send("run: " + "x" * 300)
        chat.await_question()
        expect(chat.question.get_by_role("button", name="Allow once")).to_be_enabled()
        assert_nothing_sticks_out(chat)
        assert_readable(chat)
        picture(chat, "narrow_question")
    finally:
        notebook.page.set_viewport_size(VIEWPORT)


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_cards_look_different_in_each_state(notebook: Notebook, theme: str) -> None:
    notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
    try:
        chat = notebook.chat("model=model", ALL_STATES)
        chat.send("go on")
        for _ in range(2):
            chat.await_question()
            chat.allow()
        chat.await_question()
        chat.deny("keep it")
        expect(chat.cards).to_have_count(5)
        chat.await_question()
        cards = chat.cards.all()
        states = [card.get_attribute("data-state") for card in cards]
        assert states == ["done", "error", "cancelled", "running", "awaiting-confirmation"]
        words = [card.locator(".card-state").first.inner_text() for card in cards]
        assert words == ["Done", "Failed", "Denied", "Running", "Needs approval"]
        looks = [card.evaluate(LOOK_OF_A_CARD) for card in cards]
        assert len(set(looks)) == 5
        expect(chat.question.get_by_role("button", name="Allow once")).to_be_enabled()
        picture_of_page(chat, f"question_{theme.lower()}")
        make_tall(chat, 1000)
        picture(chat, f"states_{theme.lower()}")
        assert_nothing_sticks_out(chat)
        assert_readable(chat)
        chat.stop()
    finally:
        notebook.page.set_viewport_size(VIEWPORT)
        notebook.command("apputils:change-theme", theme="JupyterLab Light")


def test_an_error_is_readable(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("fail 401")
    expect(chat.banner).to_be_visible()
    picture_of_page(chat, "error")
    assert_nothing_sticks_out(chat)
    assert_readable(chat)


@pytest.mark.parametrize("notebook", ["notebook"], indirect=True)
def test_notebook_7_shows_the_quickstart(notebook: Notebook) -> None:
    chat = notebook.chat(before=FRAME)
    talk_about_the_frame(chat)
    picture_of_page(chat, "notebook7")
    assert_nothing_sticks_out(chat)
    assert_readable(chat)


def test_a_question_and_its_answers_fit_into_the_view(notebook: Notebook) -> None:
    """The picture for the README, too."""
    try:
        notebook.run(FLAT_FIGURES)
        notebook.run(QUICKSTART)
        [chat] = notebook.shown_chats(1)
        make_tall(chat, 1180)
        chat.send("plot column Horsepower of cars")
        chat.await_question()
        chat.allow()
        expect(chat.await_card("done").locator("img")).to_be_visible()
        chat.await_rest()
        chat.send("run: cars.groupby('Origin').Horsepower.mean()")
        chat.await_question()
        button = chat.question.get_by_role("button", name="Allow once")
        expect(button).to_be_enabled()
        frame, last = chat.root.bounding_box(), button.bounding_box()
        assert frame is not None
        assert last is not None
        assert last["y"] + last["height"] < frame["y"] + frame["height"]
        assert_nothing_sticks_out(chat)
        chat.page.mouse.move(0, 0)
        notebook.cell(1).screenshot(path=SCREENSHOTS / "quickstart.png", animations="disabled")
    finally:
        notebook.page.set_viewport_size(VIEWPORT)

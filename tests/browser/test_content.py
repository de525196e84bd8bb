"""Where output goes, and what may not get into the page."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook import Notebook, text_of

TALKATIVE_TOOL = """
import threading
from agent_widget import tool
from agent_widget.testing.doubles import ScriptedModel, call, text

cell_prints, tool_prints = threading.Semaphore(0), threading.Semaphore(0)

@tool(read_only=True)
def talk() -> str:
    "Print in turns with a cell."
    for n in range(20):
        cell_prints.acquire()
        print("of the tool", n)
        tool_prints.release()
    return "said all"

model = ScriptedModel([[call("talk")], [text("Well.")]])
"""
TALKATIVE_CELL = """
chat.send("talk")
for n in range(20):
    print("of the cell", n)
    cell_prints.release()
    tool_prints.acquire()
"""
HOSTILE = """
from agent_widget.testing.doubles import ScriptedModel, call, text
words = '''
<img src=x onerror=window.P=1> <script>window.P=1</script> <svg onload=window.P=1></svg>

[click](javascript:window.P=1) [data](data:text/html,<script>window.P=1</script>)

![remote](https://example.com/pixel.png) <img src="//example.com/pixel.gif">

<iframe src="https://example.com/frame"></iframe> <link rel=stylesheet href="https://example.com/s">

<style>@import "https://example.com/style.css"; * { display: none }</style> <b>bold</b> the end
'''
code = f"from IPython.display import HTML, SVG\\nHTML({words!r})"
image = '<script>top.P=1</script><image href="https://example.com/i"/>'
drawing = f'<svg xmlns="http://www.w3.org/2000/svg">{image}</svg>'
code += f"; display(HTML({words!r}), SVG({drawing!r}))"
model = ScriptedModel([[text(words), call("run_python", {"code": code})], [text(words)]])
"""


def test_output_of_a_tool_goes_to_its_card_and_that_of_a_cell_to_the_cell(
    notebook: Notebook,
) -> None:
    chat = notebook.chat("model=model, tools=[talk]", TALKATIVE_TOOL)
    cell = notebook.start(TALKATIVE_CELL)
    assert notebook.end_of(cell) == "".join(f"of the cell {n}\n" for n in range(20))
    chat.await_rest()
    card = chat.open_card()
    expect(card).to_contain_text("of the tool 19")
    expect(card).not_to_contain_text("of the cell")
    assert text_of(notebook.outputs(0)).startswith("agent_widget")
    assert len(notebook.outputs(0)) == 1


def test_output_of_allowed_code_goes_to_its_card_alone(notebook: Notebook) -> None:
    chat = notebook.chat(before="import matplotlib.pyplot as plt")
    code = "print('printed'); display('shown'); plt.plot([1, 2]); plt.show(); 'value'"
    chat.send(f"run: {code}")
    chat.await_question()
    cell = notebook.start(
        "import asyncio\nfor n in range(8): print('cell', n); await asyncio.sleep(.1)"
    )
    chat.allow()
    card = chat.await_card("done")
    for text in ("printed", "shown", "value"):
        expect(card).to_contain_text(text)
    expect(card.locator("img")).to_have_count(1)
    assert notebook.end_of(cell) == "".join(f"cell {n}\n" for n in range(8))
    chat.await_rest()
    assert len(notebook.outputs(0)) == 1


def test_nothing_of_an_answer_or_a_result_runs_or_loads(notebook: Notebook) -> None:
    chat = notebook.chat("model=model", HOSTILE)
    notebook.problems.clear()
    chat.send("attack")
    chat.await_question()
    chat.allow()
    chat.await_card("done")
    chat.await_rest()
    expect(chat.answers).to_have_count(2)
    for shown in (chat.answers.first.locator(".md").first, chat.answers.last):
        expect(shown.get_by_text("the end")).to_be_visible()
    for link in chat.root.locator("a").all():
        assert not (link.get_attribute("href") or "").startswith(("javascript:", "data:"))
        link.dispatch_event("click")
    for address in chat.root.locator("img").evaluate_all("all => all.map(image => image.src)"):
        assert address.startswith("data:image/")
    unwanted = chat.root.locator("script, iframe, link, object, embed, style")
    expect(unwanted).to_have_count(0)
    assert notebook.page.evaluate("window.P") is None
    assert notebook.problems.foreign_requests == []
    assert [url for url in notebook.problems.requests if url.endswith("/x")] == []

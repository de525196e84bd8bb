"""The menus of the header: which model, how much it thinks, and the key that is typed there."""

from __future__ import annotations

import json

from playwright.sync_api import expect

from tests.browser.notebook import Notebook

KEY = "sk-canary-51c0ffee8d2b7a94"
MODELS = """
from msgspec.structs import replace
from agent_widget.core.errors import ModelError
from agent_widget.testing.doubles import ScriptedModel, text
class Thinker(ScriptedModel):
    @property
    def info(self):
        return replace(super().info, thinking_levels=("low", "high"))
busy = ModelError("rate_limited", "Too many.", status=429, retryable=True, retry_after_s=40)
first = ScriptedModel([[text("half"), busy]], name="first")
second = Thinker([[text("I am second.")]], name="second")
"""
SERVER = """
import http.server, json, threading
seen = []
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.answer({"data": [{"id": "m-1"}, {"id": "m-2"}]})
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        seen.append(self.headers.get("authorization"))
        said = {"message": {"content": "Hello."}, "finish_reason": "stop"}
        self.answer({"choices": [said]})
    def answer(self, data):
        body = json.dumps(data).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
"""


def test_model_and_thinking_are_chosen_by_key_and_a_retry_is_told_without_an_error(
    notebook: Notebook,
) -> None:
    chat = notebook.chat("model=first, models=[first, second]", MODELS)
    model = chat.root.get_by_role("combobox", name="Model")
    expect(model).to_have_value("first")
    chat.send("hi")
    expect(chat.status).to_have_text("Retrying in 40 s (1/5)")
    expect(chat.root.locator(".working")).to_contain_text("Too many.")
    expect(chat.banner).to_be_hidden()
    chat.stop()
    chat.await_rest()
    expect(chat.banner).to_be_hidden()
    expect(chat.messages).to_have_count(1)
    model.focus()
    model.press("ArrowDown")
    expect(model).to_have_value("second")
    thinking = chat.root.get_by_role("combobox", name="Thinking")
    thinking.select_option("high")
    expect(thinking).to_have_value("high")
    chat.send("who are you?")
    chat.await_text("I am second.")
    assert notebook.run("print(second.requests[0].thinking)") == "high\n"


def test_a_typed_key_goes_to_the_server_and_is_neither_in_page_nor_notebook_nor_kernel_state(
    notebook: Notebook,
) -> None:
    chat = notebook.chat('model="openai:m-1", base_url=url, store="kept.db"', SERVER)
    model = chat.root.get_by_role("combobox", name="Model")
    model.focus()
    expect(model.locator("option")).to_contain_text(["m-1 at ", "openai:m-2", "API key…"])
    model.select_option(label="API key…")
    field = chat.root.get_by_placeholder("API key")
    expect(field).to_be_focused()
    assert field.get_attribute("type") == "password"
    field.fill(KEY)
    field.press("Enter")
    expect(field).to_be_hidden()
    expect(model).to_have_value("openai:m-1")
    chat.send("hi")
    chat.await_text("Hello.")
    chat.await_rest()
    assert (
        notebook.run("print(seen[-1] == 'Bearer ' + 'sk-canary-' + '51c0ffee8d2b7a94')") == "True\n"
    )
    state = notebook.run(
        "import json; print(json.dumps(chat.get_state(), default=repr), repr(chat))"
    )
    stored = notebook.run("print(open('kept.db', 'rb').read() + open('kept.db-wal', 'rb').read())")
    page = notebook.page.evaluate(
        "() => [document.documentElement.outerHTML, JSON.stringify(localStorage),"
        " ...[...document.querySelectorAll('*')].map(e => e.shadowRoot?.innerHTML ?? '')].join()"
    )
    for place in (state, stored, page, json.dumps(notebook.save())):
        assert place
        assert KEY not in place

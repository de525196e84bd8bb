"""Sending, streaming, stopping, trying again, and several views of one chat."""

from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import expect

from tests.browser.chat import RUN_MS
from tests.browser.notebook import Notebook, in_both, in_both_if_thorough
from tests.browser.pictures import picture_of_page

# Asked and answered before the view opens: as long as a chat of many days.
LONG_CHAT = """
from agent_widget import AgentWidget
from agent_widget.testing.doubles import ScriptedModel, text
model = ScriptedModel([[text(f"Answer **{n}**: `{n * n}`.")] for n in range(200)])
chat = AgentWidget(model=model)
for n in range(200):
    chat.ask(f"question {n}")
"""


@in_both
def test_text_streams_in(notebook: Notebook) -> None:
    chat = notebook.chat()
    states = chat.recorded_answers()
    chat.send("count slowly to 6")
    chat.await_text("6. Done.")
    chat.await_rest()
    expect(chat.answers).to_have_count(1)
    seen = states()
    assert len(seen) > 1
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(seen))


@in_both
def test_stop_keeps_the_text_so_far_and_the_next_message_is_answered(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("count slowly to 100")
    chat.await_text("2,")
    chat.stop()
    chat.await_rest()
    expect(chat.last_answer).to_contain_text("1, 2,")
    expect(chat.last_answer.locator(".mark")).to_have_text("Stopped")
    expect(chat.field).to_be_focused()
    chat.send("count to 2")
    chat.await_text("2. Done.")
    chat.await_rest()


@in_both_if_thorough
def test_stop_ends_a_sleeping_tool_and_frees_the_kernel(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("run: import time; print(6 * 7); time.sleep(600)")
    chat.await_question()
    chat.allow()
    expect(chat.await_card("running").get_by_label("Output so far")).to_have_text("42")
    chat.stop()
    chat.await_card("cancelled")
    assert notebook.run("print('free')") == "free\n"
    chat.await_rest()


@in_both_if_thorough
def test_an_error_is_told_in_words_and_retry_goes_on(notebook: Notebook) -> None:
    chat = notebook.chat(
        "model=model",
        """
from agent_widget.core.errors import ModelError
from agent_widget.testing.doubles import ScriptedModel, text
broken = ModelError("network", "The connection broke.", retryable=False)
model = ScriptedModel([[text("It is "), broken], [text("It is **42**.")]])
""",
    )
    chat.send("what is it?")
    expect(chat.banner).to_contain_text("The model server could not be reached")
    expect(chat.banner).to_contain_text("The connection broke.")
    expect(chat.last_answer).to_contain_text("It is")
    chat.retry()
    chat.await_rest()
    expect(chat.last_answer.locator("strong")).to_have_text("42")
    expect(chat.banner).to_be_hidden()


def test_the_offline_model_can_show_each_error(notebook: Notebook) -> None:
    chat = notebook.chat()
    for request, words in [
        ("fail", "could not be reached, or the connection broke off"),
        ("fail 401", "does not accept this chat"),
        ("fail 429", "takes no more requests"),
    ]:
        chat.send(request)
        expect(chat.banner).to_contain_text(words, timeout=RUN_MS)
        expect(chat.banner.get_by_role("button", name="Retry")).to_be_enabled()
    chat.send("count to 2")
    chat.await_text("2. Done.")
    expect(chat.banner).to_be_hidden()


ALL_IN_ONE = """
from agent_widget.core.errors import ModelError
from agent_widget.testing.doubles import ScriptedModel, call, text
broken = ModelError("network", "The connection broke.", retryable=False)
lines = ["made = True", "import time; print(6 * 7); time.sleep(600)", "2 ** 10"]
calls = [[call("run_python", {"code": line})] for line in lines]
model = ScriptedModel([*calls, [text("It is "), broken], [text("It is **42**.")]])
"""


@pytest.mark.parametrize("notebook", ["notebook"], indirect=True)
def test_notebook_7_has_both_stops_the_rule_for_a_session_and_retry(notebook: Notebook) -> None:
    chat = notebook.chat("model=model", ALL_IN_ONE)
    chat.send("the first")
    chat.await_question()
    chat.stop()
    expect(chat.question).to_be_hidden()
    chat.await_card("cancelled")
    chat.await_rest()
    chat.send("the second")
    chat.await_question()
    chat.allow_for_session()
    expect(chat.await_card("running").get_by_label("Output so far")).to_have_text("42")
    chat.stop()
    chat.await_card("cancelled")
    chat.await_rest()
    chat.send("the third")
    expect(chat.await_card("done")).to_contain_text("1024")  # nobody was asked
    expect(chat.banner).to_contain_text("The connection broke.")
    chat.retry()
    chat.await_rest()
    expect(chat.last_answer.locator("strong")).to_have_text("42")
    assert notebook.run("'made' in globals()") == "False"


@in_both
def test_two_views_show_the_same_and_a_click_in_one_answers_in_both(notebook: Notebook) -> None:
    first = notebook.chat()
    notebook.run("chat")
    _, second = notebook.shown_chats(2)
    first.send("run: 6 * 7")
    for view in (first, second):
        view.await_question()
    second.allow()
    expect(first.question).to_be_hidden()
    for view in (first, second):
        view.await_rest()
        expect(view.card()).to_contain_text("42")
    assert first.transcript() == second.transcript()


def test_a_long_chat_opens_at_its_end_and_shows_earlier_messages_on_demand(
    notebook: Notebook,
) -> None:
    notebook.run(LONG_CHAT)
    notebook.start("chat")
    [chat] = notebook.shown_chats(1)
    expect(chat.last_answer).to_contain_text("Answer 199: 39601.")
    expect(chat.messages).to_have_count(50)
    assert chat.is_at_the_end()
    picture_of_page(chat, "long")
    earlier = chat.root.get_by_role("button", name="Show earlier messages")
    for loaded in range(100, 401, 50):
        # As a screen reader clicks: without a scroll that tells that the reader left the end.
        earlier.dispatch_event("click")
        expect(chat.messages).to_have_count(loaded)
    expect(earlier).to_be_hidden()
    expect(chat.messages.first).to_contain_text("question 0")

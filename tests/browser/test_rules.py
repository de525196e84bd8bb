"""What a person may change about a call, and what is asked no more: in a real JupyterLab."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.notebook import Notebook

SHELL = """
from agent_widget import tool
from agent_widget.testing.doubles import ScriptedModel, call, text

ran = []

@tool(name="bash", kind="execute")
def shell(command: str) -> str:
    '''Run a command (here: remember it).'''
    ran.append(command)
    return f"ran {command}"

@tool(read_only=True)
def look(name: str) -> str:
    '''Look.'''
    return name

def commands(*lines):
    return [*([call("bash", {"command": line})] for line in lines), [text("end")]]

model = ScriptedModel(STEPS)
"""
OPTIONS = "model=model, tools=[shell, look], workspace=None"


def shell(steps: str) -> str:
    return SHELL.replace("STEPS", steps)


def test_an_edited_call_runs_as_edited_and_says_so(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("run: 6 * 7")
    chat.await_question()
    chat.allow_edited("6 * 8")
    card = chat.await_card("done")
    expect(card).to_contain_text("48")
    expect(card).to_contain_text("edited by you")
    chat.await_rest()


def test_a_call_of_a_helper_is_edited_in_its_own_card(notebook: Notebook) -> None:
    chat = notebook.chat()
    chat.send("ask a helper to run: 6 * 7")
    chat.await_question()
    expect(chat.question).to_contain_text("helper asks")
    chat.allow_edited("made = 6 * 8; made")
    chat.await_rest()
    nested = chat.cards.first.locator("section.card")
    expect(nested).to_contain_text("48")
    expect(nested).to_contain_text("edited by you")
    assert notebook.run("made") == "48"


def test_an_edit_that_does_not_fit_is_refused_in_words_and_loses_nothing(
    notebook: Notebook,
) -> None:
    chat = notebook.chat(OPTIONS, shell("[[call('look', {'name': 'a'})], *commands('make docs')]"))
    chat.send("go")
    chat.await_question()
    question = chat.question
    question.get_by_role("button", name="Edit and allow").click()
    question.get_by_role("textbox").fill('{"command": 7, "x": 1}')
    question.get_by_role("button", name="Allow edited").click()
    expect(question).to_contain_text("x")
    expect(question.get_by_role("textbox")).to_have_value('{"command": 7, "x": 1}')
    question.get_by_role("textbox").fill('{"command": "make clean"}')
    chat.answer("Allow edited")
    chat.await_rest()
    assert notebook.run("ran") == "['make clean']"


def test_a_rule_narrowed_for_the_session_covers_that_and_no_more(notebook: Notebook) -> None:
    chat = notebook.chat(OPTIONS, shell("commands('make docs', 'make docs', 'make clean')"))
    chat.send("go")
    chat.await_question()
    chat.allow_more("Allow for this session", ["bash(make docs)", ""])
    chat.await_question()
    expect(chat.question).to_contain_text("make clean")
    chat.deny("not that")
    chat.await_rest()
    assert notebook.run("ran") == "['make docs', 'make docs']"


def test_a_rule_of_the_project_holds_after_a_restart(notebook: Notebook) -> None:
    steps = "commands('make report')"
    chat = notebook.chat(OPTIONS, shell(steps))
    chat.send("go")
    chat.await_question()
    chat.allow_more("Always in this project", ["bash(make report)", ""])
    chat.await_rest()
    notebook.restart_kernel()
    chat = notebook.chat(OPTIONS, shell(steps))
    chat.send("go")
    chat.await_rest()
    assert notebook.run("ran") == "['make report']"


def test_of_three_calls_the_one_that_asks_is_asked_and_the_others_wait(notebook: Notebook) -> None:
    calls = "call('look', {'name': 'a'}), call('bash', {'command': 'make docs'}), "
    chat = notebook.chat(
        OPTIONS, shell(f"[[{calls} call('look', {{'name': 'b'}})], [text('end')]]")
    )
    chat.send("go")
    chat.await_question()
    expect(chat.card(0)).to_contain_text("Done")
    expect(chat.card(2)).to_contain_text("Waiting for the call before it")
    chat.allow()
    chat.await_text("end")
    chat.await_rest()
    assert notebook.run("ran") == "['make docs']"

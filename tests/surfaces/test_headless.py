"""A notebook that runs without a person: it never hangs, and says what it did not do."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

SETUP = """
from agent_widget import AgentWidget, tool
from agent_widget.testing.doubles import ScriptedModel, call, text

def run(code):
    return [call("run_python", {"code": code})]
"""


def executed(*cells: str) -> list[Any]:
    """Outputs of each cell, run as ``jupyter execute`` runs them."""
    notebook = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    new_cell = nbformat.v4.new_code_cell
    notebook.cells = [new_cell(source) for source in (SETUP, *cells)]  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells[1:]]


def allowing(code: str) -> str:
    """A cell that makes a chat whose model runs ``code`` and whose questions all say yes."""
    steps = f"[run({code!r}), [text('end')]]"
    return f"chat = AgentWidget(ScriptedModel({steps}), ask_user=lambda question: True)"


def texts(outputs: Any) -> str:
    return "".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in outputs)


@pytest.mark.parametrize("wait", ["chat.ask('go')", "await chat.send('go')"])
def test_a_question_without_anybody_is_denied_and_said(wait: str) -> None:
    asked, shown = executed(
        f"chat = AgentWidget(ScriptedModel([run('x = 1'), [text('end')]]))\n({wait}).text",
        "print([part.state for part in chat.messages[1].tool_calls], 'x' in globals())\n"
        "print(chat.session.view.notices[0].message)",
    )
    assert texts(asked) == "'end'"
    assert texts(shown).startswith("['error'] False\n")
    assert "ask_user" in texts(shown)


def test_output_of_a_tool_is_in_its_card_and_not_in_a_cell() -> None:
    code = "print('from the tool'); display('shown'); 1 + 1"
    outputs = executed(
        f"{allowing(code)}\nprint('before')\nresult = chat.ask('go')\nprint('after')",
        "print(chat.messages[1].tool_calls[0].output)",
    )
    assert texts(outputs[0]) == "before\nafter\n"
    card = texts(outputs[1])
    assert "from the tool" in card
    assert "shown" in card
    assert "'2'" in card


def test_a_run_that_nobody_waits_for_prints_into_no_later_cell() -> None:
    code = "print('x' * 3)"
    outputs = executed(
        f"{allowing(code)}\nlater = chat.send('go')",
        "import asyncio\nfor n in range(3):\n    print('y', n)\n    await asyncio.sleep(0.05)",
        "(await later).reason",
    )
    assert texts(outputs[1]) == "y 0\ny 1\ny 2\n"
    assert texts(outputs[2]) == "'completed'"


def test_code_runs_in_the_users_namespace_on_the_main_thread() -> None:
    where = "where = threading.current_thread() is threading.main_thread()"
    code = f"import threading\n{where}\ny = x + 1"
    [_, shown] = executed(
        f"x = 41\n{allowing(code)}\nchat.ask('go').ok",
        "where, y",
    )
    assert texts(shown) == "(True, 42)"

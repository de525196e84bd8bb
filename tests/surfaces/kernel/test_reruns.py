"""What a cell made is closed once the cell was run again and nothing reaches it any more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.surfaces.kernel.kernels import OWN, WITHOUT_SUBSHELLS, RealKernel

of_this_release = pytest.mark.parametrize("kernel", [OWN], indirect=True)

SET_UP = """
import threading, weakref
from agent_widget import AgentWidget
from agent_widget.testing import Gate, ScriptedModel, text
made, gate, chats = [], Gate(), []
def new(*steps, store=None):
    chat = AgentWidget(ScriptedModel([*steps, [text("Hello")]]), store=store)
    made.append(weakref.ref(chat.session))
    return chat
def are_open():
    return [ref() is not None and ref().view.phase != "closed" for ref in made]
"""


def run(kernel: RealKernel, cell_id: str, code: str) -> str:
    cell = kernel.end(kernel.begin_of_notebook(cell_id, code))
    assert cell.error is None, cell.error
    return cell.text


@pytest.mark.parametrize("kernel", [WITHOUT_SUBSHELLS[0], OWN], indirect=True)
def test_a_cell_that_is_run_again_leaves_nothing_of_its_earlier_runs(
    kernel: RealKernel, tmp_path: Path
) -> None:
    run(kernel, "imports", SET_UP)
    for _ in range(3):
        run(kernel, "chat", f"chat = new(store='{tmp_path}/chats.db'); chat.ask('hi'); chat")
    assert run(kernel, "look", "print(are_open())") == "[False, False, True]\n"
    names = "print([t.name for t in threading.enumerate() if t.name.startswith('store in')])"
    assert run(kernel, "look", names).count("store in") == 1
    assert run(kernel, "talk", "print(chat.ask('hi').ok)") == "False\n"  # no step, but a chat


@of_this_release
def test_what_code_still_reaches_or_runs_is_left_alone(kernel: RealKernel) -> None:
    run(kernel, "imports", SET_UP)
    ways = [
        "chats.append(new())",
        "chats = [*chats, new()]",
        "globals()['n%d' % len(made)] = new()",
    ]
    ways += ["f = lambda f=globals().get('f'), chat=new(): (f, chat)"]
    ways += ["class Mine: pass\nmine = globals().get('mine', []) + [Mine()]\nmine[-1].chat = new()"]
    ways += ["chats.append(new().stop)"]
    for number, way in enumerate(ways):
        run(kernel, f"way-{number}", way)
        run(kernel, f"way-{number}", way)
    assert run(kernel, "look", "print(are_open())") == f"{[True] * 2 * len(ways)}\n"


@of_this_release
def test_what_runs_is_closed_after_it_has_ended(kernel: RealKernel) -> None:
    run(kernel, "imports", SET_UP)
    begin = "chat = new([gate, text('so')]); run = chat.send('go')"
    run(kernel, "chat", begin)
    run(kernel, "chat", "first, chat, run = run, new(), None")
    assert run(kernel, "look", "print(are_open())") == "[True, True]\n"
    run(kernel, "open", "gate.open(); first = first.result().text; print(first)")
    assert run(kernel, "look", "print(are_open(), first)") == "[False, True] so\n"

"""The branches of a chat from a cell: they wait for their answer, and the tree prints itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent_widget import AgentWidget, SessionError
from agent_widget.core.journal import Journal
from agent_widget.core.records import Record
from agent_widget.surfaces.branches import MAX_LINES, drawn
from agent_widget.testing.doubles import ScriptedModel, text


@pytest.fixture
def chat() -> Iterator[AgentWidget]:
    model = ScriptedModel([[text(f"a{n}")] for n in range(9)])
    with AgentWidget(model, notebook=False, workspace=None, agents=()) as chat:
        yield chat


def said(chat: AgentWidget) -> list[str]:
    return [message.text for message in chat.messages]


def test_the_tree_is_drawn_with_versions_names_and_the_place(chat: AgentWidget) -> None:
    assert repr(chat.tree) == "Nothing was said yet."
    chat.ask("one")
    chat.ask("two")
    chat.ask("two and\na half")
    point = chat.tree.checkpoint("before three")
    two = chat.messages[2].id
    chat.edit(two, "zwei").result()
    chat.ask("x" * 70)
    chat.tree.label(two, "english")
    assert repr(chat.tree).split("\n") == [
        "● one",
        "├─ ○ two  [english]",
        "│  ○ two and a half  ⚑ before three",
        "└─ ● zwei",
        f"   ● {'x' * 59}…  ← here",
    ]
    chat.tree.restore(point)
    assert said(chat) == ["one", "a0", "two", "a1", "two and\na half", "a2"]
    assert [each.label for each in chat.tree.checkpoints()] == ["before three", None]
    assert repr(chat.tree).endswith("x…  ⚑ pre restore")
    chat.tree.switch(two, 1)
    assert said(chat)[2] == "zwei"


def test_going_before_a_message_gives_its_text_back(chat: AgentWidget) -> None:
    chat.ask("one")
    first = chat.messages[0].id
    assert chat.tree.navigate(first).text == "one"
    assert (said(chat), repr(chat.tree)) == ([], "(before the first message)  ← here\n○ one")
    assert [text for _, text in chat.tree.user_messages()] == ["one"]
    chat.ask("eins")
    went = chat.tree.navigate(first, summarize=True)
    assert (went.text, said(chat)) == ("one", ["a2"])  # the summary that the model wrote
    with pytest.raises(SessionError, match="no entry 'nowhere'"):
        chat.tree.navigate("nowhere")


def test_of_a_long_conversation_the_end_is_drawn() -> None:
    records = [
        Record(
            id=f"e{n}",
            parent_id=f"e{n - 1}" if n else None,
            ts=0,
            kind="run_admitted",
            data={"run_id": "r", "message": {"id": f"m{n}", "role": "user", "text": str(n)}},
        )
        for n in range(MAX_LINES + 2_000)
    ]
    lines = drawn(Journal.of(records)).split("\n")
    assert (len(lines), lines[0]) == (MAX_LINES + 1, "(2000 earlier lines)")
    assert lines[-1].endswith("2199  ← here")

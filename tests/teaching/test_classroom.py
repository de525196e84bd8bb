"""A class: what is fixed cannot be changed from its chats, and one log tells of all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_widget import SessionError, tool
from agent_widget.core.errors import InvalidOptions
from agent_widget.core.usage import Usage
from agent_widget.providers.base import Model
from agent_widget.teaching import ClassRoom
from agent_widget.testing.doubles import ScriptedModel, call, end, text


@tool(read_only=True)
def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


def answering() -> Model:
    return ScriptedModel(
        [
            [call("weather", {"city": "Oslo"}), end("tool_calls", Usage(300, 100))],
            [text("It is sunny."), end("stop", Usage(500, 100))],
            [text("Still sunny."), end("stop", Usage(500, 100))],
        ]
    )


@pytest.fixture
def room(tmp_path: Path) -> Callable[[], ClassRoom]:
    """Makes the class as each kernel does."""
    return lambda: ClassRoom(
        "stats-1",
        store=tmp_path / "class.db",
        models={"small": answering, "large": answering},
        budget={"max_total_tokens": 900},
        tools=[weather],
        notebook=False,
        workspace=None,
        agents=(),
    )


def test_a_budget_holds_over_cells_and_kernels_and_its_end_is_said(
    room: Callable[[], ClassRoom],
) -> None:
    with room().chat("ada") as chat:
        assert chat.ask("Weather?").text == "It is sunny."
        assert chat.session.view.name == "ada · stats-1"
    with room().chat("ada") as again:
        refused = again.ask("And now?")
        assert refused.reason == "budget_exceeded"
        error = refused.error
        assert error is not None
        assert error.message == "The budget is used up: 1,000 of 900 tokens."
        assert error.advice == "Ask the teacher of class 'stats-1' for more."
    with room().chat("grace") as other:  # each student has one
        assert other.ask("Weather?").reason == "completed"


def test_models_tools_and_options_are_those_of_the_class(room: Callable[[], ClassRoom]) -> None:
    with pytest.raises(InvalidOptions, match=r"'huge' is none of them\. There is small, large"):
        room().chat("ada", model="huge")
    with room().chat("ada", model="large") as chat:
        assert {*chat.session.active_tool_names} == {"todo", "weather"}
        with pytest.raises(SessionError, match="The tools of class 'stats-1' are fixed"):
            chat.refresh_tools([])
        with pytest.raises(SessionError, match="cannot be forked"):
            chat.fork()
    for wrong in ({"session_id": "x"}, {"budgets": 1}):
        with pytest.raises(InvalidOptions, match="A class has no option"):
            ClassRoom("c", store="memory:", **wrong)
    for name in ("", "a--b"):
        with pytest.raises(InvalidOptions, match="is no name of a class"):
            ClassRoom(name, store="memory:")
    for models, words in (
        ("gpt", "are no names of models"),
        ([], r"models=\[\] names no model"),
        (["gpt-5"], "models holds 'gpt-5', which names no known model"),
    ):
        with pytest.raises(InvalidOptions, match=words):
            ClassRoom("c", store="memory:", models=models)
    with pytest.raises(InvalidOptions, match="store=None is no place"):
        ClassRoom("c", store=None)  # type: ignore[arg-type]
    with pytest.raises(InvalidOptions, match="is no name of a student"):
        room().chat(" ")


def test_a_chat_takes_the_models_of_its_class_and_no_other_and_keeps_the_choice(
    room: Callable[[], ClassRoom], tmp_path: Path
) -> None:
    with room().chat("ada") as chat:
        assert chat.list_models() == ("small", "large")
        for other in ("offline", "openai:gpt-5", answering()):
            with pytest.raises(SessionError, match=r"fixed, and .* There is small, large") as told:
                chat.set_model(other)
            assert told.value.code == "class_fixed"
        chat.set_model("large")
        assert chat.session.models.alias == "large"
    with room().chat("ada") as chat:  # in another kernel
        assert chat.session.models.alias == "large"
    alone = ClassRoom("c", store=tmp_path / "other.db")
    with alone.chat("ada") as chat, pytest.raises(SessionError, match="the one that is used"):
        chat.set_model("openai:gpt-5")


def test_a_log_has_a_row_for_each_student_and_an_explorer_of_it(
    room: Callable[[], ClassRoom],
) -> None:
    for student, questions in (("grace", 1), ("ada", 2)):
        with room().chat(student) as chat:
            for _ in range(questions):
                chat.ask("Weather?")
    log = room().log()
    assert [row.student for row in log] == ["ada", "grace"]
    ada = log["ada"]
    assert (ada.turns, ada.tool_calls, ada.tokens) == (2, 1, 1000)
    assert log["grace"].last_text == "It is sunny."
    assert repr(log) == (
        "Class stats-1 · 2 students\n"
        "student  turns  tool calls  tokens  cost  last text\n"
        "ada      2      1           1,000   ?     It is sunny.\n"
        "grace    1      1           1,000   ?     It is sunny."
    )
    assert list(log.frame()["tokens"]) == [1000, 1000]
    assert "It is sunny." in log._repr_html_()
    with pytest.raises(KeyError, match="no chat in class"):
        log["alan"]
    explorer = room().explorer("grace")
    assert explorer.steps[-1].state.status == "idle"
    explorer.close()

"""A person's shell commands from a cell, and where a class does not have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_widget import AgentWidget, CommandFailed, CommandResult, SessionError
from agent_widget.teaching import ClassRoom
from agent_widget.testing.doubles import ScriptedModel, text


def test_a_cell_runs_a_command_and_the_model_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_API_KEY", "hush")
    model = ScriptedModel([[text("Three.")]])
    with AgentWidget(model, notebook=False, workspace=None, agents=()) as chat:
        result = chat.commands.execute('touch made; printf "3 $MY_API_KEY"', print)
        assert (result.output, result.ok) == ("3 ", True)
        assert capsys.readouterr().out == "3 \n"
        assert (tmp_path / "made").exists()
        with pytest.raises(CommandFailed) as failed:
            chat.commands.execute("exit 3")
        assert failed.value.result.exit_code == 3
        chat.commands.record("elsewhere", CommandResult(output="9", exit_code=0))
        assert not chat.commands.has_pending
        chat.commands.flush()
        assert chat.ask("How many?").text == "Three."
        read = [message.text for message in model.requests[0].messages]
        assert ["touch made" in read[0], "exit 3" in read[1], "elsewhere" in read[2]] == [True] * 3


def test_a_class_without_bash_runs_no_commands(tmp_path: Path) -> None:
    room = ClassRoom(
        "stats-1",
        store=tmp_path / "class.db",
        models={"small": lambda: ScriptedModel([])},
        tools=[],
        notebook=False,
        workspace=None,
        agents=(),
    )
    with room.chat("ada") as chat:
        mark = tmp_path / "mark"
        with pytest.raises(SessionError) as refused:
            chat.commands.execute(f"touch {mark}")
        assert refused.value.code == "class_fixed"
        assert not mark.exists()

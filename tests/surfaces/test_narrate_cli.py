"""``agent-widget narrate``: a sentence for each event of a file, and errors that name the line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_widget.core.events import SessionEnded, TurnError, TurnStarted
from agent_widget.core.eventwire import event_to_wire
from agent_widget.store.urls import open_store
from agent_widget.surfaces.cli import main
from agent_widget.testing.doubles import Step, call, text
from tests.engine.support import opened
from tests.support.goldenevents import look


def narrate(path: Path, lines: list[Any], capsys: pytest.CaptureFixture[str]) -> Any:
    path.write_bytes(b"\n".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines
    ))  # fmt: skip
    status = main(["narrate", str(path)])
    said = capsys.readouterr()
    return status, said.out.splitlines(), said.err.splitlines()


def test_events_are_said_and_what_is_new_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = TurnError(scope="model", message="upstream 500", recoverable=True)
    events = [event_to_wire(e) for e in (TurnStarted(trigger="send"), error, SessionEnded())]
    lines = [*events[:2], b"", {"type": "galaxy.exploded", "size": 9}, events[2], b""]
    assert narrate(tmp_path / "events.jsonl", lines, capsys) == (
        0,
        [
            "Run started",
            "error [model]: upstream 500 — recoverable, session continues",
            "Session ended",
        ],
        [],
    )


def test_lines_that_cannot_be_read_are_named_and_the_rest_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "events.jsonl"
    lines = [
        b"{",
        b"\xff\xfe",
        [1],
        {"type": "turn.started", "seq": "x"},
        {"id": "e-1", "kind": "message"},
        {"id": "e-1", "parent_id": None, "ts": 0, "kind": "message", "data": {}},
        event_to_wire(SessionEnded()),
    ]
    status, out, err = narrate(path, lines, capsys)
    assert (status, out) == (1, ["Session ended"])
    assert [line.split(":")[0] for line in err] == [f"{path}, line {n}" for n in range(1, 7)]
    assert "turn.started.seq is 'x'" in err[3]


def test_a_file_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["narrate", str(tmp_path / "none")]) == 2
    assert "none cannot be read" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_hears_no_traceback(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    event = {"type": "input.received", "session_id": "s", "ts": 1, "source": "kernel", "text": "x"}
    lines = [json.dumps({**event, "seq": seq, "message_id": f"m-{seq}"}) for seq in range(20_000)]
    file.write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "agent_widget", "narrate", str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().strip() == b"User: x"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("kind", ["file", "folder", "chats/", "chats.db"])
@pytest.mark.anyio
async def test_a_stored_session_is_said_as_it_was_told(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = tmp_path / ("chats.db" if kind == "chats.db" else "chats")
    store = open_store(where)
    steps: list[Step] = [[call("look", {"name": "a"}, id="c1")], [text("It is "), text("there.")]]
    async with opened(steps, [look], store=store) as case:
        await case.send("look")
    folder = where / case.session.session_id
    path = {"file": folder / "records.jsonl", "folder": folder}.get(kind, where)
    assert main(["narrate", str(path)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines() == [
        "User: look",
        "Run started",
        'look wants to run: {"name": "a"}',
        "look was allowed by mode",
        said.out.splitlines()[4],
        "Model: It is there.",
        "Run completed",
    ]
    assert said.out.splitlines()[4].startswith("look completed after 0.0")
    await store.aclose()
    if path == where:
        assert main(["narrate", str(path), "--session", case.session.session_id]) == 0
        assert capsys.readouterr() == said
        assert main(["narrate", str(path), "--session", "s-0"]) == 2
        assert "There is no session 's-0' in" in capsys.readouterr().err

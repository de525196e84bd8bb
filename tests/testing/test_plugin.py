"""The plugin of pytest: what a test of somebody else's gets, and what it does not notice."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import nbformat
import pytest

from agent_widget import AgentWidget, ReplayMismatch, replay

pytest_plugins = ["pytester"]

IS_INSTALLED = any(each.name == "agent_widget" for each in entry_points(group="pytest11"))
LOADED = [] if IS_INSTALLED else ["-p", "agent_widget.testing.pytest_plugin"]
OPTIONS = ["-p", "no:cacheprovider", "-p", "no:xdist", *LOADED]

TESTS = """
import socket
import pytest
from agent_widget import tool, Decision
from agent_widget.testing import (
    assert_asked, assert_final_text, assert_tools_called, call, text, transcript,
)

@tool
def look(name: str) -> str:
    "Look at something."
    return f"seen {name}"

SCRIPT = [[text("I look."), call("look", {"name": "x"})], [text("It is an x.")]]

def asked(agent_session, answer=True):
    chat = agent_session(list(SCRIPT), tools=[look], ask_user=lambda question: answer)
    chat.ask("what is it?")
    return chat

def test_holds(agent_session, agent_transcript):
    chat = asked(agent_session)
    assert_tools_called(chat, ("look", {"name": "x"}))
    assert_asked(chat, "look")
    assert_final_text(chat, "It is an x.")
    assert_final_text(chat.results[0], contains="an x", matches="x[.]$")
    assert [event.ts for event in chat.events] == [1_700_000_000_000] * len(chat.events)
    agent_transcript(chat, "kept")
    assert transcript(chat).endswith("It is an x.\\n")

def test_says_which_tools(agent_session):
    assert_tools_called(asked(agent_session), "look", "leap")

def test_says_which_argument(agent_session):
    assert_tools_called(asked(agent_session), {"look": {"name": "y"}})

def test_says_what_was_asked(agent_session):
    assert_asked(asked(agent_session))

def test_says_what_the_text_is(agent_session):
    assert_final_text(asked(agent_session), "It is a y.")

def test_says_what_changed_in_a_transcript(agent_session, agent_transcript):
    agent_transcript(asked(agent_session, False), "kept")

def test_reaches_nobody(no_network):
    with pytest.raises(AssertionError, match="example.com"):
        socket.create_connection(("example.com", 80))
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()

def test_sends_no_packet(no_network):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        with pytest.raises(AssertionError, match="192.0.2.1"):
            own.sendto(b"x", ("192.0.2.1", 53))
        own.sendto(b"x", ("127.0.0.1", 9))
    with pytest.raises(AssertionError, match="example.com"):
        socket.gethostbyname("example.com")

def test_any_order(agent_session):
    names = ("x", "y", "z")
    chat = agent_session([[call("look", {"name": n}) for n in names], [text("ok")]], tools=[look])
    chat.ask("go")
    assert_tools_called(
        chat, "look", ("look", {"name": "z"}), ("look", {"name": "x"}), in_any_order=True
    )

def test_says_what_failed(agent_session):
    chat = agent_session([[text("It is an x.")]])
    chat.ask("what is it?")
    assert chat.ask("and now?").reason == "error"
    assert_final_text(chat, "It is an x.")

def test_misuse(agent_session):
    chat = asked(agent_session)
    for misuse in (
        lambda: assert_final_text(chat),
        lambda: assert_tools_called(chat, ("look",)),
        lambda: assert_asked(object(), "look"),
    ):
        with pytest.raises(TypeError):
            misuse()

class TestOne:
    def test_kept(self, agent_session, agent_transcript):
        agent_transcript(asked(agent_session))

class TestTwo(TestOne):
    def test_kept(self, agent_session, agent_transcript):
        agent_transcript(asked(agent_session, False))

def test_unused(agent_replay):
    chat = agent_replay("hi.jsonl")
    assert chat.ask("hi").text == "Hello."

def test_changed(agent_replay):
    agent_replay("hi.jsonl").ask("good morning")

def test_live(agent_replay):
    from agent_widget.testing import ScriptedModel
    chat = agent_replay("live.jsonl", ScriptedModel([[text("Now.")]]))
    assert chat.ask("hi").text == "Now."
"""

RECORDING = [
    {"agent_widget_recording": 1},
    {
        "kind": "setup",
        "id": 1,
        "model": {"provider": "p", "name": "m", "label": "m"},
        "system": None,
        "tools": [],
    },
    {"kind": "request", "id": 1, "setup": 1, "messages": [{"user": "hi"}]},
    {"kind": "answer", "to": 1, "events": [{"text": ["Hello."]}, {"end": "stop"}]},
    {"kind": "request", "id": 2, "setup": 1, "messages": [{"user": "bye"}]},
    {"kind": "answer", "to": 2, "events": [{"text": ["Bye."]}, {"end": "stop"}]},
]
KEPT = """User: what is it?
Agent: I look.
Agent: look(name="x") → done
    seen x
Agent: It is an x.
"""


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    """A folder with tests of somebody who uses the plugin."""
    pytester.makepyfile(test_it=TESTS)
    pytester.path.joinpath("transcripts").mkdir()
    pytester.path.joinpath("transcripts/kept.txt").write_text(KEPT, encoding="utf-8")
    lines = "".join(json.dumps(line) + "\n" for line in RECORDING)
    pytester.path.joinpath("hi.jsonl").write_text(lines, encoding="utf-8")
    return pytester.path


def test_assertions_say_what_happened_instead(folder: Path, pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess(*OPTIONS, "-q")
    # test_live has no recording, test_unused fails at its end; test_changed is told once.
    done.assert_outcomes(passed=6, failed=10, errors=1)
    # The summary, which pytest does not shorten where CI is set, is a list of what was told.
    report, _, _ = done.stdout.str().partition("short test summary info")
    assert report.count("'hi' → 'good morning'") == 1
    done.stdout.fnmatch_lines_random(
        [
            "*tools called: look; expected: look, leap*",
            "*call 1 of look.name: 'y' → 'x'*",
            "*asked about: look; expected: nothing*",
            "*'It is a y.' → 'It is an x.'*",
            "*'It is an x.' → ''. The run failed: ScriptedModel has no step*",
            "*+ *→ cancelled*",
            "*hi.jsonl:5: request with 1 messages. message 1: *bye*",
            "*message 1.user: 'hi' → 'good morning'*",
            "*There is no recording*live.jsonl*",
        ]
    )
    told = re.search(r"_ test_changed _+\n(.*?)\n__", done.stdout.str(), re.DOTALL)
    assert told is not None
    assert re.findall(r"^(\S+\.py):\d+:", told[1], re.MULTILINE) == ["test_it.py"]


def test_a_run_can_record_and_write_transcripts_anew(
    folder: Path, pytester: pytest.Pytester
) -> None:
    chosen = ["-k", "live or transcript", "-q"]
    assert pytester.runpytest_inprocess(*OPTIONS, "--agent-record=all", *chosen).ret == 0
    kept = [f"transcripts/test_it.{name}.test_kept.txt" for name in ("TestOne", "TestTwo")]
    assert (
        pytester.runpytest_inprocess(*OPTIONS, "-k", "test_kept", "-q").ret == 1
    )  # the first time
    assert pytester.runpytest_inprocess(*OPTIONS, "-k", "test_kept", "-q").ret == 0
    assert ["cancelled" in (folder / each).read_text("utf-8") for each in kept] == [False, True]
    assert "Now." in (folder / "live.jsonl").read_text("utf-8")
    assert "cancelled" in (folder / "transcripts/kept.txt").read_text("utf-8")
    assert pytester.runpytest_inprocess(*OPTIONS, *chosen).ret == 0


def test_public_names_are_what_they_say_whatever_was_imported_before() -> None:
    code = (
        "from types import ModuleType\n"
        "import agent_widget.testing as testing\n"
        "for _ in range(2):\n"
        "    for name in testing.__all__:\n"
        "        exec(f'from agent_widget.testing import {name} as found')\n"
        "        assert not isinstance(found, ModuleType), name"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_plugin_loads_nothing_that_a_run_does_not_use() -> None:
    code = (
        "import sys, agent_widget.testing.pytest_plugin\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(loaded & {'anywidget', 'httpx', 'pydantic', 'msgspec', 'sqlalchemy'}))\n"
        "print(sorted(name for name in sys.modules if name.startswith('agent_widget.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, own = done.stdout.splitlines()
    assert heavy == "[]"
    assert own == "['agent_widget.testing', 'agent_widget.testing.pytest_plugin']"


CHAT = """from agent_widget import AgentWidget, replay
options = dict(agents=(), notebook=False, workspace=None, exclude_tools=['todo'], system='S')
chat = AgentWidget(replay('hi.jsonl'), **options)
chat.ask('hi').text"""


def shown(file: Path) -> dict[str, str]:
    """What a cell shows of the recorded conversation, as a saved notebook has it."""
    chat = AgentWidget(
        replay(file), agents=(), notebook=False, workspace=None, exclude_tools=["todo"], system="S"
    )
    chat.ask("hi")
    bundle, *_ = chat._repr_mimebundle_()
    with pytest.raises(ReplayMismatch, match=r"hi.jsonl:5: request"):
        chat.close()
    return {kind: data for kind, data in bundle.items() if kind.startswith("text/")}


def write_notebook(path: Path, cells: Sequence[tuple[str, dict[str, str]]]) -> None:
    made = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for number, (source, data) in enumerate(cells, 1):
        output = nbformat.v4.new_output("execute_result", data, execution_count=number)  # type: ignore[no-untyped-call]
        cell = nbformat.v4.new_code_cell(source, outputs=[output], execution_count=number)  # type: ignore[no-untyped-call]
        made.cells.append(cell)
    nbformat.write(made, path)  # type: ignore[no-untyped-call]


def test_nbval_compares_conversations(folder: Path, pytester: pytest.Pytester) -> None:
    """With the plugin alone: nobody names a file of what may differ."""
    file = folder / "hi.jsonl"
    file.write_text(file.read_text("utf-8").replace("null", '"S"'), encoding="utf-8")
    right = shown(file)
    assert right["text/plain"] == "agent_widget · m · 2 messages\n\nYou: hi\n\nAgent: Hello."
    wrong = {kind: data.replace("Hello.", "Good day.") for kind, data in right.items()}
    address = {"text/plain": "<object at 0x7f0000000000>"}
    cells = [(CHAT, {"text/plain": "'Hello.'"}), ("object()", address), ("chat", right)]
    write_notebook(folder / "lesson.ipynb", [*cells, ("chat", wrong)])
    options = ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=60", "-W", "default"]
    done = pytester.runpytest_subprocess(*OPTIONS, *options, "lesson.ipynb")
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines_random(["*Good day.*", "*Hello.*"])


def test_the_sanitising_file_is_found_by_name() -> None:
    command = [sys.executable, "-m", "agent_widget.testing", "nbval-config"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "[memory addresses]" in Path(done.stdout.strip()).read_text(encoding="utf-8")

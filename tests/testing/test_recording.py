"""Recordings: what is written down is given again, byte by byte, and nothing else is."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest

from agent_widget import (
    AgentWidget,
    Decision,
    Recording,
    ReplayMismatch,
    create_session,
    replay,
    tool,
)
from agent_widget.core.errors import InvalidOptions
from agent_widget.core.usage import Usage
from agent_widget.engine.recording.masks import Masks
from agent_widget.engine.recording.tape import MODE_VARIABLE
from agent_widget.engine.recording.wire import events_of, events_wire
from agent_widget.providers.base import (
    CallProgress,
    CallReady,
    ModelEvent,
    ReasoningChunk,
    ReasoningData,
    ServerCall,
    StepEnd,
    TextChunk,
)
from agent_widget.testing import (
    AgentSession,
    Gate,
    ScriptedModel,
    call,
    fault,
    network_blocked,
    text,
)
from agent_widget.testing.doubles import Step
from tests.support.recordings import CASES, FOLDER, KEY, TOOLS, allow, look, record

LOOK = CASES[0]
DIGESTS = json.loads((FOLDER / "digests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_two_replays_are_equal_byte_by_byte_here_and_on_every_python(case: Any) -> None:
    with network_blocked():
        first, second = case.played(replay(case.path)), case.played(replay(case.path))
    assert first == second
    how = "If sessions tell new things: python -m tests.support.recordings"
    assert case.digest() == DIGESTS[case.name], how


def test_what_was_recorded_over_http_is_what_a_session_gave_and_holds_no_key(
    tmp_path: Path,
) -> None:
    for case in CASES:
        file = tmp_path / f"{case.name}.jsonl"
        record(case, file)
        assert KEY not in file.read_text(encoding="utf-8")
        assert lines_of(file) == lines_of(case.path)


def lines_of(recording: Path) -> list[str]:
    """The lines in any order, as threads end, without when they did."""
    lines = recording.read_text("utf-8").splitlines()
    return sorted(re.sub(r', "at": \[\d+, \d+\]', "", line) for line in lines)


@tool(name="look")
def look_with_depth(name: str, depth: int = 1) -> dict[str, Any]:
    """Look at something.

    Args:
        name: What to look at.
    """
    return {"name": name, "depth": depth}


@tool(name="look")
def look_closely(name: str) -> dict[str, Any]:
    """Look closely at something.

    Args:
        name: What to look at.
    """
    return {"name": name}


def edit(_question: object) -> Decision:
    return Decision("edit", args={"name": "gulls"})


COUNT = TOOLS[1]
CHANGES: dict[str, tuple[dict[str, Any], str, str]] = {
    "prompt": (
        {"turns": ["What is penguin?", "And secret?"]},
        '"request", "id": 1',
        "message 1.user: 'What is penguins?' → 'What is penguin?'",
    ),
    "later prompt": (
        {"turns": ["What is penguins?", "And now?"]},
        '"request", "id": 3',
        "message 4.user: 'And secret?' → 'And now?'",
    ),
    "order": (
        {"turns": ["And secret?", "What is penguins?"]},
        '"request", "id": 1',
        "message 1.user: 'What is penguins?' → 'And secret?'",
    ),
    "system": ({"system": "Be long."}, '"setup"', "system: 'Be brief.' → 'Be long.'"),
    "tool schema": (
        {"tools": (look_with_depth, COUNT)},
        '"tool", "id": "look"',
        "tool look.parameters.properties.depth was added",
    ),
    "tool description": (
        {"tools": (look_closely, COUNT)},
        '"tool", "id": "look"',
        "tool look.description: 'Look at something.' → 'Look closely at something.'",
    ),
    "tool gone": ({"tools": (look,)}, '"tool", "id": "count"', "tool count was removed"),
    "order of tools": (
        {"tools": (COUNT, look)},
        '"setup"',
        "order of tools: look, count → count, look",
    ),
    "decision": (
        {"ask_user": allow},
        '"decision", "call": "call_0-2"',
        "decision.answer: 'deny' → 'allow_once'",
    ),
    "edited arguments": ({"ask_user": edit}, '"decision", "call": "call_0"', "decision.answer"),
    "rules": (
        {"permission": {"rules": {"allow": ["look"]}}},
        '"decision", "call": "call_0-2"',
        "recorded was a decision: {'answer': 'deny'",
    ),
    "tool result": ({"tools_mode": "run", "tools": (look_closely, COUNT)}, '"tool"', "tool look"),
    "model": ({"model": "m-2"}, '"setup"', "model.name: 'm-1' → 'm-2'"),
    "a turn more": ({"turns": [*LOOK.turns, "More?"]}, "", "Request 5 is not in"),
    "a turn less": ({"turns": [*LOOK.turns[:1]]}, '"request", "id": 3', "did not happen"),
}


def line_of(words: str) -> int:
    lines = LOOK.path.read_text(encoding="utf-8").split("\n")
    return next(number for number, line in enumerate(lines, 1) if words in line)


@pytest.mark.parametrize("planted", CHANGES)
def test_a_planted_change_fails_with_the_line_that_it_changed(planted: str) -> None:
    changed, words, told = CHANGES[planted]
    options = dict(changed)
    model: Any = replay(LOOK.path, tools=options.pop("tools_mode", "recorded"))
    if "model" in options:
        options["record"] = Recording(LOOK.path, "none")
        model, options["base_url"] = f"openai-chat:{options.pop('model')}", "http://127.0.0.1:1/v1"
    with pytest.raises(ReplayMismatch) as caught:
        LOOK.played(model, **options)
    assert told in caught.value.message
    assert not words or f"look.jsonl:{line_of(words)}:" in caught.value.message
    assert "accept=True" in caught.value.message


def test_what_tools_give_when_they_run_again_is_compared(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    script: list[Step] = [[call("count", {"word": "abc"})], [text("3")]]
    with AgentSession(ScriptedModel(script), tools=[COUNT], record=file) as session:
        session.ask("go")

    @tool(read_only=True, name="count")
    def miscount(word: str) -> int:
        """Count the letters of a word."""
        return len(word) + 1

    with AgentSession(replay(file), tools=[miscount]) as session:
        assert session.ask("go").text == "3"  # recorded: it does not run
    with (
        pytest.raises(ReplayMismatch, match=r"output\.content\[0\]\.text: '3' → '4'"),
        AgentSession(replay(file, tools="run"), tools=[miscount]) as session,
    ):
        session.ask("go")


def test_a_change_can_be_accepted_once(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(LOOK.path.read_bytes())
    turns = ["What are penguins?", "And secret?"]
    accepted = LOOK.played(replay(file, accept=True), turns)
    assert LOOK.played(replay(file), turns) == accepted
    before, after = (path.read_text("utf-8").split("\n") for path in (LOOK.path, file))
    changed = [at for at, (a, b) in enumerate(zip(before, after, strict=True), 1) if a != b]
    assert changed == [line_of('"input", "text": "What'), line_of('"request", "id": 1')]
    short = LOOK.played(replay(file, accept=True), turns[:1])
    assert LOOK.played(replay(file), turns[:1]) == short


def answers(file: Path, mode: Any, script: list[Any], *turns: str) -> list[str]:
    """The answers of a session, and how often its model was asked."""
    model = ScriptedModel(script)
    with AgentSession(model, record=Recording(file, mode)) as session:
        texts = [session.ask(turn).text for turn in turns]
    return [*texts, str(len(model.requests))]


def test_modes_mean_what_cassettes_made_them_mean(tmp_path: Path) -> None:
    file = tmp_path / "sub" / "a.jsonl"
    with pytest.raises(InvalidOptions, match="no recording"):
        answers(file, "none", [[text("x")]], "a")
    assert answers(file, "once", [[text("one")]], "a") == ["one", "1"]
    assert answers(file, "once", [[text("two")]], "a") == ["one", "0"]
    with pytest.raises(ReplayMismatch):
        answers(file, "once", [[text("two")]], "b")
    assert answers(file, "new", [[text("two")]], "a", "b") == ["one", "two", "1"]
    assert answers(file, "none", [], "a", "b") == ["one", "two", "0"]
    assert answers(file, "all", [[text("three")]], "a") == ["three", "1"]
    assert answers(file, "none", [], "a") == ["three", "0"]


def test_chats_share_a_recording_and_its_end_checks_that_all_was_used(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    with Recording(file) as tape:
        for name in ("one", "two"):
            with AgentSession(ScriptedModel([[text(name)]]), record=tape) as session:
                session.ask(name)
    with Recording(file, "none") as tape:
        for name in ("two", "one"):
            with AgentSession(None, record=tape) as session:
                assert session.ask(name).text == name
    with (
        pytest.raises(ReplayMismatch, match="did not happen"),
        Recording(file, "none") as tape,
        AgentSession(None, record=tape) as session,
    ):
        session.ask("one")


def test_the_environment_overrides_modes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.jsonl"
    answers(file, "once", [[text("one")]], "a")
    monkeypatch.setenv(MODE_VARIABLE, "all")
    assert answers(file, "none", [[text("two")]], "a") == ["two", "1"]
    with AgentSession(replay(file)) as session:  # there is nothing else to ask
        assert session.ask("a").text == "two"
    monkeypatch.setenv(MODE_VARIABLE, "sometimes")
    with pytest.raises(InvalidOptions, match="sometimes"):
        Recording(file)


def test_a_replay_retries_like_the_recording_without_waiting(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    steps: list[Step] = [fault("rate_limited", retry_after_s=0.001), [text("ok")]]
    with AgentSession(ScriptedModel(steps), record=file) as session:
        assert session.ask("a").text == "ok"
    slow = file.read_text("utf-8").replace('"retry_after_s": 0.001', '"retry_after_s": 50')
    file.write_text(slow, encoding="utf-8")
    told = []
    for _ in range(2):
        with AgentSession(replay(file)) as session:
            assert session.ask("a", timeout_s=20).text == "ok"
            told.append(repr(session.events))
    assert told[0] == told[1]
    assert "50" in told[0]


async def seen(session: AgentSession, words: str) -> None:
    """Return once the last message reads so."""
    news, changed = session.driver.session, asyncio.Event()
    leave = news.subscribe(lambda _event, _view: changed.set())
    while session.messages[-1].text != words:
        changed.clear()
        await asyncio.wait_for(changed.wait(), 10)
    leave()


def test_failures_and_stops_are_given_again(tmp_path: Path) -> None:
    file, gate = tmp_path / "a.jsonl", Gate()
    model = ScriptedModel([fault("chat_disabled"), [text("half"), gate, text(" more")]])
    with AgentSession(model, record=file) as session:
        failed = session.ask("a")
        run = session.send("b")
        assert gate.reached.wait_blocking(10)
        session.stop()
        assert run.result(10).reason == "interrupted"
    with AgentSession(replay(file)) as session:
        again = session.ask("a")
        assert again.error == failed.error
        run = session.send("b")
        session.driver.command(lambda: seen(session, "half"))
        session.stop()
        assert (run.result(10).reason, session.messages[-1].text) == ("interrupted", "half")


def test_recorded_clicks_answer_a_replay_where_nobody_is(tmp_path: Path) -> None:
    with AgentWidget(
        replay(LOOK.path),
        tools=TOOLS,
        system="Be brief.",
        agents=(),
        notebook=False,
        workspace=None,
        exclude_tools=["todo"],
    ) as chat:
        assert chat.ask(LOOK.turns[0]).text == "It has 8 letters."
        assert chat.ask(LOOK.turns[1]).text == "You did not allow it."
        assert "It has 8 letters." in chat._repr_mimebundle_()[0]["text/plain"]


@pytest.mark.anyio
async def test_a_session_that_code_drives_fails_like_a_widget() -> None:
    chat = await create_session(
        replay(LOOK.path), tools=TOOLS, bare=True, agents=(), notebook=False, workspace=None
    )
    with pytest.raises(ReplayMismatch, match=r"system: 'Be brief.' → None"):
        await chat.ask(LOOK.turns[0])
    with pytest.raises(ReplayMismatch):
        await chat.close()
    await chat.close()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{}\n", "no recording"),
        ('{"agent_widget_recording": 99}\n', "format 99"),
        ('{"agent_widget_recording": 1}\n{oops\n', "a.jsonl:2"),
        ('{"agent_widget_recording": 1}\n{"kind": "answer", "to": 7}\n', "a.jsonl:2"),
        ('{"agent_widget_recording": 1}\n', "holds no answer"),
    ],
)
def test_what_is_no_recording_is_refused_by_its_line(
    tmp_path: Path, content: str, told: str
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidOptions, match=told):
        replay(file)


def test_a_place_that_cannot_be_written_is_refused_and_a_full_one_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file" / "a.jsonl"):
        with pytest.raises(InvalidOptions, match="cannot be written there"):
            Recording(place, "all")
    folder = tmp_path / "gone"
    tape = Recording(folder / "a.jsonl")
    folder.touch()  # another program took the place
    with AgentSession(ScriptedModel([[text("Hello.")]]), record=tape) as chat:
        error = chat.ask("hi").error
        assert error is not None
        assert error.code == "recording_failed"
        assert str(folder / "a.jsonl") in error.message


def test_a_key_is_masked_that_arrives_in_pieces_and_one_that_is_fetched(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    pieces = [text("It is " + KEY[:7]), text(KEY[7:] + ", "), text("keep it.")]

    class Keyed(ScriptedModel):
        def secrets(self) -> tuple[str, ...]:
            return (KEY,)

    with AgentSession(Keyed([pieces, [text("ok")]]), record=file) as session:
        session.ask("which key?")
        session.ask(f"this one: {KEY}")
    assert KEY[7:] not in file.read_text("utf-8")
    with AgentSession(replay(file)) as session:
        assert session.ask("which key?").text == "It is ***, keep it."
        assert session.ask("this one: ***").ok


def test_keys_are_masked_wherever_they_stand() -> None:
    masks = Masks({"SOME_API_KEY": "abcdefgh-12345", "MONKEY": "monkeywrench", "PATH": "/usr/bin"})
    masks.add(["given-key-1"])
    masks.add_source(lambda: ["fetched-key-2"])
    given = {
        "abcdefgh-12345": ["x given-key-1 y", {"deep": "fetched-key-2"}],
        "header": "Authorization: Bearer qwertyuiop",
        "query": "https://host/a?api_key=topsecret&x=1",
        "user": "postgresql://me:hunter22@host/db",
        "vendor": "sk-proj-aaaaaaaaaaaaaaaaaaaa",
        "header 2": '{"x-api-key": "zxcvbnmas"}, Set-Cookie: sid=poiuytre; Path=/',
        "recipe": "Cookie: a small cake. Authorization: required",
        "words": "monkeywrench /usr/bin a key=value b",
    }
    masked = masks.masked(given)
    kept = json.dumps(masked)
    for secret in (
        "abcdefgh",
        "given",
        "fetched",
        "qwerty",
        "topsecret",
        "hunter22",
        "sk-proj",
        "zxcv",
        "poiu",
    ):
        assert secret not in kept
    assert masked["words"] == given["words"]
    assert masked["recipe"].startswith("Cookie: a small cake.")
    assert masked["query"] == "https://host/a?api_key=***&x=1"


def test_every_kind_of_event_is_written_and_read() -> None:
    events: list[ModelEvent] = [
        TextChunk("a"),
        TextChunk("b"),
        ReasoningChunk("c"),
        ReasoningData({"signature": "s"}),
        CallProgress(0, "look", '{"na'),
        CallProgress(0, "look", '{"name": 1}'),
        CallProgress(0, "look", "started anew"),
        ServerCall("s-1", "web", {"q": "x"}, {"found": []}),
        CallReady("c-1", "look", None, "it is not JSON"),
        CallReady("c-2", "look", {"name": "x"}),
        StepEnd("other", Usage(1, 2, 3, 4), "pause"),
    ]
    assert {type(event) for event in events} == {*get_args(ModelEvent)}
    written = json.loads(json.dumps(events_wire(events)))
    assert [*events_of(written)] == events

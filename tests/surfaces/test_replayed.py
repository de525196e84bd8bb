"""Recordings explored: what a recording shows is what the chat was, step by step."""

from __future__ import annotations

import asyncio
import io
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from agent_widget import Agent, Decision, Question, SessionExplorer, ToolContext, tool
from agent_widget.core.errors import InvalidArgs, InvalidOptions
from agent_widget.core.events import Event, ToolEndedLate, ToolProgress
from agent_widget.core.eventwire import event_to_wire
from agent_widget.core.ids import SequentialIds
from agent_widget.engine.recording import Recording, replay
from agent_widget.engine.recording.rerun import DERIVED
from agent_widget.engine.recording.tape import MODE_VARIABLE
from agent_widget.surfaces.replayed import explored_recording
from agent_widget.testing import (
    AgentSession,
    FakeClock,
    Gate,
    ScriptedModel,
    call,
    end,
    fault,
    network_blocked,
    text,
)
from agent_widget.testing.doubles import Signal, Step
from agent_widget.tools.base import Elicitation
from agent_widget.view.timeline import Timeline
from tests.support.recordings import CASES, KEY

WAIT_S = 60.0


def named(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    if not fields.get("name"):
        raise InvalidArgs("git", ("name: missing",))
    return fields


class Bench:
    """Tools for a test: ``work`` tells how far it is, and ends when the test lets it."""

    def __init__(self, *, obeys: bool = False) -> None:
        self.obeys = obeys
        self.began, self.release = Signal(), threading.Event()

        @tool
        def change(name: str, times: int = 1) -> str:
            """Change something."""
            return f"changed {name} {times} times"

        @tool(read_only=True)
        def count(word: str) -> int:
            """Count the letters of a word."""
            return len(word)

        meet = threading.Barrier(2, timeout=WAIT_S)

        @tool(read_only=True)
        def pair(name: str, context: ToolContext) -> str:
            """Do something while another one does, too."""
            meet.wait()
            context.output(f"{name} is here, ")
            context.progress("one of two")
            context.output("and goes")
            meet.wait()
            return name

        @tool(read_only=True)
        def work(context: ToolContext) -> str:
            """Work until it is let go."""
            context.output("working")
            context.progress("half")
            self.began.set()
            if self.obeys:
                assert context.cancelled.wait(WAIT_S)
            else:
                assert self.release.wait(WAIT_S)
            return "the work is done"

        @tool(read_only=True)
        async def greet(context: ToolContext) -> str:
            """Greet somebody."""
            asked = await context.elicit(Elicitation("git", "Who are you?", {"name": ""}, named))
            return f"hello {asked.fields}"

        self.tools = [change, count, pair, work, greet]
        self.agents = [Agent("helper", "Counts.", system="Count it.", tools=[count])]


def answered(question: Question) -> Any:
    """Edits what is about apples, denies secrets, gives its name, allows the rest."""
    if question.tool == "greet":
        return Decision("edit", args={"name": "Ann"})
    if question.args["name"] == "apples":
        return Decision("edit", args={"name": "pears", "times": 2})
    return Decision("deny", "No.") if question.args["name"] == "secrets" else True


def session(bench: Bench, model: Any, **options: Any) -> AgentSession:
    fixed = {"clock_ms": FakeClock().ms, "new_id": SequentialIds()}
    return AgentSession(
        model,
        tools=bench.tools,
        agents=bench.agents,
        system="Be brief.",
        permission={"rules": {"allow": ["change(name=tea*)"], "deny": ["change(name=tax*)"]}},
        while_running="steer",
        **{"ask_user": answered, **fixed, **options},
    )


def awaited(chat: AgentSession, wanted: Callable[[Event], bool]) -> None:
    """Return once such an event was told."""
    news = Signal()

    def heard(event: Event, _view: object) -> None:
        if wanted(event):
            news.set()

    async def listen() -> None:
        chat.driver.session.subscribe(heard)

    chat.driver.command(listen)
    assert any(map(wanted, chat.events)) or news.wait_blocking(WAIT_S)


def plain(event: Event) -> Event:
    """``event`` without what is measured in time."""
    timed = {"ts": 0, "duration_ms": 0, "first_token_ms": 0}
    names = set(event.__struct_fields__)
    return replace(event, **{name: value for name, value in timed.items() if name in names})


def seen(timeline: Timeline) -> Iterator[Any]:
    """Each step and each request of a timeline, without time."""
    for step in timeline.steps:
        yield [plain(event) for event in step.events], step.actions, step.state
    yield from timeline.requests


def same(recording: Path, live: SessionExplorer) -> None:
    """Assert that the explorer of ``recording`` shows what ``live`` does."""
    explored = explored_recording(recording, None)
    assert explored.notes == (
        "Played again from a recording: times and ids are those of the replay.",
    )
    shown = [*seen(explored.timeline)]
    for number, (mine, its) in enumerate(zip(shown, seen(live.frames.timeline), strict=False)):
        assert mine == its, number
    assert len(shown) == len([*seen(live.frames.timeline)])


def test_a_recording_shows_the_chat_that_made_it_step_by_step(tmp_path: Path) -> None:
    bench, steered, stopped = Bench(), Gate(), Gate()
    steps: list[Step] = [
        [text("I "), text("look."), call("pair", {"name": "a"}), call("pair", {"name": "b"})],
        [call("change", {"name": "x"}), call("change", {"name": "apples"})],
        [call("change", {"name": "secrets"}), call("change", {"name": "tea", "times": "3"})],
        [call("change", {"name": "taxes"}), call("change", {"nome": 1}), call("jump")],
        [call("greet")],
        [text("Done.")],
        [text("Hm"), steered, text("m."), call("count", {"word": "abc"})],
        [text("As you say.")],
        [text("And that, too.")],
        [call("delegate_to_helper", {"task": "Count four."})],
        [call("count", {"word": "four"})],
        [text("4")],
        fault("rate_limited", retry_after_s=0.001),
        [text("It has four.")],
        fault("bad_request"),
        [text("half"), stopped, text("never")],
        [call("work")],
        [text("cut"), end("length")],
    ]
    file = tmp_path / "chat.jsonl"
    with session(bench, ScriptedModel(steps), record=file) as chat:
        live = SessionExplorer(chat)
        chat.ask("Change x and apples.")
        run = chat.send("Take your time.")
        assert steered.reached.wait_blocking(WAIT_S)
        chat.driver.enqueue("Count abc.", "steering")
        chat.driver.enqueue("Then greet.", "follow_up")
        steered.open()
        run.result(WAIT_S)
        chat.ask("Ask the helper.")
        chat.ask("Fail.")
        run = chat.send("Go on for ever.")
        assert stopped.reached.wait_blocking(WAIT_S)
        chat.stop()
        run.result(WAIT_S)
        run = chat.send("Work.")
        assert bench.began.wait_blocking(WAIT_S)
        chat.stop()
        run.result(WAIT_S)
        bench.release.set()
        awaited(chat, lambda event: isinstance(event, ToolEndedLate))
        chat.ask("What now?")
        same(file, live)
        live.close()


def test_a_notebooks_own_tools_and_the_plan_are_shown_again(tmp_path: Path) -> None:
    plan = {"items": [{"content": "Look", "status": "in_progress"}]}
    steps: list[Step] = [
        [call("todo", plan)],
        [call("list_variables"), call("run_python", {"code": "df"})],
        [text("It is there.")],
    ]
    file = tmp_path / "chat.jsonl"
    options: dict[str, Any] = {"bare": False, "notebook": True, "workspace": None}
    space = {"df": [1, 2]}
    with AgentSession(
        ScriptedModel(steps),
        record=file,
        namespace=space,
        ask_user=lambda _: False,
        new_id=SequentialIds(),
        clock_ms=FakeClock().ms,
        **options,
    ) as chat:
        live = SessionExplorer(chat)
        chat.ask("Look at df.")
        same(file, live)
        live.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_turns_of_earlier_recordings_are_read_from_their_requests(
    case: Any, tmp_path: Path
) -> None:
    plain_file = tmp_path / "old.jsonl"
    lines = case.path.read_text("utf-8").splitlines(keepends=True)
    plain_file.write_text(
        "".join(line for line in lines if not re.match(r'\{"kind": "(input|call)"', line)), "utf-8"
    )
    old, new = explored_recording(plain_file, None), explored_recording(case.path, None)
    assert [*seen(old.timeline)] == [*seen(new.timeline)]
    assert [*old.notes[len(new.notes) :]] == [DERIVED]


def test_what_a_recording_does_not_hold_is_said_and_nothing_is_made_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, file = Bench(), tmp_path / "chat.jsonl"
    steps: list[Step] = [[call("count", {"word": "x"})], [text("1")], [text("Hi.")]]
    with session(bench, ScriptedModel(steps), record=file, max_steps=1) as chat:
        live = SessionExplorer(chat)
        chat.ask("Count x.")
        chat.ask("Say hi.")
        lived = [*seen(live.frames.timeline)]
        live.close()
    before = file.read_bytes()
    monkeypatch.setenv(MODE_VARIABLE, "accept")  # whoever only looks changes nothing
    explored = explored_recording(file, None)
    assert file.read_bytes() == before
    told = [*seen(explored.timeline)]
    count = len(explored.timeline.steps)
    assert told[:count] == lived[:count]
    assert "tool.completed" in {step.event.type for step in explored.timeline.steps}
    assert len(explored.timeline.requests) == 1
    assert "It ends here: the recording does not hold how it went on" in explored.notes[-1]
    assert repr(SessionExplorer(file)).endswith(explored.notes[-1])


def test_digests_stand_for_the_pictures_of_the_user(tmp_path: Path) -> None:
    file, noise = tmp_path / "chat.jsonl", io.BytesIO()
    Image.effect_noise((32, 32), 50).save(noise, "PNG")
    with AgentSession(ScriptedModel([[text("Noise.")], [text("Hi.")]]), record=file) as chat:
        chat.ask("What is that?", images=[noise.getvalue()])
        chat.ask("Say hi.")
    explored = explored_recording(file, None)
    assert "digests stand for them" in explored.notes[-1]
    assert [message.text for message in explored.timeline.state.messages] == [
        "What is that?",
        "Noise.",
        "Say hi.",
        "Hi.",
    ]
    assert len(explored.timeline.requests) == 2


def test_each_chat_of_a_recording_can_be_explored(tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    with Recording(file) as tape:
        for name in ("one", "two"):
            with AgentSession(ScriptedModel([[text(name)]]), record=tape) as chat:
                chat.ask(f"Say {name}.")
    for number, name in (("1", "one"), ("2", "two")):
        explorer = SessionExplorer(file, session_id=number)
        assert [message.text for message in explorer.steps[-1].state.messages][1] == name
        assert "has 2 chats" in repr(explorer)
    for wrong in ("3", "s-1"):
        with pytest.raises(InvalidOptions, match="no chat"):
            SessionExplorer(file, session_id=wrong)


@pytest.mark.parametrize("obeys", [True, False])
def test_two_replays_tell_what_the_chat_told_with_progress_and_what_came_after_a_stop(
    tmp_path: Path, obeys: bool
) -> None:
    file = tmp_path / "chat.jsonl"

    def told(model: Any, **options: Any) -> list[Event]:
        bench = Bench(obeys=obeys)
        with session(bench, model, **options) as chat:
            run = chat.send("Work.")
            awaited(chat, lambda event: isinstance(event, ToolProgress) and event.message == "half")
            chat.stop()
            run.result(WAIT_S)
            if not obeys:
                bench.release.set()
                awaited(chat, lambda event: isinstance(event, ToolEndedLate))
            chat.ask("And now?")
            return chat.events

    lived = told(ScriptedModel([[call("work")], [text("Done.")]]), record=file)
    with network_blocked():
        first, second = (
            told(replay(file), clock_ms=None, new_id=None, ask_user=None) for _ in range(2)
        )
    assert [*map(plain, first)] == [*map(plain, lived)]
    assert [*map(event_to_wire, first)] == [*map(event_to_wire, second)]


def test_a_key_that_a_tool_prints_in_pieces_is_masked(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    first, second = KEY[:7], KEY[7:]

    @tool(read_only=True)
    async def leak(context: ToolContext) -> str:
        """Print a key."""
        context.output(first)
        await asyncio.sleep(0)
        context.output(second)
        return "printed"

    class Keyed(ScriptedModel):
        def secrets(self) -> tuple[str, ...]:
            return (KEY,)

    with AgentSession(Keyed([[call("leak")], [text("ok")]]), tools=[leak], record=file) as chat:
        chat.ask("go")
    kept = file.read_text("utf-8")
    assert first not in kept
    assert second not in kept
    assert '"told": [{"output": ["***"]}]' in kept

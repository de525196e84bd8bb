"""Recordings explored: what a recording shows is what the chat was, step by step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agent_widget import Agent, Decision, Question, SessionExplorer, ToolContext, tool
from agent_widget.core.events import Event, ToolEndedLate
from agent_widget.core.ids import SequentialIds
from agent_widget.surfaces.replayed import explored_recording
from agent_widget.testing import (
    AgentSession,
    FakeClock,
    Gate,
    ScriptedModel,
    call,
    end,
    fault,
    text,
)
from agent_widget.testing.doubles import Signal, Step
from agent_widget.view.timeline import Timeline

WAIT_S = 60.0


class Bench:
    """Tools for a test: ``work`` tells how far it is, and ends when the test lets it."""

    def __init__(self) -> None:
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
            assert self.release.wait(WAIT_S)
            return "the work is done"

        self.tools = [change, count, pair, work]
        self.agents = [Agent("helper", "Counts.", system="Count it.", tools=[count])]


def answered(question: Question) -> Any:
    """Edits what is about apples, denies secrets, allows the rest."""
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

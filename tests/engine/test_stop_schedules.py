"""Stop at any moment of any state: nothing starts after it, and the session goes on."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

import pytest

from agent_widget import tool
from agent_widget.core.errors import ModelError, SessionError
from agent_widget.core.events import Event, InputApplied, InputReceived, ToolStarted
from agent_widget.core.messages import Conversation, ToolPart
from agent_widget.engine.models import ModelOptions
from agent_widget.engine.subagents import Agent
from agent_widget.policy.compaction import SYSTEM as SUMMARISER
from agent_widget.providers.base import ModelRequest
from agent_widget.testing.doubles import Gate, ScriptedModel, ScriptItem, call, text
from agent_widget.tools import FunctionTool, TextBlock, ToolOutput
from agent_widget.view.model import SessionView
from tests.engine.stores import MoodyStore
from tests.engine.support import Case, opened
from tests.support.virtualtime import VirtualTimeLoop

SCHEDULES: Final = 500
GRACE_S: Final = 10.0


def delta(event: Event) -> bool:
    return event.type == "msg.text.delta"


def of_type(name: str) -> Callable[[Event], bool]:
    return lambda event: event.type == name


def follow_up_said(event: Event) -> bool:
    return isinstance(event, InputReceived) and event.text == "then"


STATES: Final[dict[str, tuple[list[str], Callable[[Event], bool]]]] = {
    # What the model does, and what the Stop comes after.
    "admission": (["hang"], of_type("turn.started")),
    "connecting": (["hang"], of_type("turn.started")),
    "streaming": (["speak"], delta),
    "back-off": (["busy"], of_type("retry.scheduled")),
    "async tool": (["work"], of_type("tool.started")),
    "sync tool": (["toil"], of_type("tool.started")),
    "parallel tools": (["work", "quick", "toil"], of_type("tool.completed")),
    "question": (["change"], of_type("tool.permission.requested")),
    "queued questions": (["change", "change"], of_type("tool.permission.requested")),
    "helper": (["help speak"], delta),
    "helper's back-off": (["help busy"], of_type("retry.scheduled")),
    "helper's tool": (["help work"], of_type("tool.started")),
    "helpers' questions": (["help change", "help change"], of_type("tool.permission.requested")),
    "between steps": (["quick"], of_type("tool.completed")),
    "steering": (["quick"], lambda event: isinstance(event, InputApplied)),
    "queue": (["quick"], follow_up_said),
    "compaction": (["quick", "full"], of_type("compaction.started")),
}
BUSY: Final = ModelError("network", "The server is overloaded.", status=529, retryable=True)
TOO_LONG: Final = ModelError("bad_request", "The prompt is too long.", is_too_long=True)
WAYS: Final = ("stop", "interrupt", "stop, interrupt", "interrupt, interrupt", "stop, stop")


class Scene:
    """What a model says and which tools there are, for one state."""

    def __init__(self, plan: list[str]) -> None:
        self.gate = Gate()
        self.release = threading.Event()
        self.hold = asyncio.Event()
        self.finished: list[str] = []
        self._plan = plan

    def answer(self, request: ModelRequest) -> list[ScriptItem]:
        first, last = request.messages[0], request.messages[-1]
        if last.text == "again":
            return [text("fine")]
        if first.text.startswith("help "):  # it is the task of a helper
            return self._doing([first.text.removeprefix("help ")])
        if request.system == SUMMARISER:
            return [text("so "), self.gate]
        if last.text == "begin":
            return self._doing(self._plan)
        if "full" in self._plan:
            return [call("quick") if len(request.messages) == 2 else TOO_LONG]
        return [text("more ")] if last.role == "user" else [text("half "), self.gate]

    def _doing(self, plan: list[str]) -> list[ScriptItem]:
        items: list[ScriptItem] = []
        for what in plan:
            if what == "hang":
                items.append(self.gate)
            elif what == "busy":
                items.append(BUSY)
            elif what == "speak":
                items += [text("one "), text("two "), self.gate]
            elif what.startswith("help "):
                items.append(call("delegate_to_helper", {"task": what}))
            elif what != "full":
                items.append(call(what))
        return items

    def tools(self) -> list[Any]:
        def done(name: str) -> ToolOutput:
            self.finished.append(name)
            return ToolOutput((TextBlock(name),))

        @tool(read_only=True)
        async def work() -> ToolOutput:
            """Work."""
            await self.hold.wait()
            return done("work")

        @tool(read_only=True)
        def toil() -> ToolOutput:
            """Work in a thread."""
            self.release.wait(10)
            return done("toil")

        @tool(read_only=True)
        async def quick() -> ToolOutput:
            """Be quick."""
            return done("quick")

        @tool
        async def change() -> ToolOutput:
            """Change something."""
            return done("change")

        return [work, toil, quick, change]


def calls_of(conversation: Conversation) -> Iterator[ToolPart]:
    for message in conversation:
        for part in message.tool_calls:
            yield part
            if part.agent is not None:
                yield from calls_of(part.agent.messages)


def texts_of(conversation: Conversation) -> dict[str, str]:
    """The text of each answer, those of helpers too."""
    texts = {message.id: message.text for message in conversation if message.role == "assistant"}
    for part in calls_of(conversation):
        if part.agent is not None:
            texts |= texts_of(part.agent.messages)
    return texts


class Watch:
    """What had begun when the Stop was committed, and what was on the screen."""

    def __init__(self, case: Case, model: ScriptedModel) -> None:
        self._model = model
        self.counts: Counter[str] = Counter()
        self.at_stop: Counter[str] | None = None
        self.texts: dict[str, str] = {}
        case.session.subscribe(self._heard)

    @property
    def now(self) -> Counter[str]:
        return self.counts + Counter({"requests": len(self._model.requests)})

    def _heard(self, event: Event, view: SessionView) -> None:
        if isinstance(event, ToolStarted) or event.type == "tool.permission.requested":
            self.counts[event.type] += 1
        elif event.type == "session.stopping":
            self.at_stop = self.now
            self.texts = texts_of(view.chat.messages)


async def play(seed: int, outcomes: Counter[str]) -> None:
    """One schedule; ``outcomes`` counts what the Stop was answered with."""
    chance = random.Random(seed)
    name = chance.choice([*STATES])
    way, ticks = chance.choice(WAYS), chance.randrange(12)
    plan, trigger = STATES[name]
    scene, loop = Scene(plan), asyncio.get_running_loop()
    model = ScriptedModel([scene.answer] * 12)
    store = MoodyStore(ticks=chance.randrange(3))
    options: dict[str, Any] = {"store": store, "agents": [Agent("helper", "Helps.")]}
    options["models"] = ModelOptions(chance=chance.random)  # with waits between repetitions
    async with opened(model, scene.tools(), **options) as case:
        watch, reached = Watch(case, model), asyncio.Event()
        case.session.subscribe(lambda event, _view: reached.set() if trigger(event) else None)
        if name == "steering":
            await case.session.enqueue("then", "steering")
        run = await case.session.send("begin")
        if name in ("queue", "steering"):
            scene.gate.open()
            await case.session.enqueue("then", "follow_up")
            await case.session.enqueue("then", "follow_up")
        await reached.wait()
        for _ in range(ticks):
            await asyncio.sleep(0)
        began_s = loop.time()
        for each in way.split(", "):
            try:
                await case.session.stop(GRACE_S if each == "stop" else 0.0)
                outcomes["stopped"] += 1
            except SessionError as refused:
                outcomes[refused.code] += 1
        result = await asyncio.wrap_future(run.future)
        await case.session.wait_for_idle()
        is_graceful = "interrupt" not in way
        assert loop.time() - began_s <= GRACE_S * is_graceful + 1

        view = case.session.view
        assert (view.phase, view.question, view.queue, view.can_send) == ("idle", None, (), True)
        assert not any(part.is_open for part in calls_of(view.chat.messages))
        if watch.at_stop is not None:
            assert result.reason == "interrupted"
            assert watch.now == watch.at_stop
            assert view.notices == ()
        claimed = [part.name for part in calls_of(view.chat.messages) if part.state == "done"]
        assert not Counter(n for n in claimed if "delegate" not in n) - Counter(scene.finished)
        texts = texts_of(view.chat.messages)
        for message_id, words in watch.texts.items():
            assert texts[message_id].startswith(words)

        scene.release.set()
        await case.session.inputs.clear()
        assert (await case.send("again")).text == "fine"
        last = model.requests[-1].messages
        assert (last[-1].text, any(part.is_open for part in calls_of(last))) == ("again", False)


@pytest.mark.parametrize("part", range(5))
def test_after_a_stop_at_any_moment_nothing_starts_and_the_next_message_works(part: int) -> None:
    outcomes: Counter[str] = Counter()
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        for seed in range(part, SCHEDULES, 5):
            try:
                runner.run(play(seed, outcomes))
            except BaseException as error:
                error.add_note(f"seed {seed}")
                raise
    assert outcomes["stopped"] >= 0.8 * outcomes.total(), outcomes


# --- how long it takes ------------------------------------------------------------------------


def stays(cancellations: float) -> tuple[Any, list[float], asyncio.Event]:
    """A tool that takes so many cancellations before it ends, when they came, and its start."""
    cancelled_s: list[float] = []
    started = asyncio.Event()

    class Stay(FunctionTool):
        """Without the grace of a function tool: what is measured is the session's own."""

        async def execute(self, _args: Any, _context: Any) -> ToolOutput:
            started.set()
            while True:
                try:
                    await asyncio.sleep(1_000)
                except asyncio.CancelledError:
                    cancelled_s.append(asyncio.get_running_loop().time())
                    if len(cancelled_s) >= cancellations:
                        raise

    def stay() -> None:
        """Stay."""

    return Stay(stay, read_only=True), cancelled_s, started


@pytest.mark.parametrize(
    ("stops", "cancelled", "ended"),
    [
        ([(0, 10.0)], [10], 10),
        ([(0, 0.0)], [0], 0),
        ([(0, 10.0), (4, 10.0)], [10], 10),
        ([(0, 10.0), (4, 0.0)], [4], 4),
        ([(0, 10.0), (4, 2.0), (5, 10.0)], [6], 6),
    ],
)
def test_the_shortest_grace_counts_and_what_ends_then_is_cancelled_once(
    stops: list[tuple[float, float]], cancelled: list[float], ended: float
) -> None:
    async def live() -> None:
        stay, cancelled_s, started = stays(1)
        loop = asyncio.get_running_loop()
        async with opened([[call("stay")]], [stay]) as case:
            run = await case.session.send("go")
            await started.wait()
            for at_s, grace_s in stops:
                await asyncio.sleep(at_s - loop.time())
                await case.session.stop(grace_s)
            assert (await asyncio.wrap_future(run.future)).reason == "interrupted"
            assert (cancelled_s, loop.time()) == (cancelled, ended)
            assert case.session.view.notices == ()

    in_virtual_time(live)


@pytest.mark.parametrize(("grace_s", "abandoned_s"), [(GRACE_S, 20), (0.0, 10)])
def test_what_does_not_end_when_it_is_cancelled_is_abandoned_with_a_notice(
    grace_s: float, abandoned_s: float
) -> None:
    async def live() -> None:
        stay, cancelled_s, started = stays(2)
        loop = asyncio.get_running_loop()
        async with opened([[call("stay")], [text("next")]], [stay]) as case:
            run = await case.session.send("go")
            await started.wait()
            await case.session.stop(grace_s)
            assert (await asyncio.wrap_future(run.future)).reason == "abandoned"
            assert (cancelled_s, loop.time()) == ([grace_s], abandoned_s)
            [notice] = case.session.view.notices
            assert (notice.code, f"within {abandoned_s:g} s" in notice.message) == (
                "abandoned",
                True,
            )
            assert (await case.send("and now?")).text == "next"
            assert run.task is not None
            run.task.cancel()  # what is left of it ends, and nothing of that is heard
            before = await case.records()
            await asyncio.wait({run.task})
            assert await case.records() == before

    in_virtual_time(live)


def test_what_ends_within_the_grace_is_not_cancelled_and_its_result_counts() -> None:
    async def live() -> None:
        loop, both = asyncio.get_running_loop(), asyncio.Semaphore(0)

        @tool(read_only=True)
        async def work() -> ToolOutput:
            """Work."""
            both.release()
            await asyncio.sleep(9)
            return ToolOutput((TextBlock("worked"),))

        async with opened([[call("work"), call("work")], [text("never")]], [work]) as case:
            run = await case.session.send("go")
            for _ in range(2):
                await both.acquire()
            await case.session.stop()
            assert (await asyncio.wrap_future(run.future)).reason == "interrupted"
            assert loop.time() == 9
            states = [part.state for part in calls_of(case.session.messages)]
            assert states == ["done", "done"]

    in_virtual_time(live)


def in_virtual_time(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(work())

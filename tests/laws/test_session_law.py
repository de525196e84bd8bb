"""A session under any order of commands, answers, crashes and branches keeps its invariants.

The invariants are those of the unified model, section 10; each is checked after every step.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from agent_widget import tool
from agent_widget.core.errors import ModelError, SessionClosed, SessionError
from agent_widget.core.events import (
    Event,
    ToolStarted,
    TurnAborted,
    TurnCompleted,
    TurnStarted,
)
from agent_widget.core.journal import Journal
from agent_widget.engine.permissions import Permissions
from agent_widget.engine.session import Session
from agent_widget.policy.compaction import SYSTEM as SUMMARISER
from agent_widget.policy.compaction import Compaction
from agent_widget.policy.input import PolicyChange
from agent_widget.policy.options import permission_options
from agent_widget.policy.permission import Decision, Question
from agent_widget.providers.base import ModelEvent, ModelInfo, ModelRequest, TextChunk
from agent_widget.store.base import Owner
from agent_widget.store.memory import MemoryStore
from agent_widget.surfaces.kernel.scriptthread import ScriptMainThread
from agent_widget.surfaces.paths import DiskPaths
from agent_widget.testing.doubles import call, end
from agent_widget.tools import FunctionTool, TextBlock, ToolContext, ToolOutput, register
from agent_widget.view.context import context_start
from agent_widget.view.history import view_of
from agent_widget.view.model import SessionView

OWNER = Owner(1, "test", "one")
KINDS = ("text", "empty", "look", "change", "both", "linger", "fail", "cut", "too_long")
FOLDED = (
    "chat",
    "phase",
    "can_send",
    "revision",
    "input",
    "name",
    "todos",
    "facts",
    "marks",
    "steered",
    "branches",
    "notes",
    "usage",
)
"""What of a view at rest is the fold of its records; the rest is of this process."""

steps_done: Counter[str] = Counter()


class Puppet:
    """A model whose answers the machine decides, one at a time."""

    info = ModelInfo("test", "puppet", "puppet")

    def __init__(self, world: SessionMachine) -> None:
        self._world = world
        self.pending: asyncio.Future[list[ModelEvent]] | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        self._world.observe(lambda: self._world.requested(request))
        self.pending = asyncio.get_running_loop().create_future()
        try:
            for event in await self.pending:
                yield event
        finally:
            self.pending = None

    async def aclose(self) -> None:
        pass


class Person:
    async def attend(self, _question: Question) -> Decision:
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class Lingering(FunctionTool):
    """A tool whose work goes on after a Stop, as that of a thread does."""

    async def execute(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        work: asyncio.Task[ToolOutput] = asyncio.ensure_future(self(**args))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            context.left_behind(work)
            raise


class SessionMachine(RuleBasedStateMachine):
    """Drives one stored session through one event loop."""

    numbers: ClassVar[itertools.count[int]] = itertools.count(1)

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.store = MemoryStore()
        self.running: dict[str, asyncio.Future[str]] = {}
        self.executed: list[str] = []
        self.denied: set[str] = set()
        self.problems: list[AssertionError] = []
        self.session_id: str | None = None
        self.run(self._open())

    def teardown(self) -> None:
        if not hasattr(self, "loop"):
            return
        self.run(self.session.close())
        for refused in (self.session.send("x"), self.session.retry(), self.session.reset()):
            try:
                self.run(refused)
            except SessionClosed:
                continue
            raise AssertionError("a closed session took a command")
        self._cancel_all()
        self.loop.close()

    # --- the world ---------------------------------------------------------------------------

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        async def settle() -> Any:
            result = await work
            while self.loop._ready:  # type: ignore[attr-defined]  # noqa: ASYNC110
                await asyncio.sleep(0)  # until nothing is left to do
            return result

        return self.loop.run_until_complete(settle())

    def command(self, work: Coroutine[Any, Any, Any]) -> None:
        """Give a command that may be refused: then nothing is written."""
        records, view = self.records(), self.session.view
        try:
            self.run(work)
        except SessionError as refused:
            steps_done[refused.code] += 1
            if view is self.session.view:
                assert self.records() == records
            else:  # something else went on meanwhile; the refusal itself added nothing
                assert self.session.view.phase != "idle" or len(self.records()) >= len(records)

    def records(self) -> tuple[Any, ...]:
        return tuple(self.loop.run_until_complete(self.store.load(self.session.session_id)))

    async def _open(self) -> None:
        self.model = Puppet(self)

        @tool(read_only=True)
        async def look() -> ToolOutput:
            """Look."""
            return await self._work("look")

        @tool
        async def change() -> ToolOutput:
            """Change."""
            return await self._work("change")

        async def linger() -> ToolOutput:
            """Linger."""
            return await self._work("linger")

        self.session = Session(
            session_id=self.session_id,
            model=self.model,
            tools=register([look, change, Lingering(linger, read_only=True)]),
            system=None,
            store=self.store,
            main=ScriptMainThread(),
            clock_ms=lambda: next(self.numbers) * 1_000,
            new_id=lambda prefix: f"{prefix}-{next(self.numbers):06d}",
            permissions=Permissions(permission_options(None), DiskPaths()),
            attendant=Person(),
            max_steps=4,
            compaction=Compaction(keep_tokens=20),
        )
        self.session_id = self.session.session_id
        self.seq = -1
        self.revision, self.can_send = -1, True
        self.turn: str | None = None
        self.stopped: set[str] = set()
        self.session.subscribe(lambda event, view: self.observe(lambda: self.heard(event, view)))
        await self.session.open(OWNER)

    async def _work(self, name: str) -> ToolOutput:
        key = f"{name}-{next(self.numbers)}"
        self.executed.append(key)
        self.running[key] = asyncio.get_running_loop().create_future()
        try:
            # As it is shown already: no thread that turns it into that is waited for.
            return ToolOutput((TextBlock(await self.running[key]),))
        finally:
            del self.running[key]

    def _cancel_all(self) -> None:
        async def cancel() -> None:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self.loop.run_until_complete(cancel())

    # --- what must hold at every moment ------------------------------------------------------

    def observe(self, check: Callable[[], None]) -> None:
        """Keep what ``check`` finds wrong: the session would take it for a fault of the model."""
        try:
            check()
        except AssertionError as problem:
            self.problems.append(problem)

    def heard(self, event: Event, view: SessionView) -> None:
        assert event.seq > self.seq  # I2
        self.seq = event.seq
        if isinstance(event, TurnStarted):
            assert self.turn is None
            self.turn = event.run_id
        elif isinstance(event, TurnCompleted | TurnAborted):
            assert self.turn in (event.run_id, None)
            self.turn = None
        elif isinstance(event, ToolStarted):
            assert event.run_id not in self.stopped  # I7
        if event.type == "tool.ended_late":
            steps_done["late"] += 1
        if event.type == "session.stopping":
            assert event.run_id is not None
            self.stopped.add(event.run_id)
        assert view.revision >= self.revision  # I6
        assert (view.revision != self.revision) == (view.can_send != self.can_send) or (
            self.revision == -1
        )
        self.revision, self.can_send = view.revision, view.can_send

    def requested(self, request: ModelRequest) -> None:
        view = self.session.view
        assert self.session.run_id not in self.stopped  # I7
        if request.system == SUMMARISER:
            assert view.is_compacting
            return
        ids = [message.id for message in request.messages]
        assert len(ids) == len({*ids})
        summarised = view.chat.messages[: context_start(view) or 0]
        assert view.steered <= {*ids, *(message.id for message in summarised)}  # I3
        waiting = [row for row in view.input.waiting if row.message_id in ids]
        assert waiting == []  # I4
        for message in request.messages[:-1]:
            assert not any(part.is_open for part in message.tool_calls)  # I1

    @invariant()
    def stored_is_live(self) -> None:
        if not hasattr(self, "session"):
            return
        steps_done["steps"] += 1
        for problem in self.problems:
            raise problem
        journal = Journal.of(self.records())
        view = self.session.view
        assert journal.interaction is None or journal.interaction == {  # I5
            "can_send": view.can_send,
            "revision": view.revision,
        }
        assert view.input.waiting == journal.waiting_inputs()
        if view.is_busy:
            return
        assert not any(part.is_open for m in view.chat.messages for part in m.tool_calls)  # I1
        folded = view_of(journal, journal.leaf)
        for name in FOLDED:  # I8
            live, stored = getattr(view, name), getattr(folded, name)
            assert live == stored, f"{name}: live {live!r}, stored {stored!r}"

    # --- a person ----------------------------------------------------------------------------

    @rule()
    def send(self) -> None:
        self.command(self.session.submit(f"said {next(self.numbers)}"))

    @rule()
    def queue_steering(self) -> None:
        self.command(self.session.enqueue(f"steering {next(self.numbers)}", "steering"))

    @rule()
    def queue_follow_up(self) -> None:
        self.command(self.session.enqueue(f"follow-up {next(self.numbers)}", "follow_up"))

    @rule(mode=st.sampled_from(["block", "steer", None]))
    def set_policy(self, mode: Any) -> None:
        self.command(self.session.inputs.set_policy(PolicyChange("session", mode)))

    @precondition(lambda self: self.session.inputs.waiting)
    @rule(data=st.data())
    def edit_or_withdraw(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.session.inputs.waiting))
        if data.draw(st.booleans()):
            self.command(self.session.inputs.edit(row.message_id, "edited"))
        else:
            self.command(self.session.inputs.withdraw([row.message_id]))

    @rule(grace_s=st.sampled_from([0.0, 10.0]))
    def stop(self, grace_s: float) -> None:
        self.command(self.session.stop(grace_s))

    @rule()
    def retry(self) -> None:
        self.command(self.session.retry())

    @precondition(lambda self: self.session.view.question is not None)
    @rule(answer=st.sampled_from(["allow_once", "deny"]))
    def decide(self, answer: str) -> None:
        question = self.session.view.question
        assert question is not None
        before = len(self.executed)

        async def click() -> None:
            self.session.decide(question.pid, answer)

        self.command(click())
        if answer == "deny":
            assert len(self.executed) == before  # I11

    # --- the model and the tools -------------------------------------------------------------

    @precondition(lambda self: self.model.pending is not None)
    @rule(kind=st.sampled_from(KINDS))
    def answer(self, kind: str) -> None:
        pending = self.model.pending
        assert pending is not None
        said = "\n" if kind == "empty" else f"words {next(self.numbers)}"
        words: list[ModelEvent] = [TextChunk(said)]
        named = {"both": ["look", "change"], "linger": ["linger", "look"]}
        calls = named.get(kind, [kind] if kind in ("look", "change") else [])
        asked = [call(name, id=f"call-{next(self.numbers)}") for name in calls]

        async def give() -> None:
            if kind == "too_long":
                pending.set_exception(ModelError("bad_request", "too long", is_too_long=True))
            elif kind == "fail":
                pending.set_exception(ModelError("network", "the stream broke"))
            elif kind == "cut":
                pending.set_result(words)
            else:
                pending.set_result([*words, *asked, end("tool_calls" if asked else "stop")])

        self.run(give())

    @precondition(lambda self: self.running)
    @rule(fails=st.booleans())
    def finish_tool(self, fails: bool) -> None:
        work = next(iter(self.running.values()))

        async def finish() -> None:
            if fails:
                work.set_exception(ValueError("broken"))
            else:
                work.set_result("done")

        self.run(finish())

    @precondition(lambda self: not self.session.view.is_busy)
    @rule()
    def leave_a_call_behind(self) -> None:
        self.command(self.session.submit("go"))
        if self.model.pending is not None:
            self.answer(kind="linger")
            self.command(self.session.stop(0.0))

    @rule(outcome=st.sampled_from(["summary", "summary", "fail", "stop", "abort", "crash"]))
    def compact(self, outcome: str) -> None:
        before = [message.id for message in self.session.messages]

        async def begun() -> asyncio.Future[Any]:
            made = asyncio.ensure_future(self.session.compact())
            for _ in range(1_000):  # until the model is asked
                if made.done() or (self.session.view.is_compacting and self.model.pending):
                    break
                await asyncio.sleep(0)
            return made

        made = self.run(begun())
        if made.done():
            assert isinstance(made.exception(), SessionError)
        if outcome == "crash":
            self.crash()
        elif made.done():
            steps_done["not compacted"] += 1
        elif outcome == "stop":
            self.run(self.session.stop())
        elif outcome == "abort":
            assert self.session.compaction.abort()
        else:
            self.answer(kind="text" if outcome == "summary" else "fail")
        if outcome != "crash":
            self.run(asyncio.wait_for(asyncio.wait({made}), 5))
            steps_done["compacted"] += made.exception() is None
        assert not self.session.view.is_compacting
        assert {*before} <= {message.id for message in self.session.messages}

    # --- what a kernel does ------------------------------------------------------------------

    @rule()
    def crash(self) -> None:
        """The process is gone between two moments; another one opens the session."""
        self._cancel_quietly()
        self.run(self._open())
        assert not self.session.view.is_busy
        assert self.model.pending is None  # nothing starts by itself

    def _cancel_quietly(self) -> None:
        recorder = self.session._writer.recorder  # what dies with a process
        recorder.read_only = "the process is gone"
        self._cancel_all()
        self.running.clear()

    # --- branches ----------------------------------------------------------------------------

    @precondition(lambda self: len(self.session.messages) > 0)
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        users = [m.id for m in self.session.messages if m.role == "user"]
        message_id = data.draw(st.sampled_from(users))
        self.command(self.session.tree.edit(message_id, f"anew {next(self.numbers)}"))

    @precondition(lambda self: self.session.view.branches)
    @rule(data=st.data())
    def switch(self, data: st.DataObject) -> None:
        branches = self.session.view.branches
        message_id = data.draw(st.sampled_from(sorted(branches)))
        index = data.draw(st.integers(0, branches[message_id].count - 1))
        self.command(self.session.tree.switch(message_id, index))

    @rule()
    def checkpoint_and_back(self) -> None:
        async def there_and_back() -> None:
            point = await self.session.tree.checkpoint()
            await self.session.tree.restore(point)

        self.command(there_and_back())

    @rule()
    def fork(self) -> None:
        before = self.records()
        chat = self.session.state
        if self.session.view.is_busy:
            return
        forked = self.run(self.session.tree.fork())
        assert self.records() == before
        copied = Journal.of(self.loop.run_until_complete(self.store.load(forked)))
        assert view_of(copied, copied.leaf).chat == chat

    @rule()
    def reset(self) -> None:
        self.command(self.session.reset())


@pytest.mark.timeout(400)
def test_a_session_keeps_its_invariants_whatever_happens_in_whatever_order() -> None:
    steps_done.clear()
    run_state_machine_as_test(
        SessionMachine,
        settings=settings(
            max_examples=300,
            stateful_step_count=100,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
    assert steps_done["steps"] >= 20_000, steps_done
    assert steps_done["late"] >= 50, steps_done
    assert steps_done["compacted"] >= 20, steps_done

"""A session on the test's own loop, with all it published and stored."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

from agent_widget.core.errors import SessionError
from agent_widget.core.events import Event, PermissionRequested
from agent_widget.core.messages import ToolPart
from agent_widget.core.records import Record
from agent_widget.engine.approvals import READING_MS, AskUser
from agent_widget.engine.models import ModelOptions
from agent_widget.engine.permissions import Adjudicator, Permissions, ProjectRules
from agent_widget.engine.prompt import System
from agent_widget.engine.run import RunResult
from agent_widget.engine.session import Session
from agent_widget.engine.subagents import Agent, agent_tools
from agent_widget.policy.options import permission_options
from agent_widget.policy.permission import Decision, Question
from agent_widget.policy.retry import RetrySettings
from agent_widget.providers.base import Model
from agent_widget.store.base import Lease, SessionStore
from agent_widget.store.memory import MemoryStore
from agent_widget.surfaces.kernel.scriptthread import ScriptMainThread
from agent_widget.surfaces.paths import DiskPaths
from agent_widget.testing.doubles import ScriptedModel, Step
from agent_widget.tools import register


class FakeClock:
    """Time that passes when a test says so, and a millisecond at each look."""

    def __init__(self) -> None:
        self.now_ms = 1_000

    def __call__(self) -> int:
        self.now_ms += 1
        return self.now_ms

    async def sleep(self, seconds: float) -> None:
        """Let that time pass."""
        self.now_ms += round(seconds * 1_000)


def output_text(part: ToolPart) -> str:
    """The first text of a call's output."""
    assert isinstance(part.output, dict)
    text = part.output["content"][0]["text"]
    assert isinstance(text, str)
    return text


def said(case: Case) -> list[str]:
    """The conversation, each message as ``u:text`` or ``a:text``."""
    return [f"{message.role[0]}:{message.text}" for message in case.session.messages]


def waiting(case: Case) -> list[str]:
    """The texts of what waits."""
    return [row.text for row in case.session.inputs.waiting]


def asked(model: ScriptedModel) -> list[list[str]]:
    """The texts of each request."""
    return [[message.text for message in request.messages] for request in model.requests]


async def code_of(work: Awaitable[Any]) -> str | None:
    """The code with which a command was refused, None when it was not."""
    try:
        await work
    except SessionError as refused:
        return refused.code
    return None


class Person:
    """An attendant that only clicks: the test reads ``asked`` and answers through the session."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[Question] = asyncio.Queue()

    async def attend(self, question: Question) -> Decision:
        self.asked.put_nowait(question)
        await asyncio.Event().wait()
        raise AssertionError("unreachable")


class FailingStore(MemoryStore):
    """Refuses the records of ``kinds``."""

    def __init__(self, kinds: Iterable[str] = ()) -> None:
        super().__init__()
        self.kinds = {*kinds}

    async def append(self, lease: Lease, position: int, records: Sequence[Record]) -> None:
        if any(record.kind in self.kinds for record in records):
            raise OSError(28, "No space left on device")
        await super().append(lease, position, records)


class Case:
    """A session under test."""

    def __init__(
        self, session: Session, store: SessionStore, person: Person, clock: FakeClock
    ) -> None:
        self.clock = clock
        self.session = session
        self.store = store
        self.person = person
        self.events: list[Event] = []
        session.subscribe(lambda event, _view: self.events.append(event))

    async def send(self, text: str) -> RunResult:
        run = await self.session.send(text)
        return await asyncio.wrap_future(run.future)

    async def retry(self) -> RunResult:
        run = await self.session.retry()
        return await asyncio.wrap_future(run.future)

    async def question(self) -> Question:
        """The next question, once it was open long enough to be read."""
        question = await self.unread_question()
        self.clock.now_ms += READING_MS
        return question

    async def unread_question(self) -> Question:
        """The next question, as soon as it is there."""
        return await asyncio.wait_for(self.person.asked.get(), 5)

    async def records(self) -> Sequence[Record]:
        return await self.store.load(self.session.session_id)

    async def kinds(self) -> list[str]:
        return [record.kind for record in await self.records()]

    def types(self, *only: str) -> list[str]:
        return [event.type for event in self.events if not only or event.type in only]

    def asked(self) -> list[PermissionRequested]:
        return [event for event in self.events if isinstance(event, PermissionRequested)]


@asynccontextmanager
async def opened(
    model: Model | Sequence[Step],
    tools: Iterable[Callable[..., Any]] = (),
    *,
    agents: Sequence[Agent] = (),
    ask_user: AskUser | None = None,
    attended: bool = True,
    store: SessionStore | None = None,
    permission: dict[str, Any] | None = None,
    adjudicator: Adjudicator | Literal[False] | None = None,
    host_adjudicator: Adjudicator | None = None,
    project: ProjectRules | None = None,
    system: System = "Be brief.",
    opening: int = 1,
    models: ModelOptions | None = None,
    **options: Any,
) -> AsyncIterator[Case]:
    """A session with scripted steps, open until the block ends.

    A session that is opened again takes another number of ``opening``: its ids are new ones.
    """
    client = ScriptedModel(model) if isinstance(model, Sequence) else model
    person, own_store = Person(), store or MemoryStore()
    clock = FakeClock()
    numbers = itertools.count(opening * 1_000 - 999)
    session = Session(
        model=client,
        tools=register([*tools, *agent_tools(agents)]),
        system=system,
        store=own_store,
        main=ScriptMainThread(),
        clock_ms=clock,
        new_id=lambda prefix: f"{prefix}-{next(numbers)}",
        permissions=Permissions(
            permission_options(permission),
            DiskPaths(),
            project=project,
            adjudicator=adjudicator,
            host_adjudicator=host_adjudicator,
        ),
        agents=agents,
        ask_user=ask_user,
        attendant=person if attended else None,
        models=models or ModelOptions(retry=RetrySettings(enabled=False)),
        **options,
    )
    case = Case(session, own_store, person, clock)
    await session.open()
    try:
        yield case
    finally:
        await session.close()

"""What a run needs from the world, as one value of functions.

The run loop is written against this, so that a session, a sub-agent and a test run the same code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Struct, field

from ..core.errors import ToolFailure
from ..core.events import Event
from ..core.ids import Clock, IdSource
from ..core.messages import Conversation
from ..policy.permission import Decision
from ..providers.base import Model, ModelRequest, ToolSpec
from ..tools.base import MainThread
from ..tools.final import FinalResult
from ..tools.registry import Registry
from .approvals import Asking
from .handoff import Handover
from .hooks import Hooks
from .late import Leavings
from .permissions import Permissions
from .prompt import SystemText
from .retry import Lineup, Retries
from .room import Room
from .spending import RunPurse
from .summarising import Commit
from .tapes import RunTool, run_tool

MAX_AGENT_RUNS: Final = 16
"""How many runs of sub-agents, at any depth, one run of the session may start."""


class AgentRuns:
    """Counts the sub-agent runs of one run of the session."""

    def __init__(self) -> None:
        self._left = MAX_AGENT_RUNS

    def require_one(self) -> None:
        """Count one more. Raises ToolFailure when there have been ``MAX_AGENT_RUNS``."""
        if self._left == 0:
            raise ToolFailure(
                f"This run has started {MAX_AGENT_RUNS} helper runs, which is the most there may"
                " be. Do what is left yourself, or end with what there is."
            )
        self._left -= 1


class Toolset(Struct, frozen=True):
    """The tools of a step, and the very same ones as the model sees them."""

    tools: Registry
    specs: tuple[ToolSpec, ...]


async def _at_once() -> None:
    """Nobody keeps the run waiting."""


class Ports(Struct, frozen=True):
    """The surroundings of one run.

    ``lineup`` holds the model and those that take over, ``retries`` says whether a call that failed
    is made again. ``conversation`` is what the model sees now, ``toolset`` the tools it has now;
    ``permissions`` and ``ask`` decide about calls; ``unique_call_id`` keeps ids of calls unique in
    the session; ``is_stopped`` is true once the run may start nothing new, ``why_stopped`` is the
    reason for which it then ends, and no Stop is stored while ``dispatching`` is held;
    ``before_request`` puts waiting input into the conversation of
    a step, ``goes_on`` says whether any is left where the run would end; ``handover`` takes the
    wish that another agent goes on, ``left`` what a cancelled call is still at; ``requested`` is
    told what is sent to the model; ``room`` keeps the conversation within the model's window (None:
    nothing does); ``agent`` names the agent whose run this is (None: the session's own), ``depth``
    counts how deep it is nested, ``agent_runs`` how many there were; ``hooks`` are asked and told;
    ``relieved`` returns once those who have a right to be awaited are through with the events so
    far; ``run_tool`` runs calls.
    """

    lineup: Lineup
    retries: Retries
    toolset: Callable[[], Toolset]
    system: SystemText
    conversation: Callable[[], Conversation]
    emit: Callable[[Event], None]
    commit: Commit
    permissions: Permissions
    ask: Callable[[Asking], Awaitable[Decision]]
    unique_call_id: Callable[[str], str]
    is_stopped: Callable[[], bool]
    why_stopped: Callable[[], str]
    dispatching: asyncio.Lock
    before_request: Callable[[int], Awaitable[None]]
    goes_on: Callable[[], Awaitable[bool]]
    new_id: IdSource
    clock_ms: Clock
    main: MainThread
    loop: asyncio.AbstractEventLoop
    max_steps: int
    handover: Handover
    purse: RunPurse
    final: FinalResult | None
    left: Leavings
    requested: Callable[[str | None, ModelRequest], None]
    room: Room | None = None
    agent_id: str | None = None
    agent: str | None = None
    depth: int = 0
    agent_runs: AgentRuns = field(default_factory=AgentRuns)
    hooks: Hooks = field(default_factory=Hooks)
    relieved: Callable[[], Awaitable[None]] = _at_once
    run_tool: RunTool = run_tool

    @property
    def model(self) -> Model:
        """The model that answers now."""
        return self.lineup.current


def system_text(system: SystemText, tools: Registry) -> str | None:
    """The system text of a step that has ``tools``."""
    return system(tools.names) if callable(system) else system


def toolset_of(tools: Registry) -> Toolset:
    """``tools`` for a step. Make it once: an unchanged set is the same bytes at every request."""
    specs = (ToolSpec(tool.name, tool.description, tool.parameters) for tool in tools)
    return Toolset(tools, tuple(specs))

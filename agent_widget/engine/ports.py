"""What a run needs from the world, as one value of functions.

The run loop is written against this, so that a session, a sub-agent and a test run the same code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

from ..core.events import Event
from ..core.ids import Clock, IdSource
from ..core.messages import Conversation
from ..policy.permission import Decision
from ..providers.base import Model, ToolSpec
from ..store.base import RecordKind
from ..tools.base import MainThread
from ..tools.registry import Registry
from .approvals import Asking
from .permissions import Permissions


class Commit(Protocol):
    """Store a fact, then fold and publish the events that tell it."""

    def __call__(
        self, kind: RecordKind, data: dict[str, Any], *events: Event
    ) -> Awaitable[None]: ...


class Toolset(Struct, frozen=True):
    """The tools of a step, and the very same ones as the model sees them."""

    tools: Registry
    specs: tuple[ToolSpec, ...]


class Ports(Struct, frozen=True):
    """The surroundings of one run.

    ``conversation`` is what the model sees now, ``toolset`` the tools it has now;
    ``permissions`` and ``ask`` decide about calls; ``unique_call_id`` keeps ids of calls unique in
    the session; ``is_stopped`` is true once the run may start nothing new; ``agent`` names the
    sub-agent whose run this is (None: the session) and ``depth`` counts how deep it is nested.
    """

    model: Model
    toolset: Callable[[], Toolset]
    system: str | None
    conversation: Callable[[], Conversation]
    emit: Callable[[Event], None]
    commit: Commit
    permissions: Permissions
    ask: Callable[[Asking], Awaitable[Decision]]
    unique_call_id: Callable[[str], str]
    is_stopped: Callable[[], bool]
    new_id: IdSource
    clock_ms: Clock
    main: MainThread
    loop: asyncio.AbstractEventLoop
    max_steps: int
    agent: str | None = None
    depth: int = 0


def toolset_of(tools: Registry) -> Toolset:
    """``tools`` for a step. Make it once: an unchanged set is the same bytes at every request."""
    specs = (ToolSpec(tool.name, tool.description, tool.parameters) for tool in tools)
    return Toolset(tools, tuple(specs))

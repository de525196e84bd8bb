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


class Ports(Struct, frozen=True):
    """The surroundings of one run.

    ``conversation`` is what the model sees now, ``specs`` the tools as it sees them;
    ``permissions`` and ``ask`` decide about calls; ``unique_call_id`` keeps ids of calls unique in
    the session; ``is_stopped`` is true once the run may start nothing new; ``agent`` names the
    sub-agent whose run this is (None: the session) and ``depth`` counts how deep it is nested.
    """

    model: Model
    tools: Registry
    specs: tuple[ToolSpec, ...]
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


def specs_of(tools: Registry) -> tuple[ToolSpec, ...]:
    """The tools as a model sees them, in their order."""
    return tuple(ToolSpec(tool.name, tool.description, tool.parameters) for tool in tools)

"""Events of hooks: one runs, has ended, or stands in the way of what it guards."""

from __future__ import annotations

from typing import Literal

from .envelope import Event


class HookTriggered(Event, frozen=True, kw_only=True):
    """A hook runs; ``hook_event`` says at which point, ``name`` which one."""

    type = "hook.triggered"
    hook_event: str
    name: str
    tool_call_id: str | None = None
    source: Literal["kernel", "sdk", "hook", "extension"] = "hook"


class HookCompleted(Event, frozen=True, kw_only=True):
    """A hook has ended and stopped nothing; ``reason`` is what it had to say."""

    type = "hook.completed"
    hook_event: str
    name: str
    tool_call_id: str | None = None
    reason: str | None = None
    source: Literal["kernel", "sdk", "hook", "extension"] = "hook"


class HookBlocked(Event, frozen=True, kw_only=True):
    """A guard refused what it guards, or failed at its work."""

    type = "hook.blocked"
    hook_event: str
    name: str
    reason: str
    tool_call_id: str | None = None
    source: Literal["kernel", "sdk", "hook", "extension"] = "hook"

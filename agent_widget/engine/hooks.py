"""The hooks of a session: run at their events, in order, each within its time.

Listeners hear of a hook before it is awaited, and nothing else happens meanwhile in the run that
it belongs to. What a hook is told has no keys in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ..core.events import Event, HookBlocked, HookCompleted, HookTriggered, TurnError
from ..policy.hooks import Hook, HookEvent, Unreadable, Verdict, failed
from ..tools.environment import is_withheld
from ..tools.secrets import masked
from .hookrun import verdict_of

MAX_TOLD_CHARS: Final = 64_000
"""How much of an answer or an output a hook is told; arguments are told whole."""
HOOK_BLOCKED: Final = "hook_blocked"
"""The code of what a guard refused."""

_KEY_CHARS: Final = 8
_HIDDEN: Final = "(hidden: a key)"

Emit: TypeAlias = Callable[[Event], None]


class Allowed(Struct, frozen=True):
    """No guard objects. ``args``: what the call's arguments are now, None when as they were."""

    args: dict[str, Any] | None = None


class Blocked(Struct, frozen=True):
    """A guard objects, or failed; ``reason`` is a sentence for the model and the person."""

    reason: str


class HookFailure(Struct, frozen=True):
    """A hook that did not do its work, where it is declared, and what went wrong."""

    origin: str
    event: HookEvent
    message: str


class HookedCall(Struct, frozen=True):
    """A call as hooks are told of it; ``agent`` is the sub-agent that makes it."""

    call_id: str
    name: str
    args: Mapping[str, Any]
    agent: str | None = None


def _as_it_is(text: str) -> str:
    return text


async def _at_once() -> None:
    pass


def _not_told(_failure: HookFailure) -> None:
    pass


class Hooks:
    """The hooks of one session; without any it does nothing.

    ``emit`` of the methods is that of the run (or the session) the event belongs to. ``folder`` is
    where commands run, and what hooks are told as ``cwd``. ``hide`` takes the keys that the
    session knows out of a text; what looks like a key, and the environment's keys, go anyway.
    The methods raise nothing but the cancellation of their caller.
    """

    def __init__(
        self,
        hooks: Iterable[Hook] = (),
        *,
        folder: str | os.PathLike[str] = ".",
        session_id: str = "",
        hide: Callable[[str], str] = _as_it_is,
    ) -> None:
        self._hooks: dict[HookEvent, tuple[Hook, ...]] = {}
        for hook in hooks:
            self._hooks[hook.event] = (*self._hooks.get(hook.event, ()), hook)
        self._folder = os.fspath(folder)
        self.session_id = session_id
        self._hide_known = hide
        self._told: set[tuple[str, str]] = set()
        self._has_started = False
        self.ready: Callable[[], Awaitable[None]] = _at_once
        """Awaited before each model call: what extensions still start for it, for a while."""
        self.on_failure: Callable[[HookFailure], None] = _not_told
        """Hears of each hook that fails; the person is told once of each of them anyway."""

    def has(self, event: str) -> bool:
        """Whether there is a hook for ``event``; for any thread, and quick."""
        return event in self._hooks

    async def session_start(self, emit: Emit) -> None:
        """The session is there; only the first call does anything."""
        if not self._has_started:
            self._has_started = True
            await self._run("session_start", emit)

    async def session_end(self, emit: Emit) -> None:
        await self._run("session_end", emit)

    async def before_run(self, emit: Emit, text: str, *, trigger: str) -> Allowed | Blocked:
        """``text`` is what the user said, empty where nobody did."""
        return await self._run("before_run", emit, {"prompt": text, "trigger": trigger})

    async def after_run(self, emit: Emit, *, reason: str, text: str) -> None:
        """``text`` is the last answer. Await it before the end of the run is published."""
        await self._run("after_run", emit, {"reason": reason, **_cut("text", text)})

    async def before_model(
        self, emit: Emit, *, model: str, step: int, agent: str | None = None
    ) -> Allowed | Blocked:
        """``model`` is about to be asked; ``step`` counts from 0 within the run."""
        told = {"model": model, "step": step, "agent": agent}
        return await self._run("before_model", emit, told)

    async def after_model(
        self, emit: Emit, *, model: str, step: int, text: str, agent: str | None = None
    ) -> None:
        """The answer is stored; ``text`` is what it says."""
        told = {"model": model, "step": step, "agent": agent, **_cut("text", text)}
        await self._run("after_model", emit, told)

    async def before_tool(self, emit: Emit, call: HookedCall) -> Allowed | Blocked:
        """Each guard sees the arguments as the one before it left them."""
        return await self._run("before_tool", emit, _told_of(call), call)

    async def after_tool(
        self, emit: Emit, call: HookedCall, *, output: str, is_error: bool
    ) -> None:
        """The result of the call is stored; ``output`` is what the model reads of it."""
        told = {**_told_of(call), **_cut("output", output), "is_error": is_error}
        await self._run("after_tool", emit, told, call)

    async def before_tree(self, emit: Emit, target_id: str | None) -> Allowed | Blocked:
        """The conversation is about to move to that entry of the tree."""
        return await self._run("before_tree", emit, {"target_id": target_id})

    async def before_compaction(self, emit: Emit, reason: str) -> Allowed | Blocked:
        """The conversation is about to be summarised, because of ``reason``."""
        return await self._run("before_compaction", emit, {"reason": reason})

    # --- inside --------------------------------------------------------------------------------

    async def _run(
        self,
        event: HookEvent,
        emit: Emit,
        told: Mapping[str, Any] | None = None,
        call: HookedCall | None = None,
    ) -> Allowed | Blocked:
        hooks = self._hooks.get(event, ())
        tool = None if call is None else call.name
        args: dict[str, Any] | None = None
        for hook in hooks:
            if not hook.is_for(tool):
                continue
            happening = {
                "event": event,
                "session_id": self.session_id,
                "cwd": self._folder,
                **(told or {}),
            }
            if args is not None:
                happening["args"] = args
            verdict = await self._heard(hook, happening, emit, call)
            if isinstance(verdict, Blocked):
                return verdict
            args = args if verdict.args is None else verdict.args
        return Allowed(args)

    async def _heard(
        self, hook: Hook, happening: dict[str, Any], emit: Emit, call: HookedCall | None
    ) -> Allowed | Blocked:
        """Run one hook, and tell about it."""
        name, call_id = self._hide(hook.name), None if call is None else call.call_id
        if not isinstance(hook.action, Unreadable):
            emit(HookTriggered(hook_event=hook.event, name=name, tool_call_id=call_id))
        verdict = await self._verdict(hook, happening)
        reason = self._hide(_reason(hook, name, verdict))
        if verdict.outcome == "failed":
            self._warn(hook, reason, emit)
            self.on_failure(HookFailure(hook.origin, hook.event, reason))
        if verdict.outcome != "allow" and hook.is_guard:
            blocked = HookBlocked(
                hook_event=hook.event, name=name, reason=reason, tool_call_id=call_id
            )
            emit(blocked)
            return Blocked(reason)
        done = HookCompleted(
            hook_event=hook.event, name=name, tool_call_id=call_id, reason=reason or None
        )
        emit(done)
        changed = verdict.args if hook.is_guard else None
        return Allowed(None if changed is None else dict(changed))

    async def _verdict(self, hook: Hook, happening: dict[str, Any]) -> Verdict:
        try:
            safe = self._without_keys(happening)
            told = json.dumps(safe, default=repr).encode("ascii")
        except (RecursionError, ValueError):
            return failed("could not be told what happens: it is nested too deeply")
        verdict = await verdict_of(hook, told, self._folder)
        if verdict.args is not None and safe["args"] != happening["args"]:
            return failed("changes arguments that hold a key, which it was not shown")
        return verdict

    def _warn(self, hook: Hook, reason: str, emit: Emit) -> None:
        """Tell a person once of a hook that fails, and how to get out of it."""
        key = (hook.origin, hook.name)
        if key in self._told:
            return
        self._told.add(key)
        out = f"Mend it or take it away ({hook.origin})"
        if hook.is_guard and not isinstance(hook.action, Unreadable):
            out += ', or make it advisory ("advisory": true): then it blocks nothing'
        notice = TurnError(
            scope="hook",
            message=reason,
            recoverable=True,
            error_kind="hook_failed",
            advice=f"{out}.",
        )
        emit(notice)

    def _hide(self, text: str) -> str:
        text = masked(self._hide_known(text))
        for name, value in os.environ.items():
            if len(value) >= _KEY_CHARS and value in text and is_withheld(name, value):
                text = text.replace(value, _HIDDEN)
        return text

    def _without_keys(self, value: Any) -> Any:
        """JSON data with what is a key in any text of it hidden."""
        if isinstance(value, str):
            return self._hide(value)
        if isinstance(value, Mapping):
            return {self._hide(str(k)): self._without_keys(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._without_keys(each) for each in value]
        return value


def _reason(hook: Hook, name: str, verdict: Verdict) -> str:
    """What a person and the model read; empty when there is nothing to say."""
    match verdict.outcome:
        case "allow":
            return verdict.reason
        case "deny":
            who = "Blocked by the hook" if hook.is_guard else "Not wanted by the hook"
            return f"{who} {name}: {verdict.reason or 'it gave no reason.'}"
        case "failed":
            guarded = " It is a guard, so this was blocked." if hook.is_guard else ""
            return f"The hook {name} {verdict.reason}.{guarded}"


def _told_of(call: HookedCall) -> dict[str, Any]:
    return {
        "tool_call_id": call.call_id,
        "tool_name": call.name,
        "args": dict(call.args),
        "agent": call.agent,
    }


def _cut(key: str, text: str) -> dict[str, Any]:
    return {key: text[:MAX_TOLD_CHARS], f"{key}_chars": len(text)}

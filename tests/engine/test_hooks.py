"""Hooks that run: in order, in time, without keys; a guard that fails at its work blocks."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import select
import shlex
import sys
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_widget.core.events import (
    Event,
    HookBlocked,
    HookCompleted,
    HookTriggered,
    TurnError,
)
from agent_widget.engine.hooks import Allowed, Blocked, HookedCall, Hooks
from agent_widget.policy.hooks import (
    Command,
    Hook,
    PythonHook,
    hooks_of_section,
    python_hook,
)
from agent_widget.providers._secret import Grant
from tests.providers.rawserver import Hang, head, serving, whole

pytestmark = pytest.mark.anyio

CALL = HookedCall("c-1", "bash", {"command": "rm -r build"})


class Heard(list[Event]):
    """The events of a session, as its listeners get them."""

    @property
    def types(self) -> list[str]:
        return [event.type for event in self]

    def reasons(self, kind: type[HookBlocked | HookCompleted]) -> list[str | None]:
        return [event.reason for event in self if isinstance(event, kind)]

    def notices(self) -> list[str]:
        return [f"{e.message} {e.advice}" for e in self if isinstance(e, TurnError)]


def declared(*entries: dict[str, Any], event: str = "before_tool") -> tuple[Hook, ...]:
    hooks, problems = hooks_of_section({event: [*entries]}, "mine: hooks")
    assert problems == ()
    return hooks


async def guarded(hooks: Hooks, heard: Heard, call: HookedCall = CALL) -> list[str]:
    """What a tool did that runs only if it may."""
    verdict = await hooks.before_tool(heard.append, call)
    return [] if isinstance(verdict, Blocked) else [call.name]


# --- guards that fail ---------------------------------------------------------------------------

FAILING: list[tuple[dict[str, Any], str]] = [
    ({"command": "exit 1"}, "ended with exit code 1"),
    ({"command": "kill -9 $$"}, "killed by signal 9 (SIGKILL)"),
    ({"command": "sleep 100", "timeout_s": 0.3}, "did not end within 0.3 s and was killed"),
    ({"command": "echo not json"}, "'not json', which is no answer"),
    ({"command": """echo '{"decision":"denyy"}'"""}, "'denyy', which is neither"),
    ({"command": "echo where is it >&2; exit 3"}, "exit code 3: where is it"),
    ({"command": "no-such-program-anywhere"}, "exit code 127"),
    ({"command": "if"}, "exit code"),
    ({"command": "trap '' TERM; sleep 100 & wait", "timeout_s": 0.2}, "did not end within 0.2 s"),
    ({"command": "yes"}, "printed more than anyone will read"),
    ({"command": "yes >&2"}, "printed more than anyone will read"),
    ({"command": """echo '{"decision":"allow"}'; exit 1"""}, "ended with exit code 1"),
    ({"command": """echo '{"decision":"allow","args":{"command":'"""}, "is no answer"),
]


@pytest.mark.parametrize(("entry", "said"), FAILING)
async def test_a_guard_command_that_fails_blocks_and_says_why(
    tmp_path: Path, entry: dict[str, Any], said: str
) -> None:
    heard = Heard()
    hooks = Hooks(declared(entry), folder=tmp_path)
    assert await guarded(hooks, heard) == []
    assert heard.types == ["hook.triggered", "turn.error", "hook.blocked"]
    [reason] = heard.reasons(HookBlocked)
    assert reason is not None
    assert said in reason
    [notice] = heard.notices()
    assert "mine: hooks.before_tool[0]" in notice
    assert '"advisory": true' in notice


@pytest.mark.parametrize(("entry", "said"), FAILING[:5])
async def test_an_advisory_hook_that_fails_is_noted_and_blocks_nothing(
    tmp_path: Path, entry: dict[str, Any], said: str
) -> None:
    heard = Heard()
    hooks = Hooks(declared({**entry, "advisory": True}), folder=tmp_path)
    assert await guarded(hooks, heard) == ["bash"]
    assert heard.types == ["hook.triggered", "turn.error", "hook.completed"]
    [reason] = heard.reasons(HookCompleted)
    assert reason is not None
    assert said in reason


def _raises(_happening: Mapping[str, object]) -> None:
    raise ValueError("the guard is ill")


def _exits(_happening: Mapping[str, object]) -> None:
    sys.exit(0)


async def _never_ends(_happening: Mapping[str, object]) -> None:
    await asyncio.Event().wait()


async def _cancels_itself(_happening: Mapping[str, object]) -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (_raises, "raised ValueError: the guard is ill"),
        (_exits, "raised SystemExit"),
        (_never_ends, "did not end within 0.2 s"),
        (_cancels_itself, "raised CancelledError"),
        (lambda _: True, "answered with bool"),
        (lambda _: {"decision": "denyy"}, "'denyy'"),
        (lambda _: asyncio.sleep(0, "yes"), "answered with str"),
    ],
)
async def test_a_guard_function_that_fails_blocks(function: PythonHook, said: str) -> None:
    heard = Heard()
    timeout_s = 0.2 if function is _never_ends else 60
    hooks = Hooks([python_hook("before_tool", function, timeout_s=timeout_s)])
    assert await guarded(hooks, heard) == []
    assert said in str(heard.reasons(HookBlocked))


async def test_a_function_that_blocks_its_thread_is_left_behind_and_blocks() -> None:
    reading, writing = os.pipe()
    heard = Heard()
    wait = python_hook("before_tool", lambda _: os.read(reading, 1), timeout_s=0.2)
    try:
        assert await guarded(Hooks([wait]), heard) == []
    finally:
        os.write(writing, b"x")
    assert "did not end within 0.2 s" in str(heard.reasons(HookBlocked))


async def test_a_guard_request_that_fails_blocks() -> None:
    allow = {"decision": "allow"}
    replies: list[tuple[list[Any], str]] = [
        (whole(500, allow), "HTTP 500"),
        (whole(302, allow, "location: http://127.0.0.1:9/"), "redirects (HTTP 302)"),
        (whole(200, b"<html>"), "is no answer"),
        (whole(200, b" " * 70_000), "more than 65,536 bytes"),
        ([head(200, "content-length: 90"), Hang()], "did not answer within 0.3 s"),
        ([b"rubbish\r\n\r\n"], "could not be reached"),
    ]
    async with serving(*(reply for reply, _ in replies)) as server:
        for _, said in replies:
            heard = Heard()
            timeout_s = 0.3 if "within" in said else 60
            hooks = Hooks(declared({"url": server.url, "timeout_s": timeout_s}))
            assert await guarded(hooks, heard) == []
            assert said in str(heard.reasons(HookBlocked))
        assert len(server.requests) == len(replies)
        gone = server.url
    heard = Heard()
    assert await guarded(Hooks(declared({"url": gone})), heard) == []
    assert "could not be reached" in str(heard.reasons(HookBlocked))


async def test_an_entry_that_cannot_be_read_blocks_without_running() -> None:
    hooks, _ = hooks_of_section({"before_tool": [{"comand": "x", "match": "bash"}]}, "mine: hooks")
    heard = Heard()
    assert await guarded(Hooks(hooks), heard) == []
    assert heard.types == ["turn.error", "hook.blocked"]
    other = HookedCall("c-2", "read_file", {})
    assert await guarded(Hooks(hooks), heard, other) == ["read_file"]


async def test_a_hook_whose_file_has_changed_since_it_was_trusted_does_not_run(
    tmp_path: Path,
) -> None:
    script = tmp_path / "guard.sh"
    script.write_text("touch ran\n")
    files = ((str(script), hashlib.sha256(script.read_bytes()).hexdigest()),)
    hook = Hook("before_tool", Command("sh guard.sh", files), "guard", "project", is_guard=True)
    hooks = Hooks([hook], folder=tmp_path)
    heard = Heard()
    assert await guarded(hooks, heard) == ["bash"]
    (tmp_path / "ran").unlink()
    script.write_text("touch ran; true\n")
    assert await guarded(hooks, heard) == []
    assert not (tmp_path / "ran").exists()
    assert "has changed since it was trusted" in str(heard.reasons(HookBlocked))


async def test_a_failing_hook_is_told_to_the_person_once(tmp_path: Path) -> None:
    heard = Heard()
    hooks = Hooks(declared({"command": "exit 1"}), folder=tmp_path)
    for _ in range(2):
        assert await guarded(hooks, heard) == []
    assert len(heard.notices()) == 1


# --- what hooks say -----------------------------------------------------------------------------


async def test_silence_allows_and_deny_blocks_with_its_reason(tmp_path: Path) -> None:
    deny = """echo '{"decision": "deny", "reason": "not on Fridays"}'; echo noise >&2"""
    heard = Heard()
    hooks = Hooks(declared({"command": "true"}, {"command": deny}), folder=tmp_path)
    verdict = await hooks.before_tool(heard.append, CALL)
    assert isinstance(verdict, Blocked)
    assert verdict.reason.endswith(": not on Fridays")
    assert heard.types == ["hook.triggered", "hook.completed", "hook.triggered", "hook.blocked"]
    assert {e.tool_call_id for e in heard if isinstance(e, HookTriggered)} == {"c-1"}
    assert {event.source for event in heard} == {"hook"}


async def test_an_advisory_hook_denies_and_changes_nothing() -> None:
    def deny(_happening: Mapping[str, object]) -> object:
        return {"decision": "deny", "reason": "rather not"}

    def change(_happening: Mapping[str, object]) -> object:
        return {"decision": "allow", "args": {"command": "ls"}}

    heard = Heard()
    advisory = [python_hook("before_tool", f, advisory=True) for f in (deny, change)]
    assert await Hooks(advisory).before_tool(heard.append, CALL) == Allowed()
    assert "rather not" in str(heard.reasons(HookCompleted))


async def test_hooks_run_in_order_and_see_what_the_one_before_changed() -> None:
    seen: list[object] = []

    def change(happening: Mapping[str, object]) -> object:
        seen.append(happening["args"])
        return {"decision": "allow", "args": {"command": f"step {len(seen)}"}}

    async def look(happening: Mapping[str, object]) -> None:
        seen.append(happening["args"])

    hooks = Hooks([python_hook("before_tool", f) for f in (change, change, look)])
    assert await hooks.before_tool(Heard().append, CALL) == Allowed({"command": "step 2"})
    assert seen == [{"command": "rm -r build"}, {"command": "step 1"}, {"command": "step 2"}]


async def test_after_a_deny_no_later_hook_runs() -> None:
    ran: list[object] = []
    deny = python_hook("before_tool", lambda _: {"decision": "deny"})
    later = python_hook("before_tool", ran.append)
    assert await guarded(Hooks([deny, later]), Heard()) == []
    assert ran == []


async def test_listeners_hear_of_a_hook_before_it_runs_and_of_its_end_after() -> None:
    heard = Heard()
    at_work: list[list[str]] = []
    hook = python_hook("before_tool", lambda _: at_work.append(heard.types))
    await Hooks([hook]).before_tool(heard.append, CALL)
    assert at_work == [["hook.triggered"]]
    assert heard.types == ["hook.triggered", "hook.completed"]


async def test_each_event_tells_its_hooks_what_happens(tmp_path: Path) -> None:
    told: list[Mapping[str, Any]] = []
    events = [
        "session_start", "before_run", "before_model", "after_model", "before_tool", "after_tool",
        "before_tree", "after_run", "session_end",
    ]  # fmt: skip
    hooks = Hooks(
        [python_hook(event, told.append) for event in events],  # type: ignore[arg-type]
        folder=tmp_path,
        session_id="s-1",
    )
    emit = Heard().append
    await hooks.session_start(emit)
    await hooks.session_start(emit)
    await hooks.before_run(emit, "hello", trigger="send")
    await hooks.before_model(emit, model="offline", step=0)
    await hooks.after_model(emit, model="offline", step=0, text="hi")
    await hooks.before_tool(emit, CALL)
    await hooks.after_tool(emit, CALL, output="x" * 100_000, is_error=False)
    await hooks.before_tree(emit, "e-1")
    await hooks.after_run(emit, reason="completed", text="hi")
    await hooks.session_end(emit)
    assert [each["event"] for each in told] == events
    assert {(each["session_id"], each["cwd"]) for each in told} == {("s-1", str(tmp_path))}
    assert told[1]["prompt"] == "hello"
    assert told[4]["args"] == CALL.args
    assert (len(told[5]["output"]), told[5]["output_chars"]) == (64_000, 100_000)
    assert told[6]["target_id"] == "e-1"
    assert told[7]["reason"] == "completed"


async def test_whether_an_event_has_hooks_is_known_in_any_thread() -> None:
    hooks = Hooks([python_hook("before_tool", print)])
    found = await asyncio.to_thread(lambda: [hooks.has(e) for e in ("before_tool", "after_tool")])
    assert found == [True, False]
    assert not Hooks().has("before_tool")
    assert await Hooks().before_tool(Heard().append, CALL) == Allowed()


# --- processes ----------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs process descriptors")
@pytest.mark.parametrize("end", ["timeout", "cancel"])
async def test_a_hook_ends_with_all_that_it_started(tmp_path: Path, end: str) -> None:
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    command = "sleep 100 & echo $$ $! > pids; wait"
    timeout_s = 2 if end == "timeout" else 60
    hooks = Hooks(declared({"command": command, "timeout_s": timeout_s}), folder=tmp_path)
    task = asyncio.create_task(guarded(hooks, Heard()))
    text = await asyncio.to_thread(pids.read_text)
    processes = [os.pidfd_open(int(word)) for word in text.split()]
    if end == "cancel":
        task.cancel()
    for process in processes:
        ended, _, _ = await asyncio.to_thread(select.select, [process], [], [], 5)
        os.close(process)
        assert ended, "it goes on"
    if end == "cancel":
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert await task == []


# --- keys ---------------------------------------------------------------------------------------


def traces(key: str) -> list[bytes]:
    """Every form in which ``key`` or an end of it could be written."""
    forms = [key, urllib.parse.quote(key, safe=""), key[:8], key[-8:]]
    return [*map(str.encode, forms), base64.b64encode(key.encode())]


async def test_keys_reach_neither_input_nor_environment_nor_address_of_a_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, shape, environ = "SENTINEL-abcdefgh12345678", f"sk-{'q7' * 12}", "Zx9+/=mnopqr-env"
    monkeypatch.setenv("SOME_SERVICE_TOKEN", environ)
    for name, value in (("http_proxy", "http://127.0.0.1:9/"), ("no_proxy", ""), ("NO_PROXY", "")):
        monkeypatch.setenv(name, value)
    call = HookedCall(
        "c-1", "bash", {"command": f"curl -H {given} {shape}", "env": [{environ: environ}]}
    )
    told: list[object] = []
    keep = tmp_path / "kept"
    async with serving(whole(200, b"")) as server:
        spy = f"{{ cat; env; cat /proc/$$/cmdline; }} >> {shlex.quote(str(keep))}"
        hooks = Hooks(
            (
                *declared({"command": spy}, {"url": server.url}),
                python_hook("before_tool", told.append),
            ),
            folder=tmp_path,
            hide=Grant(given, {}).masked,
        )
        heard = Heard()
        assert await guarded(hooks, heard, call) == ["bash"]
        [request] = server.requests
    seen = b"\n".join(
        [
            keep.read_bytes(),
            request.body,
            request.target.encode(),
            repr(request.headers).encode(),
            repr(told).encode(),
            repr(heard).encode(),
        ]
    )
    assert b"curl -H" in keep.read_bytes()
    assert b"PATH=" in keep.read_bytes()
    for key in (given, shape, environ):
        assert [form for form in traces(key) if form in seen] == []


async def test_arguments_that_a_hook_could_not_see_whole_are_not_changed_by_it() -> None:
    call = HookedCall("c-1", "bash", {"command": f"echo sk-{'q7' * 12}"})
    hook = python_hook("before_tool", lambda told: {"decision": "allow", "args": told["args"]})
    heard = Heard()
    assert await guarded(Hooks([hook]), heard, call) == []
    assert "hold a key" in str(heard.reasons(HookBlocked))

"""One hook, carried out: a command in a process group of its own, a request, or a function.

What happens is told as one JSON object: on standard input, as the body, or as the argument. The
command gets the environment without keys (`tools.environment`); the request takes no proxy,
no credentials and no redirect. What goes wrong becomes a verdict that says so.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import json
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, assert_never
from urllib.parse import urlsplit

from ..core.errors import ToolFailure
from ..policy.hooks import (
    Address,
    Command,
    Function,
    Hook,
    Unreadable,
    Verdict,
    failed,
    shown,
    verdict_on,
    verdict_on_output,
)
from ..tools.environment import command_environment
from ..tools.process import Ended, run_in_group
from ..tools.worker import Body, Outcome, ends_soon

MAX_ANSWER_BYTES: Final = 64 * 1024
"""An answer that is longer is none."""
MAX_FILE_BYTES: Final = 16 * 1024 * 1024
"""A longer file that a hook names cannot be trusted: reading it would keep the session waiting."""

_MAX_COMPLAINT_BYTES: Final = 1024 * 1024
_COMPLAINT_CHARS: Final = 300
_KILL_S: Final = 5.0
"""How long the end of a command may take after its time was up."""
_LAUNCH: Final = 'exec <"$1" 2>"$2" || exit 126; shift 2; exec "$@"'
"""Runs the rest of its arguments with those files as standard input and error."""


async def verdict_of(hook: Hook, told: bytes, folder: str) -> Verdict:
    """What ``hook`` says of what it is ``told`` (JSON), in its time and the time killing takes.

    Commands run in ``folder``. Raises nothing but the cancellation of the caller, and then what
    was started is killed.
    """
    match hook.action:
        case Unreadable(problem=problem):
            return failed(f"cannot be read ({problem})")
        case Command() as command:
            return await _by_command(hook, command, told, folder)
        case Address(url=url):
            return await _by_request(hook, url, told)
        case Function(call=call):
            return await _by_function(hook, call, told)
        case _ as never:
            assert_never(never)


def digest_of_file(path: str | os.PathLike[str]) -> str | None:
    """The SHA-256 of a regular file of ``MAX_FILE_BYTES`` at most, as hex; else None."""
    try:
        if not Path(path).is_file() or Path(path).stat().st_size > MAX_FILE_BYTES:
            return None
        with Path(path).open("rb") as stream:
            return hashlib.sha256(stream.read(MAX_FILE_BYTES)).hexdigest()
    except OSError:
        return None


async def _in_time(
    timeout_s: float, body: Body, work: Coroutine[Any, Any, Outcome]
) -> Outcome | None:
    """How ``work`` of ``body`` ended; None when it did not end in time. It is stopped then."""
    task = asyncio.create_task(work)
    try:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(task)
    except TimeoutError:
        body.stop()
        await ends_soon(task)
        return None
    except asyncio.CancelledError:
        body.stop()
        await ends_soon(task)
        raise


# --- commands ----------------------------------------------------------------------------------


async def _by_command(hook: Hook, command: Command, told: bytes, folder: str) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="hook-", ignore_cleanup_errors=True) as box:
        complaint = Path(box, "errors")
        halt = _Halt(complaint)
        body = Body(f"hook {hook.name}", halt)
        run = functools.partial(_run_command, hook, command, told, folder, Path(box), halt)
        outcome = await _in_time(hook.timeout_s + _KILL_S, body, body.in_thread(run))
    if outcome is None:
        return failed(f"did not end within {hook.timeout_s:g} s and could not be killed")
    if isinstance(outcome.error, ToolFailure):
        return failed(f"was not run: {outcome.error.message}")
    if outcome.error is not None:
        return failed(f"could not be run: {outcome.error}")
    verdict: Verdict = outcome.value
    return verdict


class _Halt(threading.Event):
    """Set when the command has to end: it was stopped, or it says more than anyone will read."""

    def __init__(self, complaint: Path) -> None:
        super().__init__()
        self.is_flooded = False
        self._complaint = complaint

    def flood(self) -> None:
        self.is_flooded = True
        self.set()

    def wait(self, timeout: float | None = None) -> bool:
        """As of any event; the runner of the command asks again and again."""
        try:
            if self._complaint.stat().st_size > _MAX_COMPLAINT_BYTES:
                self.flood()
        except OSError:  # it has not begun
            pass
        return super().wait(timeout)


def _run_command(
    hook: Hook, command: Command, told: bytes, folder: str, box: Path, halt: _Halt
) -> Verdict:
    for path, digest in command.files:
        if digest_of_file(path) != digest:
            return failed(f"was not run: {path} has changed since it was trusted")
    shell = shutil.which("bash") or shutil.which("sh")
    if shell is None:
        return failed("needs bash or sh, and neither is on the PATH")
    given, complaint = box / "given", box / "errors"
    given.write_bytes(told)
    answer = bytearray()

    def on_output(data: bytes, _text: str) -> None:
        answer.extend(data[: MAX_ANSWER_BYTES + 1 - len(answer)])
        if len(answer) > MAX_ANSWER_BYTES:
            halt.flood()

    redirected = [shell, "-c", "--", _LAUNCH, "hook", str(given), str(complaint)]
    ended = run_in_group(
        [*redirected, shell, "-c", "--", command.text],
        folder=folder,
        environment=command_environment(os.environ),
        timeout_s=hook.timeout_s,
        cancelled=halt,
        on_output=on_output,
    )
    if halt.is_flooded:
        return failed("printed more than anyone will read, and was killed")
    if ended.reason == "exited" and ended.code == 0:
        return verdict_on_output(bytes(answer), hook.event)
    return failed(_end_text(ended, hook.timeout_s) + _last_words(complaint))


def _end_text(ended: Ended, timeout_s: float) -> str:
    if ended.reason == "timeout":
        return f"did not end within {timeout_s:g} s and was killed"
    if ended.reason == "stopped":
        return "was stopped"
    if ended.code is None or ended.code >= 0:
        return f"ended with exit code {ended.code}"
    try:
        name = signal.Signals(-ended.code).name
    except ValueError:
        name = "unknown"
    return f"was killed by signal {-ended.code} ({name})"


def _last_words(complaint: Path) -> str:
    try:
        text = complaint.read_bytes()[-2_000:].decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return f": {shown(text[-_COMPLAINT_CHARS:], _COMPLAINT_CHARS)}" if text else ""


# --- requests ----------------------------------------------------------------------------------


async def _by_request(hook: Hook, url: str, told: bytes) -> Verdict:
    try:
        async with asyncio.timeout(hook.timeout_s):
            status, answer = await _posted(url, told)
    except TimeoutError:
        return failed(f"did not answer within {hook.timeout_s:g} s")
    except Exception as error:  # noqa: BLE001  # whatever it is, nobody allowed anything
        return failed(f"could not be reached ({type(error).__name__})")
    if 300 <= status < 400:
        return failed(f"redirects (HTTP {status}), and what happens here is sent nowhere else")
    if not 200 <= status < 300:
        return failed(f"answered with HTTP {status}")
    if len(answer) > MAX_ANSWER_BYTES:
        return failed(f"answered with more than {MAX_ANSWER_BYTES:,} bytes")
    return verdict_on_output(answer, hook.event)


async def _posted(url: str, told: bytes) -> tuple[int, bytes]:
    """Status and answer; of a longer answer ``MAX_ANSWER_BYTES`` and one more."""
    import httpx

    verify: Any = False
    if urlsplit(url).scheme.lower() == "https":
        verify = await asyncio.to_thread(
            functools.partial(httpx.create_ssl_context, trust_env=False)
        )
    headers = {"content-type": "application/json", "accept-encoding": "identity"}
    async with (
        # The environment's proxy and certificates are for where the person goes; its deadline is
        # the hook's.
        httpx.AsyncClient(verify=verify, trust_env=False, timeout=None) as client,  # noqa: S113
        client.stream(
            "POST", url, content=told, headers=headers, follow_redirects=False
        ) as response,
    ):
        answer = bytearray()
        async for chunk in response.aiter_raw():
            answer.extend(chunk[: MAX_ANSWER_BYTES + 1 - len(answer)])
            if len(answer) > MAX_ANSWER_BYTES:
                break
        return response.status_code, bytes(answer)


# --- functions ---------------------------------------------------------------------------------


async def _by_function(hook: Hook, call: Callable[..., object], told: bytes) -> Verdict:
    body = Body(f"hook {hook.name}", threading.Event())
    outcome = await _in_time(hook.timeout_s, body, _called(body, call, json.loads(told)))
    if outcome is None:
        return failed(f"did not end within {hook.timeout_s:g} s")
    if outcome.error is not None:
        error = outcome.error
        return failed(f"raised {type(error).__name__}: {shown(str(error), _COMPLAINT_CHARS)}")
    return verdict_on(outcome.value, hook.event)


async def _called(body: Body, call: Callable[..., Any], happening: Any) -> Outcome:
    if inspect.iscoroutinefunction(call):
        return await body.in_task(lambda: call(happening))
    outcome = await body.in_thread(lambda: call(happening))
    if inspect.isawaitable(outcome.value):
        pending = outcome.value
        outcome = await body.in_task(lambda: pending)
        if inspect.iscoroutine(pending):
            pending.close()  # one that was not begun any more
    return outcome

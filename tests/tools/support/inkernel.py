"""What test cells use inside a kernel: an engine's loop, and the kernel's main thread."""

from __future__ import annotations

import asyncio
import contextvars
import json
import signal
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any

import msgspec

from agent_widget.core.errors import SessionError
from agent_widget.tools import Tool, ToolContext, ToolOutput, notebook_tools


def interrupt_main_thread() -> None:
    """SIGINT to that very thread: one sent to the process need not wake it from a sleep."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


class KernelMain:
    """Runs jobs as callbacks of the kernel's loop, one a turn."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.tasks: dict[Future[Any], asyncio.Task[Any]] = {}
        self.reason: str | None = None

    def submit(self, job: Callable[[], Any], *, interruptible: bool = True) -> Future[Any]:  # noqa: ARG002
        future: Future[Any] = Future()
        context = contextvars.copy_context()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            before = signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                future.set_result(context.run(job))
            except BaseException as error:  # noqa: BLE001
                future.set_exception(error)
            finally:
                signal.signal(signal.SIGINT, before)

        self.loop.call_soon_threadsafe(run)
        return future

    def submit_coroutine(self, factory: Callable[[], Coroutine[Any, Any, Any]]) -> Future[Any]:
        future: Future[Any] = Future()
        context = contextvars.copy_context()

        async def main() -> None:
            future.set_running_or_notify_cancel()
            try:
                future.set_result(await factory())
            except BaseException as error:  # noqa: BLE001
                future.set_exception(error)

        def start() -> None:
            self.tasks[future] = self.loop.create_task(main(), context=context)

        self.loop.call_soon_threadsafe(start)
        return future

    def interrupt(self, future: Future[Any]) -> None:
        if future.cancel():
            return
        if future in self.tasks:
            self.loop.call_soon_threadsafe(self.tasks[future].cancel)
        elif not future.done():
            interrupt_main_thread()

    def waits_for(self) -> str | None:
        return self.reason


class Kit:
    """Starts calls on a thread of their own, as the engine does."""

    def __init__(self) -> None:
        self.main = KernelMain()
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.tools: dict[str, Tool] = {tool.name: tool for tool in notebook_tools()}

    def start(self, tool: Tool | str, **args: Any) -> Started:
        """Start a call from a context that belongs to no cell."""
        chosen = self.tools[tool] if isinstance(tool, str) else tool
        return Started(self, chosen, args)

    def python(self, code: str) -> Started:
        return self.start("run_python", code=code)


class Started:
    """A call under way."""

    def __init__(self, kit: Kit, tool: Tool, args: dict[str, Any]) -> None:
        self.live: list[str] = []
        self.progress: list[str | None] = []
        self.context = ToolContext(
            call_id="c1",
            tool_name=tool.name,
            progress=self.progress.append,
            output=self.live.append,
            main=kit.main,
        )
        self.kit = kit
        self.task: asyncio.Task[ToolOutput] | None = None
        self.future = asyncio.run_coroutine_threadsafe(self._run(tool, args), kit.loop)

    async def _run(self, tool: Tool, args: dict[str, Any]) -> dict[str, Any]:
        self.task = asyncio.ensure_future(tool.execute(tool.validate(args), self.context))
        report: dict[str, Any] = {"content": [], "is_error": None, "raised": None}
        try:
            output = await self.task
        except SessionError as error:
            report["raised"] = [error.code, error.message]
        except asyncio.CancelledError:
            report["raised"] = ["stopped", ""]
        else:
            report["content"] = msgspec.to_builtins(output.content)
            report["is_error"] = output.is_error
        return {**report, "live": "".join(self.live), "progress": self.progress}

    def stop(self) -> None:
        """Cancel the call, as Stop does."""
        assert self.task is not None
        self.kit.loop.call_soon_threadsafe(self.task.cancel)

    async def ended(self) -> str:
        """Its report as JSON, once it has ended; the kernel's loop turns meanwhile."""
        return json.dumps(await asyncio.wrap_future(self.future))

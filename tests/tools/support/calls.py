"""Running one tool call outside of a session."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from agent_widget.tools.base import MainThread, StopSign, Tool, ToolContext, ToolOutput

T = TypeVar("T")


class ThisThread:
    """A main thread that runs each job where it is submitted."""

    def submit(self, job: Callable[[], T], *, interruptible: bool = True) -> Future[T]:  # noqa: ARG002
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        future.set_result(job())
        return future

    def submit_coroutine(self, factory: Callable[[], Coroutine[Any, Any, T]]) -> Future[T]:
        raise AssertionError(f"nothing to run {factory} on")

    def interrupt(self, future: Future[Any]) -> None:  # noqa: ARG002
        raise AssertionError("nothing to interrupt")

    def waits_for(self) -> str | None:
        return None


class Call:
    """One call and what its context was told."""

    def __init__(self, tool: Tool, main: MainThread | None = None) -> None:
        self.tool = tool
        self.live: list[str] = []
        self.progress: list[str | None] = []
        self.context = ToolContext(
            call_id="c1",
            tool_name=tool.name,
            progress=self.progress.append,
            output=self.live.append,
            main=main or ThisThread(),
            cancelled=StopSign(),
        )

    async def run(self, **args: Any) -> ToolOutput:
        return await self.tool.execute(self.tool.validate(args), self.context)


async def output_of(tool: Tool, **args: Any) -> ToolOutput:
    return await Call(tool).run(**args)

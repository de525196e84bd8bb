"""The ``run_python`` tool: code of the model in the user's namespace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from ..core.errors import Cancelled, ToolFailure
from .base import CallText, ToolContext, ToolOutput
from .cell import CellEnd, run_cell
from .display import Capture, current_capture
from .failures import error_line
from .function import FunctionTool, tool
from .outputfile import THRESHOLD_BYTES
from .results import result_output
from .text import plain_text
from .truncate import head_and_tail

T = TypeVar("T")

_POLL_S: Final = 0.2
_NOTHING: Final = result_output(None)


def python_tool(namespace: Callable[[], dict[str, Any]]) -> FunctionTool:
    """The ``run_python`` tool for ``namespace()``, which is called on the main thread."""

    @tool(name="run_python", kind="execute", describe=_code_text)
    async def run_python(code: str, context: ToolContext) -> ToolOutput:
        """Run Python code in the user's notebook; returns what it prints, displays and raises.

        The code sees and changes the user's variables, like a cell: the value of a last
        expression is shown, magics and top-level await work, and plots and tables appear in
        front of the user. input() does not work.

        Args:
            code: The code, exactly as it would stand in a cell.
            context: Where and for whom it runs.
        """
        capture = current_capture()
        assert capture is not None
        try:
            end = await _end_of(code, namespace, capture, context)
        except Cancelled:  # the interrupt came before or after the code itself
            end = CellEnd(KeyboardInterrupt())
        if isinstance(end.error, KeyboardInterrupt | asyncio.CancelledError):
            raise Cancelled(_interrupted_text(capture))
        printed = capture.blocks()
        if end.error is not None and not printed:
            raise ToolFailure(error_line(end.error))
        return ToolOutput(() if printed else _NOTHING.content, end.error is not None)

    return run_python


def _code_text(args: Mapping[str, Any]) -> CallText:
    return CallText(str(args["code"]), "python")


async def _end_of(
    code: str, namespace: Callable[[], dict[str, Any]], capture: Capture, context: ToolContext
) -> CellEnd:
    end = await _main_result(
        context, context.main.submit(lambda: run_cell(code, namespace(), capture))
    )
    if isinstance(end, CellEnd):
        return end
    if context.cancelled.is_set():
        raise asyncio.CancelledError
    return await _main_result(context, context.main.submit_coroutine(end))


async def _main_result(context: ToolContext, future: Future[T]) -> T:
    """The result of a job of the main thread; the card says what it waits for.

    When this is cancelled, the job is interrupted, and what it does then is its result.
    """
    waiting = asyncio.ensure_future(asyncio.wrap_future(future))
    shown: str | None = None
    try:
        while not (future.running() or future.done()):
            reason = context.main.waits_for()
            if reason != shown:
                shown = reason
                context.progress(reason)
            await asyncio.wait({waiting}, timeout=_POLL_S)
        if shown is not None:
            context.progress(None)
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        context.main.interrupt(future)
        await asyncio.wait({waiting})
        if waiting.cancelled():
            raise
        return waiting.result()


def _interrupted_text(capture: Capture) -> str:
    printed = ToolOutput(capture.blocks()).text_for_model()
    if not printed:
        return "Interrupted by the user."
    text = plain_text(printed)
    so_far = head_and_tail(text, THRESHOLD_BYTES)
    capture.whole.close()
    is_cut = capture.is_cut or len(text) > THRESHOLD_BYTES
    note = f"\n{capture.whole.note}" if is_cut and capture.whole.note else ""
    return f"Interrupted by the user. Output until then:\n{so_far}{note}"

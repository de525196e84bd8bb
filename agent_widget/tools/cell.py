"""Runs code as a notebook cell would, on the main thread, with all its output captured."""

from __future__ import annotations

import ast
import builtins
import contextlib
import getpass
import itertools
import linecache
import tokenize
import traceback
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final, NoReturn, TypeAlias

from msgspec import Struct

from .base import TextBlock
from .detours import Detour, detoured
from .display import Capture, capturing, ipython_shell
from .failures import error_line, user_frames
from .figures import pending_figures_aside
from .streams import foreground
from .text import without_addresses

_SOURCES: Final = 100
_sources: Final[deque[str]] = deque()
_numbers: Final = itertools.count(1)


class CellEnd(Struct, frozen=True):
    """How the code ended: with ``error``, or well. Its output is in the capture."""

    error: BaseException | None = None


AwaitingCell: TypeAlias = Callable[[], Coroutine[Any, Any, CellEnd]]
"""Code with a top-level await, as a coroutine to be run on the main thread's loop."""


def run_cell(code: str, namespace: dict[str, Any], capture: Capture) -> CellEnd | AwaitingCell:
    """Run ``code`` on this thread, the main one; what it does not catch is in the result.

    Code that awaits has not run yet when a coroutine function comes back.

    In IPython's own namespace it runs as a cell does (magics, displays, hooks, top-level await);
    in any other it is executed as plain Python, and the value of a last expression is shown.
    """
    shell = ipython_shell()
    try:
        if shell is None or namespace is not shell.user_ns:
            return _run_plain(code, namespace, capture)
        return _run_in_shell(shell, code, capture)
    except KeyboardInterrupt as interrupt:  # between two statements of ours
        return CellEnd(interrupt)


# Plain Python ---------------------------------------------------------------------------------


def _run_plain(code: str, namespace: dict[str, Any], capture: Capture) -> CellEnd:
    with capturing(capture), detoured(capture, _INPUT_DETOURS):
        try:
            value = _executed(code, namespace)
            if value is not None:
                capture.add(TextBlock(without_addresses(repr(value))))
        except BaseException as error:  # noqa: BLE001  # sys.exit() ends the code, not the host
            if not isinstance(error, KeyboardInterrupt):
                capture.add(TextBlock(_plain_traceback(error)))
            return CellEnd(error)
    return CellEnd()


def _executed(code: str, namespace: dict[str, Any]) -> object:
    """The value of the last expression of ``code``, or None."""
    file = _source_file(code)
    tree = ast.parse(code, file)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, file, "exec"), namespace)  # noqa: S102  # what this tool is for
        return None
    del tree.body[-1]
    exec(compile(tree, file, "exec"), namespace)  # noqa: S102
    expression = ast.Expression(last.value)
    return eval(compile(expression, file, "eval"), namespace)  # noqa: S307


def _source_file(code: str) -> str:
    """A file name under which tracebacks find ``code``; the newest hundred are kept."""
    file = f"<run_python {next(_numbers)}>"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    _sources.append(file)
    if len(_sources) > _SOURCES:
        linecache.cache.pop(_sources.popleft(), None)
    return file


def _plain_traceback(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return "".join(traceback.format_exception_only(error)).strip()
    return f"Traceback:\n{user_frames(error.__traceback__)}\n{error_line(error)}"


# IPython --------------------------------------------------------------------------------------


def _run_in_shell(shell: Any, code: str, capture: Capture) -> CellEnd | AwaitingCell:
    cell = _ShellCell(shell, code, capture)
    if cell.awaits:
        return cell.end_awaited
    with _waiting_cell_kept(shell), foreground(capture):
        return cell.end()


class _ShellCell:
    """One cell in IPython, with what surrounds it: capture, detours, hooks of the notebook."""

    def __init__(self, shell: Any, code: str, capture: Capture) -> None:
        self._shell = shell
        self._code = code
        self._capture = capture
        self._problem: Any = None
        try:
            self._transformed = shell.transform_cell(code)
        except Exception as error:  # noqa: BLE001  # any extension may transform
            self._transformed = code
            self._problem = (type(error), error, error.__traceback__)  # IPython reports it

    @property
    def awaits(self) -> bool:
        return bool(
            self._shell.should_run_async(
                self._code,
                transformed_cell=self._transformed,
                preprocessing_exc_tuple=self._problem,
            )
        )

    def end(self) -> CellEnd:
        with self._surrounded():
            return _end(_driven(self._running()))

    async def end_awaited(self) -> CellEnd:
        with self._surrounded():
            return _end(await self._running())

    def _running(self) -> Coroutine[Any, Any, Any]:
        running: Coroutine[Any, Any, Any] = self._shell.run_cell_async(
            self._code,
            store_history=False,
            transformed_cell=self._transformed,
            preprocessing_exc_tuple=self._problem,
        )
        return running

    @contextlib.contextmanager
    def _surrounded(self) -> Iterator[None]:
        events = self._shell.events
        with (
            capturing(self._capture),
            detoured(self._capture, _shell_detours(self._shell, self._code, self._capture)),
            pending_figures_aside(),
        ):
            try:
                yield
            finally:
                events.trigger("post_execute")
                events.trigger("post_run_cell", self._shell.last_execution_result)


@contextlib.contextmanager
def _waiting_cell_kept(shell: Any) -> Iterator[None]:
    """What IPython notes about the last cell stays that of the person's own."""
    names = ("last_execution_result", "last_execution_succeeded", "_last_traceback")
    kept = {name: getattr(shell, name) for name in names if hasattr(shell, name)}
    waiting = shell.displayhook.exec_result
    try:
        yield
    finally:
        shell.displayhook.exec_result = waiting
        for name, value in kept.items():
            setattr(shell, name, value)


def _driven(running: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits."""
    try:
        running.send(None)
    except StopIteration as stop:
        return stop.value
    running.close()
    raise RuntimeError("Code without a top-level await waited for something.")


def _end(result: Any) -> CellEnd:
    return CellEnd(result.error_before_exec or result.error_in_exec)


# Detours --------------------------------------------------------------------------------------


def _ends_with_semicolon(code: str) -> bool:
    from IPython.core.displayhook import DisplayHook

    ends: Callable[[str], object] = DisplayHook.semicolon_at_end_of_expression
    try:
        return bool(ends(code))
    except (SyntaxError, tokenize.TokenError):  # a magic
        return False


def _refuse_input(*_: Any, **__: Any) -> NoReturn:
    __tracebackhide__ = True
    raise RuntimeError(
        "input() has nobody to answer it here. Put the value into the code, or ask the user."
    )


def _refuse_exit() -> NoReturn:
    __tracebackhide__ = True
    raise RuntimeError("exit() and quit() do not stop the kernel from here.")


def _nothing(*_: Any) -> None:
    """The person's ``_`` and ``Out`` stay theirs."""


_INPUT_DETOURS: Final = (
    Detour(builtins, "input", _refuse_input),
    Detour(getpass, "getpass", _refuse_input),
)


def _shell_detours(shell: Any, code: str, capture: Capture) -> tuple[Detour, ...]:
    def show_page(payload: dict[str, Any], **_: Any) -> None:
        """Help (``name?``) goes to the card; other requests to the front end are dropped."""
        if payload.get("source") == "page":
            capture.show(payload.get("data") or {})

    def show_traceback(_kind: Any, value: BaseException, lines: list[str]) -> None:
        if not isinstance(value, KeyboardInterrupt):  # not a fault of the code
            capture.add(TextBlock("\n".join(lines)))

    def show_value(data: dict[str, Any], _metadata: Any = None) -> None:
        capture.show(data)

    hook = shell.displayhook
    return (
        *_INPUT_DETOURS,
        Detour(shell, "_showtraceback", show_traceback),
        Detour(shell, "ask_exit", _refuse_exit),
        Detour(shell.payload_manager, "write_payload", show_page),
        Detour(hook, "quiet", lambda: _ends_with_semicolon(code)),
        Detour(hook, "write_output_prompt", _nothing),
        Detour(hook, "write_format_data", show_value),
        Detour(hook, "update_user_ns", _nothing),
        Detour(hook, "log_output", _nothing),
    )

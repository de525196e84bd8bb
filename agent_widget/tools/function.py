"""``@tool``: a Python function as a tool."""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor
from typing import Any, Final, TypeAlias, get_args, overload

from msgspec.structs import replace

from ..core.errors import Cancelled, InvalidOptions, ToolFailure
from .base import CallText, Kind, TextBlock, ToolContext, ToolOutput
from .display import Capture, capturing
from .docstring import tool_doc
from .failures import failed_output
from .results import NO_RESULT, result_output
from .truncate import LiveOutput, fitted
from .worker import Body, Outcome, ends_soon

NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LARGE_CHARS: Final = 1_000_000
Describe: TypeAlias = Callable[[Mapping[str, Any]], CallText]


class FunctionTool:
    """A function as a tool; calling it calls the function.

    Raises InvalidOptions where no model could call it: a bad name, ``*args``, positional-only
    parameters, a missing annotation or one that JSON cannot carry, a generator.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        read_only: bool = False,
        kind: Kind | None = None,
        timeout_s: float | None = None,
        describe: Describe | None = None,
        executor: Executor | None = None,
    ) -> None:
        from .schema import signature_arguments

        self._function = function
        self._name = _tool_name(function, name)
        _require_one_result(function, self._name)
        _require_kinds(self._name, read_only=read_only, description=description, describe=describe)
        doc = tool_doc(inspect.getdoc(_documented(function)))
        self._arguments = signature_arguments(function, self._name, doc.parameters)
        self._description = doc.description if description is None else description
        self._kind = _consistent_kind(kind, self._name, read_only=read_only)
        self._read_only = read_only or self._kind == "read"
        self._timeout_s = _required_timeout(timeout_s, self._name)
        self._describe = describe
        self._executor = _usable_executor(executor, function, self._name)
        functools.update_wrapper(self, function, updated=())

    @property
    def name(self) -> str:
        return self._name

    @property
    def description(self) -> str:
        return self._description

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._arguments.schema

    @property
    def read_only(self) -> bool:
        return self._read_only

    @property
    def kind(self) -> Kind:
        return self._kind

    def validate(self, args: object) -> Mapping[str, Any]:
        return self._arguments.checked(args)

    def describe(self, args: Mapping[str, Any]) -> CallText:
        from .schema import arguments_text

        if self._describe is not None:
            return self._describe(args)
        return CallText(arguments_text(args), "json")

    async def execute(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        live = LiveOutput(context.output)
        capture = Capture(live.write)
        injected = dict.fromkeys(self._arguments.context_names, context)
        function = functools.partial(self._function, **args, **injected)
        body = Body(f"tool {self._name}", context.cancelled)
        distant = None if self._executor is None else self._distant(args, context)
        work = asyncio.create_task(self._result(function, capture, body, distant))
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asyncio.shield(work)
        except TimeoutError:
            capture.close()
            await _ended(body, work)
            raise ToolFailure(
                f"{self._name} did not end within {self._timeout_s:g} s and was given up.",
                code="timeout",
            ) from None
        except asyncio.CancelledError:
            live.close()
            context.left_behind(work)
            await _ended(body, work)
            raise

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self._name}>"

    def _distant(
        self, args: Mapping[str, Any], context: ToolContext
    ) -> Callable[[], Awaitable[ToolOutput]]:
        """What runs the body on the executor."""
        from .remote import run_on

        executor, names = self._executor, tuple(self._arguments.context_names)
        assert executor is not None
        return lambda: run_on(executor, self._function, args, names, context)

    async def _result(
        self,
        function: Callable[[], Any],
        capture: Capture,
        body: Body,
        distant: Callable[[], Awaitable[ToolOutput]] | None,
    ) -> ToolOutput:
        try:
            if distant is not None:
                outcome = await body.in_task(distant)
            else:
                outcome = await self._outcome(function, capture, body)
            if _is_large(outcome.value):  # writing it to a file takes its time, too
                return await asyncio.to_thread(self._output, outcome, capture, body)
            return self._output(outcome, capture, body)
        finally:
            capture.close()

    async def _outcome(self, function: Callable[[], Any], capture: Capture, body: Body) -> Outcome:
        async def awaited(pending: Awaitable[Any]) -> Any:
            with capturing(capture):
                return await pending

        if _is_async(self._function):
            outcome = await body.in_task(lambda: awaited(function()))
        else:
            outcome = await body.in_thread(_captured(lambda: _converted(function()), capture))
            if inspect.isawaitable(outcome.value):
                pending = outcome.value
                outcome = await body.in_task(lambda: awaited(pending))
                if inspect.iscoroutine(pending):
                    pending.close()  # one that was not begun any more
        if outcome.error is not None or isinstance(outcome.value, ToolOutput):
            return outcome
        # Drawing a figure or formatting a table takes its time: not on the engine's loop.
        value = outcome.value
        return await body.in_thread(_captured(lambda: _converted(value), capture))

    def _output(self, outcome: Outcome, capture: Capture, body: Body) -> ToolOutput:
        if isinstance(outcome.error, ToolFailure):
            raise outcome.error
        if body.is_stopped and isinstance(outcome.error, asyncio.CancelledError):
            raise Cancelled
        printed = capture.blocks()
        output: ToolOutput = outcome.value
        if outcome.error is not None:
            entry = getattr(inspect.unwrap(_documented(self._function)), "__code__", None)
            output = failed_output(outcome.error, entry)
        elif printed and output == result_output(None):
            output = ToolOutput()
        capture.keep(output.content)
        whole = replace(output, content=(*printed, *output.content))
        return fitted(whole, capture.whole, is_cut=capture.is_cut)


async def _ended(body: Body, work: asyncio.Task[ToolOutput]) -> None:
    body.stop()
    await ends_soon(work)


def _is_large(value: object) -> bool:
    blocks = value.content if isinstance(value, ToolOutput) else ()
    chars = sum(len(block.text) for block in blocks if isinstance(block, TextBlock))
    return chars > _LARGE_CHARS


def _captured(piece: Callable[[], Any], capture: Capture) -> Callable[[], Any]:
    def captured() -> Any:
        with capturing(capture):
            return piece()

    return captured


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    kind: Kind | None = None,
    timeout_s: float | None = None,
    describe: Describe | None = None,
    executor: Executor | None = None,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None, /, **options: Any
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Makes a function, sync or async, a tool that a model can call.

    The schema comes from the annotations, the descriptions from the docstring. A parameter
    annotated ``ToolContext`` is filled in and not shown to the model. A sync function runs in a
    thread of its own; what it prints and displays belongs to its card. It may return text, JSON
    data, a table, a figure, blocks, a ``ToolOutput``, or a ``Handoff``.

    Args:
        function: The function, where the decorator is used bare.
        **options: ``name`` (default: the function's), ``description`` (default: the docstring's
            text), ``read_only`` (True: calls need no question), ``kind`` (read, edit, execute,
            network or other; by default read when ``read_only``, else other; ``kind="read"``
            means ``read_only``), ``timeout_s`` (seconds after which a call is given up),
            ``describe`` (what a person reads before the call runs; default: the arguments as
            JSON), ``executor`` (where a sync function runs: any ``concurrent.futures.Executor``,
            for example ``dask_client.get_executor()``; its ``ToolContext`` then has ``progress``,
            ``output`` and ``cancelled``, and a Stop cancels the future).
    """
    if function is None:
        return lambda decorated: FunctionTool(decorated, **options)
    return FunctionTool(function, **options)


def _converted(value: Any) -> Any:
    """``value`` as a ToolOutput; what has to be awaited first as it is."""
    if isinstance(value, ToolOutput) or inspect.isawaitable(value):
        return value
    return result_output(value)


def _tool_name(function: Callable[..., Any], name: str | None) -> str:
    chosen: object = getattr(function, "__name__", "") if name is None else name
    if isinstance(chosen, str) and NAME.fullmatch(chosen):
        return chosen
    raise InvalidOptions(
        f"{chosen!r} cannot be the name of a tool (function {function!r}).",
        advice="Use 1 to 64 letters, digits, _ or -, for example @tool(name='my_tool').",
    )


def _consistent_kind(kind: Kind | None, name: str, *, read_only: bool) -> Kind:
    if kind is None:
        return "read" if read_only else "other"
    if kind not in get_args(Kind):
        known = ", ".join(get_args(Kind))
        raise InvalidOptions(f"Tool {name!r}: kind={kind!r}.", advice=f"The kinds are {known}.")
    if read_only and kind not in ("read", "other"):
        raise InvalidOptions(
            f"Tool {name!r}: kind={kind!r} contradicts read_only=True.",
            advice="Leave one of them out.",
        )
    return kind


def _require_kinds(name: str, *, read_only: object, description: object, describe: object) -> None:
    """What a model could be told wrongly, and a question could be left out by, is refused."""
    wrong = {
        "read_only": (read_only, isinstance(read_only, bool), "Give True or False."),
        "description": (description, isinstance(description, str | None), "Give text."),
        "describe": (
            describe,
            describe is None or callable(describe),
            "Give a function that gets the arguments and returns a CallText.",
        ),
    }
    for option, (value, fits, advice) in wrong.items():
        if not fits:
            raise InvalidOptions(f"Tool {name!r}: {option}={value!r} cannot be.", advice=advice)


def _required_timeout(timeout_s: object, name: str) -> float | None:
    if timeout_s is None or (isinstance(timeout_s, int | float) and timeout_s > 0):
        return timeout_s
    raise InvalidOptions(
        f"Tool {name!r}: timeout_s={timeout_s!r} is no positive number.",
        advice="Give seconds, or None for no limit.",
    )


def _usable_executor(
    executor: Executor | None, function: Callable[..., Any], name: str
) -> Executor | None:
    if executor is None:
        return None
    if not callable(getattr(executor, "submit", None)):
        advice = "Pass a concurrent.futures.Executor, or dask_client.get_executor()."
        raise InvalidOptions(f"Tool {name!r}: executor={executor!r} is none.", advice=advice)
    if _is_async(function):
        advice = "Make it a plain function, or leave out executor=."
        raise InvalidOptions(f"Tool {name!r} is async, which no executor runs.", advice=advice)
    return executor


def _require_one_result(function: Callable[..., Any], name: str) -> None:
    code = inspect.unwrap(_documented(function))
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise InvalidOptions(
            f"Tool {name!r}: {code.__qualname__} yields, and a call has one result.",
            advice="Return a list, and report progress through a ToolContext parameter.",
        )


def _documented(function: Any) -> Any:
    """The object that carries the docstring and the kind of ``function``."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    return type(function).__call__


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(_documented(function))


__all__ = ["NAME", "NO_RESULT", "FunctionTool", "tool"]

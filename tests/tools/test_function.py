# ruff: noqa: T201  # tools print, and that is what is tested
from __future__ import annotations

import asyncio
import datetime
import decimal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from agent_widget.core.errors import ToolFailure
from agent_widget.tools import HtmlBlock, ImageBlock, TextBlock, ToolContext, ToolOutput, tool
from tests.tools.support.calls import Call, output_of

pytestmark = pytest.mark.anyio


async def returned(value: Any) -> ToolOutput:
    def f() -> Any:
        return value

    return await output_of(tool(f))


JSON_RESULTS: list[tuple[Any, str]] = [
    (None, "(no result)"),
    ("", "(empty text)"),
    ("text", "text"),
    (True, "true"),
    ({"a": [1, 2.5, None]}, '{"a": [1, 2.5, null]}'),
    ((1, 2), "[1, 2]"),
    ({3}, "[3]"),
    (datetime.date(2024, 1, 2), '"2024-01-02"'),
    (decimal.Decimal("1.50"), '"1.50"'),
    (np.int64(3), "3"),
    ({"mean": np.float32(0.5), "all": np.arange(3)}, '{"mean": 0.5, "all": [0, 1, 2]}'),
    (pd.Timestamp("2024-01-02"), '"2024-01-02T00:00:00"'),
    ("cut \ud83d here", "cut \ufffd here"),
    ({"k": "\udcff"}, '{"k": "\ufffd"}'),
]


@pytest.mark.parametrize(("value", "text"), JSON_RESULTS, ids=lambda v: repr(v)[:30])
async def test_text_and_json_data_reach_the_model_as_text(value: Any, text: str) -> None:
    output = await returned(value)
    assert output == ToolOutput((TextBlock(text),))


async def test_ready_blocks_and_outputs_pass_unchanged() -> None:
    blocks = [TextBlock("a", "user"), HtmlBlock("<b>b</b>")]
    assert (await returned(blocks)).content == tuple(blocks)
    assert (await returned(blocks[1])).content == (blocks[1],)
    output = ToolOutput((TextBlock("no"),), is_error=True)
    assert await returned(output) == output


async def test_a_dataframe_is_a_table_for_the_person_and_bounded_text_for_the_model() -> None:
    output = await returned(pd.DataFrame({"a": range(1000)}))
    html, text = output.content
    assert isinstance(html, HtmlBlock)
    assert "<table" in html.html
    assert text == TextBlock(output.text_for_model(), "model")
    assert "1,000 by 1" in text.text
    assert "… 980 more rows" in text.text


async def test_a_figure_is_a_png_and_shown_only_once() -> None:
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt

    def plot() -> Any:
        return plt.figure()

    output = await output_of(tool(plot))
    image, _text = output.content
    assert isinstance(image, ImageBlock)
    assert image.mime == "image/png"
    assert "Figure" in output.text_for_model()
    assert plt.get_fignums() == []


class WithHtml:
    def _repr_html_(self) -> str:
        return "<i>rich</i>"


class Plain:
    pass


async def test_an_object_with_a_rich_form_is_shown_and_named_without_address() -> None:
    output = await returned(WithHtml())
    assert output.content[0] == HtmlBlock("<i>rich</i>")
    assert "WithHtml" in output.text_for_model()
    assert "0x" not in output.text_for_model()


@pytest.mark.parametrize("value", [Plain(), [Plain()], {"k": Plain()}, b"\xff", {(1, 2): 3}])
async def test_a_result_that_is_no_json_names_its_type_and_the_way_out(value: Any) -> None:
    with pytest.raises(ToolFailure) as failure:
        await returned(value)
    assert failure.value.code == "invalid_result"
    assert type(value).__name__ in failure.value.message
    assert "Return" in failure.value.message


async def test_a_cycle_is_an_error_and_no_crash() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ToolFailure, match="list"):
        await returned(loop)


async def test_prints_go_to_live_output_and_before_the_result() -> None:
    @tool
    def noisy() -> str:
        print("one")
        print("two", file=sys.stderr)
        return "result"

    call = Call(noisy)
    output = await call.run()
    assert [b.text for b in output.content if isinstance(b, TextBlock)] == ["one\ntwo", "result"]
    assert "".join(call.live) == "one\ntwo\n"


async def test_an_async_tool_is_captured_as_a_sync_one_is() -> None:
    @tool
    async def noisy() -> None:
        print("one")
        await asyncio.sleep(0)
        await asyncio.to_thread(print, "two")
        print("three")

    assert (await output_of(noisy)).content == (TextBlock("one\ntwo\nthree"),)


async def test_calls_at_once_keep_their_output_apart(capsys: pytest.CaptureFixture[str]) -> None:
    meet = threading.Barrier(2, timeout=10)

    @tool
    def noisy(mark: str) -> None:
        for n in range(20):
            print(mark, n)
            meet.wait()

    async def own() -> str:
        for n in range(20):
            print("own", n)
            await asyncio.sleep(0)
        return "own"

    a, b, _ = await asyncio.gather(output_of(noisy, mark="a"), output_of(noisy, mark="b"), own())
    for mark, output in (("a", a), ("b", b)):
        assert output.text_for_model().splitlines() == [f"{mark} {n}" for n in range(20)]
    assert capsys.readouterr().out.splitlines() == [f"own {n}" for n in range(20)]


SCRIPT = """
import asyncio, sys
from agent_widget.tools import tool
from tests.tools.support.calls import output_of

@tool
def noisy() -> None:
    print("tool")
    print("tool", file=sys.stderr)
    sys.stdout.writelines(["li", "nes"])
    sys.stdout.flush()

print("before")
output = asyncio.run(output_of(noisy))
print(repr(output.text_for_model()), sys.stdout.encoding)
"""


async def test_in_a_plain_script_the_tools_text_is_captured_and_its_own_printed() -> None:
    ran = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.splitlines() == ["before", "'tool\\ntool\\nlines' utf-8"]
    assert ran.stderr == ""


VARIABLE: ContextVar[str] = ContextVar("variable", default="unset")


async def test_a_sync_tool_runs_in_a_thread_with_the_callers_context() -> None:
    @tool
    def where() -> list[Any]:
        return [VARIABLE.get(), threading.current_thread() is threading.main_thread()]

    VARIABLE.set("callers")
    assert (await output_of(where)).text_for_model() == '["callers", false]'


async def test_the_context_is_injected() -> None:
    @tool
    def ask(x: int, context: ToolContext) -> str:
        context.progress("half")
        return f"{context.call_id} {x}"

    call = Call(ask)
    assert (await call.run(x=1)).text_for_model() == "c1 1"
    assert call.progress == ["half"]


def failing(error: BaseException) -> Callable[[], None]:
    def inner() -> None:
        raise error

    def fails() -> None:
        print("before")
        inner()

    return fails


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("no"), "ValueError: no"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_that_raises_says_what_it_printed_the_error_and_where(
    error: BaseException, line: str, is_async: bool
) -> None:
    sync = failing(error)

    async def fails() -> None:
        sync()

    output = await output_of(tool(fails) if is_async else tool(sync))
    assert output.is_error
    assert output.text_for_model() == f"before\n{line}"
    trace = output.content[-1]
    assert isinstance(trace, TextBlock)
    assert trace.audience == "user"
    assert "raise error" in trace.text
    assert "agent_widget" not in trace.text


async def test_stop_iteration_ends_a_sync_call_like_any_error() -> None:
    output = await output_of(tool(failing(StopIteration("x"))))
    assert output.text_for_model() == "before\nStopIteration: x"


async def test_a_tool_words_its_own_failure() -> None:
    @tool
    def fails() -> None:
        raise ToolFailure("Say it like this.")

    with pytest.raises(ToolFailure, match="Say it like this"):
        await output_of(fails)


async def test_an_exception_that_cannot_be_printed_is_still_an_answer() -> None:
    class Nasty(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    output = await output_of(tool(failing(Nasty())))
    assert output.is_error
    assert "Nasty" in output.text_for_model()


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_call_that_takes_too_long_fails_and_is_told_to_end(is_async: bool) -> None:
    over = threading.Event()

    def slow(context: ToolContext) -> None:
        context.cancelled.wait(10)
        over.set()

    async def slow_async(context: ToolContext) -> None:
        try:
            await asyncio.sleep(10)
        finally:
            over.set()

    made = tool(name="slow", timeout_s=0.05)(slow_async if is_async else slow)
    with pytest.raises(ToolFailure, match=r"slow did not end within 0\.05 s") as failure:
        await output_of(made)
    assert failure.value.code == "timeout"
    assert await asyncio.to_thread(over.wait, 10)


async def test_a_timeout_inside_the_tool_is_an_error_of_the_tool() -> None:
    @tool(timeout_s=10)
    async def fails() -> None:
        raise TimeoutError("theirs")

    assert "TimeoutError: theirs" in (await output_of(fails)).text_for_model()


async def test_a_cancelled_call_returns_at_once_though_its_thread_goes_on() -> None:
    inside, end, ended = threading.Event(), threading.Event(), threading.Event()

    @tool
    def stubborn() -> None:
        inside.set()
        end.wait(600)
        print("late")
        ended.set()

    call = Call(stubborn)
    task = asyncio.create_task(call.run())
    await asyncio.to_thread(inside.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert call.context.cancelled.is_set()
    end.set()
    assert await asyncio.to_thread(ended.wait, 10)
    assert call.live == []


async def test_a_cancelled_coroutine_that_answers_anyway_is_still_cancelled() -> None:
    inside = asyncio.Event()

    @tool
    async def polite() -> str:
        inside.set()
        try:
            await asyncio.sleep(20)
        except asyncio.CancelledError:
            return "The operation was aborted."
        return "done"

    call = Call(polite)
    task = asyncio.create_task(call.run())
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert call.context.cancelled.is_set()


async def test_a_decorated_function_is_still_that_function() -> None:
    @tool(read_only=True, description="Other words.", name="other")
    def double(x: int) -> int:
        """Twice x."""
        return 2 * x

    assert double(4) == 8
    assert (double.name, double.description, double.read_only) == ("other", "Other words.", True)
    assert double.__doc__ == "Twice x."


async def test_a_huge_result_is_cut_for_the_model_and_for_the_card() -> None:
    output = await returned("a" * 50_000_000)
    assert sum(len(b.text) for b in output.content if isinstance(b, TextBlock)) < 100_000
    assert "of 50,000,000 characters" in output.text_for_model()

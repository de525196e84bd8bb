"""The offline model: honest, deterministic, and through the same tools as any other."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.core.messages import (
    Conversation,
    ImagePart,
    Message,
    TextPart,
    ToolPart,
    user_message,
)
from agent_widget.providers.base import (
    CallReady,
    Model,
    ModelRequest,
    ReasoningChunk,
    StepEnd,
    ToolSpec,
)
from agent_widget.providers.offline import OfflineModel

from .chat import (
    asking,
    broken_answer,
    calls_of,
    drafts_of,
    end_of,
    events_of,
    reasoning_of,
    text_of,
)

pytestmark = pytest.mark.anyio

TOOLS = tuple(
    ToolSpec(name, "", {})
    for name in ("list_variables", "describe_variable", "run_python", "delegate_to_helper")
)


async def at_once(_seconds: float) -> None:
    """A pause that takes no time."""


def offline(seed: int = 0, sleep: Callable[[float], Awaitable[None]] = at_once) -> OfflineModel:
    return OfflineModel(seed, sleep=sleep)


async def call_for(text: str) -> CallReady:
    """The one call that ``text`` leads to."""
    events = await events_of(offline(), asking(text, tools=TOOLS))
    assert end_of(events).reason == "tool_calls"
    (call,) = calls_of(events)
    return call


async def answer_to(text: str, *more: Message) -> str:
    """The text that ``text`` leads to, without a call."""
    events = await events_of(offline(), asking(text, *more, tools=TOOLS))
    assert end_of(events) == StepEnd("stop")
    assert calls_of(events) == []
    return text_of(events)


@pytest.mark.parametrize(
    ("text", "name", "args"),
    [
        ("What variables are there?", "list_variables", {}),
        ("list my variables", "list_variables", {}),
        ("describe df", "describe_variable", {"name": "df"}),
        ("Please describe the dataframe `cars`!", "describe_variable", {"name": "cars"}),
        ("describe variable na\u00efve_1", "describe_variable", {"name": "na\u00efve_1"}),
        ("run: print(1)\nprint(2)", "run_python", {"code": "print(1)\nprint(2)"}),
        ("Run this code: x = 1", "run_python", {"code": "x = 1"}),
        (
            "run this code\n```python\nfor i in x:\n    i\n```",
            "run_python",
            {"code": "for i in x:\n    i"},
        ),
        ("run this code: ```1 + 1```", "run_python", {"code": "1 + 1"}),
        ("ask a helper to describe df", "delegate_to_helper", {"task": "describe df"}),
        ("ask the helper agent: plot df", "delegate_to_helper", {"task": "plot df"}),
        ("use a sub-agent to run: 1", "delegate_to_helper", {"task": "run: 1"}),
        ("ask a helper", "delegate_to_helper", {"task": "What variables are there?"}),
        ("think, then describe df", "describe_variable", {"name": "df"}),
    ],
)
async def test_a_request_becomes_this_call(text: str, name: str, args: dict[str, Any]) -> None:
    call = await call_for(text)
    assert (call.name, call.args, call.problem) == (name, args, None)


@pytest.mark.parametrize(
    ("text", "frame", "column"),
    [
        ("plot column price of df", "df", "price"),
        ("plot the column `Miles per Gallon` of the cars", "cars", "Miles per Gallon"),
        ("Plot price in df.", "df", "price"),
        ("plot a histogram of price from df", "df", "price"),
        ("plot df price", "df", "price"),
        ("plot df.price", "df", "price"),
        ("plot df['a b']", "df", "a b"),
        ("plot df column price", "df", "price"),
        ('plot column it"s of df', "df", 'it"s'),
    ],
)
async def test_a_plot_is_real_code_for_that_column(text: str, frame: str, column: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    pandas = pytest.importorskip("pandas")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    call = await call_for(text)
    assert call.name == "run_python"
    assert call.args["code"].endswith("plt.show()\n")
    for values in ([1.5, None, 2], ["a", "b", None], pandas.to_datetime(["2026-01-01"] * 3)):
        exec(
            compile(call.args["code"], "plot", "exec"), {frame: pandas.DataFrame({column: values})}
        )
        assert plt.gca().get_title() == column
        assert plt.gca().patches
        plt.close("all")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plot df", "Which column of `df`"),
        ("plot", "What shall I plot"),
        ("describe", "Which variable"),
        ("run this code", "Which code"),
        ("run: ", "no code"),
        ("help", "These are the requests I know"),
        ("Hello!", "These are the requests I know"),
        ("", "These are the requests I know"),
        ("Translate this poem", "do not understand"),
        ("How many rows does df have? Count the rows.", "do not understand"),
        ("```print(1)```", "do not understand"),
        ("think", "nothing in it for me"),
    ],
)
async def test_what_is_unclear_is_said_and_nothing_is_called(text: str, words: str) -> None:
    assert words in await answer_to(text)


async def test_it_says_what_it_is() -> None:
    model = offline()
    assert isinstance(model, Model)
    assert model.info.offline
    for told in (model.info.notice or "", await answer_to("help")):
        assert "OPENAI_API_KEY" in told
        assert "not a" in told.replace("not an LLM", "not a")
        assert "model=" in told
        assert "base_url=" in told
    assert "\n" not in (model.info.notice or "")


async def test_every_request_it_offers_works() -> None:
    offer = await answer_to("help")
    offered = [line.split("`")[1] for line in offer.splitlines() if line.startswith("- ")]
    assert len(offered) >= 7
    for text in offered:
        if "fail" not in text:
            events = await events_of(offline(), asking(text, tools=TOOLS))
            assert "do not understand" not in text_of(events), text


async def test_counting_is_slow_and_goes_to_the_end() -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    events = await events_of(offline(sleep=sleep), asking("count slowly"))
    assert text_of(events) == ", ".join(map(str, range(1, 21))) + ". Done."
    assert len(events) == 21
    assert min(pauses) > 0.1
    assert (await answer_to("count slowly to 3")) == "1, 2, 3. Done."
    assert (await answer_to("count up to 0")) == "1. Done."
    assert (await answer_to("count to 999999")).endswith(", 1000. Done.")


@pytest.mark.parametrize(
    ("text", "code", "status", "retryable", "before"),
    [
        ("fail", "network", None, False, True),
        ("please fail now", "network", None, False, True),
        ("fail 401", "chat_disabled", 401, False, False),
        ("fail with 429", "rate_limited", 429, False, False),
    ],
)
async def test_a_failure_comes_on_request(
    text: str, code: str, status: int | None, retryable: bool, before: bool
) -> None:
    error, events = await broken_answer(offline(), asking(text))
    assert (error.code, error.status, error.retryable) == (code, status, retryable)
    assert "as you asked" in error.message
    assert error.advice
    assert bool(text_of(events)) is before


async def test_thinking_comes_first() -> None:
    events = await events_of(offline(), asking("think and list the variables", tools=TOOLS))
    assert isinstance(events[0], ReasoningChunk)
    assert reasoning_of(events)
    assert [call.name for call in calls_of(events)] == ["list_variables"]


@pytest.mark.parametrize(
    "text", ["describe df", "what variables are there", "plot df x", "run: 1", "ask a helper"]
)
async def test_a_tool_that_is_not_there_is_not_called(text: str) -> None:
    events = await events_of(offline(), asking(text, tools=()))
    assert calls_of(events) == []
    assert "no such tool" in text_of(events)


async def test_the_arguments_of_a_call_grow_to_what_is_called() -> None:
    events = await events_of(offline(), asking("run: print('hello, world')", tools=TOOLS))
    drafts = [draft.arguments for draft in drafts_of(events)]
    assert len(drafts) > 2
    assert drafts[-1] == '{"code":"print(\'hello, world\')"}'
    assert all(drafts[-1].startswith(draft) for draft in drafts)


# --- results ---------------------------------------------------------------------------------


def ended(name: str, state: Any = "done", **fields: Any) -> Message:
    return Message(
        "a-1", "assistant", (TextPart.of("I look."), ToolPart("c1", name, {}, state, **fields))
    )


def output(
    *texts: str, is_error: bool = False, shown: dict[str, Any] | None = None
) -> dict[str, Any]:
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": text, "audience": "all"} for text in texts
    ]
    return {"content": [*blocks, *([shown] if shown else [])], "isError": is_error}


TRACEBACK = "Traceback (most recent call last):\n  File x\nNameError: name 'y' is not defined\n"
PNG = {"type": "image", "mime": "image/png", "data": "AA==", "audience": "user"}


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            ended("list_variables", output=output("df: DataFrame 3 x 2\nx: int")),
            "df: DataFrame 3 x 2",
        ),
        (ended("describe_variable", output=output("DataFrame, 406 rows")), "406 rows"),
        (
            ended("run_python", output=output("42")),
            "The code ran. The result:\n\n```text\n42\n```",
        ),
        (ended("run_python", output=output()), "The code ran. It printed nothing."),
        (ended("run_python", output=output(shown=PNG)), "The result is in the card above."),
        (ended("my_tool", output={"rows": 3}), '{"rows":3}'),
        (ended("my_tool", output="has ``` inside"), "````text\nhas ``` inside\n````"),
        (
            ended("delegate_to_helper", output=output("All good.")),
            "The helper answered:\n\n> All good.",
        ),
        (
            ended("run_python", "error", error=output(TRACEBACK, is_error=True)),
            "`run_python` failed: `NameError: name 'y' is not defined`",
        ),
        (ended("run_python", "error", error={"message": "no `x`"}), "failed: `` no `x` ``"),
        (ended("run_python", "error", error=None), "failed: `no message`"),
        (ended("run_python", "cancelled"), "You did not allow `run_python`, so"),
        (
            ended(
                "run_python",
                "cancelled",
                error={
                    "code": "cancelled",
                    "message": "The user did not allow this call. Reason: too big",
                },
            ),
            "You did not allow `run_python` (too big)",
        ),
        (ended("run_python", "running"), "`run_python` did not finish"),
    ],
)
async def test_a_result_is_reported_as_it_is(message: Message, words: str) -> None:
    assert words in await answer_to("describe df", message)


async def test_a_long_result_is_cut_and_says_so() -> None:
    text = await answer_to("x", ended("run_python", output=output("\n".join(map(str, range(100))))))
    assert "11\n… (88 more lines)" in text
    assert len(await answer_to("x", ended("run_python", output=output("x" * 9999)))) < 500


async def test_each_of_several_calls_is_reported() -> None:
    calls = tuple(ToolPart(f"c{i}", "run_python", {}, "done", output=f"out {i}") for i in range(3))
    text = await answer_to("x", Message("a-1", "assistant", calls))
    assert [text.count(f"out {i}") for i in range(3)] == [1, 1, 1]


async def test_a_cut_answer_begins_again() -> None:
    cut = Message("a-1", "assistant", (TextPart.of("1, 2, "),))
    assert await answer_to("count slowly to 3", cut) == "1, 2, 3. Done."


# --- the same again --------------------------------------------------------------------------


async def recorded(seed: int, text: str) -> tuple[list[Any], list[float]]:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    events = await events_of(offline(seed, sleep), asking(text, tools=TOOLS))
    return events, pauses


@pytest.mark.parametrize("text", ["help", "describe df", "count slowly to 5", "think"])
async def test_the_same_request_gets_the_same_answer_and_a_seed_changes_the_pace_alone(
    text: str,
) -> None:
    events, pauses = await recorded(1, text)
    assert await recorded(1, text) == (events, pauses)
    others, other_pauses = await recorded(2, text)
    assert others == events
    assert other_pauses != pauses
    assert all(pause > 0 for pause in pauses)


async def test_ids_of_calls_are_unique_in_a_conversation_and_the_same_each_time() -> None:
    conversation = Conversation.of([user_message("u-0", "describe df")])
    ids = []
    for turn in range(1, 4):
        request = ModelRequest(conversation, tools=TOOLS)
        (call,) = calls_of(await events_of(offline(), request))
        assert calls_of(await events_of(offline(9), request)) == [call]
        ids.append(call.id)
        part = ToolPart(call.id, call.name, call.args, "done", output="ok")
        conversation = conversation.appended(Message(f"a-{turn}", "assistant", (part,)))
        conversation = conversation.appended(user_message(f"u-{turn}", "describe df"))
    assert len(set(ids)) == 3


async def test_a_stop_ends_it_at_once() -> None:
    model = OfflineModel(pace_s=3600)
    task = asyncio.create_task(events_of(model, asking("help")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


@pytest.mark.parametrize("pace_s", [-1, float("nan"), float("inf")])
def test_an_impossible_pace_is_refused(pace_s: float) -> None:
    with pytest.raises(InvalidOptions, match="pace_s"):
        OfflineModel(pace_s=pace_s)


async def test_closing_is_harmless() -> None:
    model = offline()
    await model.aclose()
    await model.aclose()
    assert inspect.isasyncgen(model.stream(asking()))


async def test_it_says_that_it_sees_no_images_of_this_message() -> None:
    picture = (ImagePart("image/png", "aGk="),)
    shown = user_message("u-2", "", picture)
    assert (await answer_to("hi", shown)).startswith(
        "I cannot look at images: I work offline. I am"
    )
    assert "images" not in await answer_to("", shown, user_message("u-3", "hi"))
    events = await events_of(
        offline(),
        ModelRequest(Conversation.of([user_message("u-1", "describe df", picture)]), tools=TOOLS),
    )
    assert calls_of(events)[0].name == "describe_variable"

"""All three wires against a mock server that others wrote, `@copilotkit/aimock`."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_widget.core.messages import (
    Conversation,
    Message,
    ReasoningPart,
    ToolPart,
    user_message,
)
from agent_widget.providers._driver import HttpModel
from agent_widget.providers.base import ModelRequest, ReasoningData, ToolSpec
from tests.support.nodepackages import installed_packages, node_command

from .chat import (
    asking,
    broken_answer,
    calls_of,
    end_of,
    events_of,
    failure_of,
    reasoning_of,
    text_of,
)
from .wires import MODELS, model_of

pytestmark = pytest.mark.anyio
Make = Callable[..., HttpModel[Any]]

HERE = Path(__file__).parent / "aimock"
KEY = "test-key-1234567890"
TOOLS = tuple(
    ToolSpec(name, "Look it up.", {"type": "object", "properties": {}})
    for name in ("get_weather", "get_time")
)


def installed_server() -> Path:
    """The program of the server, installed once for this environment."""
    modules = installed_packages("aimock", HERE / "package.json")
    return modules / "@copilotkit/aimock/dist/cli.js"


@pytest.fixture(scope="module")
def aimock_url() -> Iterator[str]:
    """The address of a running server."""
    server = subprocess.Popen(
        [
            *node_command(),
            str(installed_server()),
            *("--port", "0", "--fixtures", str(HERE / "fixtures.json"), "--strict"),
        ],
        env={**os.environ, "AIMOCK_API_KEYS": KEY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout is not None
    with server, server.stdout:
        try:
            lines = []
            for line in server.stdout:
                lines.append(line)
                if "listening on" in line:
                    break
            else:
                pytest.fail(f"aimock did not start: {lines}")
            yield line.split()[-1]
        finally:
            server.terminate()


@pytest.fixture(params=MODELS)
async def make(
    request: pytest.FixtureRequest, aimock_url: str, anyio_backend: str
) -> AsyncIterator[Make]:
    """Makes models of each wire."""
    made: list[HttpModel[Any]] = []

    def make(key: str | None = KEY) -> HttpModel[Any]:
        made.append(model_of(request.param, aimock_url, api_key=key))
        return made[-1]

    yield make
    for model in made:
        await model.aclose()


def last_request(url: str) -> Any:
    """The body of the last request, as the server understood it."""
    request = urllib.request.Request(
        f"{url}/__aimock/journal", headers={"authorization": f"Bearer {KEY}"}
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)[-1]["body"]


async def test_text_and_usage(make: Make, aimock_url: str) -> None:
    model = make()
    events = await events_of(model, asking("say hello"))
    assert text_of(events) == "Héllo! 😀 How can I help you today with your data?"
    assert len(events) > 2
    end = end_of(events)
    assert end.reason == "stop"
    # Over the other wires the server counts nothing.
    assert (end.usage is not None) is (model.info.provider == "openai-chat")
    assert "say hello" in json.dumps(last_request(aimock_url))


async def test_reasoning(make: Make) -> None:
    events = await events_of(make(), asking("think hard"))
    assert (reasoning_of(events), text_of(events)) == ("First I think.", "Done.")


async def test_tool_calls_and_their_results(make: Make, aimock_url: str) -> None:
    model = make()
    asked = user_message("u-1", "what is the weather")
    events = await events_of(model, ModelRequest(Conversation.of([asked]), tools=TOOLS))
    calls = calls_of(events)
    assert end_of(events).reason == "tool_calls"
    assert [(call.name, call.args) for call in calls] == [
        ("get_weather", {"city": "Zürich", "days": 2}),
        ("get_time", {}),
    ]
    thoughts = [ReasoningPart("", e.data) for e in events if isinstance(e, ReasoningData)]
    parts = tuple(ToolPart(c.id, c.name, c.args, "done", output="sunny") for c in calls)
    conversation = Conversation.of([asked, Message("a-1", "assistant", (*thoughts, *parts))])
    events = await events_of(model, ModelRequest(conversation, tools=TOOLS, thinking="low"))
    assert text_of(events) == "It is sunny."
    sent = last_request(aimock_url)["messages"]  # as chat messages, whatever the wire
    assert [message["role"] for message in sent if message["role"] != "assistant"] == [
        "user",
        "tool",
        "tool",
    ]
    assert [message["tool_call_id"] for message in sent[-2:]] == [call.id for call in calls]


async def test_errors(make: Make) -> None:
    model = make()
    limited = await failure_of(model, asking("hurry"))
    assert (limited.code, limited.status, limited.retry_after_s) == ("rate_limited", 429, 7.0)
    assert "Too many requests today" in limited.message
    broken = await failure_of(model, asking("break down"))
    assert (broken.code, broken.status, broken.retryable) == ("network", 503, True)
    assert "on fire" in broken.message


async def test_a_refused_key(make: Make) -> None:
    for key in ("another-key-0987654321", None):
        error = await failure_of(make(key), asking("say hello"))
        assert (error.code, error.status) == ("chat_disabled", 401)
        assert "0987654321" not in str(error)


async def test_an_answer_that_is_cut(make: Make) -> None:
    error, events = await broken_answer(make(), asking("leave me"))
    assert (error.code, error.retryable) == ("network", True)
    assert "This answer is cut in the middle of a long sentence.".startswith(text_of(events))
    assert events


async def test_a_call_that_is_cut_runs_nothing(make: Make) -> None:
    error, events = await broken_answer(make(), asking("call and leave"))
    assert (error.code, error.retryable) == ("network", True)
    assert calls_of(events) == []


@pytest.mark.parametrize("fault", ["speak nonsense", "hang up"])
async def test_faults_are_told(make: Make, fault: str) -> None:
    error, events = await broken_answer(make(), asking(fault))
    assert error.code in ("network", "bad_request")
    assert calls_of(events) == []

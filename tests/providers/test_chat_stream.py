"""Answers as servers that call themselves OpenAI-compatible really send them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent_widget.providers import _answer
from agent_widget.providers.base import (
    CallProgress,
    CallReady,
    ReasoningChunk,
    StepEnd,
    TextChunk,
    Usage,
)
from agent_widget.providers.openai_chat import OpenAIChat

from .chat import (
    DONE,
    asking,
    broken_answer,
    calling,
    calls_of,
    data,
    delta,
    drafts_of,
    end_of,
    events_of,
    failure_of,
    reasoning_of,
    text_of,
)
from .dialects import ADD, CASES, END_CALLS, MADE_UP, Said, parts
from .rawserver import Drop, Hang, Reply, open_stream, serving, stream, until_close, whole

pytestmark = pytest.mark.anyio
Make = Callable[..., OpenAIChat]


def said(events: list[Any]) -> Said:
    end = end_of(events)
    calls = tuple((call.id, call.name, call.args) for call in calls_of(events))
    assert all(call.problem is None for call in calls_of(events))
    return Said(text_of(events), calls, end.reason, end.usage, reasoning_of(events))


def with_made_up_ids(got: Said, wanted: Said) -> Said:
    """``got`` with ids that the server did not send taken out, which are unique and not empty."""
    ids = [call[0] for call in got.calls]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    if len(got.calls) != len(wanted.calls):
        return got
    pairs = zip(got.calls, wanted.calls, strict=True)
    calls = ((MADE_UP if want[0] is MADE_UP else call[0], *call[1:]) for call, want in pairs)
    return got._replace(calls=tuple(calls))


def in_bytes(body: bytes) -> list[bytes]:
    return [body[i : i + 1] for i in range(len(body))]


@pytest.mark.parametrize("case", CASES)
async def test_an_answer_is_read_whatever_its_dialect_and_framing(
    case: str, chat_model: Make
) -> None:
    body, wanted = CASES[case]
    crlf = body.replace(b"\n", b"\r\n")
    replies = (
        stream(body),
        stream(*in_bytes(body)),
        stream(*in_bytes(crlf)),
        until_close(b"\xef\xbb\xbf", body),
    )
    async with serving(*replies) as server:
        model = chat_model(server.url)
        for _ in replies:
            got = said(await events_of(model))
            assert with_made_up_ids(got, wanted) == wanted


async def test_utf8_may_be_cut_at_every_byte(chat_model: Make) -> None:
    body = 'data: {"choices":[{"delta":{"content":"caf\u00e9 \U0001f600"}}]}\n\n'.encode() + DONE
    replies = [stream(body[:at], body[at:]) for at in range(1, len(body))]
    async with serving(*replies) as server:
        model = chat_model(server.url)
        for _ in replies:
            assert text_of(await events_of(model)) == "caf\u00e9 \U0001f600"


@pytest.mark.parametrize("case", ["no DONE", "DONE without a reason"])
async def test_text_is_there_before_the_stream_goes_on(case: str, chat_model: Make) -> None:
    body = CASES[case][0]
    at = body.index(b"\n\n") + 2
    async with serving(open_stream(body[:at], Hang())) as server:
        answer = chat_model(server.url).stream(asking())
        assert await anext(answer) == TextChunk("ok")
        await answer.aclose()


async def test_an_unknown_reason_is_named(chat_model: Make) -> None:
    async with serving(stream(delta("galaxy", content="ok"))) as server:
        assert end_of(await events_of(chat_model(server.url))).detail == "galaxy"


@pytest.mark.parametrize(
    "arguments", ['{"a":', '{"a":1}}', "a=1", '{"a":NaN}', "[" * 100_000, '{"a":1}{"a":1}']
)
async def test_arguments_that_are_not_json_are_a_problem_and_are_not_mended(
    arguments: str, chat_model: Make
) -> None:
    body = calling({"index": 0, "id": "c1", "function": {"name": "t", "arguments": arguments}})
    async with serving(stream(body + END_CALLS)) as server:
        (call,) = calls_of(await events_of(chat_model(server.url)))
    assert (call.id, call.name, call.args) == ("c1", "t", None)
    assert call.problem


async def test_a_growing_call_is_shown_in_linear_space_and_its_last_form_is_whole(
    chat_model: Make,
) -> None:
    code = "x" * 20_000
    arguments = '{"code":"' + code + '"}'
    body = calling({"index": 0, "id": "c1", "function": {"name": "run", "arguments": ""}})
    body += b"".join(
        calling({"index": 0, "function": {"arguments": part}}) for part in parts(arguments)
    )
    async with serving(stream(body + END_CALLS)) as server:
        events = await events_of(chat_model(server.url))
    drafts = drafts_of(events)
    assert drafts[0] == CallProgress(0, "run", "")
    assert all(arguments.startswith(draft.arguments) for draft in drafts)
    lengths = [len(draft.arguments) for draft in drafts]
    assert lengths == sorted(set(lengths))
    assert lengths[-1] > 0.95 * len(arguments)
    assert sum(lengths) < 40 * len(arguments)
    assert calls_of(events) == [CallReady("c1", "run", {"code": code})]


async def test_calls_come_after_the_last_byte_was_read(chat_model: Make) -> None:
    call = calling({"index": 0, "id": "c1", "function": {"name": "ls", "arguments": "{}"}})
    async with serving(open_stream(call + delta(content="x"), Hang())) as server:
        answer = chat_model(server.url).stream(asking())
        assert [await anext(answer), await anext(answer)] == [
            CallProgress(0, "ls", "{}"),
            TextChunk("x"),
        ]
        await answer.aclose()


CUT = calling({"index": 0, "id": "c1", "function": {"name": "rm", "arguments": '{"path":"/a'}})
ENDS: dict[str, Callable[[bytes], Reply]] = {
    "the connection is closed": until_close,
    "the stream ends": stream,
    "the stream is cut": lambda body: open_stream(body, Drop()),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("body", [delta(content="par"), CUT, b"", delta(content="par") + CUT[:-9]])
async def test_an_answer_without_an_end_is_an_error_and_runs_no_call(
    body: bytes, end: str, chat_model: Make
) -> None:
    async with serving(ENDS[end](body)) as server:
        error, events = await broken_answer(chat_model(server.url))
    assert (error.code, error.retryable) == ("network", True)
    assert "127.0.0.1" in error.message
    assert calls_of(events) == []
    assert text_of(events) == ("par" if b"par" in body else "")


async def test_what_breaks_after_the_last_word_does_not_matter(chat_model: Make) -> None:
    async with serving(open_stream(delta("stop", content="ok"), Drop())) as server:
        assert text_of(await events_of(chat_model(server.url))) == "ok"


async def test_an_answer_is_over_with_done_though_the_connection_stays_open(
    chat_model: Make,
) -> None:
    async with serving(open_stream(delta("stop", content="ok") + DONE, Hang())) as server:
        assert text_of(await events_of(chat_model(server.url))) == "ok"
        await server.until(lambda: server.open_connections == 0)


ERRORS: dict[str, tuple[bytes, str, bool, str]] = {
    "an object with a status": (
        data({"error": {"code": 400, "message": "prompt is too long", "type": "invalid"}}),
        "bad_request",
        False,
        "prompt is too long",
    ),
    "a word for a code": (
        data({"error": {"code": "rate_limit_exceeded", "message": "slow down"}}),
        "rate_limited",
        True,
        "slow down",
    ),
    "a used-up quota": (
        data({"error": {"code": "insufficient_quota", "message": "pay"}}),
        "rate_limited",
        False,
        "pay",
    ),
    "plain text": (data({"error": "upstream went away"}), "network", True, "upstream went away"),
    "the event's type": (
        b'event: error\ndata: {"message": "busy", "type": "overloaded_error"}\n\n',
        "network",
        True,
        "busy",
    ),
    "the event's type, not JSON": (b"event: error\ndata: busy\n\n", "network", True, "busy"),
    "a field of its own": (
        b'error: {"code":500,"message":"slot unavailable"}\n\n',
        "network",
        True,
        "slot unavailable",
    ),
    "an object of type error": (
        data({"object": "error", "message": "no such thing", "code": 404}),
        "bad_request",
        False,
        "no such thing",
    ),
    "a key that expired": (
        data({"error": {"type": "authentication_error", "message": "expired"}}),
        "chat_disabled",
        False,
        "expired",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.parametrize("before", [b"", delta(content="par")])
async def test_an_error_inside_a_stream_is_raised_with_its_words(
    case: str, before: bytes, chat_model: Make
) -> None:
    body, code, retryable, words = ERRORS[case]
    async with serving(stream(before + body + DONE)) as server:
        error, events = await broken_answer(chat_model(server.url))
    assert (error.code, error.retryable) == (code, retryable)
    assert words in error.message
    assert text_of(events) == ("par" if before else "")


@pytest.mark.parametrize("noise", ["data: hello\n\n", "data: 7\n\n", 'data: {"choices": 3}\n\n'])
async def test_a_stream_without_a_readable_value_is_an_error(noise: str, chat_model: Make) -> None:
    async with serving(stream(noise.encode() * 3 + DONE)) as server:
        error = await failure_of(chat_model(server.url))
    assert (error.code, error.retryable) == ("network", False)
    assert "chat completion" in error.message


COMPLETION = {
    "object": "chat.completion",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Let me look.",
                "tool_calls": [{"id": "c1", "type": "function", "function": ADD}],
            },
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 1},
}


async def test_a_whole_completion_is_read_like_a_stream(chat_model: Make) -> None:
    async with serving(whole(200, COMPLETION)) as server:
        events = await events_of(chat_model(server.url))
    assert said(events) == Said(
        "Let me look.", (("c1", "add", {"a": 1}),), "tool_calls", Usage(7, 1)
    )


async def test_an_error_in_a_whole_body_is_raised(chat_model: Make) -> None:
    async with serving(whole(200, {"error": {"code": 400, "message": "too long"}})) as server:
        error = await failure_of(chat_model(server.url))
    assert error.code == "bad_request"
    assert "too long" in error.message


async def test_json_that_is_no_completion_is_an_error(chat_model: Make) -> None:
    async with serving(whole(200, {"status": "running"})) as server:
        error = await failure_of(chat_model(server.url))
    assert error.code == "network"
    assert "application/json" in error.message


async def test_a_web_page_is_an_error_that_points_to_the_address(chat_model: Make) -> None:
    page = whole(200, b"<!doctype html><title>Hi</title>", "content-type: text/html; charset=x")
    async with serving(page) as server:
        error = await failure_of(chat_model(server.url))
    assert error.code == "bad_request"
    assert "web page" in error.message
    assert "base_url" in (error.advice or "")


@pytest.mark.parametrize("content_type", ["text/plain", "text/event-stream; charset=latin-1"])
async def test_the_media_type_of_a_stream_does_not_garble_it(
    content_type: str, chat_model: Make
) -> None:
    body = 'data: {"choices":[{"delta":{"content":"caf\u00e9"}}]}\n\n'.encode() + DONE
    async with serving(stream(body, content_type=content_type)) as server:
        assert text_of(await events_of(chat_model(server.url))) == "caf\u00e9"


async def test_an_endless_answer_is_refused(
    chat_model: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_answer, "MAX_ANSWER_CHARS", 1000)
    for piece in (
        delta(content="x" * 99),
        delta(reasoning="x" * 99),
        calling({"index": 0, "id": "c", "function": {"name": "t", "arguments": "x" * 99}}),
    ):
        async with serving(stream(*[piece] * 20)) as server:
            error = await failure_of(chat_model(server.url))
        assert (error.code, error.retryable) == ("bad_request", False)
        assert "MB" in error.message


async def test_the_connection_is_used_again(chat_model: Make) -> None:
    async with serving(stream(delta("stop", content="ok") + DONE)) as server:
        model = chat_model(server.url)
        for _ in range(3):
            await events_of(model)
        assert (server.connections, len(server.requests)) == (1, 3)


async def test_events_are_these_and_in_this_order(chat_model: Make) -> None:
    body = delta(reasoning="hm") + delta(content="ok") + CASES["calls"][0]
    async with serving(stream(body)) as server:
        events = await events_of(chat_model(server.url))
    kinds = list(dict.fromkeys(type(event) for event in events))
    assert kinds == [ReasoningChunk, TextChunk, CallProgress, CallReady, StepEnd]

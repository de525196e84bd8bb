"""Answers as servers that call themselves OpenAI-compatible really send them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from agent_widget.providers import _chat_stream
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
from .rawserver import Hang, Reset, open_stream, serving, stream, until_close, whole

pytestmark = pytest.mark.anyio
Make = Callable[..., OpenAIChat]


class Said(NamedTuple):
    """What an answer came to: text, calls as (id, name, args), reason, usage."""

    text: str = ""
    calls: tuple[tuple[str | None, str, Any], ...] = ()
    reason: str = "stop"
    usage: Usage | None = None
    reasoning: str = ""


MADE_UP = None
"""In place of an id: one that the server did not send."""

FINISH = delta("stop")
ADD, MUL = {"name": "add", "arguments": '{"a":1}'}, {"name": "mul", "arguments": '{"b":2}'}
ADD_AND_MUL = (("c1", "add", {"a": 1}), ("c2", "mul", {"b": 2}))
END_CALLS = delta("tool_calls") + DONE


def parts(arguments: str, size: int = 4) -> list[str]:
    return [arguments[i : i + size] for i in range(0, len(arguments), size)]


CASES: dict[str, tuple[bytes, Said]] = {
    "plain": (
        delta(role="assistant", content="") + delta(content="ok") + FINISH + DONE,
        Said("ok"),
    ),
    "no DONE": (delta(content="ok") + FINISH, Said("ok")),
    "DONE without a reason": (delta(content="ok") + DONE, Said("ok")),
    "role in each delta": (
        delta(role="assistant", content="He") + delta("stop", role="assistant", content="y") + DONE,
        Said("Hey"),
    ),
    "usage in a chunk without choices": (
        delta("stop", content="ok")
        + data({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}})
        + DONE,
        Said("ok", usage=Usage(7, 1)),
    ),
    "usage without the key choices": (
        data({"usage": None, "choices": [{"delta": {"content": "ok"}}]})
        + FINISH
        + data({"usage": {"prompt_tokens": 7, "completion_tokens": 1}})
        + DONE,
        Said("ok", usage=Usage(7, 1)),
    ),
    "usage in each chunk: the last counts": (
        data({"choices": [{"delta": {"content": "o"}}], "usage": {"prompt_tokens": 7}})
        + data(
            {
                "choices": [{"delta": {"content": "k"}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 2},
            }
        )
        + DONE,
        Said("ok", usage=Usage(7, 2)),
    ),
    "cached tokens are not input tokens": (
        FINISH
        + data(
            {
                "usage": {
                    "prompt_tokens": 100,
                    "completion_tokens": 5.0,
                    "prompt_tokens_details": {"cached_tokens": 60},
                }
            }
        )
        + DONE,
        Said(usage=Usage(40, 5, cache_read_tokens=60)),
    ),
    "cached tokens in another field": (
        FINISH + data({"usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}}) + DONE,
        Said(usage=Usage(5, 0, cache_read_tokens=4)),
    ),
    "usage that makes no sense": (
        FINISH + data({"usage": {"prompt_tokens": "7", "completion_tokens": -1}}) + DONE,
        Said(usage=Usage(0, 0)),
    ),
    "keep-alives": (
        b": WAITING\n\n:\n\n" + delta(content="hi") + b": still here\n" + DONE,
        Said("hi"),
    ),
    "keep-alive as data": (
        b"data: : PROCESSING\n\n" + delta(content="A") + delta("stop", content="B") + DONE,
        Said("AB"),
    ),
    "one data line in two": (
        b'event:message\nid: 9\nretry: 10\ndata:{"choices":[{"index":0,\n'
        b'data:"delta":{"content":"z"}}]}\n\ndata:[DONE]\n\n',
        Said("z"),
    ),
    "not escaped": (
        'data: {"choices":[{"delta":{"content":"caf\u00e9 \U0001f600 \u2028\x85"}}]}\n\n'.encode()
        + DONE,
        Said("caf\u00e9 \U0001f600 \u2028\x85"),
    ),
    "a surrogate pair in two deltas": (
        b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
        b'data: {"choices":[{"delta":{"content":"\\ude00b"}}]}\n\n' + DONE,
        Said("a\U0001f600b"),
    ),
    "half a surrogate pair": (
        b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n' + DONE,
        Said("a\ufffd"),
    ),
    "bytes that are not UTF-8": (
        b'data: {"choices":[{"delta":{"content":"a\xffb"}}]}\n\n' + DONE,
        Said("a\ufffdb"),
    ),
    "answers other than the first": (
        data({"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]})
        + delta(content="yes")
        + DONE,
        Said("yes"),
    ),
    "nothing at all": (FINISH + DONE, Said("")),
    "null everywhere": (
        data({"choices": [{"index": 0, "delta": None, "finish_reason": None}]})
        + delta(content=None, tool_calls=None, reasoning=None)
        + data({"choices": None})
        + DONE,
        Said(""),
    ),
    "reasoning_content": (
        delta(reasoning_content="hm", content=None) + delta(content="ok") + FINISH,
        Said("ok", reasoning="hm"),
    ),
    "reasoning": (delta(reasoning="hm") + delta("stop", content="ok"), Said("ok", reasoning="hm")),
    "both fields, one thought": (
        delta("stop", reasoning="hm", reasoning_content="hm"),
        Said(reasoning="hm"),
    ),
    "content in parts": (
        delta(
            "stop",
            content=[
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "ok"},
            ],
        ),
        Said("ok", reasoning="hm"),
    ),
    "refusal": (delta(refusal="I cannot.") + FINISH, Said("I cannot.", reason="refusal")),
    "content filter": (delta("content_filter", content="pa"), Said("pa", reason="content_filter")),
    "length": (delta("length", content="pa"), Said("pa", reason="length")),
    "another word for stop": (delta("eos_token", content="ok"), Said("ok")),
    "an unknown reason": (delta("galaxy", content="ok"), Said("ok", reason="other")),
    "calls": (
        calling({"index": 0, "id": "c1", "type": "function", "function": {"name": "add"}})
        + b"".join(
            calling({"index": 0, "function": {"arguments": part}}) for part in parts('{"a": 1}')
        )
        + calling({"index": 1, "id": "c2", "function": {"name": "mul", "arguments": ""}})
        + calling({"index": 1, "function": {"arguments": '{"b":2}'}})
        + END_CALLS,
        Said(calls=ADD_AND_MUL, reason="tool_calls"),
    ),
    "calls that take turns": (
        calling({"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a"'}})
        + calling({"index": 1, "id": "c2", "function": {"name": "mul", "arguments": '{"b"'}})
        + calling({"index": 0, "function": {"arguments": ":1}"}})
        + calling({"index": 1, "function": {"arguments": ":2}"}})
        + END_CALLS,
        Said(calls=ADD_AND_MUL, reason="tool_calls"),
    ),
    "no index": (
        calling({"id": "c1", "function": ADD}, {"id": "c2", "function": MUL}) + END_CALLS,
        Said(calls=ADD_AND_MUL, reason="tool_calls"),
    ),
    "no index, in pieces": (
        calling({"id": "c1", "function": {"name": "add", "arguments": '{"a"'}})
        + calling({"function": {"arguments": ":1}"}})
        + calling({"id": "c2", "function": {"name": "mul", "arguments": ""}})
        + calling({"id": "c2", "function": {"arguments": '{"b":2}'}})
        + END_CALLS,
        Said(calls=ADD_AND_MUL, reason="tool_calls"),
    ),
    "neither index nor id": (
        calling({"function": ADD}, {"function": MUL}) + END_CALLS,
        Said(calls=((MADE_UP, "add", {"a": 1}), (MADE_UP, "mul", {"b": 2})), reason="tool_calls"),
    ),
    "the same call twice, neither index nor id": (
        calling({"function": ADD}, {"function": ADD}) + END_CALLS,
        Said(calls=((MADE_UP, "add", {"a": 1}), (MADE_UP, "add", {"a": 1})), reason="tool_calls"),
    ),
    "an index for all calls": (
        calling({"index": 0, "id": "c1", "function": ADD})
        + calling({"index": 0, "id": "c2", "function": MUL})
        + END_CALLS,
        Said(calls=ADD_AND_MUL, reason="tool_calls"),
    ),
    "an index for all calls of one tool": (
        calling({"index": 0, "id": "c1", "function": ADD})
        + calling({"index": 0, "id": "c2", "function": ADD})
        + END_CALLS,
        Said(calls=(("c1", "add", {"a": 1}), ("c2", "add", {"a": 1})), reason="tool_calls"),
    ),
    "no id": (
        calling({"index": 0, "function": {"name": "open_file", "arguments": '{"f":'}})
        + calling({"index": 0, "function": {"arguments": '"x.py"}'}})
        + END_CALLS,
        Said(calls=((MADE_UP, "open_file", {"f": "x.py"}),), reason="tool_calls"),
    ),
    "empty ids": (
        calling({"index": 0, "id": "", "function": ADD}, {"index": 1, "id": "", "function": MUL})
        + END_CALLS,
        Said(calls=((MADE_UP, "add", {"a": 1}), (MADE_UP, "mul", {"b": 2})), reason="tool_calls"),
    ),
    "one id for two calls": (
        calling(
            {"index": 0, "id": "c1", "function": ADD}, {"index": 1, "id": "c1", "function": MUL}
        )
        + END_CALLS,
        Said(calls=(("c1", "add", {"a": 1}), (MADE_UP, "mul", {"b": 2})), reason="tool_calls"),
    ),
    "id and name in each fragment": (
        b"".join(
            calling({"index": 0, "id": "c1", "function": {"name": "add", "arguments": part}})
            for part in parts('{"a": 1}')
        )
        + END_CALLS,
        Said(calls=(("c1", "add", {"a": 1}),), reason="tool_calls"),
    ),
    "another id in each fragment": (
        calling({"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a"'}})
        + calling({"index": 0, "id": "x2", "function": {"arguments": ":1}"}})
        + END_CALLS,
        Said(calls=(("c1", "add", {"a": 1}),), reason="tool_calls"),
    ),
    "another id in each fragment, no index": (
        calling({"id": "c1", "function": {"name": "add", "arguments": '{"a"'}})
        + calling({"id": "x2", "function": {"arguments": ":1}"}})
        + END_CALLS,
        Said(calls=(("c1", "add", {"a": 1}),), reason="tool_calls"),
    ),
    "a name in pieces": (
        calling({"index": 0, "id": "c1", "function": {"name": "ad"}})
        + calling({"index": 0, "function": {"name": "d"}})
        + calling({"index": 0, "function": {"arguments": '{"a":1}'}})
        + END_CALLS,
        Said(calls=(("c1", "add", {"a": 1}),), reason="tool_calls"),
    ),
    "the name comes last": (
        calling({"index": 0, "id": "c1", "function": {"arguments": '{"a":1}'}})
        + calling({"index": 0, "function": {"name": "add"}})
        + END_CALLS,
        Said(calls=(("c1", "add", {"a": 1}),), reason="tool_calls"),
    ),
    "arguments as an object": (
        calling({"index": 0, "id": "c1", "function": {"name": "t", "arguments": {"u": [2]}}})
        + END_CALLS,
        Said(calls=(("c1", "t", {"u": [2]}),), reason="tool_calls"),
    ),
    **{
        f"arguments {arguments}": (
            calling({"index": 0, "id": "c1", "function": {"name": "now", **arguments}}) + END_CALLS,
            Said(calls=(("c1", "now", {}),), reason="tool_calls"),
        )
        for arguments in ({}, {"arguments": ""}, {"arguments": None}, {"arguments": "null"})
    },
    "line breaks inside strings": (
        calling({"index": 0, "id": "c1", "function": {"name": "t", "arguments": '{"a":"x\ny"}'}})
        + END_CALLS,
        Said(calls=(("c1", "t", {"a": "x\ny"}),), reason="tool_calls"),
    ),
    "half a surrogate pair in arguments": (
        calling(
            {"index": 0, "id": "c1", "function": {"name": "t", "arguments": '{"a":["\\ud83d x"]}'}}
        )
        + END_CALLS,
        Said(calls=(("c1", "t", {"a": ["\ufffd x"]}),), reason="tool_calls"),
    ),
    "junk among the calls": (
        calling(None, 7, "x") + calling({"index": 0, "id": "c1", "function": ADD}) + END_CALLS,
        Said(calls=(("c1", "add", {"a": 1}),), reason="tool_calls"),
    ),
    **{
        f"calls that finish with {reason}": (
            delta(content="Let me look.")
            + calling({"index": 0, "id": "c1", "function": {"name": "ls", "arguments": "{}"}})
            + (delta(reason) if reason else b"")
            + DONE,
            Said("Let me look.", (("c1", "ls", {}),), "tool_calls"),
        )
        for reason in ("stop", "other", "function_call", None)
    },
    "tool_calls without calls": (delta("tool_calls", content="ok") + DONE, Said("ok")),
    "cut by the limit in a call": (
        delta(content="I write.")
        + calling(
            {"index": 0, "id": "c0", "function": {"name": "ls", "arguments": "{}"}},
            {"index": 1, "id": "c1", "function": {"name": "w", "arguments": '{"path":"r.md"'}},
        )
        + delta("length")
        + DONE,
        Said("I write.", reason="length"),
    ),
}


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
ENDS = {
    "the connection is closed": until_close,
    "the stream ends": stream,
    "the stream is cut": lambda body: [*open_stream(body), Reset()],
    "the connection is reset": lambda body: until_close(body, Reset()),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("body", [delta(content="par"), CUT, b"", delta(content="par") + CUT[:-9]])
async def test_an_answer_without_an_end_is_an_error_and_runs_no_call(
    body: bytes, end: str, chat_model: Make
) -> None:
    async with serving(ENDS[end](body)) as server:
        error = await failure_of(chat_model(server.url))
    assert (error.code, error.retryable) == ("network", True)
    assert "127.0.0.1" in error.message
    assert calls_of(error.events) == []  # type: ignore[attr-defined]
    assert text_of(error.events) == ("par" if b"par" in body else "")  # type: ignore[attr-defined]


async def test_what_breaks_after_the_last_word_does_not_matter(chat_model: Make) -> None:
    async with serving(until_close(delta("stop", content="ok"), Reset())) as server:
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
        error = await failure_of(chat_model(server.url))
    assert (error.code, error.retryable) == (code, retryable)
    assert words in error.message
    assert text_of(error.events) == ("par" if before else "")  # type: ignore[attr-defined]


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
    monkeypatch.setattr(_chat_stream, "MAX_ANSWER_CHARS", 1000)
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

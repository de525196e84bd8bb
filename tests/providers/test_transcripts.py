"""Recorded streams of three wires: the same however they are cut, and never half a call."""

from __future__ import annotations

import itertools
import json
import random
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from agent_widget.providers._answer import AnswerTooLong, ReportedError
from agent_widget.providers._sse import EventReader, EventTooLarge
from agent_widget.providers.base import CallReady, ModelEvent
from agent_widget.providers.transcripts import answer_of, transcript_report
from agent_widget.surfaces.cli import main

from .chat import broken_answer, events_of, failure_of, text_of
from .rawserver import open_stream, serving, stream, until_close, whole
from .wires import (
    FOLDER,
    NAMES,
    WITH_CALLS,
    expected,
    model_of,
    stream_bytes,
    told,
    told_by,
    wire_of,
)


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_holds_this_whatever_its_line_ends_and_cuts(name: str) -> None:
    body, wire = stream_bytes(name), wire_of(name)
    for end in (b"\n", b"\r\n", b"\r"):
        framed = body.replace(b"\n", end)
        in_bytes = (framed[at : at + 1] for at in range(len(framed)))
        assert transcript_report(wire, (framed,)) == expected(name)
        assert transcript_report(wire, in_bytes) == expected(name)
    assert transcript_report(wire, (b"\xef\xbb\xbf: hi\n\n:\n\n", body)) == expected(name)


@pytest.mark.parametrize("name", ["anthropic-max-tokens", "chat-gemini", "responses-failed"])
def test_a_stream_in_two_pieces_is_the_same_wherever_it_is_cut(name: str) -> None:
    body, wire = stream_bytes(name), wire_of(name)
    for at in range(len(body)):
        assert transcript_report(wire, (body[:at], body[at:])) == expected(name)


@pytest.mark.anyio
@pytest.mark.parametrize("name", [name for name in NAMES if "error" not in expected(name)])
async def test_a_socket_that_gives_single_bytes_gives_the_same(name: str) -> None:
    body = stream_bytes(name)
    pieces = [body[at : at + 1] for at in range(len(body))]
    async with serving(stream(body), stream(*pieces), until_close(body)) as server:
        model = model_of(wire_of(name), server.url)
        for _ in range(3):
            assert told(await events_of(model)) == told_by(expected(name))
        await model.aclose()


def test_the_command_line_prints_what_a_stream_holds(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("anthropic-search", "chat-error"):
        status = main(["parse-stream", "--wire", wire_of(name), str(FOLDER / f"{name}.sse")])
        assert json.loads(capsys.readouterr().out) == expected(name)
        assert status == int("error" in expected(name))
    assert main(["parse-stream", "--wire", "anthropic", str(FOLDER / "none.sse")]) == 2


# --- damaged -----------------------------------------------------------------------------------

ERRORS = (
    b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"x"}}\n\n',
    b'data: {"error":"busy"}\n\n',
    b"data: : PROCESSING\n\n",
    b": still here\n\n",
    b"data: [1, 2]\n\n",
    b'data: {"type": 7, "choices": {"index": []}, "delta": [], "response": "x"}\n\n',
    b"data: " + b"[" * 5000 + b"\n\n",
)


def damaged(rng: random.Random, body: bytes) -> tuple[str, bytes]:
    """A kind of damage, and the stream with it."""
    events = body.split(b"\n\n")[:-1]
    at = rng.randrange(len(events))
    match rng.randrange(7):
        case 0:
            kind, events = "dropped", events[:at] + events[at + 1 :]
        case 1:
            kind, events = "doubled", events[: at + 1] + events[at:]
        case 2:
            other = rng.randrange(len(events))
            kind, events[at], events[other] = "swapped", events[other], events[at]
        case 3:
            return "cut", body[: rng.randrange(len(body))]
        case 4:
            kind, events[at] = "retyped", retyped(rng, events[at])
        case 5:
            before = b"".join(event + b"\n\n" for event in events[:at])
            return "put in", before + rng.choice(ERRORS) + body[len(before) :]
        case _:
            place = rng.randrange(len(body))
            flipped = bytes([body[place] ^ (1 << rng.randrange(8))])
            return "flipped", body[:place] + flipped + body[place + 1 :]
    return kind, b"".join(event + b"\n\n" for event in events)


JUNK: tuple[Any, ...] = (
    None,
    True,
    7,
    -1.5,
    "x",
    "\ud83d",
    [],
    [[]],
    {},
    {"x": {}},
    [{"type": []}],
)


def retyped(rng: random.Random, event: bytes) -> bytes:
    """The event with one of its values of another type."""
    head, _, text = event.rpartition(b"data: ")
    try:
        data = json.loads(text)
    except ValueError:
        return event
    places: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        value = waiting.pop()
        keys = value if isinstance(value, dict) else range(len(value))
        places += [(value, key) for key in keys]
        waiting += [value[key] for key in keys if isinstance(value[key], dict | list)]
    if places:
        holder, key = rng.choice(places)
        holder[key] = rng.choice(JUNK)
    return head + b"data: " + json.dumps(data).encode()


def read(wire: str, body: bytes) -> tuple[list[ModelEvent], bool]:
    """The events of a stream, and whether it ended properly; all that may be raised is caught."""
    answer, reader, events = answer_of(wire), EventReader(), list[ModelEvent]()
    try:
        for event in (*reader.feed(body), *reader.end()):
            events += answer.read(event)
    except (ReportedError, AnswerTooLong, EventTooLarge):
        return events, False
    if answer.is_over:
        events += answer.end(map(str, itertools.count()).__next__)
    return events, answer.is_over


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


@pytest.mark.parametrize("name", WITH_CALLS)
def test_damage_is_survived_and_no_half_call_gets_out(name: str) -> None:
    rng, body, wire = random.Random(name), stream_bytes(name), wire_of(name)
    true = {call["name"]: call["args"] for call in expected(name)["calls"]}
    size = sum(1 for args in true.values() for _ in leaves(args))
    ran = 0
    for _ in range(3400):
        kind, mutant = damaged(rng, body)
        events, _ = read(wire, mutant)
        calls = [e for e in events if isinstance(e, CallReady) and e.problem is None and e.name]
        ran += len(calls)
        if kind == "retyped":  # what a call holds is then what the server says
            continue
        if kind == "flipped":  # a call may come with a wrong letter, but not with less than all
            got = [leaf for call in calls for leaf in leaves(call.args)]
            assert len(calls) < len(true) or len(got) >= size - 1, mutant
        else:
            assert all(true.get(call.name, call.args) == call.args for call in calls), mutant
    assert ran > 3000


@pytest.mark.parametrize("name", WITH_CALLS)
def test_a_stream_without_its_end_runs_nothing(name: str) -> None:
    body, wire = stream_bytes(name), wire_of(name)
    ends = [body.rfind(mark) for mark in (b'"stop_reason":"tool_use"', b'"finish_reason":"tool')]
    end = max(*ends, body.rfind(b"event: response.completed"))
    for at in range(0, end, 7):
        events, is_over = read(wire, body[:at])
        assert not is_over
        assert not any(isinstance(event, CallReady) for event in events)


# --- without an end ----------------------------------------------------------------------------


def piece_of(wire: str, text: str, number: int) -> bytes:
    """An event with more text, in a block of its own."""
    item = {"id": f"r{number}", "type": "reasoning", "summary": [], "encrypted_content": text}
    data: Any = {
        "openai-chat": {"choices": [{"delta": {"content": text}}]},
        "openai-responses": {
            "type": "response.output_item.done",
            "output_index": number,
            "item": item,
        },
        "anthropic": {
            "type": "content_block_start",
            "index": number,
            "content_block": {"type": "redacted_thinking", "data": text},
        },
    }[wire]
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def call_of(wire: str, number: int) -> bytes:
    """An event that begins another call."""
    call = {"id": f"c{number}", "name": "t"}
    fragment = {"index": number, "id": f"c{number}", "function": {"name": "t"}}
    data: Any = {
        "openai-chat": {"choices": [{"delta": {"tool_calls": [fragment]}}]},
        "openai-responses": {
            "type": "response.output_item.added",
            "output_index": number,
            "item": {**call, "type": "function_call", "call_id": f"c{number}"},
        },
        "anthropic": {
            "type": "content_block_start",
            "index": number,
            "content_block": {**call, "type": "tool_use"},
        },
    }[wire]
    return b"data: " + json.dumps(data).encode() + b"\n\n"


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
def test_an_answer_without_an_end_is_bounded(wire: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(AnswerTooLong):
            endless(wire, (piece_of(wire, "x" * 200_000, n) for n in range(1000)))
        with pytest.raises(AnswerTooLong):
            endless(wire, (call_of(wire, n) for n in range(100_000)))
        with pytest.raises(EventTooLarge):
            endless(wire, (b"data: " if n == 0 else b"x" * 1_000_000 for n in range(100)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * 2**20


def endless(wire: str, pieces: Iterator[bytes]) -> None:
    answer, reader = answer_of(wire), EventReader()
    for piece in pieces:
        for event in reader.feed(piece):
            answer.read(event)


# --- over HTTP ---------------------------------------------------------------------------------

pytestmark_wires = pytest.mark.parametrize("name", WITH_CALLS)


@pytest.mark.anyio
async def test_an_error_in_a_stream_is_told_as_what_it_stands_for() -> None:
    cases = {
        "anthropic-overloaded": ("network", 529, True),
        "responses-failed": ("network", 500, True),
        "chat-error": ("bad_request", 400, False),
        "chat-broken-off": ("network", 502, True),
        "anthropic-error-in-call": ("network", 500, True),
        "responses-error-event": ("rate_limited", 429, True),
    }
    for name, outcome in cases.items():
        async with serving(stream(stream_bytes(name))) as server:
            model = model_of(wire_of(name), server.url)
            error, events = await broken_answer(model)
            await model.aclose()
        assert (error.code, error.status, error.retryable) == outcome
        assert text_of(events) == expected(name)["parts"][0]["text"]
        assert not any(isinstance(event, CallReady) for event in events)


@pytest.mark.anyio
@pytestmark_wires
async def test_a_connection_that_closes_early_is_worth_a_retry(name: str) -> None:
    body = stream_bytes(name)
    async with serving(until_close(body[: len(body) // 2])) as server:
        model = model_of(wire_of(name), server.url)
        error, events = await broken_answer(model)
        await model.aclose()
    assert (error.code, error.retryable) == ("network", True)
    assert not any(isinstance(event, CallReady) for event in events)


@pytest.mark.anyio
@pytestmark_wires
async def test_what_is_no_answer_of_the_wire_is_told(name: str) -> None:
    wire = wire_of(name)
    junk = stream(b'data: {"hello": 1}\n\n' if wire == "openai-chat" else b"data: 7\n\n")
    page = whole(200, b"<html>", "content-type: text/html")
    refused = whole(401, {"error": {"type": "authentication_error", "message": "invalid key"}})
    async with serving(junk, page, refused) as server:
        model = model_of(wire, server.url)
        codes = [(await failure_of(model)).code for _ in range(3)]
        await model.aclose()
    assert codes == ["network", "bad_request", "chat_disabled"]


WHOLE: dict[str, dict[str, Any]] = {
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Hi."},
            {"type": "tool_use", "id": "t1", "name": "ls", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    },
    "openai-responses": {
        "object": "response",
        "status": "completed",
        "output": [
            {
                "type": "reasoning",
                "id": "r",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "e",
            },
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hi.", "annotations": []}],
            },
            {"type": "function_call", "call_id": "t1", "name": "ls", "arguments": '{"a":1}'},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
    },
    "openai-chat": {
        "choices": [
            {
                "message": {
                    "reasoning_content": "hm",
                    "content": "Hi.",
                    "tool_calls": [{"id": "t1", "function": {"name": "ls", "arguments": "{}{}"}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    },
}


@pytest.mark.anyio
@pytest.mark.parametrize("wire", WHOLE)
async def test_an_answer_that_was_not_streamed_is_read_too(wire: str) -> None:
    async with serving(whole(200, WHOLE[wire])) as server:
        model = model_of(wire, server.url)
        got = told(await events_of(model))
        await model.aclose()
    args = {} if wire == "openai-chat" else {"a": 1}
    assert (got["text"], got["reasoning"], got["usage"]) == ("Hi.", "hm", 7)
    assert got["calls"] == [("t1", "ls", args, None)]


@pytest.mark.parametrize("wire", WHOLE)
def test_a_recorded_answer_that_was_not_streamed_is_read_too(wire: str) -> None:
    body = json.dumps(WHOLE[wire], indent=1).encode()
    report = transcript_report(wire, (b"\xef\xbb\xbf\r\n" + body + b"\n",))
    assert [part["text"] for part in report["parts"]] == ["hm", "Hi."]
    assert [call["name"] for call in report["calls"]] == ["ls"]
    assert "error" not in report
    failed = transcript_report(wire, (b'{"error": {"message": "invalid key", "code": 401}}',))
    assert (failed["error"]["kind"], failed["error"]["message"]) == ("reported", "invalid key")


@pytest.mark.parametrize("wire", WHOLE)
@pytest.mark.parametrize(
    "body",
    [b"<html>busy</html>", b"data: : P\n\ndata: [DONE]\n\n", b'{"hello": 1}', b"\x1f\x8b\x08"],
)
def test_what_is_no_answer_is_not_taken_for_one_that_broke_off(wire: str, body: bytes) -> None:
    assert transcript_report(wire, (body,))["error"]["kind"] == "unreadable"


@pytest.mark.anyio
async def test_usage_may_come_after_the_last_word() -> None:
    body = stream_bytes("anthropic-refusal")
    before, _, after = body.rpartition(b"event: message_stop")
    async with serving(open_stream(before, b"event: message_stop" + after)) as server:
        model = model_of("anthropic", server.url)
        assert told(await events_of(model)) == told_by(expected("anthropic-refusal"))
        await model.aclose()

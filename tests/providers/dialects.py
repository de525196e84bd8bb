"""Answers in the dialects of servers that call themselves OpenAI-compatible, and what they say."""

from __future__ import annotations

from typing import Any, NamedTuple

from agent_widget.providers.base import Usage

from .chat import DONE, calling, data, delta


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
        Said(),
    ),
    "usage where Groq has it": (
        FINISH
        + data({"x_groq": {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}, "usage": None})
        + DONE,
        Said(usage=Usage(9, 2)),
    ),
    "usage in a choice": (
        data({"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 9}}]})
        + DONE,
        Said(usage=Usage(9)),
    ),
    "timings alone": (
        data({"choices": [{"delta": {"content": "ok"}}], "timings": {"prompt_n": 7}})
        + FINISH
        + data({"timings": {"cache_n": 236, "prompt_n": 1, "predicted_n": 35}})
        + DONE,
        Said("ok", usage=Usage(1, 35, cache_read_tokens=236)),
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
        (
            b"event:message\nid: 9\nretry: 10\n"
            b'data:{"choices":[{"index":0,\ndata:"delta":{"content":"z"}}]}\n\ndata:[DONE]\n\n'
        ),
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

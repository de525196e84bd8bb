"""Request bodies: sendable whatever is stored, built from what is stored, and cheap."""

from __future__ import annotations

import copy
import gc
import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from agent_widget.core import empty_state, session_reducer
from agent_widget.core.messages import (
    Conversation,
    Message,
    ReasoningPart,
    TextPart,
    ToolPart,
    user_message,
)
from agent_widget.core.wire import messages_to_wire
from agent_widget.providers._chat_request import ChatOptions, build_request, encode_message
from agent_widget.providers._history import EMPTY_MESSAGE, GO_ON, EncodedMessages
from agent_widget.providers._parts import INTERRUPTED, call_id
from agent_widget.providers.base import ModelRequest, ToolSpec
from tests.support.strategies import HISTORIES

from .sendable import problems_of

OPTIONS = ChatOptions("m-1")
ENCODE = partial(encode_message, options=OPTIONS)
USER = user_message("u-1", "do it")


def body_of(*messages: Message, options: ChatOptions = OPTIONS, **request: Any) -> dict[str, Any]:
    """The body as JSON; it is sendable."""
    asked = ModelRequest(Conversation.of(messages), **request)
    body = build_request(asked, options, EncodedMessages())
    assert problems_of(body) == []
    result: dict[str, Any] = json.loads(body)
    return result


def wire(*messages: Message, **more: Any) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = body_of(*messages, **more)["messages"]
    return result


def assistant(*parts: Any, message_id: str = "a-1") -> Message:
    made = (TextPart.of(part) if isinstance(part, str) else part for part in parts)
    return Message(message_id, "assistant", tuple(made))


def done(call: str, output: Any = "ok", name: str = "ls", **more: Any) -> ToolPart:
    return ToolPart(call, name, {}, "done", output=output, **more)


def result_of(call: ToolPart) -> str:
    content: str = wire(USER, assistant(call))[-1]["content"]
    return content


# --- the judge -------------------------------------------------------------------------------

GOOD = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
CALLING: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}},
    ],
}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
ASK = {"role": "user", "content": "hi"}


def calling(**changes: Any) -> dict[str, Any]:
    call = copy.deepcopy(CALLING)
    first = call["tool_calls"][0]
    first.update({key: value for key, value in changes.items() if key in first})
    function = {key: value for key, value in changes.items() if key in ("name", "arguments")}
    first["function"].update(function)
    return call


BAD: dict[str, list[Any]] = {
    "nothing": [],
    "the assistant's last word": [ASK, {"role": "assistant", "content": "ok"}],
    "a call without an answer": [ASK, CALLING],
    "a call whose answer comes late": [ASK, CALLING, ASK, ANSWER],
    "an answer without a call": [ASK, ANSWER],
    "two answers": [ASK, CALLING, ANSWER, ANSWER],
    "an id again": [ASK, CALLING, ANSWER, CALLING, ANSWER],
    "blank text": [{"role": "user", "content": " \n"}],
    "a blank result": [ASK, CALLING, {**ANSWER, "content": ""}],
    "an empty answer": [ASK, {"role": "assistant", "content": None}, ASK],
    "trailing space": [ASK, {"role": "assistant", "content": "ok "}, ASK],
    "a system message later on": [ASK, {"role": "system", "content": "x"}, ASK],
    "an id that is too long": [ASK, calling(id="k" * 41), {**ANSWER, "tool_call_id": "k" * 41}],
    "a name with a dot": [ASK, calling(name="a.b"), ANSWER],
    "arguments as an object": [ASK, calling(arguments={}), ANSWER],
    "arguments that are a list": [ASK, calling(arguments="[]"), ANSWER],
    "arguments that are no JSON": [ASK, calling(arguments=""), ANSWER],
    "half a surrogate pair": [{"role": "user", "content": "\ud83d"}],
    "an unknown role": [{"role": "robot", "content": "x"}],
}


def test_the_judge_accepts_what_is_right() -> None:
    body = {**GOOD, "messages": [{"role": "system", "content": "x"}, ASK, CALLING, ANSWER]}
    assert problems_of(json.dumps(body).encode()) == []


@pytest.mark.parametrize("case", BAD)
def test_the_judge_refuses_what_servers_refuse(case: str) -> None:
    assert problems_of(json.dumps({**GOOD, "messages": BAD[case]}).encode()) != []


# --- laws ------------------------------------------------------------------------------------

TEXTS = st.sampled_from(
    [
        "",
        " ",
        "\n\n",
        "hi ",
        " hi",
        "caf\u00e9 \U0001f600",
        "\ud83d",
        "\ude00x",
        "\x1b[31mred",
        "\0",
    ]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXTS
    | st.just({"content": [{"type": "text", "text": "ok", "audience": "all"}], "isError": False})
    | st.just({"content": [{"type": ["x"]}]})
    | st.just({"message": "no", "code": "cancelled"}),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
OPTIONAL = st.just(UNSET) | JSON
CALL_IDS = st.sampled_from(
    ["c1", "c2", "", "functions.search:0/\u00e9" + "k" * 70, "\ud800", "c1+"]
)
NAMES = st.sampled_from(["ls", "", "a.b", "x" * 80, "\u00e9\ud800"])
STATES = st.sampled_from(["running", "awaiting-confirmation", "done", "error", "cancelled"])
CALLS = st.tuples(CALL_IDS, NAMES, JSON, STATES, st.none() | TEXTS, OPTIONAL, OPTIONAL).map(
    lambda fields: ToolPart(*fields)
)
PARTS = st.one_of(st.builds(TextPart.of, TEXTS), st.builds(ReasoningPart, TEXTS), CALLS)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["m-1", "m-2"]),
    st.sampled_from(["user", "assistant"]),
    st.lists(PARTS, max_size=4).map(tuple),
)


@given(
    st.lists(MESSAGES, max_size=6),
    st.none() | TEXTS,
    st.booleans(),
)
def test_every_conversation_is_sendable_and_stays_as_it_is(
    messages: list[Message], system: str | None, sends_reasoning: bool
) -> None:
    before = repr(messages)
    request = ModelRequest(Conversation.of(messages), system, (ToolSpec("ls\ud800", "\ud800", {}),))
    options = ChatOptions("m-1", sends_reasoning=sends_reasoning)
    cache = EncodedMessages()
    body = build_request(request, options, cache)
    assert problems_of(body) == []
    assert repr(messages) == before
    assert build_request(request, options, cache) == body
    assert build_request(request, options, EncodedMessages()) == body


@given(HISTORIES)
def test_every_state_of_a_session_is_sendable(actions: list[Any]) -> None:
    state = empty_state()
    cache = EncodedMessages()
    for action in actions:
        state = session_reducer(state, action)
        before = messages_to_wire(state.messages)
        assert problems_of(build_request(ModelRequest(state.messages), OPTIONS, cache)) == []
        assert messages_to_wire(state.messages) == before


@given(st.lists(st.text(max_size=60), max_size=50, unique=True))
def test_ids_are_mapped_one_to_one(ids: list[str]) -> None:
    mapped = [call_id(one) for one in ids]
    assert len(set(mapped)) == len(ids)
    assert all(call_id(one) == one for one in mapped)


# --- what is said ----------------------------------------------------------------------------


def test_a_first_request_is_this() -> None:
    tool = ToolSpec("ls", "List.", {"type": "object", "properties": {}})
    assert body_of(USER, system="Be brief.", tools=(tool,)) == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "do it"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "ls",
                    "description": "List.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
    }


def test_options_change_the_body() -> None:
    options = ChatOptions("m-1", includes_usage=False, extra={"temperature": 0, "seed": 7})
    body = body_of(USER, options=options)
    assert "stream_options" not in body
    assert (body["temperature"], body["seed"]) == (0, 7)
    assert "tools" not in body


def test_calls_and_their_results_follow_their_message() -> None:
    calls = (
        ToolPart("c1", "add", {"a": 1, "s": "\u00e9"}, "done", output=3),
        ToolPart("c2", "rm", {}, "running"),
    )
    assert wire(USER, assistant("I add.  ", *calls), user_message("u-2", "use csv")) == [
        {"role": "user", "content": "do it"},
        {
            "role": "assistant",
            "content": "I add.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a":1,"s":"\u00e9"}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "rm", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "3"},
        {"role": "tool", "tool_call_id": "c2", "content": INTERRUPTED},
        {"role": "user", "content": "use csv"},
    ]


def test_text_after_calls_is_an_answer_of_its_own() -> None:
    roles = [m["role"] for m in wire(USER, assistant("a", done("c1"), "b", done("c2"), done("c3")))]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "tool"]


def test_the_assistant_never_has_the_last_word() -> None:
    assert wire(USER, assistant("partial answer   "))[1:] == [
        {"role": "assistant", "content": "partial answer"},
        {"role": "user", "content": GO_ON},
    ]
    assert wire() == [{"role": "user", "content": GO_ON}]
    assert wire(USER, assistant(done("c1")))[-1]["role"] == "tool"
    assert wire(USER, assistant(" "))[-1] == {"role": "user", "content": "do it"}


def test_blank_text_is_not_sent() -> None:
    assert [m["content"] for m in wire(USER, assistant("\n\n", done("c1")))] == [
        "do it",
        None,
        "ok",
    ]
    assert wire(user_message("u-1", " ")) == [{"role": "user", "content": EMPTY_MESSAGE}]
    assert len(wire(USER, assistant(), assistant(ReasoningPart("hm")), system=" ")) == 1


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        (None, "{}"),
        ("", "{}"),
        ({}, "{}"),
        ([1], '{"arguments":[1]}'),
        ("x", '{"arguments":"x"}'),
        ({"a": "cut \ud83d"}, '{"a":"cut \ufffd"}'),
        ({"a": float("nan")}, '{"a":null}'),
    ],
)
def test_arguments_are_the_text_of_an_object(stored: Any, sent: str) -> None:
    message = wire(USER, assistant(ToolPart("c1", "t", stored, "done", output=1)))[1]
    assert message["tool_calls"][0]["function"]["arguments"] == sent


def blocks(*content: dict[str, Any], is_error: bool = False) -> dict[str, Any]:
    return {"content": [*content], "isError": is_error}


def text_block(text: str, audience: str = "all") -> dict[str, Any]:
    return {"type": "text", "text": text, "audience": audience}


PNG = {"type": "image", "mime": "image/png", "data": "AA==", "audience": "user"}
SVG = {"type": "svg", "svg": "<svg/>", "audience": "user"}
HTML = {"type": "html", "html": "<b>", "audience": "user"}


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        (None, "null"),
        ({"rows": 3}, '{"rows":3}'),
        ([1, "x"], '[1,"x"]'),
        ("", "(no output)"),
        (UNSET, "(no output)"),
        (blocks(), "(no output)"),
        (blocks(text_block("a"), text_block("b", "model")), "a\nb"),
        (blocks(text_block("a"), text_block("no", "user"), PNG), "a"),
        (blocks(PNG), "[image/png shown to the user]"),
        (blocks(text_block("secret", "user")), "[text shown to the user]"),
        (blocks(SVG, HTML), "[image/svg+xml shown to the user]\n[text/html shown to the user]"),
        (blocks(text_block(" ")), "(no output)"),
        (blocks(text_block("\x1b[31mred\x1b[0m \x1b]8;;x\x07link")), "red link"),
        ({"content": "text"}, '{"content":"text"}'),
        ({"content": [{"type": "video"}]}, '{"content":[{"type":"video"}]}'),
        ("half \udcff", "half \ufffd"),
    ],
)
def test_of_a_result_the_model_reads_what_is_meant_for_it(output: Any, text: str) -> None:
    assert result_of(done("c1", output)) == text


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        ("error", {"code": "exception", "message": "boom"}, "Error: boom"),
        ("error", "boom", "Error: boom"),
        ("error", {"x": 1}, 'Error: {"x":1}'),
        ("error", None, "Error: the call failed without a message."),
        ("error", blocks(text_block("KeyError: 'a'"), is_error=True), "Error: KeyError: 'a'"),
        ("cancelled", UNSET, "Cancelled by the user."),
        ("cancelled", "boom", "Cancelled by the user."),
        (
            "cancelled",
            {"code": "cancelled", "message": "not now"},
            "Cancelled by the user: not now",
        ),
        (
            "cancelled",
            {"code": "cancelled", "message": "Cancelled by the user."},
            "Cancelled by the user.",
        ),
        (
            "cancelled",
            {"code": "cancelled", "message": "The user did not allow this call. Reason: too big"},
            "Cancelled by the user: too big",
        ),
        ("running", UNSET, INTERRUPTED),
        ("awaiting-confirmation", UNSET, INTERRUPTED),
    ],
)
def test_the_model_is_told_how_a_call_ended(state: Any, error: Any, text: str) -> None:
    assert result_of(ToolPart("c1", "t", {}, state, error=error)) == text


def test_ids_that_servers_refuse_are_replaced_in_call_and_result_alike() -> None:
    stored = "functions.search:0/\u00e9" + "k" * 70
    first, second = done(stored), done("call_ok-1")
    _, answer, result, _ = wire(USER, assistant(first, second))
    assert answer["tool_calls"][0]["id"] == result["tool_call_id"] != stored
    assert answer["tool_calls"][1]["id"] == "call_ok-1"
    assert first.id == stored


def test_ids_that_come_again_are_told_apart() -> None:
    messages = wire(
        USER,
        assistant(done("call_0", 1)),
        assistant(done("call_0", 2), done("call_0", 3), message_id="a-2"),
    )
    sent = [call["id"] for m in messages for call in m.get("tool_calls", ())]
    answered = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    assert [answered[one] for one in sent] == ["1", "2", "3"]


def test_reasoning_is_sent_back_only_where_a_server_wants_it() -> None:
    message = assistant(ReasoningPart("think"), ReasoningPart("hard"), done("c1"))
    assert "think" not in json.dumps(wire(USER, message))
    options = ChatOptions("m-1", sends_reasoning=True)
    sent = wire(USER, message, options=options)[1]
    assert (sent["reasoning_content"], sent["content"]) == ("think\n\nhard", None)
    assert "reasoning_content" not in wire(USER, assistant("x"), options=options)[1]


# --- cost ------------------------------------------------------------------------------------


def test_a_message_is_encoded_once_for_all_requests_that_hold_it() -> None:
    cache = EncodedMessages()
    conversation = Conversation.of([USER])
    build_request(ModelRequest(conversation), OPTIONS, cache)
    for step in range(20):
        answer = assistant(done(f"c{step}", "x" * 1000), message_id=f"a-{step}")
        conversation = conversation.appended(answer)
        body = build_request(ModelRequest(conversation), OPTIONS, cache)
        assert cache.misses == step + 2
        assert problems_of(body) == []
    assert cache.of(conversation[3], ENCODE) is cache.of(conversation[3], ENCODE)


def test_equal_messages_are_not_mistaken_for_each_other() -> None:
    cache = EncodedMessages()
    first, second = user_message("u", "a"), user_message("u", "a")
    assert cache.of(first, ENCODE) is not cache.of(second, ENCODE)


def test_what_is_encoded_lives_as_long_as_its_message() -> None:
    cache = EncodedMessages()
    message = user_message("u", "a")
    for index in range(100):
        cache.of(user_message(f"u-{index}", "a"), ENCODE)
    cache.of(message, ENCODE)
    gc.collect()
    assert len(cache) == 1
    del message
    gc.collect()
    assert len(cache) == 0

"""History is always sendable: three strict judges refuse no request of any history."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from agent_widget.core.messages import (
    Conversation,
    Message,
    ReasoningPart,
    TextPart,
    ToolPart,
    user_message,
)
from agent_widget.core.wire import messages_to_wire
from agent_widget.providers import _anthropic_request, _chat_request, _responses_request
from agent_widget.providers._history import GO_ON, IMAGE_LEFT_OUT, EncodedMessages, Style
from agent_widget.providers._images import digest
from agent_widget.providers._parts import INTERRUPTED, short_id
from agent_widget.providers.base import ModelRequest, ToolSpec

from .histories import CUT_PNG, OWN, PNG, WIRES, Player, maker, signed_blocks
from .judges import anthropic_problems, responses_problems
from .sendable import problems_of

TOOLS = (ToolSpec("ls", "List.", {"type": "object", "properties": {}}), ToolSpec("now", "", {}))
LEVELS = (None, "off", "minimal", "high", "xhigh")
USER = user_message("u-1", "do it")


class Sender:
    """The three request builders with their caches; ``model`` is that of Anthropic."""

    def __init__(self, model: str = "claude-sonnet-4-5", refused: frozenset[str] = frozenset()):
        styles = {wire: Style(maker(wire), refused) for wire in WIRES}
        self._caches = {wire: EncodedMessages() for wire in WIRES}
        self._chat = _chat_request.ChatOptions(
            "m", sends_reasoning=True, style=styles["openai-chat"]
        )
        self._responses = _responses_request.ResponsesOptions("m", style=styles["openai-responses"])
        self._anthropic = _anthropic_request.AnthropicOptions(
            model, styles["anthropic"], max_tokens=32_000
        )

    def body(self, wire: str, request: ModelRequest) -> bytes:
        cache = self._caches[wire]
        if wire == "openai-chat":
            return _chat_request.build_request(request, self._chat, cache)
        if wire == "openai-responses":
            return _responses_request.build_request(request, self._responses, cache)
        return _anthropic_request.build_request(request, self._anthropic, cache)


JUDGES: dict[str, Callable[[bytes], list[str]]] = {
    "openai-chat": problems_of,
    "openai-responses": lambda body: responses_problems(body, OWN["openai-responses"]),
    "anthropic": lambda body: anthropic_problems(body, OWN["anthropic"]),
}


def sent(wire: str, *messages: Message, sender: Sender | None = None, **request: Any) -> Any:
    """The body as JSON, which the judge accepts."""
    body = (sender or Sender()).body(wire, ModelRequest(Conversation.of(messages), **request))
    assert JUDGES[wire](body) == []
    return json.loads(body)


def assistant(*parts: Any, message_id: str = "a-1") -> Message:
    made = (TextPart.of(part) if isinstance(part, str) else part for part in parts)
    return Message(message_id, "assistant", tuple(made))


def thought(wire: str, number: int = 0, *, calls: int = 0, chars: int = 0) -> ReasoningPart:
    data = {"from": maker(wire), "calls": calls, "chars": chars}
    return ReasoningPart("hm", {**data, "block": signed_blocks(wire)[number]})


# --- the law -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_no_judge_refuses_a_request_of_any_history_and_nothing_stored_changes(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(125):
        sender = Sender(rng.choice(("claude-sonnet-4-5", "claude-opus-4-8", "claude-3-haiku")))
        for conversation in Player(rng).steps(8):
            before = repr(messages_to_wire(conversation))
            system, tools = rng.choice((None, " ", "Be brief.\ud83d")), rng.choice(((), TOOLS))
            request = ModelRequest(conversation, system, tools, rng.choice(LEVELS))
            for wire in WIRES:
                body = sender.body(wire, request)
                assert JUDGES[wire](body) == [], (wire, before)
            assert repr(messages_to_wire(conversation)) == before


def test_ten_thousand_ids_have_ten_thousand_short_ones() -> None:
    rng = random.Random(1)
    ids = {f"functions.x:{rng.getrandbits(64)}/é" for _ in range(10_000)}
    assert len({short_id(each) for each in ids}) == len(ids)


# --- the judges --------------------------------------------------------------------------------

HI = {"type": "text", "text": "hi"}
ASK = {"role": "user", "content": [HI]}
CALL = {"type": "tool_use", "id": "t1", "name": "ls", "input": {}}
CALLING = {"role": "assistant", "content": [CALL]}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
ANSWER = {"role": "user", "content": [RESULT]}
THINKING = signed_blocks("anthropic")[0]
SPEC = {"name": "ls", "description": "", "input_schema": {"type": "object"}}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*content]}


def anthropic(*messages: Any, **more: Any) -> dict[str, Any]:
    body = {"model": "m", "max_tokens": 2048, "stream": True, "tools": [SPEC]}
    return {**body, "messages": [*messages], **more}


MARK = {"cache_control": {"type": "ephemeral"}}
ENABLED = {"type": "enabled", "budget_tokens": 1024}
SOURCE = {"type": "base64", "media_type": "image/png", "data": PNG}
IMAGE = {"type": "image", "source": SOURCE}
BAD_ANTHROPIC: dict[str, dict[str, Any]] = {
    "nothing": anthropic(),
    "no max_tokens": anthropic(ASK, max_tokens=None),
    "an unknown key": anthropic(ASK, stream_options={}),
    "the assistant first": anthropic(said("x"), ASK),
    "the assistant last": anthropic(ASK, said("x")),
    "two of the user": anthropic(ASK, ASK, said("x"), ASK),
    "no content": anthropic(user()),
    "blank text": anthropic(user({"type": "text", "text": "\n"})),
    "an empty answer": anthropic(ASK, {"role": "assistant", "content": []}, ASK),
    "trailing space": anthropic(ASK, said("x "), ASK),
    "a call without a result": anthropic(ASK, CALLING, ASK),
    "a result without a call": anthropic(ASK, said("x"), ANSWER),
    "two results": anthropic(ASK, CALLING, user(RESULT, RESULT)),
    "text before the result": anthropic(ASK, CALLING, user(HI, RESULT)),
    "text behind a call": anthropic(
        ASK, {"role": "assistant", "content": [CALL, {"type": "text", "text": "x"}]}, ANSWER
    ),
    "an id again": anthropic(ASK, CALLING, ANSWER, CALLING, ANSWER),
    "an id with a colon": anthropic(
        ASK,
        {"role": "assistant", "content": [{**CALL, "id": "a:b"}]},
        user({**RESULT, "tool_use_id": "a:b"}),
    ),
    "arguments as text": anthropic(
        ASK, {"role": "assistant", "content": [{**CALL, "input": "{}"}]}, ANSWER
    ),
    "a blank result": anthropic(ASK, CALLING, user({**RESULT, "content": ""})),
    "calls without tools": anthropic(ASK, CALLING, ANSWER, tools=[]),
    "unsigned thinking": anthropic(
        ASK,
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "x"}, CALL]},
        ANSWER,
    ),
    "thinking of another": anthropic(
        ASK, {"role": "assistant", "content": [{**THINKING, "thinking": "hm"}, CALL]}, ANSWER
    ),
    "thinking last": anthropic(ASK, {"role": "assistant", "content": [THINKING]}, ASK),
    "redacted thinking without data": anthropic(
        ASK, {"role": "assistant", "content": [{"type": "redacted_thinking"}, CALL]}, ANSWER
    ),
    "no room to think": anthropic(ASK, thinking={"type": "enabled", "budget_tokens": 2048}),
    "a call that was not thought about": anthropic(ASK, CALLING, ANSWER, thinking=ENABLED),
    "five cache marks": anthropic(
        user(*[{"type": "text", "text": "x", **MARK}] * 4), system=[{**HI, **MARK}]
    ),
    "a damaged image": anthropic(user({**IMAGE, "source": {**SOURCE, "data": CUT_PNG}})),
    "an image of no kind": anthropic(
        user({**IMAGE, "source": {**SOURCE, "media_type": "image/tiff"}})
    ),
    "half a surrogate pair": anthropic(user({"type": "text", "text": "\ud83d"})),
    "a schema of no object": anthropic(ASK, tools=[{**SPEC, "input_schema": {}}]),
}

SAY = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
FUNCTION_CALL = {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
REASONING = signed_blocks("openai-responses")[0]


def responses(*items: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "stream": True, "store": False, "input": [*items], **more}


BAD_RESPONSES: dict[str, dict[str, Any]] = {
    "nothing": responses(),
    "messages": responses(SAY, messages=[]),
    "the assistant last": responses(SAY, {"role": "assistant", "content": "x"}),
    "blank text": responses({"role": "user", "content": [{"type": "input_text", "text": " "}]}),
    "text of a chat": responses({"role": "user", "content": [{"type": "text", "text": "x"}]}),
    "a blank answer": responses(SAY, {"role": "assistant", "content": ""}, SAY),
    "trailing space": responses(SAY, {"role": "assistant", "content": "x "}, SAY),
    "a call without an output": responses(SAY, FUNCTION_CALL, SAY),
    "an output without a call": responses(SAY, OUTPUT),
    "two outputs": responses(SAY, FUNCTION_CALL, OUTPUT, OUTPUT),
    "an output that comes late": responses(SAY, FUNCTION_CALL, SAY, OUTPUT),
    "an id again": responses(SAY, FUNCTION_CALL, OUTPUT, FUNCTION_CALL, OUTPUT),
    "an id that is too long": responses(
        SAY, {**FUNCTION_CALL, "call_id": "k" * 65}, {**OUTPUT, "call_id": "k" * 65}
    ),
    "a name with a dot": responses(SAY, {**FUNCTION_CALL, "name": "a.b"}, OUTPUT),
    "arguments as an object": responses(SAY, {**FUNCTION_CALL, "arguments": {}}, OUTPUT),
    "a blank output": responses(SAY, FUNCTION_CALL, {**OUTPUT, "output": ""}),
    "reasoning that led to nothing": responses(SAY, REASONING, SAY),
    "reasoning that the server has": responses(
        SAY, {**REASONING, "encrypted_content": None}, FUNCTION_CALL, OUTPUT
    ),
    "reasoning of another": responses(SAY, {**REASONING, "id": "x"}, FUNCTION_CALL, OUTPUT),
    "an unknown effort": responses(SAY, reasoning={"effort": "off"}),
    "half a surrogate pair": responses(
        {"role": "user", "content": [{"type": "input_text", "text": "\ud83d"}]}
    ),
}
BAD = [
    *(("anthropic", case, body) for case, body in BAD_ANTHROPIC.items()),
    *(("openai-responses", case, body) for case, body in BAD_RESPONSES.items()),
]


def test_the_judges_refuse_what_is_wrong_and_accept_what_is_right() -> None:
    """Those of Chat Completions are in test_chat_request.py."""
    accepted = [case for wire, case, body in BAD if not JUDGES[wire](json.dumps(body).encode())]
    assert accepted == []
    assert len(BAD) >= 40
    thinking = {"role": "assistant", "content": [THINKING, CALL]}
    good = anthropic(ASK, thinking, user(RESULT, IMAGE), thinking=ENABLED)
    assert JUDGES["anthropic"](json.dumps(good).encode()) == []
    right = responses(SAY, REASONING, FUNCTION_CALL, OUTPUT)
    assert JUDGES["openai-responses"](json.dumps(right).encode()) == []


# --- cases that were met -----------------------------------------------------------------------


def test_a_call_that_was_never_answered_is_interrupted() -> None:
    history = (USER, assistant(ToolPart("t1", "slow", {})), user_message("u-2", "hello"))
    chat = sent("openai-chat", *history)["messages"]
    assert [(m["role"], m["content"]) for m in chat[2:]] == [
        ("tool", INTERRUPTED),
        ("user", "hello"),
    ]
    items = sent("openai-responses", *history)["input"]
    assert items[2] == {**OUTPUT, "call_id": "t1", "output": INTERRUPTED}
    last = sent("anthropic", *history)["messages"][-1]["content"]
    assert [block.get("content") or block.get("text") for block in last] == [INTERRUPTED, "hello"]


def test_reasoning_goes_back_byte_exact_and_where_it_was() -> None:
    calls = [ToolPart(f"c{n}", "ls", {}, "done", output="ok") for n in (1, 2)]
    parts = [
        thought("anthropic", 0),
        thought("anthropic", 2, calls=1, chars=6),
        "Hello.",
        *calls,
    ]
    message = sent("anthropic", USER, assistant(*parts), thinking="high")["messages"][1]
    kinds = [block["type"] for block in message["content"]]
    assert kinds == ["thinking", "text", "tool_use", "redacted_thinking", "tool_use"]
    assert message["content"][0] == signed_blocks("anthropic")[0]
    parts = [
        thought("openai-responses", 0),
        thought("openai-responses", 1, chars=6),
        "Hello.World.",
    ]
    items = sent("openai-responses", USER, assistant(*parts))["input"]
    assert [item.get("id") or item["content"] for item in items[1:5]] == [
        "rs_1",
        "Hello.",
        "rs_2",
        "World.",
    ]


def test_reasoning_of_another_model_stays_at_home() -> None:
    done = ToolPart("c1", "ls", {}, "done", output="ok")
    for wire in WIRES:
        others = [thought(other) for other in WIRES if other != wire]
        body = sent(wire, USER, assistant(*others, "Hi.", done), tools=TOOLS, thinking="high")
        assert "signature" not in json.dumps(body)
        assert "encrypted_content" not in json.dumps(body).replace("reasoning.encrypted", "")
        if wire == "anthropic":  # a budget needs the thinking before the call
            assert "thinking" not in body
    adaptive = Sender("claude-opus-4-8")
    body = sent("anthropic", USER, assistant("Hi.", done), sender=adaptive, thinking="high")
    assert body["thinking"]["type"] == "adaptive"


def test_what_gemini_and_openrouter_want_back_is_sent_back() -> None:
    done = ToolPart("c1", "ls", {}, "done", output="ok")
    parts = [thought("openai-chat", 0), thought("openai-chat", 1), done]
    answer = sent("openai-chat", USER, assistant(*parts))["messages"][1]
    assert answer["reasoning_details"] == signed_blocks("openai-chat")[0]["reasoning_details"]
    assert answer["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "t"}}


def image(data: str, audience: str = "all") -> ToolPart:
    block = {"type": "image", "mime": "image/png", "data": data, "audience": audience}
    return ToolPart("c1", "plot", {}, "done", output={"content": [block], "isError": False})


@pytest.mark.parametrize("wire", WIRES)
def test_the_model_sees_images_that_are_meant_for_it_and_whole(wire: str) -> None:
    assert PNG in json.dumps(sent(wire, USER, assistant(image(PNG))))
    assert PNG not in json.dumps(sent(wire, USER, assistant(image(PNG, "user"))))
    for data, sender in (
        (CUT_PNG, Sender()),
        (PNG, Sender(refused=frozenset([digest(PNG)]))),
    ):
        body = json.dumps(sent(wire, USER, assistant(image(data)), sender=sender))
        assert IMAGE_LEFT_OUT in body
        assert data not in body


def test_what_stays_the_same_is_marked_for_the_cache() -> None:
    done = ToolPart("c1", "ls", {}, "done", output="ok")
    history = (USER, assistant("Hi.", done), user_message("u-2", "more"))
    body = sent("anthropic", *history, system="Be brief.", tools=TOOLS)
    assert json.dumps(body).count("ephemeral") == 4
    assert "cache_control" in body["system"][-1]
    assert "cache_control" in body["tools"][-1]
    blocks = [message["content"][-1] for message in body["messages"]]
    assert ["cache_control" in block for block in blocks] == [True, False, True]


def test_turns_alternate_whatever_was_stored() -> None:
    history = (assistant("a"), assistant("b", message_id="a-2"), USER, USER, assistant("c"))
    messages = sent("anthropic", *history)["messages"]
    texts = [[block["text"] for block in message["content"]] for message in messages]
    assert texts == [[GO_ON], ["a"], [GO_ON], ["b"], ["do it", "do it"], ["c"], [GO_ON]]


def test_a_conversation_keeps_its_cache_key() -> None:
    first = sent("openai-responses", USER, system="s")
    later = sent("openai-responses", USER, assistant("a"), user_message("u-2", "b"), system="s")
    other = sent("openai-responses", user_message("u-9", "do it"), system="s")
    assert first["prompt_cache_key"] == later["prompt_cache_key"] != other["prompt_cache_key"]


def test_building_again_makes_the_same_bytes() -> None:
    history = Conversation.of([USER, assistant(thought("anthropic"), "Hi."), USER])
    request = ModelRequest(history, "s", TOOLS, "low")
    sender = Sender()
    for wire in WIRES:
        body = sender.body(wire, request)
        assert sender.body(wire, copy.copy(request)) == body == Sender().body(wire, request)

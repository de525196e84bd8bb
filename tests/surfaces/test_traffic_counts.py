"""Counts that hold on every machine: messages, bytes and copies for a streamed answer.

A real session and a real bridge, with a transport that records what a page would get. The clock is
the loop's own and jumps, so a minute of streaming takes no time and no time is measured.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import sys
import tracemalloc
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Iterable
from typing import Any, Final

import msgspec
import pytest
from jupyter_client.session import Session as KernelMessages
from msgspec import Struct

from agent_widget.core.actions import ApplyPart, Send, TextDelta
from agent_widget.core.events import Event, InputReceived, MsgTextDelta
from agent_widget.core.ids import TimeOrderedIds
from agent_widget.core.messages import Conversation, Message, TextPart, user_message
from agent_widget.core.reducer import session_reducer
from agent_widget.core.state import SessionState
from agent_widget.core.wire import messages_from_wire
from agent_widget.engine.permissions import Permissions
from agent_widget.engine.session import Session
from agent_widget.policy.options import PermissionOptions
from agent_widget.providers.base import ModelEvent, ModelInfo, ModelRequest, StepEnd, TextChunk
from agent_widget.store.memory import MemoryStore
from agent_widget.surfaces.bridge import Bridge
from agent_widget.surfaces.kernel.scriptthread import ScriptMainThread
from agent_widget.surfaces.paths import DiskPaths
from agent_widget.tools.registry import register
from agent_widget.view.model import SessionView
from agent_widget.view.patch import apply, diff
from agent_widget.view.project import project
from agent_widget.view.schema import TRAIT_BYTES, view_to_wire
from tests.support.virtualtime import VirtualTimeLoop

pytestmark = pytest.mark.anyio

FRAMES_PER_S: Final = 30
FRAME_S: Final = 1 / FRAMES_PER_S
TOKEN: Final = "word"
ROUNDING_S: Final = 1e-6
ENVELOPE_BYTES: Final = 2_000
"""What a snapshot holds beside its messages while nothing is asked: names, numbers, usage."""


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    return "asyncio", {"loop_factory": VirtualTimeLoop}


class Sent(Struct):
    """A message to the page and when it left, in seconds of the loop's clock."""

    at_s: float
    content: dict[str, Any]


class Recorder:
    """The transport: keeps what a widget would send and sync."""

    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.traits: list[dict[str, Any]] = []

    def send_message(self, content: dict[str, Any]) -> None:
        self.sent.append(Sent(asyncio.get_running_loop().time(), content))

    def write_words(self, words: dict[str, Any]) -> None:
        raise AssertionError(words)

    def write_snapshot(self, snapshot: dict[str, Any]) -> None:
        self.traits.append(snapshot)

    def click_context(self) -> contextvars.Context | None:
        return None

    @property
    def patches(self) -> list[Sent]:
        return [sent for sent in self.sent if sent.content["kind"] == "patch"]


class Paced:
    """A model that says one token after each of the given pauses, in seconds."""

    info = ModelInfo("test", "paced", "paced")

    def __init__(self, pauses_s: Iterable[float]) -> None:
        self._pauses_s = pauses_s
        self.told_s: list[float] = []

    async def stream(self, _request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        loop = asyncio.get_running_loop()
        for pause_s in self._pauses_s:
            await asyncio.sleep(pause_s)
            self.told_s.append(loop.time())
            yield TextChunk(TOKEN)
        yield StepEnd("stop")

    async def aclose(self) -> None:
        pass


class Stream(Struct):
    """One answer as the page saw it; ``patches`` are those that carried text."""

    model: Paced
    page: Recorder
    session: Session
    start: dict[str, Any]
    patches: list[Sent]

    @property
    def text_bytes(self) -> int:
        return len(self.model.told_s) * len(TOKEN)


async def streamed(pauses_s: Iterable[float], history: int = 0) -> Stream:
    """An answer in a session of ``history`` messages, with one page that watches."""
    clock = iter(range(1_000_000, 100_000_000))
    model, page = Paced(pauses_s), Recorder()
    session = Session(
        model=model,
        tools=register([]),
        system=None,
        permissions=Permissions(PermissionOptions(), DiskPaths()),
        store=MemoryStore(),
        main=ScriptMainThread(),
        clock_ms=lambda: next(clock),
        new_id=TimeOrderedIds(lambda: next(clock)),
    )
    await session.open()
    for event in told(history):
        session._writer.emit(event)
    loop = asyncio.get_running_loop()
    bridge = Bridge(session, page, loop)
    bridge.receive({"kind": "hello", "view": "v"})
    run = await session.send("Tell me.")
    await asyncio.wrap_future(run.future)
    await asyncio.sleep(2 * FRAME_S)  # the last frame goes out by itself
    bridge.close()
    await session.close()
    patches = [sent for sent in page.patches if TOKEN in json.dumps(sent.content)]
    return Stream(model, page, session, page.sent[0].content, patches)


def told(count: int) -> list[Event]:
    """The events of ``count`` earlier messages, 400 characters each."""
    texts = (f"{index:4} " + "history " * 49 for index in range(count))
    return [InputReceived(message_id=f"m-{index}", text=t) for index, t in enumerate(texts)]


def at_rate(tokens_per_s: float, seconds: float) -> list[float]:
    return [1 / tokens_per_s] * int(tokens_per_s * seconds)


def content_bytes(sent: Iterable[Sent]) -> int:
    return sum(len(msgspec.json.encode(message.content)) for message in sent)


def wire_bytes(sent: Iterable[Sent]) -> int:
    """Bytes of the comm messages on the kernel's socket: header, content and all."""
    kernel = KernelMessages(key=b"")
    size = 0
    for message in sent:
        data = {"method": "custom", "content": message.content}
        content = {"comm_id": "0" * 32, "data": data}
        size += sum(map(len, kernel.serialize(kernel.msg("comm_msg", content))))
    return size


# --- messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens_per_s", [50, 200, 5_000])
async def test_no_second_has_more_messages_than_the_frame_rate(tokens_per_s: float) -> None:
    stream = await streamed(at_rate(tokens_per_s, seconds=4))
    times = [sent.at_s for sent in stream.page.patches]
    for index, start in enumerate(times):
        within = bisect_left(times, start + 1 - ROUNDING_S) - index
        assert within <= FRAMES_PER_S


async def test_a_burst_as_fast_as_the_loop_is_one_message_a_frame() -> None:
    stream = await streamed([0.0] * 5_000)
    assert len(stream.patches) <= 2 + stream.model.told_s[-1] / FRAME_S


async def test_tokens_slower_than_the_frame_rate_go_out_one_by_one() -> None:
    stream = await streamed(at_rate(20, seconds=4))
    assert len(stream.patches) == len(stream.model.told_s)


async def test_the_first_token_after_a_pause_goes_at_once() -> None:
    stream = await streamed([0.5, *[0.001] * 20] * 3)
    sent_s = [sent.at_s for sent in stream.patches]
    firsts = stream.model.told_s[::21]
    assert len(firsts) == 3
    assert set(firsts) <= set(sent_s)


@pytest.mark.parametrize("tokens_per_s", [50, 200, 5_000])
async def test_no_token_waits_longer_than_a_frame(tokens_per_s: float) -> None:
    stream = await streamed(at_rate(tokens_per_s, seconds=2))
    sent_s = [sent.at_s for sent in stream.patches]
    for told_s in stream.model.told_s:
        at = sent_s[bisect_left(sent_s, told_s)]
        assert at - told_s <= FRAME_S + ROUNDING_S


async def test_a_frame_of_text_is_one_operation() -> None:
    stream = await streamed(at_rate(200, seconds=4))
    [_begins, *texts, _ends] = stream.patches
    path = ["messages", 1, "parts", 0, "text"]
    assert len(texts) > 100
    for sent in texts:
        [[name, at, text]] = sent.content["ops"]
        assert (name, at, text.replace(TOKEN, "")) == ("append", path, "")


async def test_what_a_page_builds_from_what_was_sent_is_the_view() -> None:
    stream = await streamed(at_rate(200, seconds=4), history=120)
    page = stream.start["view"]
    seqs = [stream.start["seq"]]
    for sent in stream.page.patches:
        page = apply(page, sent.content["ops"])
        seqs.append(sent.content["seq"])
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
    whole = view_to_wire(stream.session.view)
    assert page["messages"]["items"][-1] == whole["messages"]["items"][-1]
    assert page["messages"]["items"][-1]["parts"][0]["text"] == TOKEN * len(stream.model.told_s)


# --- bytes ------------------------------------------------------------------------------------


async def test_bytes_of_an_answer_do_not_depend_on_what_came_before() -> None:
    alone = await streamed(at_rate(200, seconds=8))
    late = await streamed(at_rate(200, seconds=8), history=5_000)
    assert wire_bytes(late.page.patches) <= 1.02 * wire_bytes(alone.page.patches)


async def test_bytes_of_an_answer_grow_with_its_length_alone() -> None:
    short = await streamed(at_rate(200, seconds=2))
    long = await streamed(at_rate(200, seconds=32))
    per_token = [wire_bytes(s.page.patches) / len(s.model.told_s) for s in (short, long)]
    assert per_token[1] <= per_token[0]


@pytest.mark.parametrize(("tokens_per_s", "times"), [(50, 20), (200, 6), (1_000, 2)])
async def test_content_of_the_patches_is_a_few_times_the_new_text(
    tokens_per_s: float, times: int
) -> None:
    stream = await streamed(at_rate(tokens_per_s, seconds=8))
    assert content_bytes(stream.patches) <= times * stream.text_bytes


@pytest.mark.parametrize("history", [0, 5_000])
async def test_the_trait_is_written_once_a_run_and_is_small(history: int) -> None:
    stream = await streamed(at_rate(200, seconds=8), history)
    [trait] = stream.page.traits
    assert len(msgspec.json.encode(trait)) <= TRAIT_BYTES + ENVELOPE_BYTES


# --- copies -----------------------------------------------------------------------------------


def streaming_state(earlier: int, text: str) -> SessionState:
    messages = [user_message(f"m-{index}", "x" * 400) for index in range(earlier)]
    state = SessionState.of(
        [*messages, Message("a-1", "assistant", (TextPart.of(text),))], "streaming"
    )
    return session_reducer(state, ApplyPart(TextDelta("a-1", TOKEN)))


def test_a_delta_shares_history_and_text_with_the_state_before() -> None:
    before = streaming_state(10_000, "x" * 1_000_000)
    after = session_reducer(before, ApplyPart(TextDelta("a-1", TOKEN)))
    assert after._conversation is before._conversation
    assert after._tail is not None
    assert before._tail is not None
    assert after._tail._chunks is before._tail._chunks


def test_the_next_message_shares_the_list_of_the_earlier_ones() -> None:
    earlier = Conversation.of(user_message(f"m-{index}", "x") for index in range(10_000))
    later = earlier.appended(user_message("m-last", "x"))
    assert later._settled is earlier._settled
    assert [*earlier] == [*later][:-1]


def test_a_token_keeps_all_of_the_view_but_the_chat() -> None:
    before = SessionView(chat=streaming_state(10, "x"))
    after = project(before, MsgTextDelta(message_id="a-1", index=0, text=TOKEN))
    changed = {
        name
        for name in SessionView.__struct_fields__
        if getattr(after, name) is not getattr(before, name)
    }
    assert changed == {"chat"}


@pytest.mark.parametrize(("earlier", "size"), [(0, 1_000), (10_000, 1_000), (0, 1_000_000)])
def test_a_token_takes_the_same_few_calls_and_bytes_in_every_session(
    earlier: int, size: int
) -> None:
    small = frame_of_one_token(streaming_state(0, "x"))
    frame = frame_of_one_token(streaming_state(earlier, "x" * size))
    assert calls_of(frame) == calls_of(small)
    assert peak_bytes_of(frame) <= 4_000


def frame_of_one_token(state: SessionState) -> Callable[[], None]:
    """Folds one more token at each call and makes the patch for it."""
    view = SessionView(chat=state)
    event = MsgTextDelta(message_id="a-1", index=0, text=TOKEN)

    def frame() -> None:
        nonlocal view
        before, view = view, project(view, event)
        [_op] = diff(before, view)

    frame()  # the shared list grows now, and has room for the next ones
    return frame


def test_a_settled_answer_keeps_its_text_in_one_piece() -> None:
    state = streaming_state(0, "x")
    for _ in range(100):
        state = session_reducer(state, ApplyPart(TextDelta("a-1", TOKEN)))
    [answer, _question] = session_reducer(state, Send("m-1", "And then?")).messages
    [text] = answer.parts
    assert isinstance(text, TextPart)
    assert len(text._chunks) == 1


def test_ten_thousand_messages_take_less_than_twice_their_json() -> None:
    wire = [
        {
            "id": f"m-{index:016x}",
            "role": "user" if index % 2 == 0 else "assistant",
            "parts": [{"type": "text", "text": f"{index:6} " + "history " * 50}],
        }
        for index in range(10_000)
    ]
    stored = msgspec.json.encode(wire)
    del wire
    tracemalloc.start()
    try:
        messages = messages_from_wire(msgspec.json.decode(stored))
        size, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(messages) == 10_000
    assert size <= 2 * len(stored)


def calls_of(function: Callable[[], None]) -> int:
    """Number of calls, of Python and C functions, that ``function()`` makes."""
    count = 0

    def note(_frame: object, event: str, _arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


def peak_bytes_of(function: Callable[[], None]) -> int:
    """The most memory that ``function()`` holds at any moment beyond what there was."""
    tracemalloc.start()
    try:
        function()
        _size, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak

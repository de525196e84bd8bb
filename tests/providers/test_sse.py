"""Server-sent events: what the standard says, wherever the network cuts the stream."""

from __future__ import annotations

from itertools import pairwise

import httpx
import pytest
from httpx_sse import EventSource
from hypothesis import given
from hypothesis import strategies as st

from agent_widget.providers import _sse
from agent_widget.providers._sse import EventReader, EventTooLarge, ServerEvent

FRAMINGS = {
    "plain": b"data: one\n\ndata: two\n\n",
    "crlf": b"data: one\r\n\r\ndata: two\r\n\r\n",
    "cr": b"data: one\r\rdata: two\r\r",
    "mixed line ends": b"data: one\r\n\ndata: two\n\r\n",
    "no space": b"data:one\n\ndata:two\n\n",
    "comments": b": WAITING\n\n:\n\ndata: one\n\n: still here\ndata: two\n\n",
    "comment in an event": b"data: one\n: psst\n\ndata: two\n\n",
    "byte order mark": b"\xef\xbb\xbfdata: one\n\ndata: two\n\n",
    "other fields": b"id: 9\nretry: 10\nfoo: bar\nfoo\ndata: one\n\ndata: two\nid: 10\n\n",
    "events without data": b"event: ping\n\ndata: one\n\nevent: ping\n\ndata: two\n\n",
    "no final blank line": b"data: one\n\ndata: two",
    "no final line feed": b"data: one\n\ndata: two\n",
}
SPECIAL = {
    b"data: a\ndata: b\ndata\ndata: \n\n": [ServerEvent(b"a\nb\n\n")],
    b"data:  two spaces\n\n": [ServerEvent(b" two spaces")],
    b"event: error\ndata: x\n\ndata: y\n\n": [ServerEvent(b"x", b"error"), ServerEvent(b"y")],
    b"error: {}\n\ndata: y\n\n": [ServerEvent(b"{}", b"error"), ServerEvent(b"y")],
    b"data: : PROCESSING\n\n": [ServerEvent(b": PROCESSING")],
    "data: caf\u00e9 \u2028\x85\U0001f600\n\n".encode(): [
        ServerEvent("caf\u00e9 \u2028\x85\U0001f600".encode())
    ],
    b"dataa: x\n\n data: x\n\nDATA: x\n\n": [],
    b"": [],
    b"\n\n\n": [],
}


def read(*pieces: bytes) -> list[ServerEvent]:
    reader = EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return events + reader.end()


def every_cut(stream: bytes) -> list[tuple[bytes, ...]]:
    """The stream whole, byte by byte, and in two at every position."""
    halves = [(stream[:at], stream[at:]) for at in range(len(stream) + 1)]
    return [(stream,), tuple(stream[i : i + 1] for i in range(len(stream))), *halves]


@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_framing_never_changes_the_events(framing: str) -> None:
    for pieces in every_cut(FRAMINGS[framing]):
        assert read(*pieces) == [ServerEvent(b"one"), ServerEvent(b"two")], pieces


@pytest.mark.parametrize("stream", SPECIAL)
def test_data_are_joined_and_trimmed_as_the_standard_says(stream: bytes) -> None:
    for pieces in every_cut(stream):
        assert read(*pieces) == SPECIAL[stream], pieces


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_an_event_is_there_as_soon_as_its_blank_line_is(end: bytes) -> None:
    assert EventReader().feed(b"data: x" + end) == [ServerEvent(b"x")]


def test_a_byte_order_mark_is_dropped_at_the_start_only() -> None:
    bom = b"\xef\xbb\xbf"
    assert read(bom + bom + b"data: x\n\ndata: y\n\n") == [ServerEvent(b"y")]


class Pieces(httpx.SyncByteStream):
    """A response body in given pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self):  # type: ignore[no-untyped-def]
        yield from self._pieces


LINES = st.sampled_from(
    [b"data: a", b"data:b", b"data", b"data:", b"", b"", b": c", b"event: e", b"id: 1", b"x: y"]
)
LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(st.lists(st.tuples(LINES, LINE_ENDS), max_size=12), st.lists(st.integers(0, 99), max_size=4))
def test_events_are_those_of_an_independent_reader(
    lines: list[tuple[bytes, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(line + end for line, end in lines) + b"\n\n"
    at = sorted({min(cut, len(stream)) for cut in cuts} | {0, len(stream)})
    pieces = [stream[a:b] for a, b in pairwise(at)]
    response = httpx.Response(
        200, headers={"content-type": "text/event-stream"}, stream=Pieces(pieces)
    )
    theirs = [(event.data, event.event) for event in EventSource(response).iter_sse() if event.data]
    ours = [(e.data.decode(), e.type.decode() or "message") for e in read(*pieces) if e.data]
    assert ours == theirs


@pytest.mark.parametrize("line", [b"data: xxxxxxxx", b": xxxxxxxxxxxxx", b"data: xx\n"])
def test_an_endless_event_is_refused(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sse, "MAX_EVENT_BYTES", 1000)
    reader = EventReader()

    def feed(size_bytes: int) -> None:
        for _ in range(0, size_bytes, len(line)):
            reader.feed(line)

    feed(300)
    with pytest.raises(EventTooLarge):
        feed(5000)


def test_any_number_of_keep_alives_and_events_is_read() -> None:
    reader = EventReader()
    for _ in range(1000):
        assert reader.feed(b": keep-alive\n\n") == []
    assert sum(len(reader.feed(b"data: x\n\n")) for _ in range(1000)) == 1000

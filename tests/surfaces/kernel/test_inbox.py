"""Each message of the browser is handed over once."""

from __future__ import annotations

import threading
from typing import Any

from agent_widget.surfaces.kernel.inbox import Inbox, InboxStatistics, custom_content


class Delivered:
    def __init__(self) -> None:
        self.all: list[tuple[object, str]] = []

    def __call__(self, content: dict[str, Any], _: object, path: str) -> None:
        self.all.append((content.get("request_id"), path))
        if content.get("fails"):
            raise RuntimeError("no")


def test_the_first_copy_is_delivered_and_every_other_dropped() -> None:
    delivered = Delivered()
    inbox = Inbox(delivered)
    for path in ("tap", "on_msg", "on_msg"):
        inbox.receive({"request_id": "a"}, None, path)
    inbox.receive({"request_id": "b"}, None, "on_msg")
    assert delivered.all == [("a", "tap"), ("b", "on_msg")]
    assert inbox.statistics == InboxStatistics(tap=1, on_msg=1, duplicates=2)
    assert (inbox.path_of("a"), inbox.path_of("b"), inbox.path_of("c")) == ("tap", "on_msg", None)


def test_without_a_request_id_only_the_kernels_own_copy_counts() -> None:
    delivered = Delivered()
    inbox = Inbox(delivered)
    for content in ({"kind": "hello"}, {"request_id": ["a"]}, {"request_id": 1}):
        inbox.receive(content, None, "tap")
        inbox.receive(content, None, "on_msg")
    assert [path for _, path in delivered.all] == ["on_msg"] * 3


def test_memory_is_bounded_and_the_oldest_id_is_forgotten_first() -> None:
    delivered = Delivered()
    inbox = Inbox(delivered, remembered=2)
    for name in ("a", "b", "c", "b", "a"):
        inbox.receive({"request_id": name}, None, "tap")
    assert [name for name, _ in delivered.all] == ["a", "b", "c", "a"]


def test_junk_is_counted_and_a_failing_reader_costs_no_other_message() -> None:
    delivered = Delivered()
    inbox = Inbox(delivered)
    junk: list[object] = [None, [], "x"]
    for content in (*junk, {"request_id": "a", "fails": True}, {"request_id": "b"}):
        inbox.receive(content, None, "tap")
    inbox.receive({"request_id": "a", "fails": True}, None, "on_msg")
    assert [name for name, _ in delivered.all] == ["a", "b"]
    assert inbox.statistics == InboxStatistics(tap=2, duplicates=1, dropped=3, failed=1)


def test_copies_that_race_are_delivered_once() -> None:
    delivered = Delivered()
    inbox = Inbox(delivered)
    start = threading.Barrier(4)

    def send() -> None:
        start.wait()
        for n in range(500):
            inbox.receive({"request_id": str(n)}, None, "tap")

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [name for name, _ in delivered.all] == [str(n) for n in range(500)]


def test_only_a_widgets_custom_message_has_content() -> None:
    assert custom_content({"method": "custom", "content": {"kind": "bye"}}) == {"kind": "bye"}
    others: list[object] = [{"method": "update", "state": {}}, {"method": "custom"}, None, []]
    for data in others:
        assert custom_content(data) is None

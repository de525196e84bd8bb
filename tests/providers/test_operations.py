"""What is no chat goes to its server once, is repeated once after a 401, and waits with an end."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from agent_widget import OperationError, Operations
from agent_widget.core.errors import InvalidOptions
from agent_widget.providers.operations import Task
from tests.providers.rawserver import Drop, Reply, head, serving, whole

pytestmark = pytest.mark.anyio


class Clock:
    """Time that passes while an operation waits."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


async def failure_of(work: Any) -> OperationError:
    with pytest.raises(OperationError) as caught:
        await work
    return caught.value


async def test_each_operation_sends_its_request_and_reads_its_answer() -> None:
    rows = [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}]
    found = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]
    picture = {"data": [{"b64_json": base64.b64encode(b"PNG").decode()}]}
    replies = [
        whole(200, {"data": rows}),
        whole(200, {"results": found}),
        whole(200, b"MP3", "content-type: audio/mpeg"),
        whole(200, {"text": "hello"}),
        whole(200, picture),
    ]
    async with serving(*replies) as server, Operations(server.url, api_key="k-1") as ops:
        assert await ops.embeddings(["a", "b"], model="e") == [[1.0], [2.0]]
        assert await ops.rerank("q", ["x", "y"], model="r", top_n=2) == [(1, 0.9), (0, 0.1)]
        assert await ops.speech("hi", model="s", voice_ref="mine") == b"MP3"
        assert await ops.transcription(b"RIFF", model="t") == "hello"
        assert await ops.image("a cat", model="i") == b"PNG"
    sent = server.requests
    assert [request.target for request in sent] == [
        "/v1/embeddings",
        "/v1/rerank",
        "/v1/audio/speech",
        "/v1/audio/transcriptions",
        "/v1/images/generations",
    ]
    assert {request.headers["authorization"] for request in sent} == {"Bearer k-1"}
    assert b'filename="audio.wav"' in sent[3].body
    assert b"RIFF" in sent[3].body


async def test_speech_has_a_voice_of_the_server_or_a_private_one_and_never_both() -> None:
    spoken = whole(200, b"MP3", "content-type: audio/mpeg")
    async with serving(spoken, spoken) as server, Operations(server.url) as ops:
        await ops.speech("hi", model="s", voice="alloy")
        await ops.speech("hi", model="s", voice_ref="mine")
        with pytest.raises(InvalidOptions, match="voice or voice_ref, and not both"):
            await ops.speech("hi", model="s", voice="alloy", voice_ref="mine")
        with pytest.raises(InvalidOptions, match="voice or voice_ref, and not both"):
            await ops.speech("hi", model="s")
    named = [{k: v for k, v in r.json.items() if "voice" in k} for r in server.requests]
    assert named == [{"voice": "alloy"}, {"voice_ref": "mine"}]


async def test_a_video_is_begun_waited_for_and_fetched_whole() -> None:
    states = [{"id": "v1", "status": each} for each in ("queued", "in_progress", "completed")]
    video = bytes(range(256)) * 100
    fetched = whole(200, video, "content-type: video/mp4")
    replies = [*(whole(200, state) for state in states), fetched]
    clock = Clock()
    async with (
        serving(*replies) as server,
        Operations(server.url, api_key="k-1", sleep=clock.sleep, clock_s=clock) as ops,
    ):
        task = await ops.submit("/videos", {"prompt": "a cat"}, idempotency_key="cat-1")
        waited = await ops.wait(task)
        assert (waited.reason, waited.task.status) == ("terminal", "completed")
        assert await ops.content(waited.task) == video
        assert [each.target for each in server.requests] == [
            "/v1/videos",
            "/v1/videos/v1",
            "/v1/videos/v1",
            "/v1/videos/v1/content",
        ]


async def test_a_refused_token_is_renewed_once_and_the_same_request_sent_again() -> None:
    refused, begun = whole(401, {"error": {"message": "bad k-old"}}), {"id": "t1"}
    renewed: list[int] = []

    def renew() -> str:
        renewed.append(1)
        return "k-new"

    async with (
        serving(refused, whole(200, begun), refused) as server,
        Operations(server.url, api_key="k-old", on_unauthorized=renew) as ops,
    ):
        task = await ops.submit("/videos", {"prompt": "a cat"}, idempotency_key="work-7")
        assert (task.id, task.status, task.path) == ("t1", "queued", "/videos/t1")
        first, second = server.requests
        assert first.body == second.body
        assert [r.headers["idempotency-key"] for r in server.requests] == ["work-7"] * 2
        keys = [r.headers["authorization"] for r in server.requests]
        assert keys == ["Bearer k-old", "Bearer k-new"]
        error = await failure_of(ops.look(task))
        assert (error.status, error.task_id, error.outcome_unknown) == (401, "t1", False)
        assert len(renewed) == 2
        assert len(server.requests) == 4


@pytest.mark.parametrize("key", ["", "two words", "é", "x" * 256, None])
async def test_a_submission_needs_a_name_of_its_own(key: Any) -> None:
    async with Operations("http://127.0.0.1:9/v1") as ops:
        with pytest.raises(InvalidOptions, match="idempotency_key"):
            await ops.submit("/videos", {}, idempotency_key=key)


@pytest.mark.parametrize(
    ("states", "limits", "reason", "polls"),
    [
        (["in_progress", "completed"], {}, "terminal", 2),
        (["failed"], {}, "terminal", 1),
        (["in_progress"], {"max_polls": 3}, "poll_limit", 3),
        (["in_progress"], {"timeout_s": 7.0}, "timeout", 3),
    ],
)
async def test_a_wait_ends_with_its_reason(
    states: list[str], limits: dict[str, Any], reason: str, polls: int
) -> None:
    replies = [whole(200, {"id": "t1", "status": state}) for state in ["queued", *states]]
    clock = Clock()
    async with (
        serving(*replies) as server,
        Operations(server.url, sleep=clock.sleep, clock_s=clock) as ops,
    ):
        task = await ops.submit("/videos", {}, idempotency_key="k")
        waited = await ops.wait(task, **limits)
        assert (waited.reason, len(server.requests) - 1) == (reason, polls)
        assert waited.task.status == states[-1]


@pytest.mark.parametrize("limit", [{"timeout_s": 0}, {"max_polls": "x"}, {"every_s": -1}])
async def test_a_limit_of_a_wait_that_is_none_is_named(limit: dict[str, Any]) -> None:
    [(name, value)] = limit.items()
    async with Operations("http://127.0.0.1:9", api_key="k") as ops:
        with pytest.raises(InvalidOptions, match=f"{name}={value!r}"):
            await ops.wait(Task("t", "queued", "/videos/t", {}), **limit)


async def test_an_error_says_whether_it_may_have_been_done_and_shows_no_key() -> None:
    echo = {"error": {"message": "no k-secret-123", "code": "busy"}}
    elsewhere = [head(307, "location: http://127.0.0.1:9/x", "content-length: 0")]
    replies: list[Reply] = [whole(503, echo), [Drop()], whole(400, echo), elsewhere]
    async with serving(*replies) as server, Operations(server.url, api_key="k-secret-123") as ops:
        errors = [await failure_of(ops.embeddings(["a"], model="e")) for _ in replies]
    assert [(e.status, e.outcome_unknown) for e in errors] == [
        (503, True),
        (None, True),
        (400, False),
        (307, False),
    ]
    assert errors[0].code == "operation_failed"
    assert errors[0].server_code == "busy"
    assert not [e for e in errors if "k-secret" in f"{e!r}{e}{e.__context__!r}{e.__cause__!r}"]
    async with Operations("http://127.0.0.1:9/v1") as ops:
        assert not (await failure_of(ops.embeddings(["a"], model="e"))).outcome_unknown

"""Stop ends a request at once: it is no error, and nothing stays open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from agent_widget.providers.base import TextChunk
from agent_widget.providers.openai_chat import OpenAIChat

from .chat import DONE, asking, delta, events_of, text_of
from .rawserver import Hang, open_stream, serving, stream

pytestmark = pytest.mark.anyio
Make = Callable[..., OpenAIChat]

SLOW = open_stream(delta(content="par"), Hang())
ANSWER = stream(delta("stop", content="ok") + DONE)


async def outcome_when_stopped(task: asyncio.Task[object]) -> str:
    task.cancel()
    await asyncio.wait([task])
    return "cancelled" if task.cancelled() else repr(task.exception())


async def test_thirty_stops_leave_no_connection_and_a_new_request_works(chat_model: Make) -> None:
    async with serving(*[SLOW] * 30, ANSWER) as server:
        model = chat_model(server.url)
        for stopped in range(30):
            started = asyncio.Event()

            async def run(started: asyncio.Event = started) -> None:
                async for _ in model.stream(asking()):
                    started.set()

            task = asyncio.create_task(run())
            async with asyncio.timeout(10):
                await started.wait()
            assert await outcome_when_stopped(task) == "cancelled"
            await server.until(lambda: server.open_connections == 0)
            assert len(server.requests) == stopped + 1
        assert text_of(await events_of(model)) == "ok"


async def test_leaving_the_stream_closes_the_connection(chat_model: Make) -> None:
    async with serving(SLOW, ANSWER) as server:
        model = chat_model(server.url)
        answer = model.stream(asking())
        assert await anext(answer) == TextChunk("par")
        await answer.aclose()
        await server.until(lambda: server.open_connections == 0)
        assert text_of(await events_of(model)) == "ok"


async def test_a_stop_before_the_answer_begins_is_no_error(chat_model: Make) -> None:
    async with serving([Hang()], ANSWER) as server:
        model = chat_model(server.url)
        task = asyncio.create_task(events_of(model))
        await server.until(lambda: len(server.requests) == 1)
        assert await outcome_when_stopped(task) == "cancelled"
        await server.until(lambda: server.open_connections == 0)
        assert text_of(await events_of(model)) == "ok"


async def test_a_stop_while_connecting_is_no_error(chat_model: Make) -> None:
    connected = asyncio.Event()
    gone = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.set()
        while await reader.read(1024):
            pass
        writer.close()
        gone.set()

    listener = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        # The handshake never ends, so the connection is never there.
        task = asyncio.create_task(events_of(chat_model(f"https://127.0.0.1:{port}")))
        async with asyncio.timeout(10):
            await connected.wait()
            assert await outcome_when_stopped(task) == "cancelled"
            await gone.wait()


async def test_a_stop_while_the_key_is_fetched_is_no_error(chat_model: Make) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def key() -> str:
        loop.call_soon_threadsafe(asked.set)
        return asyncio.run_coroutine_threadsafe(never(), loop).result()

    async def never() -> str:
        await released.wait()
        return "key"

    released = asyncio.Event()
    task = asyncio.create_task(events_of(chat_model("http://127.0.0.1:1", api_key=key)))
    async with asyncio.timeout(10):
        await asked.wait()
        assert await outcome_when_stopped(task) == "cancelled"
    released.set()

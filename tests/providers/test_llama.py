"""llama.cpp's own server with a real model: what it streams is read, and a call comes back.

``make test-llama``: LLAMA_URL names a server that runs, or LLAMA_MODEL a GGUF file for
``llama-server``. A small model that calls tools is enough.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from agent_widget import create_session, tool
from agent_widget.providers.catalog import resolve_model

START_S = 120.0
URL, MODEL = os.environ.get("LLAMA_URL"), os.environ.get("LLAMA_MODEL")
SERVER = shutil.which("llama-server")

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        not URL and not (MODEL and SERVER),
        reason="needs LLAMA_URL, or LLAMA_MODEL and llama-server on the PATH",
    ),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if URL:
        yield URL
        return
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [str(SERVER), "-m", str(MODEL), "--port", str(port), "--jinja", "-c", "8192"]
    log = Path(tmp_path_factory.mktemp("llama"), "log")
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            until_healthy(f"http://127.0.0.1:{port}/health", process, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end_s = time.monotonic() + START_S
    while time.monotonic() < end_s and process.poll() is None:
        try:
            if httpx.get(url).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(f"llama-server did not start: {log.read_text(errors='replace')[-2000:]}")


async def test_it_lists_its_model_answers_counts_and_calls(url: str) -> None:
    ran: list[str] = []

    @tool(read_only=True)
    def weather(city: str) -> str:
        """The weather of a city right now."""
        ran.append(city)
        return "It is 21 degrees and sunny."

    listing = resolve_model("llama.cpp:any", base_url=url)
    names = await listing.list_models()  # type: ignore[attr-defined]
    await listing.aclose()
    assert names
    model = resolve_model(f"llama.cpp:{names[0]}", base_url=url)
    chat = await create_session(model, tools=[weather], notebook=False, workspace=None, agents=())
    try:
        result = await chat.ask("Call the tool weather for Oslo, then tell me what it said.")
        assert (result.reason, bool(result.text.strip())) == ("completed", True)
        assert any("oslo" in city.lower() for city in ran)
        usage = chat.view.usage
        assert usage.input_tokens > 0
        assert usage.output_tokens > 0
    finally:
        await chat.close()

"""Bad MCP servers beside good ones, whichever is there first: goal G8."""

from __future__ import annotations

import asyncio
import random
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from agent_widget.testing.doubles import Step, call, text

from .mcpchat import FOLDER, WAIT_S, chatting, listening, outputs, processes_with, raw

pytest.importorskip("mcp")
pytestmark = pytest.mark.anyio

ORDERS: Final = 20
MORE_BYTES: Final = 64 * 2**20


class Server(NamedTuple):
    """A server, a tool it has (none: it never is there), and its own name for that."""

    name: str
    mode: str
    tool: str | None = "work"
    original: str = "work"


BAD: Final = (
    Server("hangs", "hangs", None),
    Server("exits", "exits", None),
    Server("endless", "endless", None),
    Server("dies", "dies"),
    Server("noise", "noise"),
    Server("stderr", "stderr"),
    Server("names", "names", "x_y", "x/y"),
    Server("colliding", "colliding", "a_b", "a_b"),
    Server("changes", "changes"),
    Server("many", "many", "t007", "t007"),
    Server("schemas", "schemas", "plain", "plain"),
    Server("late", "late"),
)
ALIKE: Final = (
    Server("x", "nested", "y__work", "y__work"),
    Server("x__y", "plain"),
)
"""Their tools are called mcp__x__y__work and mcp__x_y__work."""


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """Where a server made with the SDK answers, for all sessions of a test."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    ledger = str(tmp_path / "good")
    command = [sys.executable, str(FOLDER / "good.py"), ledger, "http", str(port)]
    process = await listening(command, port)
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()


async def test_no_call_reaches_another_server_whatever_order_they_start_in(
    tmp_path: Path, address: str
) -> None:
    more_bytes = []
    for seed in range(ORDERS):
        servers = (*BAD[seed % 4 :: 4], *ALIKE)  # each bad one in five orders
        held_bytes = bytes_at_a_new_peak()
        await one_order(random.Random(seed), servers, address, tmp_path / f"ledger {seed}")
        more_bytes.append(memory_bytes("VmHWM") - held_bytes)
    assert processes_with(str(tmp_path / "ledger")) == []
    assert max(more_bytes) < MORE_BYTES


def bytes_at_a_new_peak() -> int:
    """The memory of this process, from which on its peak counts."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return memory_bytes("VmRSS")


def memory_bytes(name: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


async def one_order(
    rng: random.Random, servers: tuple[Server, ...], address: str, ledger: Path
) -> None:
    options: dict[str, Any] = {"good": {"url": address}}
    calls = [call("mcp__good__add", {"a": 20, "b": 1})]
    for number, server in enumerate(servers):
        options[server.name] = raw(
            server.mode,
            ledger,
            connect_timeout_s=0.3 if server.mode == "hangs" else WAIT_S,
            env={"READY_AFTER_S": str(rng.choice((0, 0.02, 0.05)))},
        )
        form = server.name.replace("__", "_")
        calls.append(call(f"mcp__{form}__{server.tool or 'work'}", {"n": number}))
    order = rng.sample(range(len(calls)), len(calls))
    script: list[Step] = [[calls[at] for at in order], [text("Done.")]]

    async with chatting(script, dict(rng.sample([*options.items()], len(options)))) as chat:
        seen = chat.view.servers
        assert (await chat.ask("go")).reason == "completed"
        total, *said = (text for _, text in sorted(zip(order, outputs(chat), strict=True)))
    assert (seen["good"].state, total) == ("connected", "21")
    calls_of = []
    for number, (server, answer) in enumerate(zip(servers, said, strict=True)):
        if server.tool is None:
            assert seen[server.name].state == "failed"
            assert seen[server.name].message
            assert not answer.startswith("did")
            continue
        assert seen[server.name].state == "connected"
        calls_of.append(f"{server.mode} call {server.original} {number}")
        if server.mode == "dies":
            assert "ended" in answer
        else:
            assert answer == f"did {server.original}"
    lines = (await asyncio.to_thread(ledger.read_text)).splitlines()
    lines = [line for line in lines if " call " in line]
    assert sorted(lines) == sorted(calls_of)

"""MCP servers beside a session: real ones made with the SDK, and ones that misbehave."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest

from agent_widget.core.errors import InvalidOptions, SessionError
from agent_widget.core.events import Event, McpDiscovered, ToolsChanged
from agent_widget.engine.extensions import ExtensionBindings
from agent_widget.policy.permission import Decision, Question
from agent_widget.surfaces.sdk import create_session
from agent_widget.testing.doubles import ScriptedModel, Step, call, text
from agent_widget.view.narrate import Narrator

from .mcpchat import (
    FOLDER,
    WAIT_S,
    Person,
    chatting,
    good,
    listening,
    outputs,
    processes_with,
    raw,
    settled,
    until,
    written,
)

pytest.importorskip("mcp")
pytestmark = pytest.mark.anyio


async def test_what_a_server_has_is_there_to_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "secret-of-the-kernel")
    names = {"names": ["MY_API_KEY", "DECLARED_KEY"]}

    def answers(question: Question) -> Any:
        if "Who are you?" not in question.text:
            return True
        return Decision("edit", args={"name": "Ann", "age": None})

    person = Person(answers)
    script: list[Step] = [
        [call("mcp__good__add", {"a": 1, "b": "x"})],
        [call("mcp__good__add", {"a": 1, "b": 2}), call("mcp__good__picture", {})],
        [call("mcp__good__variables", names), call("mcp__good__outside", {})],
        [call("mcp__good__greet", {})],
        [text("Done.")],
        [text("Summed up.")],
        [text("Read.")],
        [text("Read, too.")],
    ]
    monkeypatch.setenv("FROM_OUTSIDE", "declared-value")
    servers = {"good": good(tmp_path / "ledger", env={"DECLARED_KEY": "${FROM_OUTSIDE}"})}
    async with chatting(script, servers, person, workspace=tmp_path) as chat:
        assert chat.view.servers["good"].state == "connected"
        typed = {each.text: each.hint for each in chat.view.servers["good"].commands}
        assert typed == {
            "/mcp__good__summary": "<topic> [style] Sum something up.",
            "@good:note://a": "The note",
            "@good:note://of/{day}": "The note of a day",
        }
        assert (await chat.ask("go")).reason == "completed"
        bad, total, image, variables, outside, greeted = outputs(chat)
        assert "b: expected integer" in bad
        assert total == "3"
        assert image == "[image/png, shown to the user]"
        assert variables == "MY_API_KEY=None DECLARED_KEY=declared-value"
        assert tmp_path.as_uri() in outside
        assert "Sampling not supported" in outside
        assert greeted == "accept Who(name='Ann', age=3)"
        first = person.asked[0]
        assert first.text.startswith(
            "add of the MCP server good\nIts server says: Add two numbers."
        )
        assert first.rules == ("mcp__good__add",)

        await chat.ask('/mcp__good__summary "the data" in full')
        await chat.ask("What says @good:note://a?")
        await chat.ask("And @good:note://of/monday?")
        said = [
            message["parts"][0]["text"] for message in chat.messages() if message["role"] == "user"
        ]
        assert said[1:] == [
            "Sum up the data, in full.",
            "What says @good:note://a?",
            "@good:note://a\n\nwhat the note says",
            "And @good:note://of/monday?",
            "@good:note://of/monday\n\nwhat was noted on monday",
        ]
        with pytest.raises(SessionError, match="needs topic"):
            await chat.ask("/mcp__good__summary")
        with pytest.raises(SessionError, match="no command /mcp__good__nothing"):
            await chat.ask("/mcp__good__nothing")
    assert processes_with(str(tmp_path)) == []


async def test_stop_cancels_the_call_at_the_server(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    script: list[Step] = [[call("mcp__good__slow", {})]]
    async with chatting(script, {"good": good(ledger)}) as chat:
        run = await chat.send("go")
        await until(
            chat, lambda: any(c.progress == "1 of 2: half" for c in chat.view.live.values())
        )
        await chat.interrupt()
        assert (await run).reason == "interrupted"
        await written(ledger, "slow cancelled")


async def test_a_form_that_nobody_fills_in_is_declined(tmp_path: Path) -> None:
    person = Person(lambda question: "Who are you?" not in question.text)
    script: list[Step] = [[call("mcp__good__greet", {})], [text("Well.")]]
    async with chatting(script, {"good": good(tmp_path / "ledger")}, person) as chat:
        assert (await chat.ask("go")).reason == "completed"
        assert outputs(chat)[0].startswith("decline")
        assert chat.view.question is None


async def test_a_server_over_http_is_used_and_found_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    command = [sys.executable, str(FOLDER / "good.py"), str(tmp_path / "ledger"), "http", str(port)]
    process = await listening(command, port)
    script: list[Step] = [
        [call("mcp__web__add", {"a": 2, "b": 2})],
        [text("Four.")],
        [call("mcp__web__add", {"a": 3, "b": 3})],
        [call("mcp__web__add", {"a": 4, "b": 4})],
        [text("Eight.")],
    ]
    try:
        servers = {"web": {"url": f"http://127.0.0.1:{port}/mcp", "headers": {"X-Key": "k"}}}
        async with chatting(script, servers) as chat:
            await chat.ask("go")
            assert outputs(chat) == ["4"]
            process.kill()
            process.wait()
            process = await listening(command, port)
            assert (await chat.ask("again")).reason == "completed"
            assert outputs(chat)[-1] == "8"
    finally:
        process.kill()
        process.wait()


class Refusing(BaseHTTPRequestHandler):
    """An address that wants another key, and says which one it was given."""

    def do_POST(self) -> None:
        self.send_response(401, f"no {self.headers['X-Key']}")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


async def test_an_address_that_refuses_is_told_without_the_key() -> None:
    web = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{web.server_port}/mcp?token=sentinel-1"
    try:
        servers = {"web": {"url": url, "headers": {"X-Key": "sentinel-2"}}}
        async with chatting([], servers) as chat:
            why = chat.view.servers["web"].message or ""
            assert why.endswith("It answered with HTTP status 401. Check its headers.")
            configs = [server.config for server in chat.assembly._servers._servers.values()]  # type: ignore[union-attr]
            assert "sentinel" not in repr((chat.view, configs))
    finally:
        web.shutdown()
        web.server_close()


CALLED: Final = (
    "slow",
    "noise",
    "stderr",
    "names",
    "colliding",
    "dies",
    "mute",
    "many",
    "schemas",
    "huge",
    "late",
    "wrong",
    "floods",
    "hostile",
)
"""Those that start, if badly; each is called."""
NEVER_THERE: Final = ("hangs", "exits", "endless", "version", "listless", "absent")


async def test_bad_servers_harm_only_themselves(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    modes = (*CALLED, *NEVER_THERE)
    limits = {"hangs": 2, "listless": 2}
    servers: dict[str, Any] = {
        mode: raw(mode, ledger, connect_timeout_s=limits.get(mode, WAIT_S)) for mode in modes
    }
    servers["mute"]["timeout_s"] = 0.5
    servers["absent"] = {"command": "there-is-no-such-program"}
    servers["good"] = good(ledger)
    wanted = {mode: f"mcp__{mode}__work" for mode in CALLED} | {
        "names": "mcp__names__x_y",
        "colliding": "mcp__colliding__a_b",
        "many": "mcp__many__t007",
        "schemas": "mcp__schemas__loop",
        "hostile": "mcp__hostile__do___2Jit",
    }
    calls = [call(name, {}) for name in wanted.values()]
    script: list[Step] = [
        [*calls, call("mcp__good__add", {"a": 1, "b": 2})],
        [text("Done.")],
        [call("mcp__dies__work", {})],
        [text("Dead again.")],
    ]
    person = Person()
    async with chatting(script, servers, person) as chat:
        states = {name: server.state for name, server in chat.view.servers.items()}
        assert states == {
            **dict.fromkeys((*CALLED, "good"), "connected"),
            **dict.fromkeys(NEVER_THERE, "failed"),
        }
        why = {name: chat.view.servers[name].message or "" for name in NEVER_THERE}
        assert "not ready within 2 s" in why["hangs"]
        assert "exit code 1" in why["exits"]
        assert "no key was given" in why["exits"]
        assert "more than 8,388,608 bytes" in why["endless"]
        assert "1999-01-01" in why["version"]
        assert "no program 'there-is-no-such-program'" in why["absent"]
        told = {notice.message for notice in chat.view.notices}
        assert any("colliding" in text and "as 'a_b' is" in text for text in told)
        assert any("many" in text and "'vast': its definition has" in text for text in told)
        names = chat.driver.session.tools.names
        assert all(len(name) <= 64 and name.isascii() for name in names)
        assert "mcp__colliding__a_b" in names
        assert sum(name.startswith("mcp__many__") for name in names) < 128
        assert {"mcp__schemas__loop", "mcp__schemas__plain", "mcp__schemas__regex"} <= {*names}
        assert not {"mcp__schemas__root", "mcp__schemas__kind"} & {*names}

        assert (await chat.ask("go")).reason == "completed"
        results = dict(zip((*wanted, "good"), outputs(chat), strict=True))
        assert results["good"] == "3"
        for mode in ("slow", "noise", "stderr", "late", "floods"):
            assert results[mode] == "did work"
        assert results["names"] == "did x/y"
        assert "ended" in results["dies"]
        assert "did not answer within 0.5 s" in results["mute"]
        assert "refused" in results["wrong"]
        assert len(results["huge"]) < 100_000
        shown = "\n".join(question.text for question in person.asked)
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert (await chat.ask("again")).reason == "completed"
        assert "ended" in outputs(chat)[-1]
    lines = ledger.read_text().splitlines()
    assert lines.count("dies start") == 2
    assert lines.count("dies call work") == 2
    for mode in ("slow", "noise", "stderr", "late", "floods", "mute", "huge"):
        assert lines.count(f"{mode} call work") == 1
    assert lines.count("mute cancelled") == 1
    assert processes_with(str(ledger)) == []


async def test_a_server_that_is_still_starting_can_be_given_up(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    servers = {"hangs": raw("hangs", ledger), "good": good(ledger)}
    script: list[Step] = [[call("mcp__good__add", {"a": 1, "b": 2})], [text("Three.")]]
    chat = await create_session(
        ScriptedModel(script),
        ask_user=Person(),
        mcp_servers=servers,
        agents=(),
        notebook=False,
        workspace=None,
    )
    try:
        await until(
            chat, lambda: any(server.tool_count > 0 for server in chat.view.servers.values())
        )
        assert chat.view.servers["hangs"].state == "starting"
        session = chat.driver.session
        await chat.call(lambda _session: asyncio.sleep(0, session.context.stop_starting()))
        hangs = chat.view.servers["hangs"]
        assert (hangs.state, hangs.message) == ("failed", "It was ended.")
        assert chat.view.servers["good"].state == "connected"
        async with asyncio.timeout(4):  # nothing waits for it any more
            assert (await chat.ask("go")).text == "Three."
    finally:
        await chat.close()
    assert processes_with(str(tmp_path)) == []


async def test_a_program_that_is_killed_leaves_no_server_and_no_command(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    victim = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.extend.mcpvictim", str(tmp_path), str(ledger)),
        cwd=FOLDER.parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    assert victim.stdout is not None
    try:
        async with asyncio.timeout(WAIT_S):
            assert await victim.stdout.readline() == b"ready\n"
        assert len(processes_with(str(ledger))) >= 3  # itself, the server, the shell
    finally:
        victim.kill()
        await victim.wait()
    async with asyncio.timeout(WAIT_S):
        while processes_with(str(ledger)):  # noqa: ASYNC110  # of another program
            await asyncio.sleep(0.02)


async def test_a_changed_definition_asks_again(tmp_path: Path) -> None:
    person = Person(lambda _question: "allow_session")
    script: list[Step] = [
        [call("mcp__changes__work", {})],
        [text("One.")],
        [call("mcp__changes__work", {})],
        [text("Two.")],
        [call("mcp__changes__work", {})],
        [text("Three.")],
    ]
    permission = {"rules": {"allow": ["mcp__changes__work"]}}
    servers = {"changes": raw("changes", tmp_path / "ledger")}
    async with chatting(script, servers, person, permission=permission) as chat:
        seen: list[Event] = []
        chat.subscribe(lambda event, _view: seen.append(event))
        for count in (1, 2):
            await chat.ask("go")
            await until(chat, lambda n=count: kinds(seen, ToolsChanged) == n)  # type: ignore[misc]
        assert [question.reason for question in person.asked] == [
            "Its definition is not the one that was allowed: its server has changed it."
        ]
        assert "Version 1." in person.asked[0].text
        assert outputs(chat) == ["did work", "did work"]
        narrator = Narrator()
        said = [narrator.line(event) for event in seen if isinstance(event, McpDiscovered)]
        assert said == ["MCP server changes has 1 tool"] * 2


async def test_a_server_of_the_protocol_of_2026_is_heard_when_its_tools_change(
    tmp_path: Path,
) -> None:
    ledger = tmp_path / "ledger"
    command = [sys.executable, str(FOLDER / "modern.py"), str(ledger)]
    script: list[Step] = [
        [call("mcp__new__learn", {"name": "sing"})],
        [text("Learned.")],
        [call("mcp__new__sing", {})],
        [text("Sung.")],
        [call("mcp__new__learn", {"name": "dance", "hang_up": True})],
        [text("Learned.")],
    ]
    servers = {"new": {"command": command[0], "args": command[1:]}}
    async with chatting(script, servers) as chat:
        assert chat.view.servers["new"].message is None
        await chat.ask("learn to sing")
        await until(chat, lambda: "mcp__new__sing" in chat.driver.session.tools.names)
        await chat.ask("sing")
        assert outputs(chat) == ["learned sing", "did sing"]
        await chat.ask("learn to dance")
        await until(chat, lambda: "mcp__new__dance" in chat.driver.session.tools.names)
    assert ledger.read_text() == "refused initialize\n"


async def test_a_host_that_binds_itself_hears_what_a_server_has_by_now(tmp_path: Path) -> None:
    async with chatting([], {"silent": raw("silent", tmp_path / "ledger")}) as chat:
        seen: list[Event] = []
        chat.subscribe(lambda event, _view: seen.append(event))
        await chat.call(lambda session: session.extensions.bind(ExtensionBindings()))
        await until(chat, lambda: kinds(seen, ToolsChanged) == 1)
        assert kinds(seen, McpDiscovered) == 1


def kinds(events: list[Event], kind: type[Event]) -> int:
    return sum(isinstance(event, kind) for event in events)


async def test_servers_of_a_project_wait_for_trust(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    script = tmp_path / "server.py"
    script.write_text((FOLDER / "raw.py").read_text(), encoding="utf-8")
    listed = {
        "noise": {"command": sys.executable, "args": ["server.py", "noise", str(ledger)]},
        "bad": {"command": "x", "comand": "y"},
        "unset": {"command": "${THERE_IS_NO_SUCH_VARIABLE}"},
    }
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": listed}), encoding="utf-8")
    warnings: list[Any] = []
    options: dict[str, Any] = {"workspace": tmp_path, "on_warning": warnings.append}
    async with chatting([], None, **options) as chat:
        assert chat.view.servers == {}
    assert not ledger.exists()
    (warning,) = warnings
    assert "MCP server noise in .mcp.json" in warning.message

    trusted = {**options, "trust_project_hooks": warning.detail["fingerprint"]}
    async with chatting([], None, **trusted) as chat:
        await until(chat, lambda: len(chat.view.servers) == 2 and settled(chat, 2))
        assert chat.view.servers["noise"].state == "connected"
        needed = chat.view.servers["unset"].message or ""
        assert ".mcp.json['unset'].command needs the environment variable" in needed
        told = [notice.message for notice in chat.view.notices]
        assert any(".mcp.json['bad'] has no key 'comand'. Did you mean command?" in t for t in told)

    script.write_text("print('something else')", encoding="utf-8")
    async with chatting([], None, **trusted) as chat:
        assert chat.view.servers == {}


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ([], "is no mapping"),
        ({"a": {}}, "needs either a command or a url"),
        ({"a": {"command": "x", "url": "http://y"}}, "needs either a command or a url"),
        ({"a": {"command": "x", "args": "y"}}, "expected a list of texts"),
        ({"a": {"url": "ftp://x"}}, "expected http"),
        ({"a": {"url": "http://x", "type": "sse"}}, "no longer spoken"),
        ({"a": {"command": "x", "timeout_s": 0}}, "a number above 0"),
        ({"a b": {"command": "x"}, "a.b": {"command": "x"}}, "would both be called 'a_b'"),
        ({"!": {"command": "x"}}, "no name for an MCP server"),
    ],
)
async def test_what_cannot_work_is_refused_at_construction(servers: Any, said: str) -> None:
    with pytest.raises(InvalidOptions, match=said):
        await create_session(ScriptedModel([]), mcp_servers=servers)

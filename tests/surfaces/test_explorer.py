"""The explorer without a page: what it follows, what it reads, what it prints and saves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_widget import AgentWidget, SessionError, SessionExplorer, tool
from agent_widget.core.errors import InvalidOptions
from agent_widget.core.eventwire import event_to_wire
from agent_widget.core.wire import state_to_wire
from agent_widget.testing.doubles import ScriptedModel, Step, call, text

LIVE = """\
SessionExplorer · scripted · 10 changes · idle
event                      actions        session           calls
input.received             send           idle → streaming
msg.block.start            message-start  streaming
msg.text.delta             text-delta     streaming
tool.proposed              tool-call      streaming         change: running
tool.permission.requested  toolPhase      streaming         change: running → awaiting-confirmation
tool.permission.decided    toolPhase      streaming         change: awaiting-confirmation → running
tool.completed             tool-result    streaming         change: running → done
msg.block.start            message-start  streaming
msg.text.delta             text-delta     streaming
turn.completed             finish         streaming → idle"""

DENIED = """\
What if · tool.permission.decided · deny · 4 changes · idle
event                    actions                session           calls
tool.permission.decided  toolPhase, tool-error  streaming         DENIED
msg.block.start          message-start          streaming
msg.text.delta           text-delta             streaming
turn.completed           finish                 streaming → idle""".replace(
    "DENIED", "change: awaiting-confirmation → cancelled"
)


@tool
def change(name: str) -> str:
    """Change something."""
    return f"changed {name}"


def chat_in(store: Path | None = None) -> AgentWidget:
    """A chat that a person lets change something, once."""
    script: list[Step] = [
        [text("I "), text("change it."), call("change", {"name": "x"})],
        [text("Done.")],
    ]
    return AgentWidget(
        ScriptedModel(script),
        tools=[change],
        notebook=False,
        workspace=None,
        agents=(),
        system="Be brief.",
        ask_user=lambda _question: True,
        store=store,
        session_id="lesson",
    )


class Page:
    """The page of an explorer: what it is sent."""

    def __init__(self, explorer: SessionExplorer) -> None:
        self.messages: list[dict[str, Any]] = []
        explorer.send = self.messages.append

    def await_message(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            for message in [*self.messages]:
                if found(message):
                    return message
            time.sleep(0.005)
        raise AssertionError(self.messages)


def test_it_follows_a_running_chat_prints_a_stable_table_and_reads_the_same_from_files(
    tmp_path: Path,
) -> None:
    with chat_in(tmp_path / "chats") as chat:
        explorer = SessionExplorer(chat)
        events: list[Any] = []
        chat._driver.session.subscribe(lambda event, _view: events.append(event_to_wire(event)))
        chat.ask("Change x.")
        assert repr(explorer) == LIVE
        assert explorer._repr_mimebundle_()[0]["text/plain"] == LIVE
        late = SessionExplorer(chat)  # it reads what was
        assert late.steps[-1].state == explorer.steps[-1].state == chat.state
        explorer.close()
        late.close()
    stored = LIVE.replace("scripted · 10", "NAME · 8").splitlines()
    del stored[6:8]  # a journal has no question; so its answer changes nothing
    file = tmp_path / "chats" / "lesson" / "records.jsonl"
    for source, name in ((file, "records.jsonl"), (file.parent, "records.jsonl")):
        rows = repr(SessionExplorer(source)).splitlines()
        assert [row.split() for row in rows] == [
            row.replace("NAME", name).split() for row in stored
        ]
    by_id = SessionExplorer(str(tmp_path / "chats"), session_id="lesson")
    assert by_id.steps[-1].state == chat.state
    told = tmp_path / "events.jsonl"
    told.write_text("\n".join(json.dumps(event) for event in events), "utf-8")
    assert SessionExplorer(str(told)).steps[-1].state == chat.state


def test_requests_are_those_that_were_sent(tmp_path: Path) -> None:
    with chat_in() as chat:
        explorer = SessionExplorer(chat)
        chat.ask("Change x.")
        wire = explorer.get_state()["frames"]["requests"]
        sent = chat.session.model.requests  # type: ignore[attr-defined]
        assert [row["exact"] for row in wire["rows"]] == [True, True]
        assert wire["systems"] == ["Be brief."]
        assert [tool["name"] for tool in wire["toolsets"][0]] == [t.name for t in sent[0].tools]
        for row, request in zip(explorer.frames.timeline.requests, sent, strict=True):
            assert row.messages == request.messages
        explorer.close()


def test_a_page_gets_what_is_new_and_another_fold_without_touching_the_session() -> None:
    with chat_in() as chat:
        explorer = SessionExplorer(chat)
        page = Page(explorer)
        explorer._on_msg(explorer, {"kind": "hello", "have": 0}, [])
        page.await_message(lambda message: message["kind"] == "welcome")
        chat.ask("Change x.")
        count = len(explorer.steps)
        page.await_message(lambda m: m["kind"] == "steps" and m["from"] + len(m["steps"]) == count)
        before = state_to_wire(chat.state)
        decided = next(
            index
            for index, step in enumerate(explorer.steps)
            if step.event.type == "tool.permission.decided"
        )
        lane = explorer.what_if(decided, {"kind": "deny", "reason": "no"})
        assert lane["first"] == decided
        assert lane["answered"] is not None
        assert explorer.get_state()["lane"] == lane
        assert repr(explorer) == f"{LIVE}\n\n{DENIED}"
        assert state_to_wire(chat.state) == before
        broken = {"kind": "actions", "actions": [{"type": "jump"}]}
        explorer._on_msg(explorer, {"kind": "what_if", "at": 0, "change": broken}, [])
        refused = page.await_message(lambda message: message["kind"] == "refused")
        assert "no action: 'jump'" in refused["message"]
        assert explorer.what_if(0, None) == {}
        assert repr(explorer) == LIVE
        explorer.close()


def test_long_sessions_stay_small_enough_to_be_saved() -> None:
    rounds = 40
    script: list[Step] = []
    for number in range(rounds):
        script.append([text("Let me look. " * 16), call("change", {"name": f"x{number}"})])
        script.append([text("That is what I found, in some detail. " * 20)])
    chat = AgentWidget(
        ScriptedModel(script), tools=[change], notebook=False, workspace=None, ask_user=lambda _: 1
    )
    with chat:
        for number in range(rounds):
            chat.ask(f"Question {number}?")
        explorer = SessionExplorer(chat)
        live = len(explorer.steps)
        assert live > 500
        assert len(json.dumps(explorer.get_state()["frames"])) < 500_000
        explorer.close()


def test_what_cannot_be_explored_says_what_can(tmp_path: Path) -> None:
    with pytest.raises(InvalidOptions, match=r"nothing to explore.*Pass an AgentWidget"):
        SessionExplorer(7)
    with pytest.raises(InvalidOptions, match="There is no file"):
        SessionExplorer(tmp_path / "none.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"type": "turn.started", "trigger": "send"}\n{"no": 1}\n', "utf-8")
    with pytest.raises(InvalidOptions, match=r"broken\.jsonl, line 2"):
        SessionExplorer(broken)
    with pytest.raises(SessionError) as caught:
        SessionExplorer(str(tmp_path), session_id="gone")
    assert caught.value.code == "session_not_found"

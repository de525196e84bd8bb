"""AgentWidget as its user types it, in a plain Python process."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_widget import Agent, AgentWidget, Judgement, Question, SessionError, tool
from agent_widget.core.errors import InvalidOptions
from agent_widget.engine.extensions import ExtensionBindings
from agent_widget.engine.runtime import engine_thread
from agent_widget.policy.hooks import python_hook
from agent_widget.surfaces.optionkinds import KINDS
from agent_widget.testing.doubles import Gate, ScriptedModel, Step, call, text
from agent_widget.view.schema import view_to_wire

Open = Callable[..., AgentWidget]


@pytest.fixture
def chat() -> Iterator[Open]:
    """Makes widgets and closes them at the end."""
    opened: list[AgentWidget] = []

    def make(*arguments: Any, **options: Any) -> AgentWidget:
        opened.append(AgentWidget(*arguments, **options))
        return opened[-1]

    yield make
    for widget in opened:
        widget.close()


@tool
def change(name: str) -> str:
    """Change something."""
    return f"changed {name}"


def test_ask_is_send_and_result_in_one(chat: Open) -> None:
    widget = chat(ScriptedModel([[text("Hello")], [text("Again")]]))
    result = widget.ask("hi", timeout_s=10)
    assert (result.ok, result.text) == (True, "Hello")
    assert repr(result) == "RunResult(completed, 'Hello')"
    run = widget.send("again")
    assert run.result(10).text == "Again"
    assert (run.done, repr(run)) == (True, "Run(completed)")
    assert [message.role for message in widget.messages] == ["user", "assistant"] * 2
    assert widget.state.status == "idle"


def test_a_run_can_be_awaited_on_the_callers_own_loop(chat: Open) -> None:
    widget = chat(ScriptedModel([[text("Hello")]]))

    async def main() -> str:
        return (await widget.send("hi")).text

    assert asyncio.run(main()) == "Hello"


def test_send_returns_at_once_and_stop_ends_the_run(chat: Open) -> None:
    gate = Gate()
    widget = chat(ScriptedModel([[text("one "), gate], [text("two")]]))
    run = widget.send("count")
    assert gate.reached.wait_blocking(10)
    assert (run.done, repr(run)) == (False, "Run(running)")
    with pytest.raises(TimeoutError):
        run.result(0.01)
    widget.stop()
    result = run.result(10)
    assert (result.reason, result.text) == ("interrupted", "one ")
    widget.stop()
    assert widget.retry().result(10).text == "two"


def test_input_during_a_run_raises_where_it_was_typed(chat: Open) -> None:
    gate = Gate()
    widget = chat(ScriptedModel([[gate, text("x")]]))
    run = widget.send("one")
    with pytest.raises(SessionError, match="takes no messages") as caught:
        widget.send("two")
    assert caught.value.code == "INPUT_BLOCKED"
    gate.open()
    assert run.result(10).ok


def test_a_widget_is_the_host_of_the_extensions_of_its_session(chat: Open) -> None:
    extensions = chat("offline").session.extensions
    bound = engine_thread().submit(lambda: extensions.bind(ExtensionBindings()))
    bound.result(60)  # it waits until the widget has bound itself, and takes nothing away
    assert extensions.mode == "widget"


def test_errors_do_not_raise_but_can(chat: Open) -> None:
    widget = chat("offline")
    result = widget.ask("fail 401", timeout_s=20)
    assert result.reason == "error"
    assert result.error is not None
    assert result.error.code == "chat_disabled"
    with pytest.raises(SessionError) as caught:
        result.raise_for_error()
    assert caught.value.code == "chat_disabled"


def test_ask_user_sees_the_question_and_decides(chat: Open) -> None:
    seen: list[Question] = []

    def decide(question: Question) -> bool:
        seen.append(question)
        return question.args == {"name": "a"}

    steps: list[Step] = [
        [call("change", {"name": "a"}), call("change", {"name": "b"})],
        [text("end")],
    ]
    widget = chat(ScriptedModel(steps), tools=[change], ask_user=decide)
    assert widget.ask("go", timeout_s=10).text == "end"
    assert [question.tool for question in seen] == ["change", "change"]
    assert [part.state for part in widget.messages[1].tool_calls] == ["done", "cancelled"]


def test_without_a_person_a_script_is_told_no_and_why(chat: Open) -> None:
    widget = chat(ScriptedModel([[call("change", {"name": "a"})], [text("end")]]), tools=[change])
    assert widget.ask("go", timeout_s=20).text == "end"
    assert [part.state for part in widget.messages[1].tool_calls] == ["error"]
    [notice] = widget.session.view.notices
    assert "ask_user" in notice.message


def test_plain_functions_are_tools_and_a_second_one_of_a_name_is_left_out(chat: Open) -> None:
    def list_variables(x: int) -> int:
        """Mine."""
        return x

    widget = chat(ScriptedModel([]), tools=[list_variables])
    names = widget.session.tools.names
    assert names[:3] == ("list_variables", "describe_variable", "run_python")
    assert widget.session.tools.get("list_variables").read_only  # type: ignore[union-attr]
    [notice] = widget.session.view.notices
    assert "two tools named 'list_variables'" in notice.message


def test_lists_of_names_choose_among_all_tools_and_the_system_text_names_only_these(
    chat: Open,
) -> None:
    model = ScriptedModel([[text("a")]])
    widget = chat(
        model,
        tools=[change],
        allow_tools=["run_python", "change", "read_file", "delegate_to_helper"],
        exclude_tools=["read_file", "nope"],
    )
    widget.ask("hi", timeout_s=10)
    [request] = model.requests
    assert [spec.name for spec in request.tools] == ["run_python", "change", "delegate_to_helper"]
    assert request.system is not None
    assert "run_python" in request.system
    assert "list_variables" not in request.system
    assert "bash" not in request.system
    [notice] = widget.session.view.notices
    assert "'nope'" in notice.message


def test_refreshed_tools_are_those_of_the_next_message(chat: Open) -> None:
    def fresh(x: int) -> int:
        """Fresh."""
        return x

    model = ScriptedModel([[text("a")], [text("b")]])
    widget = chat(model, tools=[change], notebook=False, workspace=None, agents=())
    widget.ask("one", timeout_s=10)
    with pytest.raises(InvalidOptions):
        widget.refresh_tools(["change"])  # type: ignore[list-item]
    widget.refresh_tools([fresh])
    widget.ask("two", timeout_s=10)
    names = [[spec.name for spec in request.tools] for request in model.requests]
    assert names == [["todo", "change"], ["todo", "fresh"]]


def test_agents_that_take_over_are_reached_by_a_tool_and_named_in_the_header(chat: Open) -> None:
    agent = Agent("sql", "Writes SQL.", handoff=True, model=ScriptedModel([[text("SELECT 1")]]))
    widget = chat(ScriptedModel([[call("transfer_to_sql")]]), agents=[agent])
    assert widget.ask("go", timeout_s=10).reason == "handoff"
    assert widget.session.view.model.label == "sql · scripted"
    assert widget.ask("a query", timeout_s=10).text == "SELECT 1"


@pytest.mark.parametrize(
    ("options", "is_used", "notices"),
    [
        ({}, True, []),
        ({"permission": {"mode": "deny_all"}}, False, ["adjudicator_skipped_by_mode"]),
        ({"permission": {"mode": "deny_all"}, "adjudicator": False}, False, []),
    ],
)
def test_the_adjudicator_of_a_deployment_judges_where_no_mode_is_chosen(
    chat: Open, monkeypatch: pytest.MonkeyPatch, options: Any, is_used: bool, notices: list[str]
) -> None:
    judged: list[object] = []

    def judge(asked: object) -> Judgement:
        judged.append(asked)
        return Judgement("safe")

    monkeypatch.setattr(AgentWidget, "host_adjudicator", judge)
    model = ScriptedModel([[call("change", {"name": "a"})], [text("end")]])
    widget = chat(model, tools=[change], **options)
    widget.ask("go", timeout_s=10)
    assert bool(judged) is is_used
    assert [part.state for part in widget.messages[1].tool_calls] == [
        "done" if is_used else "error"
    ]
    assert [notice.code for notice in widget.session.view.notices] == notices


def test_an_agent_has_its_own_model_by_name_and_plain_functions_as_tools(chat: Open) -> None:
    def weather(city: str) -> str:
        """Weather."""
        return city

    offline = Agent("talker", "Talks.", tools=[weather], model="offline")
    steps: list[Step] = [[call("delegate_to_talker", {"task": "what are you?"})], [text("end")]]
    widget = chat(ScriptedModel(steps), agents=[offline])
    assert widget.ask("go", timeout_s=20).ok
    assert "offline demo model" in str(widget.messages[1].tool_calls[0].output)
    with pytest.raises(InvalidOptions, match="'nosuch' names no known model"):
        AgentWidget(agents=[Agent("a", "b", model="nosuch")])


def test_code_runs_in_the_given_namespace(chat: Open) -> None:
    steps: list[Step] = [[call("run_python", {"code": "y = x + 1\ny"})], [text("end")]]
    namespace: dict[str, Any] = {"x": 41}
    widget = chat(ScriptedModel(steps), namespace=namespace, ask_user=lambda _q: True)
    widget.ask("go", timeout_s=20)
    assert namespace["y"] == 42
    assert "42" in str(widget.messages[1].tool_calls[0].output)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"model": "opnai:gpt"}, "opnai:gpt"),
        ({"model": "gpt-5"}, "gpt-5"),
        ({"model": 7}, "int"),
        ({"model": "openai:gpt-5"}, "OPENAI_API_KEY"),
        ({"model": "openai:x", "base_url": "localhost:8000"}, "localhost:8000"),
        ({"tools": [3]}, "3"),
        ({"tools": [lambda x: x]}, "lambda"),
        ({"ask_user": "yes"}, "yes"),
        *(({name: 2.5}, f"{name}=2.5 is") for name in KINDS if name != "bare"),
        ({"temprature": 1}, "temprature"),
    ],
)
def test_misuse_raises_at_construction_and_names_the_value(
    options: dict[str, Any], named: str
) -> None:
    with pytest.raises(InvalidOptions, match=named):
        AgentWidget(**options)


@pytest.mark.parametrize("said", [{"type": "x"}, 3, None, " "])
def test_what_is_no_message_is_named(chat: Open, said: Any) -> None:
    widget = chat(ScriptedModel([]))
    with pytest.raises(SessionError, match="A message must be text that is not blank"):
        widget.ask(said)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"permission": {"mode": "yolo"}}, "yolo"),
        ({"permission": {"rules": {"allow": ["bash("]}}}, r"bash\("),
        ({"permission": {"rules": {"allow": "bash"}}}, "bash"),
        ({"permission": {"rule": {}}}, "rule"),
        ({"permission": {"ask_user": bool}, "ask_user": bool}, "twice"),
        ({"permission": {"mode": "default"}, "adjudicator": bool}, "adjudicator"),
        ({"adjudicator": "safe"}, "'safe' is neither a function nor False. Pass a function"),
        ({"adjudicator": True}, "adjudicator=True"),
        ({"workspace": "/no/such/folder"}, "/no/such/folder"),
    ],
)
def test_permission_options_that_cannot_work_raise(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidOptions, match=named):
        AgentWidget(**options)


def test_rules_and_modes_decide_without_a_person_and_allow_all_stays_in_sight(
    chat: Open, tmp_path: Path
) -> None:
    lines = ["echo hi > .env", "sh -c 'cat .env' > made.txt", "for f in *.txt; do cp $f b; done"]
    steps: list[Step] = [[call("bash", {"command": line})] for line in lines]
    steps += [[call("read_file", {"path": ".env"})], [text("end")]]
    widget = chat(ScriptedModel(steps), permission={"mode": "allow_all"}, workspace=tmp_path)
    assert widget.ask("go", timeout_s=20).ok
    states = [part.state for message in widget.messages for part in message.tool_calls]
    assert states == ["done"] * 4
    assert (tmp_path / "b").read_text() == "hi\n"
    assert "allow_all" in str(widget.session.view.mode_warning)


def test_files_are_read_without_a_question_but_not_secrets(chat: Open, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("some notes")
    (tmp_path / ".env").write_text("KEY=SENTINEL")
    steps: list[Step] = [
        [call("read_file", {"path": "notes.txt"}), call("read_file", {"path": ".env"})],
        [text("end")],
    ]
    asked: list[Question] = []
    widget = chat(ScriptedModel(steps), workspace=tmp_path, ask_user=asked.append)
    widget.ask("go", timeout_s=20)
    first, second = widget.messages[1].tool_calls
    assert "some notes" in str(first.output)
    assert second.state == "cancelled"
    assert [question.args["path"] for question in asked] == [".env"]


def test_allow_rules_of_a_cloned_project_wait_and_are_told(chat: Open, tmp_path: Path) -> None:
    settings = tmp_path / ".agent_widget" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permission": {"rules": {"allow": ["bash(*)"]}}}')
    steps: list[Step] = [[call("bash", {"command": "touch made.txt"})], [text("end")]]
    widget = chat(ScriptedModel(steps), workspace=tmp_path, ask_user=lambda _q: False)
    widget.ask("go", timeout_s=20)
    assert not (tmp_path / "made.txt").exists()
    assert "bash(*)" in widget.session.view.notices[0].message


def test_the_plan_is_shown(chat: Open) -> None:
    items = [{"content": "Look", "status": "completed"}, {"content": "Plot", "status": "pending"}]
    widget = chat(ScriptedModel([[call("todo", {"items": items})], [text("end")]]))
    widget.ask("go", timeout_s=20)
    todos = [(todo.content, todo.status) for todo in widget.session.view.todos]
    assert todos == [("Look", "completed"), ("Plot", "pending")]


def test_the_mime_bundle_is_the_same_at_every_run(chat: Open) -> None:
    bundles = []
    for _ in range(2):
        widget = chat(ScriptedModel([[text("<b>Hello</b>")]]))
        widget.ask("hi", timeout_s=10)
        bundle = widget._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        bundles.append({kind: data[kind] for kind in ("text/plain", "text/markdown", "text/html")})
    assert bundles[0] == bundles[1]
    assert "Hello" in bundles[0]["text/plain"]
    assert "<b>" not in bundles[0]["text/html"]


def test_the_key_is_in_no_trait_and_no_repr(chat: Open) -> None:
    key = "SENTINEL-abcdefgh12345678"
    widget = chat("openai:gpt-5", api_key=key)
    state = {name: value for name, value in widget.get_state().items() if name != "_esm"}
    for shown in (state, widget, widget.session.model, vars(widget.session)):
        assert key not in repr(shown)


def test_a_closed_widget_says_so(chat: Open) -> None:
    widget = chat(ScriptedModel([[text("a")]]))
    widget.ask("hi", timeout_s=10)
    widget.close()
    widget.close()
    assert len(widget.messages) == 2
    with pytest.raises(SessionError, match="closed"):
        widget.send("more")


def test_a_closed_chat_is_closed_again_in_any_thread() -> None:
    widget = AgentWidget(ScriptedModel([]))
    widget.close()

    async def once_more() -> None:
        widget.close()

    engine_thread().submit(once_more).result(60)


def test_of_a_closed_chat_that_nobody_holds_nothing_is_kept() -> None:
    chats = []
    for _ in range(3):
        widget = AgentWidget(ScriptedModel([[text("Hello")]]), tools=[change])
        assert widget.ask("hi", timeout_s=20).ok
        widget.close()
        chats.append(weakref.ref(widget.session))
        del widget
    deadline_s = time.monotonic() + 60
    while any(chat() is not None for chat in chats):
        assert time.monotonic() < deadline_s, "a session is held by something"
        gc.collect()


def test_calling_the_widget_from_the_engines_thread_is_refused_not_hung(chat: Open) -> None:
    errors: list[str] = []

    @tool(read_only=True)
    async def recurse() -> str:
        """Call the chat from inside."""
        try:
            widgets[0].send("inner")
        except SessionError as error:
            errors.append(error.code)
        return "ok"

    widgets = [chat(ScriptedModel([[call("recurse")], [text("end")]]), tools=[recurse])]
    assert widgets[0].ask("go", timeout_s=10).ok
    assert errors == ["wrong_thread"]


def test_a_script_ends_though_a_chat_is_open_and_prints_no_errors() -> None:
    script = """
import threading, time
from agent_widget import AgentWidget
chat = AgentWidget("offline")
print(chat.ask("help").ok)
chat.send("count slowly to 500")
asked = threading.Event()
asking = AgentWidget("offline", ask_user=lambda question: asked.set() or time.sleep(600))
asking.send("run this code: 1 + 1")
asked.wait()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def notices(widget: AgentWidget) -> list[str]:
    return [notice.message for notice in widget.session.view.notices]


def test_what_waits_for_trust_in_a_project_is_told_once_in_a_kernel_and_again_when_it_changes(
    chat: Open, tmp_path: Path
) -> None:
    settings = tmp_path / ".agent_widget/settings.json"
    settings.parent.mkdir()
    told: list[bool] = []
    for command in ("true", "true", "false"):
        settings.write_text(json.dumps({"hooks": {"before_tool": [{"command": command}]}}))
        widget = chat(ScriptedModel([]), workspace=tmp_path)
        told.append(any("is not trusted" in text for text in notices(widget)))
    assert told == [True, False, True]


def test_rules_of_code_that_name_no_tool_are_told(chat: Open) -> None:
    rules = {"allow": ["run_pyton", "change", "bash(git status)"], "deny": ["run_*"]}
    widget = chat(ScriptedModel([]), tools=[change], permission={"rules": rules})
    [said] = notices(widget)
    assert "run_pyton" in said
    assert said.endswith("Did you mean run_python?")


def test_the_card_of_a_call_says_who_refused_it(chat: Open) -> None:
    hook = python_hook("before_tool", lambda _: {"decision": "deny", "reason": "Not today."})
    steps: list[Step] = [[call("change", {"name": "x"})], [text("Well.")]]
    refusals = []
    for options in ({"hooks": [hook]}, {"ask_user": lambda _: False}):
        widget = chat(ScriptedModel(steps), tools=[change], **options)
        widget.ask("go", timeout_s=10)
        [part] = view_to_wire(widget.session.view)["messages"]["items"][1]["parts"]
        assert part["type"] == "tool"
        refusals.append(part["refusal"])
        assert part["error"] is not None
    assert refusals == ["blocked", "denied"]

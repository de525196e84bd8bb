"""What settings declare as hooks, and what their answers mean: in doubt, a guard blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.policy.hooks import (
    EVENTS,
    MAX_HOOKS,
    Address,
    Command,
    Hook,
    Unreadable,
    hooks_of_settings,
    python_hook,
    verdict_on,
    verdict_on_output,
)


def read(hooks: object) -> tuple[tuple[Hook, ...], list[str]]:
    found, problems = hooks_of_settings(json.dumps({"hooks": hooks}), "mine")
    return found, [str(problem) for problem in problems]


def entry(**changed: Any) -> dict[str, list[dict[str, Any]]]:
    return {"before_tool": [{"command": "guard", **changed}]}


def test_hooks_are_read_in_their_order_with_all_that_they_say() -> None:
    found, problems = read(
        {
            "before_tool": [
                {"command": "./guard.sh", "match": "bash|write_*", "timeout_s": 3},
                {"url": "https://example.org/hook?key=abc", "advisory": True},
            ],
            "after_run": [{"command": "notify"}],
        }
    )
    assert problems == []
    assert found == (
        Hook(
            event="before_tool",
            action=Command("./guard.sh"),
            name="./guard.sh",
            origin="mine: hooks.before_tool[0]",
            is_guard=True,
            match=("bash", "write_*"),
            timeout_s=3,
        ),
        Hook(
            event="before_tool",
            action=Address("https://example.org/hook?key=abc"),
            name="https://example.org/hook",
            origin="mine: hooks.before_tool[1]",
            is_guard=False,
        ),
        Hook(
            event="after_run",
            action=Command("notify"),
            name="notify",
            origin="mine: hooks.after_run[0]",
            is_guard=False,
        ),
    )
    assert [hook.is_for("write_file") for hook in found] == [True, True, True]
    assert [hook.is_for("read_file") for hook in found] == [False, True, True]


def test_only_what_comes_before_something_can_guard_it() -> None:
    found, problems = read({event: [{"command": "x"}] for event in EVENTS})
    assert problems == []
    guards = {hook.event for hook in found if hook.is_guard}
    befores = {"run", "model", "tool", "tree", "compaction"}
    assert guards == {f"before_{what}" for what in befores}


MALFORMED: list[tuple[Any, str]] = [
    (entry(command=""), "command is not text"),
    (entry(command=["rm"]), "command is not text"),
    (entry(command="a\u202eb"), "invisible"),
    (entry(command="a\0b"), "invisible"),
    (entry(command="x" * 3_000), "longer than"),
    (entry(url="http://a/"), "either a command or a url"),
    ({"before_tool": [{}]}, "either a command or a url"),
    ({"before_tool": [{"url": "ftp://a/"}]}, "no address"),
    ({"before_tool": [{"url": "http://"}]}, "no address"),
    ({"before_tool": [{"url": "http://[::1/"}]}, "no address"),
    ({"before_tool": [{"url": "http://user:pw@a/"}]}, "user name or a password"),
    ({"before_tool": ["guard"]}, "not an object but str"),
    ({"before_tool": {"command": "guard"}}, "not a list"),
    ({"before_tool": [{"command": "x"}] * (MAX_HOOKS + 1)}, "more than"),
    (entry(comand="x"), "unknown key 'comand'"),
    (entry(match=""), "match=''"),
    (entry(match=["bash"]), "match=['bash']"),
    (entry(match="bash("), "match='bash('"),
    (entry(timeout_s=0), "timeout_s=0"),
    (entry(timeout_s=True), "timeout_s=True"),
    (entry(timeout_s="5"), "timeout_s='5'"),
    (entry(timeout_s=float("nan")), "timeout_s=nan"),
    (entry(timeout_s=1e9), "timeout_s=1000000000.0"),
    (entry(advisory="yes"), "advisory='yes'"),
    ({"before_tol": [{"command": "x"}]}, "no event"),
    ([], "not an object but list"),
]


@pytest.mark.parametrize(("hooks", "said"), MALFORMED)
def test_what_cannot_be_read_is_told_and_never_runs_and_blocks(hooks: Any, said: str) -> None:
    [blocker], [problem] = read(hooks)
    assert isinstance(blocker.action, Unreadable)
    assert (blocker.event, blocker.is_guard) == ("before_tool", True)
    assert said in problem
    assert "mine: hooks" in problem
    assert "user:pw" not in problem


@pytest.mark.parametrize(
    "hooks",
    [
        {"before_tool": [{"command": "", "advisory": True}]},
        {"after_tool": [{"command": ""}]},
        {"after_tool": [{"command": "x", "advisory": False}]},
        {"after_run": [{"command": "x", "match": "bash"}]},
    ],
)
def test_what_cannot_be_read_and_could_block_nothing_is_told(hooks: Any) -> None:
    found, problems = read(hooks)
    assert found == ()
    assert len(problems) == 1


def test_one_bad_entry_leaves_the_others_and_blocks_what_it_was_for() -> None:
    found, problems = read(
        {"before_tool": [{"command": "a"}, {"command": "", "match": "bash"}, {"command": "c"}]}
    )
    assert [hook.name for hook in found] == ["a", "mine: hooks.before_tool[1]", "c"]
    assert [found[1].is_for(tool) for tool in ("bash", "read_file")] == [True, False]
    assert len(problems) == 1


@pytest.mark.parametrize("settings", ["", "{", "[]", b"\xff", '{"hooks": {}, "hooks": {}}'])
def test_settings_that_cannot_be_read_block_every_tool(settings: str | bytes) -> None:
    [blocker], [problem] = hooks_of_settings(settings, "mine")
    assert isinstance(blocker.action, Unreadable)
    assert blocker.is_for("anything")
    assert "mine" in str(problem)


def test_settings_without_hooks_have_none() -> None:
    assert hooks_of_settings("{}", "mine") == ((), ())


ANSWERS: list[tuple[bytes, str, str]] = [
    (b"", "allow", ""),
    (b" \n", "allow", ""),
    (b'{"decision": "allow"}\n', "allow", ""),
    (b'{"decision": "allow", "reason": "fine"}', "allow", "fine"),
    (b'{"decision": "deny", "reason": "no\\u202e\\nway"}', "deny", "no\\u202e way"),
    (b'{"decision": "deny", "args": {}}', "deny", ""),
    (b"not json", "failed", "'not json'"),
    (b'{"decision": "denyy"}', "failed", "'denyy'"),
    (b'{"decision": "allow", "decision": "deny"}', "failed", "twice"),
    (b'{"decision": ["allow"]}', "failed", "['allow']"),
    (b"{}", "failed", "'None'"),
    (b"[]", "failed", "object"),
    (b"null", "failed", "object"),
    (b"true", "failed", "object"),
    (b'{"decision": "allow"} {}', "failed", "no JSON"),
    (b'{"decision": "allow", "arg": {}}', "failed", "'arg'"),
    (b'{"decision": "allow", "args": []}', "failed", "not an object"),
    (b'{"decision": "deny", "reason": 1}', "failed", "int"),
    (b"\xff", "failed", "UTF-8"),
    (b"[" * 100_000, "failed", "no answer"),
]


@pytest.mark.parametrize(("output", "outcome", "said"), ANSWERS)
def test_only_silence_and_a_proper_answer_allow(output: bytes, outcome: str, said: str) -> None:
    verdict = verdict_on_output(output, "before_tool")
    assert verdict.outcome == outcome
    assert said in verdict.reason


def test_arguments_can_be_changed_before_a_call_and_nowhere_else() -> None:
    answer = {"decision": "allow", "args": {"command": "ls"}}
    assert verdict_on(answer, "before_tool").args == {"command": "ls"}
    assert verdict_on(answer, "before_model").outcome == "failed"


def test_a_function_is_a_hook_like_any_other() -> None:
    def guard(happening: Mapping[str, object]) -> None:
        assert happening

    hook = python_hook("before_tool", guard, match="bash", timeout_s=2)
    assert (hook.is_guard, hook.match, hook.timeout_s) == (True, ("bash",), 2)
    assert hook.name.endswith("guard")
    assert not python_hook("before_tool", guard, advisory=True).is_guard


@pytest.mark.parametrize(
    "options",
    [{"event": "before_lunch"}, {"function": 1}, {"match": "b("}, {"timeout_s": 0}],
)
def test_a_wrong_hook_in_code_raises_where_it_is_made(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOptions):
        python_hook(**{"event": "before_tool", "function": print, **options})

"""Rows 5 to 8 of the decision flow, for every kind of argument."""

from __future__ import annotations

import itertools

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.policy.decision import ruling_on
from agent_widget.policy.options import (
    MODES,
    Call,
    Kind,
    Mode,
    PermissionOptions,
    Verdict,
    default_dialect,
    permission_options,
)
from agent_widget.policy.rules import EVERYTHING_ASKS, Rules, Target, rules_of
from tests.policy.support import MadePaths, ruling

MODE_TABLE: dict[Mode, dict[Kind, Verdict]] = {
    "default": {"read": "allow", "edit": "ask", "execute": "ask", "network": "ask", "other": "ask"},
    "accept_edits": {
        "read": "allow",
        "edit": "allow",
        "execute": "ask",
        "network": "ask",
        "other": "ask",
    },
    "plan": {
        "read": "allow",
        "edit": "deny",
        "execute": "deny",
        "network": "deny",
        "other": "deny",
    },
    "allow_all": dict.fromkeys(("read", "edit", "execute", "network", "other"), "allow"),
    "deny_all": dict.fromkeys(("read", "edit", "execute", "network", "other"), "deny"),
}


def decided(call: Call, **options: object) -> tuple[Verdict, str, str | None]:
    given = ruling_on(call, PermissionOptions(**options), MadePaths())  # type: ignore[arg-type]
    assert given.reason
    return given.verdict, given.source, given.matched_rule


def test_row_8_the_mode_decides_by_the_kind_of_the_tool() -> None:
    for mode, kinds in MODE_TABLE.items():
        for kind, expected in kinds.items():
            call = Call(tool="weather", args={}, kind=kind)
            assert decided(call, mode=mode) == (expected, "mode", None), (mode, kind)
    assert set(MODE_TABLE) == set(MODES)


def test_no_mode_is_default() -> None:
    assert decided(Call(tool="x", kind="other")) == ("ask", "mode", None)
    assert PermissionOptions().mode is None
    assert PermissionOptions().effective_mode == "default"


CALLS = [
    (Call(tool="weather", args={"city": "Oslo"}), "weather(city=Oslo)"),
    (Call(tool="bash", args={"command": "git push"}, kind="execute"), "bash(git *)"),
    (Call(tool="write_file", args={"path": "a/b"}, kind="edit"), "write(a/**)"),
    (Call(tool="read_file", args={"path": "a/b"}, kind="read"), "read_file(a/*)"),
    (Call(tool="fetch_url", args={"url": "https://a.example.org/x"}), "fetch_url(*.example.org)"),
]


@pytest.mark.parametrize(("call", "rule"), CALLS)
@pytest.mark.parametrize("mode", MODES)
def test_rows_5_to_7_deny_beats_ask_beats_allow_in_every_mode(
    call: Call, rule: str, mode: Mode
) -> None:
    kinds = ("allow", "ask", "deny")
    for count in (1, 2, 3):
        for chosen in itertools.combinations(kinds, count):
            rules = rules_of(**{kind: [rule, "other(a=b)"] for kind in chosen})  # type: ignore[arg-type]
            strongest = max(chosen, key=kinds.index)
            assert decided(call, rules=rules, mode=mode) == (strongest, "rule", rule)


@pytest.mark.parametrize(("call", "rule"), CALLS)
def test_a_rule_without_a_pattern_covers_every_call(call: Call, rule: str) -> None:
    for verdict in ("deny", "ask", "allow"):
        rules = rules_of(**{verdict: [call.tool]})  # type: ignore[arg-type]
        assert decided(call, rules=rules) == (verdict, "rule", call.tool)
    assert decided(call, rules=rules_of(deny=["*"])) == ("deny", "rule", "*")
    assert decided(call, rules=EVERYTHING_ASKS)[0] == "ask"
    assert decided(call, rules=rules_of(deny=[f"{call.tool.upper()}"]))[0] == "deny"
    assert decided(call, rules=rules_of(allow=[call.tool.upper()], ask=[rule]))[0] == "ask"


@pytest.mark.parametrize(
    ("mode", "expected"), [("plan", "deny"), ("deny_all", "deny"), (None, "ask")]
)
def test_what_cannot_be_judged_is_never_looser_than_the_mode(
    mode: Mode | None, expected: Verdict
) -> None:
    for line in ("$X a", "rm -rf ~", "echo 'a", "cat <<E"):
        assert ruling(line, mode=mode, allow=["bash(*)"]).verdict == expected


def test_commands_that_only_read_follow_the_mode_as_reading_tools_do() -> None:
    verdicts = {mode: ruling("git status | head", mode=mode).verdict for mode in MODES}
    assert verdicts == {mode: kinds["read"] for mode, kinds in MODE_TABLE.items()}


def test_allow_all_keeps_deny_rules_that_a_command_could_dodge() -> None:
    for line in ("$X f", "python3 -c 'x'", "./script.sh", "PATH=. ls", "eval $X"):
        assert ruling(line, mode="allow_all", deny=["bash(rm *)"]).verdict == "ask"
        assert ruling(line, mode="allow_all").verdict == "allow"


@pytest.mark.parametrize("value", [None, 5, "", "  ", ["ls"], {"a": 1}, "x" * 200_000])
def test_a_missing_or_odd_command_asks(value: object) -> None:
    call = Call(tool="bash", args={"command": value}, kind="execute")
    assert decided(call, rules=rules_of(allow=["bash(*)"]))[0] == "ask"


@pytest.mark.parametrize("value", [5, [], [1], "a\0b", "x" * 5_000, {"a": 1}])
def test_an_odd_path_asks_even_of_a_reading_tool(value: object) -> None:
    call = Call(tool="read_file", args={"path": value}, kind="read")
    assert decided(call, rules=rules_of(allow=["read(**)"]))[0] == "ask"


def test_every_path_of_a_list_must_be_allowed() -> None:
    rules = rules_of(allow=["write(a/**)"], deny=["write(a/x)"])
    for paths, expected in (
        (["a/1", "a/2"], "allow"),
        (["a/1", "b"], "ask"),
        (["a/1", "a/x"], "deny"),
    ):
        call = Call(tool="write_file", args={"path": paths}, kind="edit")
        assert decided(call, rules=rules)[0] == expected


def test_a_path_that_cannot_be_resolved_asks() -> None:
    paths = MadePaths(links={"/home/ann/ws/loop": None})
    for allow in ([], ["read(**)"]):
        given = ruling(
            "loop/x", tool="read_file", argument="path", kind="read", paths=paths, allow=allow
        )
        assert (given.verdict, given.source) == ("ask", "guard")


def test_protected_files_ask_even_when_a_rule_or_a_mode_allows_them() -> None:
    for path in (".git/config", "a/.GIT/hooks/x", "~/.ssh/config", ".agent_widget/settings.json"):
        for mode in ("accept_edits", "allow_all"):
            given = ruling(path, tool="write_file", argument="path", kind="edit", mode=mode)
            assert (given.verdict, given.source) == ("ask", "guard"), path
        assert ruling(f"echo x > {path}", allow=["bash(*)", "write(/**)"]).source == "guard"


def test_a_tool_of_ones_own_says_what_its_patterns_mean() -> None:
    target = Target("path", "file", "read")
    rules = rules_of(deny=["look(**/.env)"], targets={"look": target})
    call = Call(tool="look", args={"file": "A/.ENV"}, kind="read", target=target)
    assert decided(call, rules=rules) == ("deny", "rule", "look(**/.env)")
    assert decided(call, rules=rules_of(deny=["read(**/.env)"]))[0] == "deny"


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ({"mode": "yolo"}, "'yolo'"),
        ({"mode": "Default"}, "'Default'"),
        ({"mode": 5}, "5"),
        ({"modes": "plan"}, "'modes'"),
        ({"rules": ["bash"]}, "['bash']"),
        ({"rules": {"allowed": []}}, "'allowed'"),
        ({"rules": {"deny": "bash(rm *)"}}, "bash(rm *)"),
        ({"rules": {"deny": [5]}}, "5"),
        ({"rules": {"deny": ["bash(rm *"]}}, "bash(rm *"),
        ({"rules": {"allow": ["*"]}}, "'*'"),
        ("plan", "'plan'"),
        (5, "5"),
    ],
)
def test_wrong_options_raise_and_name_the_value(option: object, named: str) -> None:
    with pytest.raises(InvalidOptions) as raised:
        permission_options(option)
    assert named in str(raised.value)


def test_wrong_fields_raise_and_name_the_choices() -> None:
    for wrong in ({"mode": "x"}, {"host_shell": "fish"}):
        with pytest.raises(InvalidOptions, match=r"expected one of '(default|posix)'"):
            PermissionOptions(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidOptions, match="expected Rules"):
        PermissionOptions(rules={"allow": []})  # type: ignore[arg-type]


def test_options_are_read_as_code_writes_them() -> None:
    options = permission_options(
        {"mode": "plan", "rules": {"deny": ["bash(rm *)"]}, "ask_user": print},
        host_shell="powershell",
    )
    assert (options.mode, options.host_shell) == ("plan", "powershell")
    assert [rule.text for rule in options.rules.deny] == ["bash(rm *)"]
    assert permission_options(None) == PermissionOptions()
    assert permission_options({"rules": Rules()}) == PermissionOptions()
    assert (default_dialect("nt"), default_dialect("posix")) == ("powershell", "posix")

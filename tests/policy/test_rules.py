"""Rules and settings: what is malformed is reported and never widens anything."""

from __future__ import annotations

import json

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.policy.decision import ruling_on
from agent_widget.policy.options import Call, PermissionOptions
from agent_widget.policy.rules import (
    EVERYTHING_ASKS,
    Effect,
    Rules,
    parsed_rule,
    read_rules,
    rule_to_add,
    rules_of,
)
from tests.policy.support import MadePaths, verdict


def settings(**lists: object) -> str:
    return json.dumps({"permission": {"rules": lists}})


def decided(rules: Rules, line: str, tool: str = "bash") -> str:
    call = Call(tool=tool, args={"command": line}, kind="execute")
    return ruling_on(call, PermissionOptions(rules=rules), MadePaths()).verdict


GOOD = settings(allow=["bash(npm *)"], ask=["bash(npm publish *)"], deny=["bash(touch *)"])


def test_settings_are_read_without_problems() -> None:
    expected = rules_of(["bash(npm *)"], ["bash(npm publish *)"], ["bash(touch *)"])
    for text in (GOOD, GOOD.encode(), "\ufeff" + GOOD, b"\xef\xbb\xbf" + GOOD.encode()):
        assert read_rules(text) == (expected, ())
    for empty in ("{}", '{"permission": {}}', '{"permission": {"rules": {}}}', '{"theme": "dark"}'):
        assert read_rules(empty) == (Rules(), ())


UNREADABLE = [
    "",
    "  \n",
    b"",
    "null",
    "[]",
    '"x"',
    "{",
    GOOD[:-1],
    GOOD + "x",
    GOOD.encode("utf-16"),
    b"\xff\xfe",
    GOOD.replace("npm", "n\udc80m").encode("utf-8", "surrogateescape"),
    "[" * 200_000,
    '{"a":' * 100_000,
    '{"permission": []}',
    '{"permission": null}',
    '{"permission": {"rules": ["bash"]}}',
    '{"permission": {"rules": "allow"}}',
    '{"permission": {"rules": {"deny": ["bash(touch *)"]}}, "permission": {}}',
    '{"permission": {"rules": {"deny": ["bash(touch *)"], "deny": []}}}',
    "9" * 10_000,
]


@pytest.mark.parametrize("text", UNREADABLE, ids=range(len(UNREADABLE)))
def test_settings_that_cannot_be_read_make_everything_ask(text: str | bytes) -> None:
    rules, problems = read_rules(text)
    assert len(problems) == 1
    assert "Everything asks." in str(problems[0])
    assert rules == EVERYTHING_ASKS
    assert decided(rules, "npm test") == "ask"
    assert decided(rules, "ls") == "ask"


@pytest.mark.parametrize(
    "item",
    [5, None, ["bash"], {"a": 1}, "", "(x)", "bash(rm *", "bash()", "bash rm", "bash(it's)",
     "bash(\u202ex)", "b sh(x)", "x" * 3_000, "*(x)"],
)  # fmt: skip
@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
def test_one_bad_rule_is_reported_widens_nothing_and_disables_no_other(
    item: object, effect: Effect
) -> None:
    lists: dict[str, list[object]] = {
        "allow": ["bash(npm *)"],
        "ask": ["bash(npm publish *)"],
        "deny": ["bash(touch *)"],
    }
    lists[effect] = [item, *lists[effect]]
    rules, problems = read_rules(settings(**lists))
    assert [problem.where for problem in problems] == [f"permission.rules.{effect}[0]"]
    assert decided(rules, "touch P") == ("deny")
    assert decided(rules, "npm publish x") == "ask"
    assert decided(rules, "rm f") == "ask"
    if effect == "allow":
        assert decided(rules, "npm test") == "allow"


def test_a_malformed_deny_or_ask_rule_makes_its_tool_ask_and_no_other() -> None:
    for effect in ("ask", "deny"):
        rules, problems = read_rules(settings(allow=["bash(npm *)"], **{effect: ["bash(rm *"]}))
        assert "Every call of bash asks." in str(problems[0])
        assert decided(rules, "npm test") == "ask"
        assert decided(rules, "x", tool="weather") == "ask"
        call = Call(tool="weather", kind="read")
        assert ruling_on(call, PermissionOptions(rules=rules), MadePaths()).verdict == "allow"


def test_a_deny_list_under_a_wrong_name_or_of_a_wrong_type_makes_everything_ask() -> None:
    for lists in ({"denied": ["bash(rm *)"]}, {"deny": "bash(rm *)"}, {"ask": {"bash": 1}}):
        rules, problems = read_rules(settings(allow=["bash"], **lists))
        assert len(problems) == 1
        assert decided(rules, "ls") == "ask"
    rules, problems = read_rules(settings(allow="bash", deny=["bash(rm *)"]))
    assert len(problems) == 1
    assert (decided(rules, "rm f"), decided(rules, "make")) == ("deny", "ask")


def test_a_mode_in_settings_is_reported_and_not_read() -> None:
    text = '{"permission": {"mode": "allow_all", "rules": {}}}'
    rules, problems = read_rules(text)
    assert rules == Rules()
    assert [problem.where for problem in problems] == ["permission.mode"]


@pytest.mark.parametrize(
    ("pattern", "line", "fits"),
    [
        ("git *", "git", True),
        ("git *", "git log -p", True),
        ("git *", "gitleaks", False),
        ("git*", "gitleaks", True),
        ("git:*", "git log", True),
        ("git log", "git log", True),
        ("git log", "git  log", True),
        ("git log", "git 'log'", True),
        ("git log", "git log -p", False),
        ("npm run *:ci", "npm run test:ci", True),
        ("npm run *:ci", "npm run test", False),
        ("git * main", "git push origin main", True),
        ("git commit -m '*'", "git commit -m '*'", True),
        ("git commit -m '*'", "git commit -m x", False),
        (r"npm \*", "npm '*'", True),
        (r"npm \*", "npm x", False),
        ("npm 'a b'", "npm 'a b'", True),
        ("npm 'a b'", "npm a b", False),
        ("NPM *", "npm x", False),
        ("npm *", "./npm x", False),
        ("npm *", "/usr/bin/npm x", True),
        ("npm x | make y", "npm x | make y", True),
        ("npm x | make *", "npm x | make y", False),
    ],
)
def test_an_allow_pattern_of_a_command_fits_letter_for_letter(
    pattern: str, line: str, *, fits: bool
) -> None:
    allowed = verdict(line, allow=[f"bash({pattern})"], mode="deny_all")
    assert allowed == ("allow" if fits else "deny")


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("npm publish *", "NPM Publish"),
        ("npm publish *", "./node_modules/.bin/npm publish"),
        ("curl * | sh", "curl http://x  |  sh"),
        ("npm 'a b'", "npm a b"),
        ("rm -rf *", "rm -v -f -r x"),
        ("git*", "git push"),
        ("* --force", "git push --force"),
    ],
)
def test_a_deny_pattern_of_a_command_fits_every_spelling(pattern: str, line: str) -> None:
    assert verdict(line, allow=["bash(*)"], deny=[f"bash({pattern})"]) == "deny"


@pytest.mark.parametrize(
    ("rule", "args", "fits"),
    [
        ("weather(city=Oslo)", {"city": "Oslo"}, True),
        ("weather(city=Oslo)", {"city": "oslo"}, False),
        ("weather(city=Oslo)", {"city": "Oslo", "days": 3}, True),
        ("weather(city=Oslo, days=3)", {"city": "Oslo", "days": 3}, True),
        ("weather(city=Oslo, days=3)", {"city": "Oslo"}, False),
        ("weather(city=O*)", {"city": "Oslo"}, True),
        ('weather(city="Oslo, *")', {"city": "Oslo, *"}, True),
        ('weather(city="Oslo, *")', {"city": "Oslo, x"}, False),
        ("weather(fine=true)", {"fine": True}, True),
        ("weather(fine=null)", {"fine": None}, True),
        ("weather(days=[1,2])", {"days": [1, 2]}, False),
        ('weather(at="[1,2]")', {"at": [1, 2]}, True),
        ("weather(below=0)", {"below": 0.0}, True),
        ("weather(below=-0.5)", {"below": -0.5}, True),
        ("weather(below=100.0)", {"below": 100}, True),
        ("weather(below=1e2)", {"below": 100}, True),
        ("weather(below=100)", {"below": 100.5}, False),
        ("weather(below=1)", {"below": True}, False),
        ("weather(below=1e999)", {"below": float("inf")}, False),
        ("weather(below=100.0)", {"below": "100"}, False),
        ('weather(below="100.0")', {"below": 100}, False),
        ("weather(*)", {}, True),
    ],
)
def test_plain_fields_are_compared_as_text_and_numbers_by_their_worth(
    rule: str, args: dict[str, object], *, fits: bool
) -> None:
    if "days=[1" in rule:
        with pytest.raises(InvalidOptions):
            parsed_rule(rule, "allow")
        return
    options = PermissionOptions(mode="deny_all", rules=rules_of(allow=[rule]))
    given = ruling_on(Call(tool="weather", args=args), options, MadePaths())
    assert given.verdict == ("allow" if fits else "deny")


def test_a_rule_is_added_and_nothing_else_is_changed() -> None:
    before = (
        '{"theme": "dunkel ü", "permission": {"note": 1, "rules": {"deny": ["bash(touch *)"]}}}'
    )
    after = rule_to_add(before, "bash(git status)")
    content = json.loads(after)
    assert content == {
        "theme": "dunkel ü",
        "permission": {
            "note": 1,
            "rules": {"deny": ["bash(touch *)"], "allow": ["bash(git status)"]},
        },
    }
    assert rule_to_add(after, "bash(git status)") == after
    assert json.loads(rule_to_add("", "weather", "ask")) == {
        "permission": {"rules": {"ask": ["weather"]}}
    }


def test_perm_25_a_rule_that_would_not_be_read_back_is_not_added() -> None:
    for rule in ("bash(cat > r.md <<'E", "bash(", "", "x" * 3_000, "*", "bash(it's)"):
        with pytest.raises(InvalidOptions):
            rule_to_add(GOOD, rule)
    for damaged in ("{", "[]", '{"permission": {"rules": {"allow": 5}}}', '{"permission": 5}'):
        with pytest.raises(InvalidOptions):
            rule_to_add(damaged, "bash(git status)")


def test_perm_25_after_an_odd_rule_the_old_ones_are_in_force() -> None:
    here_document = "bash(cat > r.md <<'E'\nstatus: **/x:* (draft)\nE)"
    text = rule_to_add(GOOD, here_document)
    text = rule_to_add(text, "bash(A_SOCK=./s.1 ssh-add -l)")
    rules, problems = read_rules(text)
    assert problems == ()
    assert decided(rules, "touch P") == "deny"
    assert decided(rules, "npm test") == "allow"
    assert decided(rules, "A_SOCK=./s.1 ssh-add -l") == "allow"
    assert decided(rules, here_document[5:-1]) == "allow"
    assert decided(rules, "cat > r.md") == "ask"


def test_rules_of_a_session_are_added_to_those_of_files() -> None:
    rules = read_rules(GOOD)[0].allowing("bash(make *)", "bash(touch *)")
    assert decided(rules, "make x") == "allow"
    assert decided(rules, "touch P") == "deny"
    with pytest.raises(InvalidOptions):
        rules.allowing("bash(")


@pytest.mark.parametrize("key", ["rules", "deny", "permision", "permissions", "Permission"])
def test_rules_at_the_wrong_place_of_settings_are_said_and_everything_asks(key: str) -> None:
    rules, problems = read_rules(json.dumps({key: {"deny": ["read(**/x)"]}}))
    assert rules == EVERYTHING_ASKS
    assert [problem.where for problem in problems] == [key]

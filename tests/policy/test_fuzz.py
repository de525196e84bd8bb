"""Whatever a model writes: no exception, a verdict, and nothing that is allowed makes a mark."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Final

import pytest

from agent_widget.policy.decision import ruling_on
from agent_widget.policy.options import Call, Mode, PermissionOptions
from agent_widget.policy.rules import Rules, parsed_rule, read_rules, rules_of
from agent_widget.policy.shell.model import Dialect
from agent_widget.policy.suggestion import suggested_rules
from tests.policy.bashrun import BashRun
from tests.policy.support import MadePaths
from tests.support.chromium import in_ci
from tests.support.thorough import is_thorough

LINES: Final = 100_000 if in_ci(os.environ) or is_thorough() else 20_000
RUN: Final = 400
VERDICTS: Final = {"allow", "ask", "deny"}
# Mostly pieces of shells, and some of everything else.
PIECES: Final = (
    *";&|<>(){}[]$`\"'\\#~*?!=-+:,./%^@",
    *"\n\t\r\0\x01\x1b\u202e\u00a0\u2028\ufeff\ud800é漢😀",
    "$(", "${", "$((", "))", "[[", "]]", "<<", "<<E", "<<'E'", "<<-", "<<<", ">(", "<(", "&&", "||",
    ";;", "|&", ">&", "&>", ">>", "2>&1", "$'", '$"', "${x", "@P}", "!x", "\\\n", "#{", "$[",
    "echo", "touch", "MARK", "git", "rm", "-rf", "sh", "-c", "env", "sudo", "xargs", "find",
    "-exec",
    "eval", "bash", "a", "b", "x=1", "1", "E", "'a'", '"b"', "powershell", "-Command", "iex", "ri",
    "if", "then", "else", "fi", "for", "in", "do", "done", "while", "case", "esac", "function",
    "f()",
    "time", "coproc", "trap", "alias", "export", "declare", "unset", "let", "test", "find", "awk",
    " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", " ", "  ", "\n",
)  # fmt: skip
SETTINGS: Final[tuple[tuple[Mode | None, Dialect, list[str], list[str]], ...]] = (
    (None, "posix", ["bash(echo *)", "write(out/**)"], ["bash(git *)"]),
    ("allow_all", "posix", ["bash(*)"], []),
    (None, "powershell", ["bash(*)"], ["ps(Remove-Item *)"]),
)
OPTIONS: Final = tuple(
    PermissionOptions(
        mode=mode, host_shell=shell, rules=rules_of(allow, ask, ["bash(touch *)", "read(**/.env)"])
    )
    for mode, shell, allow, ask in SETTINGS
)


def lines(count: int, seed: int, pieces: tuple[str, ...] = PIECES) -> list[str]:
    source = random.Random(seed)
    return ["".join(source.choices(pieces, k=source.randint(1, 14))) for _ in range(count)]


@pytest.mark.timeout(600)
def test_every_random_line_gets_a_verdict_and_none_an_exception() -> None:
    for number, line in enumerate(lines(LINES, seed=1)):
        call = Call(tool="bash", args={"command": line}, kind="execute")
        ruling = ruling_on(call, OPTIONS[number % len(OPTIONS)], MadePaths())
        assert ruling.verdict in VERDICTS
        assert ruling.reason


@pytest.mark.parametrize(
    "line",
    [
        "echo " + "a " * 9_000,
        "a;" * 9_000,
        "a=1;" * 4_000,
        "(" * 9_000,
        "$(" * 6_000,
        "<<E\n" * 4_000,
        "rm " + "$x " * 5_000,
        "cat " + "$x/.e*/" * 2_000,
        "env " * 4_000 + "ls",
        "find -exec " * 1_500 + "ls \\;",
        "find . -exec echo {} + " * 800,
        "timeout 5 " * 1_500 + "ls",
        "sh -c " * 2_000 + "ls",
        "eval " * 3_000 + "ls",
        'cat a"$(ls)" ' * 1_400,
        "cd a; " * 190 + "cat b",
        "echo a > f; " * 190,
    ],
    ids=lambda line: line[:12],
)
def test_long_and_nested_lines_are_judged_in_bounded_time(line: str) -> None:
    for options in OPTIONS:
        started = time.process_time()
        call = Call(tool="bash", args={"command": line}, kind="execute")
        assert ruling_on(call, options, MadePaths()).verdict in VERDICTS
        assert time.process_time() - started < 3


def test_every_random_text_is_read_as_a_rule_or_refused() -> None:
    for line in lines(2_000, seed=2):
        rules, problems = read_rules(
            '{"permission": {"rules": {"deny": [' + repr(line).replace("'", '"') + "]}}}"
        )
        assert rules.deny or rules.ask or problems
        for offered in suggested_rules("bash", {"command": line}):
            assert parsed_rule(offered, "allow").text == offered
        for tool in ("read_file", "write_file", "fetch_url", "weather"):
            call = Call(tool=tool, args={"path": line, "url": line, "city": line})
            assert ruling_on(call, OPTIONS[0], MadePaths()).verdict in VERDICTS


# Pieces that often make a line which bash takes, and which a rule for echo may cover.
LIKELY: Final = (
    "touch MARK", " touch MARK ", "echo ", "echo a", "'", "'", '"', '"', " ", " ", " ", " ", "\\",
    "#", " # ", ";", "&", "|", "\n", "$(", ")", "`", "{", "}", "<<E\n", "\nE\n", "<<'E'\n", "<<<",
    "> /dev/null ", "2>&1", "$x", "${x", "x=a ", "[ ", " ]", "! ", "a", "*", "~", "=", "\t", "\\\n",
)  # fmt: skip


# The same for what bash evaluates a second time: the value of a variable, as arithmetic or a name.
EVALUATED: Final = ("echo='a[$(touch MARK)]'; ", "echo='$(touch MARK)'\n", "echo='touch MARK'; ")
EVALUATING: Final = (
    "((", "))", "( (", "( ", ") ", "echo", "echo", "echo ", "[[ ", "]]", " ]", " -eq 1", "! ",
    "time ",
    "$((", "${", "}", "@P}", "{ ", "; }", "[ ", "-v ", "if ", "; then ", "; fi", "for i in ",
    "; do ",
    "; done", " && ", "\n", "; ", "$echo", "${!echo}", "[echo]", "x[echo]=1", " ", "(", ")", "$(",
    "`",
    " | ", "<", "=", "x=", "f() ", "1", "$[", "]", ":", "while ", "coproc ", "{a,b}", "#", "'", '"',
)  # fmt: skip


def run_candidates() -> list[str]:
    plain = [f"echo {line}" for line in lines(15_000, seed=3, pieces=LIKELY) if "MARK" in line]
    tails = [line[:40] for line in lines(9_000, seed=4, pieces=EVALUATING)]
    again = [EVALUATED[number % 3] + tail for number, tail in enumerate(tails)]
    return list(dict.fromkeys([*plain, *again]))


@pytest.mark.parametrize(
    "rules",
    [rules_of(["bash(echo *)"]), rules_of(["bash(*)"], deny=["bash(touch *)"])],
    ids=["only echo", "all but touch"],
)
def test_random_lines_that_are_allowed_are_run_and_make_no_mark(
    rules: Rules, tmp_path: Path
) -> None:
    options = PermissionOptions(rules=rules)
    calls = {
        line: Call(tool="bash", args={"command": line}, kind="execute") for line in run_candidates()
    }
    allowed = [
        line
        for line, call in calls.items()
        if ruling_on(call, options, MadePaths()).verdict == "allow"
    ]
    assert len(allowed) >= 100
    made = BashRun(tmp_path).marked(random.Random(5).sample(allowed, min(RUN, len(allowed))))
    assert [line for line, mark in made.items() if mark] == []

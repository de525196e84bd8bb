"""``agent-widget permit``: one line for each command, and never looser than the rules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_widget.surfaces.cli import main
from agent_widget.surfaces.paths import DiskPaths


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "settings.json"
    lists = {
        "allow": ["bash(git status)", "write(out/**)"],
        "deny": ["bash(rm *)", "read(**/.env)"],
    }
    path.write_text(json.dumps({"permission": {"rules": lists}}))
    return path


@pytest.mark.parametrize(
    ("arguments", "beginning"),
    [
        (["--", "git", "status"], "allow  rule bash(git status)  ("),
        (["--", "git status"], "allow  rule bash(git status)  ("),
        (["--", "git", "push", "--force"], "ask  no rule  ("),
        (["--", "git status; rm x"], "deny  rule bash(rm *)  ("),
        (["--mode", "plan", "--", "make"], "deny  no rule  ("),
        (["--mode", "deny_all", "--", "ls"], "deny  no rule  ("),
        (["--shell", "powershell", "--", "del x"], "deny  rule bash(rm *)  ("),
        (["--shell", "powershell", "--", "git status"], "allow  rule bash(git status)  ("),
        (["--tool", "write_file", "--", "out/a"], "allow  rule write(out/**)  ("),
        (["--tool", "read_file", "--", "a/.ENV"], "deny  rule read(**/.env)  ("),
        (["--tool", "fetch_url", "--", "https://example.org"], "ask  no rule  ("),
        (["--tool", "weather", "--", "city=Oslo, days=3"], "ask  no rule  ("),
        (["--", "echo \u202e\x1b[2J"], "ask  no rule  ("),
        (["--", "cat a/key.pem"], "ask  rule read(**/*.pem)  ("),
        (["--mode", "allow_all", "--", "cat a/key.pem"], "allow  no rule  ("),
    ],
)
def test_it_prints_one_line_that_begins_with_the_verdict(
    arguments: list[str],
    beginning: str,
    rules: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(rules.parent)
    assert main(["permit", "--rules", str(rules), *(["--shell", "posix"]), *arguments]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(beginning)
    assert said.out.count("\n") == 1
    assert said.out.rstrip("\n").isprintable()
    assert said.err == ""


def test_commands_of_a_file_get_a_line_each(
    rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = tmp_path / "commands.txt"
    commands.write_text("git status\nrm x\n\nmake\n", encoding="utf-8")
    assert main(["permit", "--rules", str(rules), "--shell", "posix", "--from", str(commands)]) == 0
    verdicts = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert verdicts == ["allow", "deny", "ask", "ask"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]"])
def test_rules_that_cannot_be_read_are_told_and_everything_asks(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    assert main(["permit", "--rules", str(path), "--", "ls"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("ask  rule *")
    assert "Everything asks." in said.err


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_without_a_file_of_rules_nothing_is_judged(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["permit", "--rules", str(tmp_path / name), "--", "ls"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "cannot be read" in said.err


def test_a_malformed_rule_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"permission": {"rules": {"deny": ["bash(rm"], "allow": ["bash(ls *)"]}}}')
    assert main(["permit", "--rules", str(path), "--shell", "posix", "--", "ls"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("ask")
    assert "permission.rules.deny[0]" in said.err


def test_wrong_use_is_told_and_ends_with_status_2(
    rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["permit", "--rules", str(rules)]
    assert main(given) == 2
    assert main([*given, "--from", str(tmp_path / "none")]) == 2
    assert main([*given, "--from", str(rules), "--", "ls"]) == 2
    assert main([*given, "--tool", "weather", "--", "Oslo"]) == 2
    for wrong in ([*given, "--mode", "yolo", "--", "ls"], ["permit", "--", "ls"], []):
        with pytest.raises(SystemExit) as ended:
            main(wrong)
        assert ended.value.code == 2
    assert "yolo" in capsys.readouterr().err


def test_it_runs_as_a_module(rules: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "agent_widget", "permit", "--rules", str(rules), "--shell", "posix",
         "--", "git", "status"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("allow  rule bash(git status)")


def test_the_disk_follows_links_and_says_when_it_cannot(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "ws/link").symlink_to("../out")
    paths = DiskPaths(tmp_path / "ws")
    real = Path(os.path.realpath(tmp_path))
    assert paths.cwd == (tmp_path / "ws").as_posix()
    assert paths.resolve(f"{paths.cwd}/link/a") == (real / "out/a").as_posix()
    assert paths.resolve(f"{paths.cwd}/link/../a") == (real / "a").as_posix()
    assert paths.resolve("a\0b") is None

"""The policy is data in, ruling out: no file, no clock, no process, no network."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import agent_widget.policy

# The parsers of text that the standard library has; nothing that opens anything.
PURE = {
    "difflib", "math",
    "__future__", "base64", "binascii", "collections", "fnmatch", "functools", "ipaddress",
    "itertools", "json", "re", "typing", "unicodedata", "urllib", "msgspec", "tree_sitter",
    "tree_sitter_bash",
}  # fmt: skip


def test_the_policy_imports_only_core_and_pure_modules() -> None:
    files = sorted(Path(agent_widget.policy.__file__).parent.rglob("*.py"))
    foreign = set()
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = {(node.module or "").partition(".")[0]}
            else:
                continue
            foreign |= {f"{path.name}: {name}" for name in names - PURE}
    assert len(files) > 15
    assert foreign == set()


def test_a_ruling_opens_no_file_and_starts_nothing() -> None:
    code = """
import sys, unicodedata, tree_sitter_bash, tree_sitter
from tests.policy.support import ruling
ruling("git status", allow=["bash(git *)"])
happened = []
sys.addaudithook(lambda event, args: happened.append(event) if event.split(".")[0] in
                 {"open", "os", "subprocess", "socket", "shutil", "tempfile"} else None)
for line in ("git log | head", "echo a > f", "rm -rf ~", "$(x)", "cat .env"):
    ruling(line, allow=["bash(*)", "write(**)"], deny=["read(**/.env)", "bash(rm *)"])
    ruling(line, shell="powershell", deny=["read(**/.env)"])
ruling("a/b", tool="read_file", argument="path", deny=["read(**/.env)"])
print(happened)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_parser_is_loaded_when_the_first_command_is_judged() -> None:
    code = """
import sys
import agent_widget.policy.decision
print("tree_sitter" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_the_parser_every_command_asks() -> None:
    code = """
import sys
sys.modules["tree_sitter"] = None
from tests.policy.support import ruling
for line in ("ls", "git status"):
    given = ruling(line, allow=["bash(*)"])
    print(given.verdict, given.reason)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (
        done.stdout.splitlines()
        == ["ask tree-sitter-bash is not installed, so no command can be judged"] * 2
    ), done.stderr

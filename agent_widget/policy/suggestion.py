"""The rules offered when a person allows a call for the session, or always in a project."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from ..core.errors import InvalidOptions
from .hosts import host_of
from .rules import TARGETS, Target, parsed_rule
from .shell.model import Command, Dialect
from .shell.patterns import ShellPattern
from .shell.programs import NO_STAR, VERBS
from .shell.scripts import script_of
from .shell.wrappers import program_name

MAX_SUGGESTED: Final = 200
_PLAIN_WORD: Final = re.compile(r"[A-Za-z0-9_./:=,@%+~^-]+")
_VERB: Final = re.compile(r"[a-z][a-z-]*")


def suggested_rules(
    tool: str,
    args: Mapping[str, object],
    *,
    target: Target | None = None,
    host_shell: Dialect = "posix",
) -> tuple[str, ...]:
    """The allow rules that a person may choose from, each covering this call, narrowest first.

    A star of the call never becomes a wildcard. A command with operators gets its exact text
    alone; one of several lines, or too long to read at a glance, nothing: it can be allowed once.
    """
    compared = target or TARGETS.get(tool, Target("fields"))
    value = args.get(compared.argument) if compared.argument else None
    texts: tuple[str, ...] = ()
    if compared.kind == "fields":
        texts = (tool,)
    elif not isinstance(value, str):
        pass
    elif compared.kind == "shell":
        texts = _of_command(tool, value, host_shell)
    elif compared.kind == "path":
        texts = (f"{tool}({_escaped_path(value)})",)
    elif (host := host_of(value)) is not None:
        texts = (f"{tool}({host.name})",)
    return tuple(text for text in texts if _reads_back(text, tool, target))


def _of_command(tool: str, source: str, dialect: Dialect) -> tuple[str, ...]:
    source = source.strip()
    if "\n" in source or len(source) > MAX_SUGGESTED or not source.isprintable():
        return ()
    if dialect == "powershell":
        return _of_plain_powershell(tool, source)
    script = script_of(source, dialect)
    whole = (f"{tool}({source})",)
    first = script.commands[0] if script.commands else None
    if first is None or not first.known or first.assignments or script.redirects or script.doubts:
        return _if_whole(whole)
    if first.transparent or len(script.commands) > 1 or re.search(r"[;&|<>()`$#\n]", source):
        return _if_whole(whole)
    exact = f"{tool}({' '.join(_quoted(word.text) for word in first.words)})"
    broad = _broad(first)
    return (exact,) if broad is None else (exact, f"{tool}({broad})")


def _of_plain_powershell(tool: str, source: str) -> tuple[str, ...]:
    script = script_of(source, "powershell")
    plain = len(script.commands) == 1 and not script.doubts and not script.redirects
    words = source.split()
    if not plain or not all(re.fullmatch(r"[A-Za-z0-9_./\\:-]+", word) for word in words):
        return ()
    return (f"{tool}({' '.join(_quoted(word) for word in words)})",)


def _if_whole(texts: tuple[str, ...]) -> tuple[str, ...]:
    """``texts`` when they are read as the exact text of a line, with no wildcard in it."""
    try:
        rules = [parsed_rule(text, "allow") for text in texts]
    except InvalidOptions:
        return ()
    fine = all(
        isinstance(rule.pattern, ShellPattern)
        and (rule.pattern.whole or rule.pattern.literal is not None)
        for rule in rules
    )
    return texts if fine else ()


def _broad(command: Command) -> str | None:
    """``git status *`` for ``git status -s``: only where the first words say what is done."""
    name = program_name(command)
    if name in NO_STAR or (command.unseen is not None and name not in VERBS):
        return None
    count = VERBS.get(name)
    words = [word.text for word in command.words]
    if count is None or len(words) <= count or name != words[0]:
        return None
    verbs = words[: count + 1]
    if not all(_VERB.fullmatch(word) for word in verbs) or verbs[-1] in _SWEEPING:
        return None
    return " ".join([*verbs, "*"])


_SWEEPING: Final = frozenset(
    {"push", "reset", "clean", "config", "exec", "run", "run-script", "x", "dlx", "publish", "api",
     "install", "i", "add", "remove", "uninstall", "rebase", "checkout", "restore", "submodule",
     "filter-branch", "bisect", "rm", "delete", "auth", "secret", "yank", "tool", "clone", "fetch",
     "pull", "env", "grep", "difftool"}
)  # fmt: skip
"""Verbs that can lose work, send it away or run anything: exact text only."""


def _quoted(word: str) -> str:
    if _PLAIN_WORD.fullmatch(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _escaped_path(path: str) -> str:
    return re.sub(r"([*?\[\]{}\\])", r"\\\1", path)


def _reads_back(text: str, tool: str, target: Target | None) -> bool:
    """True when the loader's own parser takes the rule."""
    if len(text) > MAX_SUGGESTED + 40 or not text.isprintable():
        return False
    try:
        parsed_rule(text, "allow", None if target is None else {tool: target})
    except InvalidOptions:
        return False
    return True

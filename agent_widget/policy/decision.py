"""May this call run? Data in, ruling out (unified model, section 5, rows 5 to 8).

Deny rules come first, then ask rules, then allow rules, then the mode, whatever the order in which
rules were written. Where allow cannot be shown to be right, the answer is ask, or deny in the modes
that never ask.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable
from typing import Final

from .hosts import Host, HostPattern, host_of
from .options import (
    Call,
    PermissionOptions,
    Ruling,
    Source,
    Verdict,
    mode_ruling,
    unsure,
)
from .paths import Paths, path_forms, path_pattern
from .patterns import FieldPattern, number_text
from .rules import FAMILIES, Rule
from .shell.judge import SHELL_TOOLS, shell_ruling

__all__ = ["Call", "PermissionOptions", "Ruling", "Source", "Verdict", "ruling_on"]

MAX_TEXT: Final = 100_000
MAX_PATH: Final = 4_096


def ruling_on(call: Call, options: PermissionOptions, paths: Paths) -> Ruling:
    """The ruling on ``call``. Never raises for what a model can write: what fails asks."""
    for rule in options.rules.deny:
        if rule.pattern is None and _covers(rule, call, widely=True):
            return Ruling("deny", "rule", rule.text, "a deny rule covers every call of the tool")
    ruling = _ruling(call, options, paths)
    if ruling.verdict == "deny" and ruling.source == "rule":
        return ruling
    for rule in options.rules.ask:
        if rule.pattern is None and _covers(rule, call, widely=True):
            return Ruling("ask", "rule", rule.text, "an ask rule covers every call of the tool")
    return ruling


def _ruling(call: Call, options: PermissionOptions, paths: Paths) -> Ruling:
    target = call.compared
    match target.kind:
        case "shell":
            text = call.args.get(target.argument)
            if not isinstance(text, str) or not text.strip() or len(text) > MAX_TEXT:
                return unsure(options.effective_mode, f"{target.argument} is no command")
            return shell_ruling(text, call, options, paths)
        case "path":
            return _path_ruling(call, options, paths)
        case "host":
            return _host_ruling(call, options)
        case "fields":
            return _field_ruling(call, options)


def _covers(rule: Rule, call: Call, *, widely: bool) -> bool:
    """True when ``rule`` is about the tool of ``call``; ``widely`` for deny and ask."""
    named, called = rule.tool, call.tool
    if widely:
        named, called = named.casefold(), called.casefold()
    if widely and "*" in named:
        return fnmatch.fnmatchcase(called, named.replace("[", "[[]"))
    access = FAMILIES.get(named)
    if access is not None and call.compared.kind == "path":
        return access == call.compared.access or named == called
    if widely and call.compared.kind == "shell" and named in SHELL_TOOLS:
        return True
    return named == called


def _first(
    call: Call, options: PermissionOptions, matches: Callable[[Rule, bool], bool]
) -> Ruling | None:
    """The ruling of the first rule that matches, deny before ask before allow."""
    for rule in options.rules.deny:
        if _covers(rule, call, widely=True) and matches(rule, True):
            return Ruling("deny", "rule", rule.text, "a deny rule matches")
    for rule in options.rules.ask:
        if _covers(rule, call, widely=True) and matches(rule, True):
            return Ruling("ask", "rule", rule.text, "an ask rule matches")
    for rule in options.rules.allow:
        if _covers(rule, call, widely=False) and matches(rule, False):
            return Ruling("allow", "rule", rule.text, "an allow rule matches")
    return None


def _path_ruling(call: Call, options: PermissionOptions, paths: Paths) -> Ruling:
    mode, argument = options.effective_mode, call.compared.argument
    texts = _texts(call.args.get(argument, "."))
    if texts is None:
        return unsure(mode, f"{argument} is no path")
    forms = [path_forms(text, paths) for text in texts]

    def matches(rule: Rule, widely: bool) -> bool:
        if not isinstance(rule.pattern, str):
            return rule.pattern is None
        pattern = path_pattern(rule.pattern, paths)
        if widely:
            return any(pattern.restricts(each) for each in forms)
        return all(pattern.allows(each) for each in forms)

    ruling = _first(call, options, matches)
    if ruling is not None and ruling.verdict != "allow":
        return ruling
    protected = options.protected if call.compared.access == "write" else ()
    for text in protected:
        if any(path_pattern(text, paths).restricts(each) for each in forms):
            return unsure(mode, f"{', '.join(texts)} is protected ({text})")
    if any(each.resolved is None for each in forms):
        return unsure(mode, f"where {', '.join(texts)} leads cannot be told")
    return ruling or mode_ruling(mode, call.kind)


def _texts(value: object) -> list[str] | None:
    """The paths of an argument that holds one or a list; None when it holds anything else."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not given:
        return None
    texts = [text for text in given if isinstance(text, str) and _is_path(text)]
    return texts if len(texts) == len(given) else None


def _is_path(text: str) -> bool:
    return "\0" not in text and len(text) <= MAX_PATH


def _host_ruling(call: Call, options: PermissionOptions) -> Ruling:
    url = call.args.get(call.compared.argument)
    host = host_of(url) if isinstance(url, str) else None
    if host is None:
        return unsure(options.effective_mode, f"{call.compared.argument} is no plain URL")
    found: Host = host

    def matches(rule: Rule, widely: bool) -> bool:
        if not isinstance(rule.pattern, HostPattern):
            return rule.pattern is None
        return rule.pattern.matches(found, widely=widely)

    return _first(call, options, matches) or mode_ruling(options.effective_mode, call.kind)


def _field_ruling(call: Call, options: PermissionOptions) -> Ruling:
    args = {name: _as_text(value) for name, value in call.args.items()}
    numbers = {
        name: number
        for name, value in call.args.items()
        if not isinstance(value, str) and (number := number_text(value)) is not None
    }

    def matches(rule: Rule, widely: bool) -> bool:
        if not isinstance(rule.pattern, FieldPattern):
            return rule.pattern is None
        return rule.pattern.matches(args, numbers, folded=widely)

    return _first(call, options, matches) or mode_ruling(options.effective_mode, call.kind)


def _as_text(value: object) -> str:
    """A value as rules compare it: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return repr(type(value))

"""May this call run? Data in, ruling out (unified model, section 5, rows 5 to 8).

Deny rules come first, then ask rules, then allow rules, then the mode, whatever the order in which
rules were written. Where allow cannot be shown to be right, the answer is ask, or deny in the modes
that never ask.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable

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
from .paths import PathForms, Paths, path_forms, path_pattern
from .patterns import FieldPattern
from .rules import FAMILIES, Rule
from .shell.judge import SHELL_TOOLS, shell_ruling

__all__ = ["Call", "PermissionOptions", "Ruling", "Source", "Verdict", "ruling_on"]

MAX_TEXT = 100_000


def ruling_on(call: Call, options: PermissionOptions, paths: Paths) -> Ruling:
    """The ruling on ``call``. Never raises for what a model can write: what fails asks."""
    for verdict, rules in (("deny", options.rules.deny), ("ask", options.rules.ask)):
        for rule in rules:
            if rule.pattern is None and _covers(rule, call, widely=True):
                return Ruling(
                    "deny" if verdict == "deny" else "ask", "rule", rule.text, f"{verdict} rule"
                )
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
    given = call.args.get(call.compared.argument, ".")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list | tuple) or not texts:
        return unsure(options.effective_mode, f"{call.compared.argument} is no path")
    forms: list[PathForms] = []
    for text in texts:
        if not isinstance(text, str) or "\0" in text or len(text) > 4_096:
            return unsure(options.effective_mode, f"{call.compared.argument} is no path")
        forms.append(path_forms(text, paths))

    def matches(rule: Rule, widely: bool) -> bool:  # noqa: FBT001
        if not isinstance(rule.pattern, str):
            return rule.pattern is None
        pattern = path_pattern(rule.pattern, paths)
        if widely:
            return any(pattern.restricts(each) for each in forms)
        return all(pattern.allows(each) for each in forms)

    ruling = _first(call, options, matches)
    if ruling is not None and ruling.verdict != "allow":
        return ruling
    if call.compared.access == "write":
        for text in options.protected:
            if any(path_pattern(text, paths).restricts(each) for each in forms):
                return unsure(options.effective_mode, f"{texts[0]} is protected ({text})")
    if any(each.resolved is None for each in forms):
        return unsure(options.effective_mode, f"where {texts[0]} leads cannot be told")
    return ruling or mode_ruling(options.effective_mode, call.kind)


def _host_ruling(call: Call, options: PermissionOptions) -> Ruling:
    url = call.args.get(call.compared.argument)
    host = host_of(url) if isinstance(url, str) else None
    if host is None:
        return unsure(options.effective_mode, f"{call.compared.argument} is no plain URL")
    found: Host = host

    def matches(rule: Rule, widely: bool) -> bool:  # noqa: FBT001
        if not isinstance(rule.pattern, HostPattern):
            return rule.pattern is None
        return rule.pattern.matches(found, widely=widely)

    return _first(call, options, matches) or mode_ruling(options.effective_mode, call.kind)


def _field_ruling(call: Call, options: PermissionOptions) -> Ruling:
    args = {name: _as_text(value) for name, value in call.args.items()}

    def matches(rule: Rule, widely: bool) -> bool:  # noqa: FBT001
        if not isinstance(rule.pattern, FieldPattern):
            return rule.pattern is None
        return rule.pattern.matches(args, folded=widely)

    return _first(call, options, matches) or mode_ruling(options.effective_mode, call.kind)


def _as_text(value: object) -> str:
    """A value as rules compare it: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return repr(type(value))

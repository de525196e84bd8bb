"""Rules that name a tool which is not there: most of them are slips of the pen."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .rules import FAMILIES, TARGETS, Rule, Rules


def unmatched_rules(
    rules: Rules, names: Iterable[str], *, only_slips: bool = False
) -> tuple[str, ...]:
    """A sentence for each rule whose tool is none of ``names`` (those of a chat).

    With ``only_slips`` only where the name is almost that of a tool: for rules that hold in other
    chats, too. Rules with a wildcard for tools, and for tools of servers (``server__tool``), which
    come later, are left out.
    """
    known = [*names, *FAMILIES]
    shells = {name for name, target in TARGETS.items() if target.kind == "shell"}
    found: list[str] = []
    lower = {name.casefold() for name in (*known, *shells)}
    strict = {*rules.ask, *rules.deny}  # they hold however a tool's name is written
    for rule in dict.fromkeys((*rules.allow, *rules.ask, *rules.deny)):
        name = rule.tool.casefold() if rule in strict else rule.tool
        if name in (lower if rule in strict else {*known, *shells}):
            continue
        if "*" in name or "__" in name:
            continue
        near = get_close_matches(rule.tool, known, 1)
        if near or not only_slips:
            found.append(_remark(rule, near))
    return tuple(found)


def _remark(rule: Rule, near: list[str]) -> str:
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"The rule {rule.text} names no tool of this chat, so it decides nothing.{hint}"

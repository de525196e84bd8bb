"""Permission rules: read from text, checked, added to settings. A bad rule never widens anything.

    {"permission": {"rules": {"allow": ["bash(git status)"], "ask": [], "deny": ["read(**/.env)"]}}}

A rule is ``tool`` (every call) or ``tool(pattern)``. What a pattern means depends on the tool:

- commands (``bash``, ``powershell``): `shell.patterns`;
- files (``read`` and ``write`` mean every tool that reads or writes, and redirections): `paths`;
- hosts (``fetch_url``): `hosts`;
- any other tool: ``name=value, name=value``, see `patterns.field_pattern`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidOptions
from .hosts import HostPattern, host_pattern
from .paths import check_path_pattern
from .patterns import FieldPattern, field_pattern
from .shell.patterns import ShellPattern, shell_pattern

Effect = Literal["allow", "ask", "deny"]
TargetKind = Literal["shell", "path", "host", "fields"]

_RULE: Final = re.compile(r"\s*(?P<tool>[A-Za-z0-9_.*-]+)\s*(?:\((?P<pattern>.*)\))?\s*", re.DOTALL)
_TOOL: Final = re.compile(r"\s*([A-Za-z0-9_.*-]+)")
_EFFECTS: Final[tuple[Effect, ...]] = ("deny", "ask", "allow")
MAX_RULE: Final = 2_000


class Target(Struct, frozen=True):
    """What a pattern for a tool is compared with: the argument ``argument`` of its calls."""

    kind: TargetKind
    argument: str = ""
    access: Literal["read", "write"] | None = None


TARGETS: Final[Mapping[str, Target]] = {
    "bash": Target("shell", "command"),
    "powershell": Target("shell", "command"),
    "pwsh": Target("shell", "command"),
    "ps": Target("shell", "command"),
    "read": Target("path", "path", "read"),
    "write": Target("path", "path", "write"),
    "edit": Target("path", "path", "write"),
    "read_file": Target("path", "path", "read"),
    "list_files": Target("path", "path", "read"),
    "search_files": Target("path", "path", "read"),
    "write_file": Target("path", "path", "write"),
    "edit_file": Target("path", "path", "write"),
    "fetch": Target("host", "url"),
    "fetch_url": Target("host", "url"),
}
"""The tools of this package, and the names that rules have for all that read or write files."""

FAMILIES: Final[Mapping[str, Literal["read", "write"]]] = {
    "read": "read",
    "write": "write",
    "edit": "write",
}

RulePattern = ShellPattern | HostPattern | FieldPattern | str | None
"""The parsed pattern; the text of a path pattern, which depends on the working directory."""


class Rule(Struct, frozen=True):
    """One rule; ``pattern`` None covers every call of ``tool``.

    ``is_gentle``: of a command, it restricts what is seen to match, and what no allow rule covers
    while it could match; it does not make a rule or a mode for every command cover less.
    """

    text: str
    tool: str
    kind: TargetKind
    pattern: RulePattern = None
    is_gentle: bool = False


class Problem(Struct, frozen=True):
    """Something in the settings that is not as it should be; ``effect`` says what holds instead."""

    where: str
    message: str
    effect: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message} {self.effect}"


class Rules(Struct, frozen=True):
    """Rules by what they do. Deny beats ask beats allow, whatever their order."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()

    def joined(self, *others: Rules) -> Rules:
        """These rules and ``others``; nothing that one denies is allowed by another."""
        layers = (self, *others)
        return Rules(
            tuple(dict.fromkeys(rule for layer in layers for rule in layer.allow)),
            tuple(dict.fromkeys(rule for layer in layers for rule in layer.ask)),
            tuple(dict.fromkeys(rule for layer in layers for rule in layer.deny)),
        )

    def gentle(self) -> Rules:
        """The same ones, each of them gentle."""
        layers = (self.allow, self.ask, self.deny)
        return Rules(*(tuple(replace(rule, is_gentle=True) for rule in each) for each in layers))

    def allowing(self, *texts: str) -> Rules:
        """With more allow rules, as "Allow for this session" adds them; InvalidOptions if bad."""
        return self.joined(Rules(allow=tuple(parsed_rule(text, "allow") for text in texts)))


EVERYTHING_ASKS: Final = Rules(ask=(Rule("*", "*", "fields"),))
"""What holds when rules cannot be read."""


def parsed_rule(text: str, effect: Effect, targets: Mapping[str, Target] | None = None) -> Rule:
    """The rule ``text``; raises InvalidOptions when it is malformed.

    ``targets`` says of tools beyond those of `TARGETS` what their patterns mean.
    """
    found = _RULE.fullmatch(text) if len(text) <= MAX_RULE else None
    if found is None:
        raise InvalidOptions(f"{text[:80]!r} is no rule.", advice="Write tool or tool(pattern).")
    tool, inner = found["tool"], found["pattern"]
    if effect == "allow" and "*" in tool:
        raise InvalidOptions(
            f"{text!r} would allow tools by a wildcard.", advice="Name each tool that may run."
        )
    target = {**TARGETS, **(targets or {})}.get(tool, Target("fields"))
    if inner is None:
        return Rule(text.strip(), tool, target.kind)
    if "*" in tool:
        raise InvalidOptions(f"{text!r} has a pattern for many tools.", advice="Name the tool.")
    if not inner.strip():
        raise InvalidOptions(
            f"{text!r} has an empty pattern.", advice=f"Write {tool} for every call."
        )
    return Rule(text.strip(), tool, target.kind, _pattern(target.kind, inner))


def _pattern(kind: TargetKind, text: str) -> RulePattern:
    if any(not char.isprintable() and char != "\n" for char in text):
        raise InvalidOptions(f"{text!r} holds an invisible character.")
    match kind:
        case "shell":
            return shell_pattern(text)
        case "path":
            check_path_pattern(text.strip())
            return text.strip()
        case "host":
            return host_pattern(text.strip())
        case "fields":
            return None if text.strip() == "*" else field_pattern(text)


def rules_of(
    allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = (),
    targets: Mapping[str, Target] | None = None,
) -> Rules:  # fmt: skip
    """Rules written in code; raises InvalidOptions for the first malformed one."""
    return Rules(
        tuple(parsed_rule(text, "allow", targets) for text in allow),
        tuple(parsed_rule(text, "ask", targets) for text in ask),
        tuple(parsed_rule(text, "deny", targets) for text in deny),
    )


# Settings ---------------------------------------------------------------------------------------


class _Duplicate(ValueError):
    """A key that a JSON object has twice: readers disagree which one holds."""


def read_rules(
    settings: str | bytes, targets: Mapping[str, Target] | None = None
) -> tuple[Rules, tuple[Problem, ...]]:
    """The rules of a settings file, and what is wrong with it. Never raises.

    A settings file that cannot be read as a whole makes everything ask. A malformed deny or ask
    rule makes its tool ask, a malformed allow rule is dropped; the other rules hold as they are.
    """
    try:
        content = settings_object(settings)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return EVERYTHING_ASKS, (Problem("settings", f"{reason}.", "Everything asks."),)
    misplaced = [key for key in content if _means_permission(key)]
    if misplaced:  # whoever wrote it wanted a rule: without it more might run than they think
        said = "is no key of settings; rules stand under permission.rules."
        return EVERYTHING_ASKS, tuple(Problem(key, said, "Everything asks.") for key in misplaced)
    section = content.get("permission", {})
    if not isinstance(section, dict):
        return EVERYTHING_ASKS, (_not("permission", "an object", section),)
    problems = [
        Problem(f"permission.{key}", "is not read from settings.", "It is ignored.")
        for key in section
        if key != "rules"
    ]
    lists = section.get("rules", {})
    if not isinstance(lists, dict):
        return EVERYTHING_ASKS, (*problems, _not("permission.rules", "an object", lists))
    found: dict[Effect, list[Rule]] = {"allow": [], "ask": [], "deny": []}
    for key, items in lists.items():
        effect = next((each for each in _EFFECTS if each == key), None)
        where = f"permission.rules.{key}"
        if effect is None:
            problems.append(Problem(where, "is none of allow, ask, deny.", "Everything asks."))
            found["ask"].extend(EVERYTHING_ASKS.ask)
        elif not isinstance(items, list):
            problems.append(_not(where, "a list", items, "Dropped." if key == "allow" else None))
            found["ask"].extend(() if effect == "allow" else EVERYTHING_ASKS.ask)
        else:
            for number, item in enumerate(items):
                _read_rule(f"{where}[{number}]", item, effect, found, problems, targets)
    rules = Rules(tuple(found["allow"]), tuple(found["ask"]), tuple(found["deny"]))
    return rules, tuple(problems)


def _read_rule(
    where: str, item: object, effect: Effect, found: dict[Effect, list[Rule]],
    problems: list[Problem], targets: Mapping[str, Target] | None,
) -> None:  # fmt: skip
    try:
        if not isinstance(item, str):
            raise InvalidOptions(f"{json.dumps(item)[:80]} is no rule.")
        found[effect].append(parsed_rule(item, effect, targets))
    except InvalidOptions as error:
        if effect == "allow":
            problems.append(Problem(where, str(error), "The rule is dropped."))
            return
        tool = _TOOL.match(item) if isinstance(item, str) else None
        name = tool[1] if tool else "*"
        kind = {**TARGETS, **(targets or {})}.get(name, Target("fields")).kind
        found["ask"].append(Rule(f"{name} (from a malformed rule)", name, kind))
        who = "Everything" if name == "*" else f"Every call of {name}"
        problems.append(Problem(where, str(error), f"{who} asks."))


def _means_permission(key: str) -> bool:
    """Whether a key at the top of settings was meant for the permission section."""
    if key == "permission":
        return False
    if key in ("rules", *_EFFECTS):
        return True
    return bool(get_close_matches(key.lower(), ("permission", "permissions"), 1, 0.8))


def settings_object(settings: str | bytes) -> dict[str, object]:
    """The JSON object of a settings file; ValueError says why there is none."""
    if isinstance(settings, bytes):
        try:
            settings = settings.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError("it is not UTF-8") from error
    text = settings.removeprefix("\ufeff")
    if not text.strip():
        raise ValueError("it is empty")

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise _Duplicate(f"the key {key!r} stands twice in one object")
        return dict(pairs)

    try:
        content: object = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON ({error.msg} in line {error.lineno})") from error
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - one kind of failure for callers
    return {str(key): value for key, value in content.items()}


def _not(where: str, wanted: str, value: object, effect: str | None = None) -> Problem:
    got = type(value).__name__
    return Problem(where, f"is not {wanted} but {got}.", effect or "Everything asks.")


def rule_to_add(settings: str, rule: str, effect: Effect = "allow") -> str:
    """The text of the settings with ``rule`` added, and nothing else changed.

    ``settings`` is the text of the file, empty when there is none. The result has been read back:
    it holds the old rules and the new one. Raises InvalidOptions, and then nothing may be written.
    """
    parsed = parsed_rule(rule, effect)
    before, problems = (Rules(), ()) if not settings.strip() else read_rules(settings)
    if before == EVERYTHING_ASKS and problems:
        raise InvalidOptions(
            f"The settings cannot be changed: {problems[0]}", advice="Mend the file first."
        )
    content = settings_object(settings) if settings.strip() else {}
    section = content.setdefault("permission", {})
    lists = section.setdefault("rules", {}) if isinstance(section, dict) else None
    items = lists.setdefault(effect, []) if isinstance(lists, dict) else None
    if not isinstance(items, list):
        raise InvalidOptions(f"permission.rules.{effect} is not a list.", advice="Mend the file.")
    if parsed.text not in items:
        items.append(parsed.text)
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    after, problems_after = read_rules(text)
    added = Rules(
        allow=(parsed,) if effect == "allow" else (),
        ask=(parsed,) if effect == "ask" else (),
        deny=(parsed,) if effect == "deny" else (),
    )
    if after.joined() != before.joined(added) or len(problems_after) != len(problems):
        raise InvalidOptions(f"{rule!r} would not be read back as it is.", advice="Shorten it.")
    return text

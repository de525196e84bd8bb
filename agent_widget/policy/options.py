"""What the permission policy is told, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, get_args

from msgspec import Struct, field

from ..core.errors import InvalidOptions
from .rules import TARGETS, Rules, Target, rules_of
from .shell.model import Dialect

Mode = Literal["default", "accept_edits", "plan", "allow_all", "deny_all"]
Kind = Literal["read", "edit", "execute", "network", "other"]
Verdict = Literal["allow", "ask", "deny"]
Source = Literal["rule", "mode", "guard"]

MODES: Final[tuple[Mode, ...]] = get_args(Mode)
DIALECTS: Final[tuple[Dialect, ...]] = get_args(Dialect)
PROTECTED: Final = (
    "**/.git/**",
    "**/.agent_widget/**",
    "~/.config/agent_widget/**",
    "~/.ssh/**",
)


class PermissionOptions(Struct, frozen=True, kw_only=True):
    """How calls are decided; raises InvalidOptions at construction.

    ``mode`` None is ``default`` not chosen by anyone (a host's adjudicator may then answer).
    ``host_shell`` is the language of shell commands. ``protected`` are globs of files whose change
    asks even where a rule or a mode allows it. ``read_only_commands`` lets shell commands that are
    known to only read count as calls of kind ``read``.
    """

    mode: Mode | None = None
    rules: Rules = field(default_factory=Rules)
    host_shell: Dialect = "posix"
    protected: tuple[str, ...] = PROTECTED
    read_only_commands: bool = True

    def __post_init__(self) -> None:
        if self.mode is not None:
            _check("mode", self.mode, MODES)
        _check("host_shell", self.host_shell, DIALECTS)
        given: object = self.rules
        if not isinstance(given, Rules):
            raise InvalidOptions(
                f"rules is {given!r}, expected Rules.",
                advice="Make them with read_rules or rules_of.",
            )

    @property
    def effective_mode(self) -> Mode:
        return self.mode or "default"


def permission_options(
    option: object, *, host_shell: Dialect = "posix", targets: Mapping[str, Target] | None = None
) -> PermissionOptions:
    """The options of ``permission={mode, rules}`` as code writes them; InvalidOptions if wrong.

    ``rules`` is a mapping of allow, ask and deny to lists of rules, or `Rules`. The key
    ``ask_user`` is the engine's, and ignored here.
    """
    if option is None:
        return PermissionOptions(host_shell=host_shell)
    if not isinstance(option, Mapping):
        raise InvalidOptions(
            f"permission is {option!r}, expected a mapping.",
            advice="Write permission={'mode': 'default', 'rules': {'allow': ['weather']}}.",
        )
    for key in option:
        _check("an option of permission", key, ("mode", "rules", "ask_user"))
    mode = option.get("mode")
    if mode is not None:
        mode = _mode(mode)
    return PermissionOptions(
        mode=mode, rules=_rules(option.get("rules"), targets), host_shell=host_shell
    )


def default_dialect(os_name: str) -> Dialect:
    """The language of the host's shell, from ``os.name``."""
    return "powershell" if os_name == "nt" else "posix"


class Call(Struct, frozen=True, kw_only=True):
    """A checked call that waits for its ruling.

    ``kind`` says what the tool does: ``read`` changes nothing and reads no secret. ``target`` says
    what its rules' patterns are compared with; None looks the tool's name up in `TARGETS`.
    """

    tool: str
    args: Mapping[str, object] = field(default_factory=dict)
    kind: Kind = "other"
    target: Target | None = None

    @property
    def compared(self) -> Target:
        return self.target or TARGETS.get(self.tool, Target("fields"))


class Ruling(Struct, frozen=True):
    """The verdict on a call, what made it, and why, as a person reads it.

    ``source`` is ``rule``, ``mode``, or ``guard``: the call could not be judged with certainty, or
    does what asks in every mode. ``matched_rule`` is the text of the rule, if one made the verdict.
    """

    verdict: Verdict
    source: Source
    matched_rule: str | None = None
    reason: str | None = None


def mode_ruling(mode: Mode, kind: Kind) -> Ruling:
    """What the mode says of a call that no rule matches."""
    reads = kind == "read"
    verdicts: dict[Mode, Verdict] = {
        "default": "allow" if reads else "ask",
        "accept_edits": "allow" if reads or kind == "edit" else "ask",
        "plan": "allow" if reads else "deny",
        "allow_all": "allow",
        "deny_all": "deny",
    }
    what = "it only reads" if reads else f"its kind is {kind}"
    return Ruling(verdicts[mode], "mode", None, f"no rule matches; mode {mode}, {what}")


def unsure(mode: Mode, reason: str, rule: str | None = None) -> Ruling:
    """The ruling where allow cannot be shown to be right: ask, or deny if the mode never asks."""
    verdict: Verdict = "deny" if mode in {"plan", "deny_all"} else "ask"
    return Ruling(verdict, "guard", rule, reason)


def _check(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidOptions(
            f"{name} is {value!r}, expected one of {', '.join(map(repr, choices))}."
        )


def _mode(value: object) -> Mode:
    _check("mode", value, MODES)
    return next(mode for mode in MODES if mode == value)


def _rules(value: object, targets: Mapping[str, Target] | None) -> Rules:
    if value is None:
        return Rules()
    if isinstance(value, Rules):
        return value
    if not isinstance(value, Mapping):
        raise InvalidOptions(f"rules is {value!r}, expected a mapping of allow, ask and deny.")
    lists: dict[str, list[str]] = {"allow": [], "ask": [], "deny": []}
    for key, items in value.items():
        _check("an option of rules", key, ("allow", "ask", "deny"))
        if isinstance(items, str) or not isinstance(items, list | tuple):
            raise InvalidOptions(f"rules[{key!r}] is {items!r}, expected a list of rules.")
        for item in items:
            if not isinstance(item, str):
                raise InvalidOptions(f"rules[{key!r}] holds {item!r}, expected a rule as text.")
            lists[str(key)].append(item)
    return rules_of(lists["allow"], lists["ask"], lists["deny"], targets)

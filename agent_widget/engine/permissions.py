"""What a session lets run: its options, the rules a person added, and who answers what asks.

Follows the decision flow of the unified model, section 5, rows 5 to 16.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidOptions, SessionError
from ..policy.decision import ruling_on
from ..policy.options import Call, PermissionOptions, Ruling, unsure
from ..policy.paths import Paths
from ..policy.rules import Rules
from ..policy.suggestion import suggested_rules
from ..tools.base import Tool
from .hostcalls import host_answer
from .pins import CHANGED, KeptPins, Pins

ALLOW_ALL_WARNING: Final = "Every call runs without asking: permission mode allow_all."


class Judgement(Struct, frozen=True):
    """What an adjudicator says of a call that would ask."""

    verdict: Literal["safe", "dangerous"]
    reason: str = ""


class Notice(Struct, frozen=True):
    """Something a person should know of how calls are decided."""

    code: str
    message: str


Adjudicator = Callable[[Call], Judgement | Awaitable[Judgement]]
"""Host callable, sync or async, for calls that would ask; what it raises counts as dangerous."""


class ProjectRules(Protocol):
    """Where the rules of a project are kept; ``add`` writes before it returns."""

    @property
    def path(self) -> str: ...
    def add(self, rules: tuple[str, ...]) -> None: ...


class Permissions:
    """The permission state of one session; lives on the engine's loop.

    Rules that a person adds for the session live and die with it. ``options`` never come from
    anything that is stored: a mode is switched on in code. ``adjudicator`` is the one this session
    was given (InvalidOptions beside a mode) or False for none; without it the host's judges,
    unless a mode is chosen: then one of ``notices`` says so.
    """

    def __init__(
        self,
        options: PermissionOptions,
        paths: Paths,
        *,
        project: ProjectRules | None = None,
        adjudicator: Adjudicator | Literal[False] | None = None,
        host_adjudicator: Adjudicator | None = None,
        pins: KeptPins | None = None,
    ) -> None:
        if adjudicator and options.mode is not None:
            raise InvalidOptions(
                f"permission mode {options.mode!r} and an adjudicator contradict each other.",
                advice="Leave one of them out.",
            )
        self._options = options
        self._given = options.rules
        self._paths = paths
        self._project = project
        self._pins = Pins(pins)
        self._adjudicator = adjudicator or None
        self.notices: tuple[Notice, ...] = ()
        if adjudicator is None and host_adjudicator is not None:
            if options.mode is None:
                self._adjudicator = host_adjudicator
            else:
                self.notices = (_skipped(options.mode),)

    @property
    def mode(self) -> str:
        return self._options.effective_mode

    @property
    def warning(self) -> str | None:
        """What has to stay in sight while it lasts."""
        return ALLOW_ALL_WARNING if self.mode == "allow_all" else None

    @property
    def project_file(self) -> str | None:
        return None if self._project is None else self._project.path

    def ruling(self, tool: Tool, args: Mapping[str, Any]) -> Ruling:
        """The ruling on a call, as rules and mode stand now.

        What a rule allows asks when the tool's server has changed what the tool is.
        """
        ruling = ruling_on(call_of(tool, args), self._options, self._paths)
        by_rule = ruling.verdict == "allow" and ruling.source == "rule"
        if by_rule and self._pins.is_changed(tool):
            return unsure(self._options.effective_mode, CHANGED, ruling.matched_rule)
        return ruling

    def suggestions(self, tool: Tool, args: Mapping[str, Any]) -> tuple[str, ...]:
        """Allow rules that would cover the call, narrowest first."""
        return suggested_rules(tool.name, args, host_shell=self._options.host_shell)

    async def adjudicated(self, tool: Tool, args: Mapping[str, Any]) -> Judgement | None:
        """What the adjudicator says; None when there is none. A broken one finds danger."""
        if self._adjudicator is None:
            return None
        try:
            judgement = await host_answer("adjudicator", self._adjudicator, call_of(tool, args))
        except Exception as error:  # noqa: BLE001  # a broken guard never lets a call run
            return Judgement("dangerous", f"The adjudicator failed: {error}")
        if isinstance(judgement, Judgement):
            return judgement
        return Judgement("dangerous", f"The adjudicator answered {judgement!r}.")

    def check_rules(self, rules: tuple[str, ...]) -> None:
        """Raises SessionError INVALID_RULE when one of ``rules`` is no allow rule."""
        try:
            Rules().allowing(*rules)
        except InvalidOptions as error:
            raise SessionError("INVALID_RULE", error.message, advice=error.advice) from error

    def allow_for_session(self, rules: tuple[str, ...], tool: Tool | None = None) -> None:
        """Add allow rules for the rest of the session. Raises InvalidOptions for a bad one.

        ``tool`` is what a person read when they allowed it.
        """
        self._options = replace(self._options, rules=self._options.rules.allowing(*rules))
        if tool is not None:
            self._pins.confirm(tool, keep=False)

    def allow_in_project(self, rules: tuple[str, ...], tool: Tool | None = None) -> None:
        """Add allow rules to the project's file, then to the session.

        Raises InvalidOptions for a bad rule or without a project, OSError when it cannot be
        written; then nothing has changed.
        """
        if self._project is None:
            raise InvalidOptions("This session has no project to keep rules in.")
        Rules().allowing(*rules)
        if tool is not None:
            self._pins.confirm(tool, keep=True)
        self._project.add(rules)
        self.allow_for_session(rules)

    def forget_session_rules(self) -> None:
        """Back to the rules that the session was made with."""
        self._options = replace(self._options, rules=self._given)


def _skipped(mode: str) -> Notice:
    message = f"The host's adjudicator is not used: the permission mode {mode} was chosen."
    return Notice("adjudicator_skipped_by_mode", message)


def call_of(tool: Tool, args: Mapping[str, Any]) -> Call:
    """The call as the policy judges it: what needs no question counts as reading."""
    return Call(tool=tool.name, args=args, kind="read" if tool.read_only else tool.kind)

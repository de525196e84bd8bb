"""The ruling on a shell command: each part of it must be allowed on its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..options import Call, PermissionOptions, Ruling, mode_ruling, unsure
from ..paths import PathPattern, Paths, path_pattern
from ..rules import FAMILIES, Rule
from .files import Files
from .guards import guard_against
from .model import Command, Dialect, Redirect, Word, readable
from .patterns import Match, ShellPattern, in_powershell
from .programs import NO_FILES
from .readers import only_reads, variables_fine
from .scripts import script_of
from .wrappers import program_name

SHELL_TOOLS = frozenset({"bash", "powershell", "pwsh", "ps"})
_POWERSHELL_TOOLS = SHELL_TOOLS - {"bash"}
MAX_PARTS = 40


def shell_ruling(source: str, call: Call, options: PermissionOptions, paths: Paths) -> Ruling:
    """The ruling on running ``source``, in the dialect of ``options``."""
    dialect = "powershell" if call.tool in _POWERSHELL_TOOLS else options.host_shell
    return _Judge(source, dialect, call, options, paths).ruling()


class _Judge:
    def __init__(
        self, source: str, dialect: Dialect, call: Call, options: PermissionOptions, paths: Paths
    ) -> None:
        self._source, self._script, self._call = source, script_of(source, dialect), call
        self._powershell = dialect == "powershell"
        self._options, self._paths, self._rules = options, paths, options.rules
        self._mode = options.effective_mode
        self._files = Files(self._script, paths, backslashes=self._powershell)
        self._patterns: dict[str, PathPattern] = {}

    def ruling(self) -> Ruling:
        possible: list[Rule] = []
        for verdict, rules in (("deny", self._rules.deny), ("ask", self._rules.ask)):
            for rule in rules:
                match self._restricted(rule):
                    case "sure" if verdict == "deny":
                        return Ruling("deny", "rule", rule.text, "a deny rule matches")
                    case "sure":
                        return Ruling("ask", "rule", rule.text, "an ask rule matches")
                    case "possible":
                        possible.append(rule)
        if reason := self._guarded():
            return unsure(self._mode, reason)
        if firm := [rule for rule in possible if not rule.is_gentle]:
            return self._perhaps(firm[0])
        if (exact := self._exact_rule()) is not None:
            return Ruling("allow", "rule", exact.text, "an allow rule has exactly this text")
        open_eyed = self._mode == "allow_all" and not self._restrictive()
        if self._script.doubts and not open_eyed:
            return unsure(self._mode, self._script.doubts[0])
        return self._allowed(possible)

    # Deny and ask -------------------------------------------------------------------------------

    def _restricted(self, rule: Rule) -> Match | None:
        pattern = rule.pattern
        if access := FAMILIES.get(rule.tool):
            return self._files_restricted(rule, access)
        if rule.tool.casefold() not in SHELL_TOOLS:
            return None
        if not isinstance(pattern, ShellPattern):
            return "sure"
        if pattern.restricts_text(self._source):
            return "sure"
        patterns = dict.fromkeys((pattern, in_powershell(pattern)))
        found: Match | None = None
        for command in self._script.commands:
            for each in patterns:
                match each.restricts(command):
                    case "sure":
                        return "sure"
                    case "possible":
                        found = "possible"
                if found is None and _hides(command, each):
                    found = "possible"
        return found

    def _files_restricted(self, rule: Rule, access: str) -> Match | None:
        redirected = [r.target for r in self._script.redirects if r.access == access]
        if not isinstance(rule.pattern, str):
            return "sure" if redirected else None
        words = [word for c in self._script.commands for word in self._file_words(c, access)]
        pattern = self._pattern(rule.pattern)
        matches = {self._files.restricted(pattern, word) for word in [*redirected, *words]}
        return "sure" if "sure" in matches else "possible" if "possible" in matches else None

    def _file_words(self, command: Command, access: str) -> Sequence[Word]:
        if program_name(command) in NO_FILES or command.transparent:
            return ()
        if access == "write" and only_reads(command, self._files):
            return ()
        return _without_messages(command)

    def _restrictive(self) -> bool:
        """True when some deny or ask rule could be dodged by a command that is not understood."""
        return any(
            rule.pattern is not None
            and not rule.is_gentle
            and (rule.kind == "shell" or rule.tool in FAMILIES)
            for rule in (*self._rules.deny, *self._rules.ask)
        )

    def _guarded(self) -> str | None:
        for command in self._script.commands:
            if reason := guard_against(command, self._paths, self._files.folders):
                return reason
        for redirect in self._script.redirects:
            if redirect.access == "write" and any(
                self._files.restricted(self._pattern(text), redirect.target) == "sure"
                for text in self._options.protected
            ):
                return f"it writes to the protected file {readable(redirect.target.text)}"
        return None

    # Allow --------------------------------------------------------------------------------------

    def _shell_rules(self) -> Iterator[Rule]:
        for rule in self._rules.allow:
            if rule.kind == "shell" and rule.tool in {"bash", self._call.tool}:
                yield rule

    def _exact_rule(self) -> Rule | None:
        """The allow rule that has the text of the whole line, or the words of its one command."""
        words = self._plain_words()
        for rule in self._shell_rules():
            if not isinstance(rule.pattern, ShellPattern):
                continue
            if rule.pattern.allows_text(self._source):
                return rule
            if words is not None and rule.pattern.literal == words:
                return rule
        return None

    def _plain_words(self) -> tuple[str, ...] | None:
        """The words of a line that is one command, all known, without anything around it."""
        script = self._script
        if not script.commands or script.redirects or script.variables:
            return None
        first = script.commands[0]
        plain = first.known and not first.assignments and first.stdin is None
        words = tuple(word.text for word in first.words)
        written = self._source.split()
        quoted = any(mark in self._source for mark in ";&|<>()`$\n\\#")
        single = len(script.commands) == 1 or first.transparent
        return words if plain and single and not quoted and len(written) >= 1 else None

    def _allowed(self, gentle: Sequence[Rule]) -> Ruling:
        matched: list[Rule] = []
        readers = 0
        for command in self._script.commands:
            if command.transparent:
                continue
            allowing = self._rule_allowing(command)
            if allowing is not None:
                matched.append(allowing)
            elif self._options.read_only_commands and only_reads(command, self._files):
                readers += 1
            else:
                return self._by_mode(command)
        for redirect in self._script.redirects:
            allowing = self._rule_allowing_file(redirect)
            if allowing is not None:
                matched.append(allowing)
            elif redirect.access == "read" and self._files.inside(redirect.target):
                readers += 1
            else:
                what = "reads" if redirect.access == "read" else "writes"
                return self._not_covered(f"it {what} {readable(redirect.target.text)}")
        return self._covered(matched, readers, gentle)

    def _covered(self, matched: Sequence[Rule], readers: int, gentle: Sequence[Rule]) -> Ruling:
        """Where every part is allowed by ``matched`` or only reads, as ``readers`` of them do.

        Those of ``gentle`` could match what is read.
        """
        if readers and gentle:
            return self._perhaps(gentle[0])
        if matched:
            return Ruling("allow", "rule", matched[0].text, "every part is allowed by a rule")
        if not readers or not self._script.commands:
            return self._not_covered("it runs nothing that a rule could name")
        return mode_ruling(self._mode, "read")

    def _by_mode(self, command: Command) -> Ruling:
        what = readable(command.text) or "an assignment"
        if (
            command.unseen
            and self._restrictive()
            and (self._mode == "allow_all" or self._general())
        ):
            return unsure(
                self._mode,
                f"{command.unseen}, which deny and ask rules cannot see: name it in a rule",
            )
        if not variables_fine(command) and self._restrictive() and self._mode == "allow_all":
            return unsure(self._mode, "it sets a variable that says what other programs do")
        return self._not_covered(f"{what[:80]}: no rule allows it")

    def _perhaps(self, rule: Rule) -> Ruling:
        reason = "what it does is only known in the run, and this rule could match"
        return unsure(self._mode, reason, rule.text)

    def _not_covered(self, reason: str) -> Ruling:
        ruling = mode_ruling(self._mode, "execute")
        return Ruling(ruling.verdict, "mode", None, f"{reason}; mode {self._mode}")

    def _general(self) -> bool:
        return any(
            not isinstance(rule.pattern, ShellPattern) or rule.pattern.general
            for rule in self._shell_rules()
        )

    def _rule_allowing(self, command: Command) -> Rule | None:
        prefix = tuple(Word(f"{a.name}={a.value.text}", a.value.many) for a in command.assignments)
        with_prefix = Command((*prefix, *command.words))
        for rule in self._shell_rules():
            pattern = rule.pattern
            if not isinstance(pattern, ShellPattern):
                if self._general_allows(command):
                    return rule
                continue
            if pattern.general and not self._general_allows(command):
                continue
            named = pattern.allows(command)
            if self._powershell and not named:
                named = in_powershell(pattern).allows(command)
            if named and variables_fine(command, named=not pattern.general):
                return rule
            if prefix and not pattern.general and pattern.allows(with_prefix):
                return rule
        return None

    def _general_allows(self, command: Command) -> bool:
        """Where other rules must see what runs, a rule for every command covers no more."""
        if not self._restrictive():
            return True
        return command.unseen is None and variables_fine(command)

    def _rule_allowing_file(self, redirect: Redirect) -> Rule | None:
        for rule in self._rules.allow:
            if FAMILIES.get(rule.tool) != redirect.access:
                continue
            if rule.pattern is None and redirect.target.known:
                return rule
            if isinstance(rule.pattern, str) and self._files.allowed(
                self._pattern(rule.pattern), redirect
            ):
                return rule
        return None

    def _pattern(self, text: str) -> PathPattern:
        if text not in self._patterns:
            self._patterns[text] = path_pattern(text, self._paths)
        return self._patterns[text]


def _without_messages(command: Command) -> list[Word]:
    """The arguments of a command, without the texts that ``git commit -m`` is given."""
    if program_name(command) != "git":
        return list(command.words[1:])
    return [
        word
        for before, word in pairwise(command.words)
        if before.text not in {"-m", "-am", "--message"}
    ]


def _hides(command: Command, pattern: ShellPattern) -> bool:
    """True when the arguments of a program that may run others hold what ``pattern`` names."""
    if command.unseen is None:
        return False
    words = [part for word in command.words[1:] for part in word.text.split()][:MAX_PARTS]
    return any(
        pattern.restricts(Command(tuple(Word(word) for word in words[at:]))) == "sure"
        for at in range(len(words))
    )

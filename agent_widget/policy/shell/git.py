"""The commands that git itself would run: aliases, hooks of a rebase, a bisect, submodules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

import msgspec

from .model import Command, Script, Word, doubtful, names
from .options import has_option
from .programs import (
    GIT_COMMANDS,
    GIT_HARMLESS_SETTINGS,
    GIT_LISTS,
    GIT_READERS,
    GIT_RUNS_WITH,
)

_PLAIN: Final = frozenset({"--no-pager", "-P", "--literal-pathspecs", "--no-optional-locks"})
_NO_PROGRAMS: Final = names(
    "add rm mv restore checkout switch stash commit reset tag branch merge-base clean"
)
_SHORT_RUNS_WITH: Final[dict[str, tuple[str, ...]]] = {
    "rebase": ("-x",),
    "grep": ("-O",),
    "clone": ("-u", "-c"),
    "difftool": ("-x", "-t"),
}


def git_commands(command: Command, posix: Callable[[str], Script]) -> Script:
    """``command`` (git …) and what it runs; doubts where its options can name a program."""
    at, doubts = _subcommand_at(command.words)
    sub = command.words[at].text if at < len(command.words) else ""
    args = command.words[at + 1 :]
    unseen = None if sub in GIT_COMMANDS or not sub else f"git {sub} may run other programs"
    outer = Script((msgspec.structs.replace(command, unseen=unseen),), doubts=tuple(doubts))
    code = _code(sub, args)
    if code is not None:
        inner = posix(code.text) if code.known else doubtful("git runs what only the run can tell")
        return outer.joined(inner)
    if sub == "config" and not GIT_HARMLESS_SETTINGS.fullmatch(_setting(args)):
        if not any(w.text in {"--get", "--list", "-l", "--get-all", "--unset"} for w in args):
            return outer.joined(doubtful("a setting of git can name a program to run"))
    elif (
        sub not in GIT_READERS
        and sub not in _NO_PROGRAMS
        and has_option(_long(args), GIT_RUNS_WITH)
    ):
        return outer.joined(doubtful(f"an option of git {sub} can name a program to run"))
    elif sub in GIT_READERS and has_option(_long(args), ("--ext-diff", "--open-files-in-pager")):
        return outer.joined(doubtful(f"an option of git {sub} runs a program"))
    if has_option(args, _SHORT_RUNS_WITH.get(sub, ())):
        return outer.joined(doubtful(f"an option of git {sub} can name a program to run"))
    if any("ext::" in word.text for word in args) and sub in {
        "clone", "fetch", "pull", "push", "remote", "ls-remote", "submodule",
    }:  # fmt: skip
        return outer.joined(doubtful(f"git {sub} may run the program that its address names"))
    return outer


def reads_only(words: Sequence[Word]) -> bool:
    """True when ``git …`` changes nothing, whatever its files are called."""
    at, doubts = _subcommand_at(words)
    if doubts or at >= len(words) or not all(word.known for word in words):
        return False
    sub, args = words[at].text, words[at + 1 :]
    if sub == "stash" or sub not in GIT_READERS:
        return sub == "stash" and [word.text for word in args[:1]] == ["list"]
    reader = GIT_READERS[sub]
    if reader.operands == 0:
        return all(word.text in GIT_LISTS for word in args)
    return not has_option(args, reader.writes)


def folder_of(words: Sequence[Word]) -> Word | None:
    """Where ``git -C folder`` works, or None."""
    return next((b for a, b in pairwise(words) if a.text == "-C"), None)


def _subcommand_at(words: Sequence[Word]) -> tuple[int, list[str]]:
    """Where the subcommand stands, and doubts about the options before it."""
    at, doubts = 1, []
    while at < len(words) and (words[at].text.startswith("-") or not words[at].known):
        text = words[at].text
        if not words[at].known:
            doubts.append("an argument of git is only known in the run")
        if text == "-C":
            at += 1
        elif text == "-c":
            at += 1
            setting = words[at].text if at < len(words) and words[at].known else ""
            if not GIT_HARMLESS_SETTINGS.fullmatch(setting):
                doubts.append("a setting of git can name a program to run")
        elif text not in _PLAIN | {"--version", "--help", "-v", "-h", "-p", "--paginate"}:
            doubts.append(f"the option {text} of git can name a program to run")
        at += 1
    return at, doubts


def _code(sub: str, args: Sequence[Word]) -> Word | None:
    """The shell text that a subcommand is told to run."""
    match sub:
        case "rebase":
            return next(
                (b for a, b in pairwise(args) if a.text in {"-x", "--exec"}),
                None,
            )
        case "bisect" if args and args[0].text == "run":
            return _joined(args[1:])
        case "submodule" if "foreach" in [word.text for word in args]:
            at = [word.text for word in args].index("foreach")
            return _joined([w for w in args[at + 1 :] if w.text not in {"--recursive", "--quiet"}])
    return None


def _joined(words: Sequence[Word]) -> Word:
    return Word(" ".join(w.text for w in words), any(not w.known for w in words))


def _long(args: Sequence[Word]) -> list[Word]:
    """``args`` without short clusters, whose letters mean something else in each subcommand."""
    return [w for w in args if w.text[:2] == "--" or w.text[:1] != "-" or len(w.text) == 2]


def _setting(args: Sequence[Word]) -> str:
    words = [word.text for word in args if not word.text.startswith("--")]
    return f"{words[0]}={' '.join(words[1:])}" if words else ""

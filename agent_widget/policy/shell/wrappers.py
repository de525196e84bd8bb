"""Programs that run another program: what they run is judged as a command of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

import msgspec

from .git import git_commands
from .model import ANY_WORDS, UNKNOWN, Assignment, Command, Redirect, Script, Word, doubtful
from .options import has_option, rest_after_options
from .programs import (
    AWK_DANGERS,
    BINARIES,
    COMMANDING_VARIABLES,
    EVALUATORS,
    FAMILIAR,
    HARMLESS_SET,
    ODD_BUILTINS,
    POWERSHELLS,
    RUNS_WITH,
    SED_SCRIPT,
    SETS_BY_NAME,
    SHELLS,
)
from .syntax import NotUnderstood

Parsed = Callable[[str], Script]
"""A shell text as a script, everything it runs included."""

MAX_WRAPPED: Final = 300
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_EVALUATED: Final = re.compile(r"\$\(|`|\$\{")
_FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_WRITES: Final = frozenset({"-fprint", "-fprint0", "-fprintf", "-fls"})
_NARROWS: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-regex", "-iregex"})
_SHELL_LONG_OPTIONS: Final = frozenset(
    {"--login", "--noprofile", "--norc", "--posix", "--restricted", "--verbose"}
)
_DURATION: Final = re.compile(r"\d+(\.\d+)?[smhd]?")


def unwrapped(command: Command, posix: Parsed, powershell: Parsed) -> Script:
    """``command`` and every command that it runs."""
    if not command.words:
        return Script((command,))
    name = program_name(command)
    try:
        return _Unwrapper(command, posix, powershell).script(name)
    except NotUnderstood as reason:
        return Script((command,), doubts=(str(reason),))


def program_name(command: Command) -> str:
    """The program without the folder of a system's own programs and without ``.exe``."""
    return _program(command.name)


@lru_cache(maxsize=1_024)
def _program(text: str) -> str:
    folder, slash, base = text.rpartition("/")
    if slash and folder in BINARIES:
        text = base
    return text.removesuffix(".exe")


class _Unwrapper:
    def __init__(self, command: Command, posix: Parsed, powershell: Parsed) -> None:
        self._command = command
        self._args = command.words[1:]
        self._posix, self._powershell = posix, powershell

    def script(self, name: str) -> Script:
        if not self._command.words[0].known:
            return Script((self._command,), doubts=("which program runs is only known in the run",))
        if name in SHELLS:
            return self._shell()
        if name in POWERSHELLS:
            return self._power_shell()
        if name in _SIMPLE:
            rest = _SIMPLE[name](self._args)
            return self._transparent(rest) if rest else self._alone()
        if name in {"sudo", "doas"}:
            return self._elevated(name)
        opened = {
            "alias": self._alias,
            "env": self._env,
            "eval": lambda: self._code_of_words(self._args),
            "find": self._find,
            "git": lambda: git_commands(self._command, self._posix),
            "parallel": self._parallel,
            "shopt": lambda: self._alone().joined(doubtful("shopt changes how words are read")),
            "trap": self._trap,
            "watch": self._watch,
            "xargs": self._xargs,
        }
        return opened.get(name, self._alone)()

    def _alone(self) -> Script:
        command = msgspec.structs.replace(self._command, unseen=_unseen(self._command))
        doubts = ["a builtin may evaluate its argument"] if _evaluates(self._command) else []
        if self._command.name in SETS_BY_NAME:
            doubts += [
                f"it changes {word.text}, which says what other programs do"
                for word in self._args
                if COMMANDING_VARIABLES.fullmatch(word.text)
            ]
        return Script((command,), doubts=tuple(doubts))

    def _transparent(self, inner: Sequence[Word], *more: Assignment) -> Script:
        """The wrapper, and the command that it runs with the same input and variables."""
        if not inner:
            return self._alone()
        if len(inner) > MAX_WRAPPED:
            raise NotUnderstood(f"a wrapper is given more than {MAX_WRAPPED} words")
        outer = msgspec.structs.replace(self._command, transparent=True)
        command = Command(
            tuple(inner), (*self._command.assignments, *more), stdin=self._command.stdin
        )
        return Script((outer,)).joined(unwrapped(command, self._posix, self._powershell))

    def _code(self, code: Word, parsed: Parsed) -> Script:
        """The wrapper, and what the text ``code`` runs."""
        outer = msgspec.structs.replace(self._command, transparent=True)
        script = Script((outer, Command((), self._command.assignments)))
        if not code.known:
            return script.joined(doubtful("the code that a shell runs is only known in the run"))
        return script.joined(parsed(code.text))

    def _code_of_words(self, words: Sequence[Word]) -> Script:
        text = " ".join(word.text for word in words)
        many = any(word.many or not word.known for word in words)
        return self._code(Word(text, many), self._posix)

    # Shells -------------------------------------------------------------------------------------

    def _shell(self) -> Script:
        if len(self._args) == 1 and self._args[0].text in {"--version", "--help"}:
            return self._alone()
        rest, code = _after_shell_options(self._args)
        if code:
            return self._code(rest[0], self._posix) if rest else self._alone()
        if rest and rest[0].text != "/dev/stdin":
            return self._alone()
        if self._command.stdin is not None:
            return self._code(self._command.stdin, self._posix)
        return Script((self._command,), doubts=("a shell reads its commands from its input",))

    def _power_shell(self) -> Script:
        from .powershell import code_of_arguments

        outer = msgspec.structs.replace(self._command, transparent=True)
        code, reason = code_of_arguments(self._args)
        script = Script((outer,), doubts=(reason,) if reason else ())
        return script if code is None else script.joined(self._powershell(code))

    # Wrappers of a command line -----------------------------------------------------------------

    def _env(self) -> Script:
        args = list(self._args)
        for at, word in enumerate(args):
            if re.match(r"-[^-]*S|--s", word.text) and all(
                a.text.startswith("-") for a in args[:at]
            ):
                script = self._posix(" ".join(w.text for w in args[at + 1 :]))
                inline = re.sub(r"^(-[^-]*?S|--[a-z-]+=?)", "", word.text)
                script = script.joined(self._posix(inline)) if inline.strip() else script
                return Script((self._command,)).joined(
                    script, doubtful("env -S splits its argument in a way of its own")
                )
        rest = list(rest_after_options(
            args, flags="i0v", valued="uC",
            longs="--ignore-environment --null --debug --unset= --chdir= --default-signal "
            "--ignore-signal --block-signal",
        ))  # fmt: skip
        rest = rest[1:] if rest and rest[0].text == "-" else rest
        assignments: list[Assignment] = []
        while rest and (found := _ASSIGNMENT.fullmatch(rest[0].text)):
            assignments.append(Assignment(found[1], Word(found[2])))
            rest.pop(0)
        return self._transparent(rest, *assignments)

    def _elevated(self, name: str) -> Script:
        """More rights than the session has: the wrapper needs a rule of its own as well."""
        flags, valued = ("nEHSkKbPAB", "ugpCDRThrt") if name == "sudo" else ("nL", "uC")
        rest = list(rest_after_options(
            self._args, flags=flags, valued=valued,
            longs="--non-interactive --preserve-env --set-home --stdin --user= --group= --prompt=",
        ))  # fmt: skip
        assignments: list[Assignment] = []
        while rest and (found := _ASSIGNMENT.fullmatch(rest[0].text)):
            assignments.append(Assignment(found[1], Word(found[2])))
            rest.pop(0)
        inner = self._transparent(rest, *assignments)
        return Script((self._command, *inner.commands[1:]), inner.redirects, inner.doubts)

    def _watch(self) -> Script:
        rest = rest_after_options(
            self._args, flags="bcdegtpxw", valued="nq",
            longs="--beep --color --differences --errexit --chgexit --no-title --precise --exec "
            "--interval= --equexit=",
        )  # fmt: skip
        return self._code_of_words(rest)

    def _trap(self) -> Script:
        words = [word for word in self._args if word.text != "--"]
        if not words or words[0].text in {"", "-", "-l", "-p"}:
            return self._alone()
        return self._code(words[0], self._posix)

    def _alias(self) -> Script:
        script = self._alone()
        for word in self._args:
            meaning = Word(word.text.partition("=")[2], many=not word.known)
            script = script.joined(self._code(meaning, self._posix))
        changes = doubtful("an alias changes what later words mean")
        return script.joined(changes) if self._args else script

    def _xargs(self) -> Script:
        replaced = [
            m[1] for w in self._args if (m := re.match(r"(?:-I|-i|--replace=)(.+)", w.text))
        ]
        replaced += [right.text for left, right in pairwise(self._args) if left.text == "-I"]
        marks = [mark for mark in (*replaced, "{}") if mark]
        rest = list(rest_after_options(
            self._args, flags="0rtpxoi", valued="InLPdEasl",
            longs="--null --no-run-if-empty --verbose --interactive --exit --replace= --max-args= "
            "--max-lines= --max-procs= --delimiter= --arg-file= --max-chars=",
        ))  # fmt: skip
        if not rest:
            return self._transparent([Word("echo"), ANY_WORDS])
        inner = [_replaced(word, marks) for word in rest]
        return self._transparent([*inner, ANY_WORDS])

    def _parallel(self) -> Script:
        cut = next((n for n, w in enumerate(self._args) if w.text.startswith(":::")), None)
        words = [w for w in self._args[:cut] if not w.text.startswith("-")]
        text = " ".join(word.text for word in words).replace(UNKNOWN, "x")
        return Script((self._command,)).joined(
            self._posix(text), doubtful("parallel builds its commands in the run")
        )

    def _find(self) -> Script:
        """``find``, what it runs for each file, what it deletes and what it writes."""
        script = self._alone()
        args = self._args
        if any(not word.known and word.text[:1] == UNKNOWN for word in args):
            script = script.joined(doubtful("an argument of find could be -exec or -delete"))
        at = 0
        while at < len(args):
            option = args[at].text
            at += 1
            if option in _FIND_RUNS:
                end = _end_of_exec(args, at)
                words = tuple(_replaced(each, ["{}"]) for each in args[at:end])
                inner = unwrapped(Command(words), self._posix, self._powershell)
                script = script.joined(inner if words else doubtful("find runs no command"))
                at = end
            elif option == "-delete":
                script = script.joined(Script((_deleted_by_find(args),)))
            elif option in _FIND_WRITES:
                target = args[at] if at < len(args) else Word(UNKNOWN)
                script = script.joined(Script(redirects=(Redirect("write", target),)))
        return script


def _end_of_exec(args: Sequence[Word], start: int) -> int:
    """Where the command of ``find -exec`` ends: at ``;``, or at a ``+`` after ``{}``."""
    for at in range(start, len(args)):
        if args[at].text == ";" or (args[at].text == "+" and args[at - 1].text == "{}"):
            return at
    return len(args)


def _deleted_by_find(args: Sequence[Word]) -> Command:
    """``find … -delete`` as the ``rm`` that it amounts to."""
    texts = [word.text for word in args if word.text not in {"-H", "-L", "-P"}]
    ends = (at for at, text in enumerate(texts) if text[:1] in {"-", "(", "!"})
    starts = texts[: next(ends, len(texts))] or ["."]
    named = any(
        option.text in _NARROWS and any(char.isalnum() for char in value.text)
        for option, value in pairwise(args)
    )
    if named and not {"-o", "-or", "!", "-not", ","} & set(texts):
        return Command((Word("rm"), Word("-f"), *(Word(f"{text}/{UNKNOWN}") for text in starts)))
    return Command((Word("rm"), Word("-rf"), *map(Word, starts)))


def _after_shell_options(args: Sequence[Word]) -> tuple[Sequence[Word], bool]:
    """The words after the options of a shell, and whether the first is code (``-c``)."""
    at, code = 0, False
    while at < len(args):
        text = args[at].text
        if not args[at].known:
            raise NotUnderstood("an argument of a shell is only known in the run")
        if text in {"--", "-"}:
            return args[at + 1 :], code
        if not text.startswith(("-", "+")):
            break
        at += 1
        if text in _SHELL_LONG_OPTIONS:
            continue
        if not re.fullmatch(r"[-+][abefhklmnpruvxBCEHPTcstOo]+", text):
            raise NotUnderstood(f"the option {text} of a shell is not understood")
        code = code or "c" in text
        at += ("o" in text) + ("O" in text)
    return args[at:], code


def _replaced(word: Word, marks: Sequence[str]) -> Word:
    text = word.text
    for mark in marks:
        text = text.replace(mark, UNKNOWN)
    return Word(text, word.many)


def _timeout(args: Sequence[Word]) -> tuple[Word, ...]:
    rest = rest_after_options(
        args, flags="v", valued="sk",
        longs="--foreground --preserve-status --verbose --signal= --kill-after=",
    )  # fmt: skip
    if rest and not (rest[0].known and _DURATION.fullmatch(rest[0].text)):
        raise NotUnderstood("the duration of timeout is not understood")
    return rest[1:]


def _nice(args: Sequence[Word]) -> tuple[Word, ...]:
    if args and re.fullmatch(r"--?\d+", args[0].text):
        args = args[1:]
    return rest_after_options(args, valued="n", longs="--adjustment=")


def _command(args: Sequence[Word]) -> tuple[Word, ...]:
    if args and re.fullmatch(r"-p?[vV]+", args[0].text):
        return ()
    return rest_after_options(args, flags="p")


def _coproc(args: Sequence[Word]) -> tuple[Word, ...]:
    return tuple(args)


_SIMPLE: Final[dict[str, Callable[[Sequence[Word]], tuple[Word, ...]]]] = {
    "timeout": _timeout,
    "gtimeout": _timeout,
    "nice": _nice,
    "command": _command,
    "coproc": _coproc,
    "time": lambda args: rest_after_options(args, flags="pv", valued="f", longs="--portability"),
    "nohup": rest_after_options,
    "builtin": rest_after_options,
    "exec": lambda args: rest_after_options(args, flags="cl", valued="a"),
    "setsid": lambda args: rest_after_options(args, flags="cfw", longs="--ctty --fork --wait"),
    "ionice": lambda args: rest_after_options(
        args, flags="t", valued="cn", longs="--ignore --class= --classdata="
    ),
    "stdbuf": lambda args: rest_after_options(
        args, valued="ioe", longs="--input= --output= --error="
    ),
}


def _evaluates(command: Command) -> bool:
    """True for a builtin that would run the code in an argument such as ``a[$(cmd)]``."""
    if command.name not in EVALUATORS:
        return False
    args = command.words[1:]
    if command.name == "printf" and not has_option(args[:1], ("-v",)):
        return False
    subscript = any("[" in word.text and word.text not in {"[", "[["} for word in args)
    by_name = command.name in {"test", "["} and any(word.text in {"-v", "-R"} for word in args)
    return by_name or subscript or any(_EVALUATED.search(word.text) for word in args)


def _unseen(command: Command) -> str | None:
    """Why a rule for every command does not cover this one, or None."""
    name = program_name(command)
    may_run = f"{name} may run other programs"
    if name == "set" and not all(HARMLESS_SET.fullmatch(w.text) for w in command.words[1:]):
        return "set changes what later commands mean"
    if name in ODD_BUILTINS:
        return f"{name} can change what other commands mean"
    if name not in FAMILIAR:
        return may_run
    if has_option(command.words[1:], RUNS_WITH.get(name, ())):
        return may_run
    words = [word for word in command.words[1:] if not word.text.startswith("-")]
    if name == "sed" and not (
        command.known and words and SED_SCRIPT.fullmatch(words[0].text)
        and not has_option(command.words[1:], ("-f", "--file", "-e", "--expression"))
    ):  # fmt: skip
        return may_run
    if name == "awk" and (
        not (command.known and words)
        or has_option(command.words[1:], ("-f", "--file", "-i", "--include", "-l", "-e", "-E"))
        or any(AWK_DANGERS.search(word.text) for word in words)
    ):
        return may_run
    return None

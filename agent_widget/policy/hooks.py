"""Hooks: what settings declare, which calls one is for, and what its answer means.

    {"hooks": {"before_tool": [{"command": "./guard.sh", "match": "bash|write_*", "timeout_s": 5}],
               "after_run": [{"url": "http://localhost:8080/done"}]}}

A hook of a ``before_…`` event is a guard: what it guards goes on only if it says so in time, and
properly. ``"advisory": true`` makes it one whose words are noted and nothing more, which the hooks
of all other events are. An entry that cannot be read never runs; where it may have been a guard,
what it would guard is blocked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Final, Literal, get_args
from urllib.parse import urlsplit, urlunsplit

from msgspec import Struct

from ..core.errors import InvalidOptions
from .rules import Problem, settings_object

HookEvent = Literal[
    "session_start",
    "session_end",
    "before_run",
    "after_run",
    "before_model",
    "after_model",
    "before_tool",
    "after_tool",
    "before_tree",
    "before_compaction",
]
EVENTS: Final[tuple[HookEvent, ...]] = get_args(HookEvent)

TIMEOUT_S: Final = 10.0
MAX_TIMEOUT_S: Final = 600.0
MAX_HOOKS: Final = 50
"""How many hooks one list of a settings file may hold."""
MAX_TEXT: Final = 2_000
"""Length of a command or an address: a person reads it before they trust it."""
MAX_REASON: Final = 500

_KEYS: Final = ("command", "url", "match", "timeout_s", "advisory")
_PATTERNS: Final = re.compile(r"[A-Za-z0-9_.*?-]+(?:\|[A-Za-z0-9_.*?-]+)*")
_NAME_CHARS: Final = 80

PythonHook = Callable[[Mapping[str, object]], object]
"""Takes what happens as JSON data; returns (or awaits) None or an answer like that of a command."""


class Command(Struct, frozen=True):
    """A shell command. ``files`` are those it names, with the SHA-256 they must still have."""

    text: str
    files: tuple[tuple[str, str], ...] = ()


class Address(Struct, frozen=True):
    """Where what happens is sent to."""

    url: str


class Function(Struct, frozen=True):
    """A function of the program itself, sync or async."""

    call: PythonHook


class Unreadable(Struct, frozen=True):
    """What stands in the settings and cannot be read: it blocks what it may have guarded."""

    problem: str


class Hook(Struct, frozen=True):
    """One hook: ``name`` is how a person recognises it, ``origin`` where it is declared.

    ``match`` are patterns of tool names, none for all of them.
    """

    event: HookEvent
    action: Command | Address | Function | Unreadable
    name: str
    origin: str
    is_guard: bool
    match: tuple[str, ...] = ()
    timeout_s: float = TIMEOUT_S

    def is_for(self, tool: str | None) -> bool:
        """Whether it runs for a call of ``tool``; for what is no call it always does."""
        return not self.match or any(fnmatchcase(tool or "", each) for each in self.match)


class Verdict(Struct, frozen=True):
    """What became of one hook: it allowed, it denied, or it failed as ``reason`` says.

    ``args`` are the arguments it wants in place of those of the call.
    """

    outcome: Literal["allow", "deny", "failed"]
    reason: str = ""
    args: Mapping[str, object] | None = None


def failed(what: str) -> Verdict:
    """A hook that did not do its work; ``what`` goes on after its name."""
    return Verdict("failed", what)


ALLOWED: Final = Verdict("allow")


# Declaring --------------------------------------------------------------------------------------


def python_hook(
    event: HookEvent,
    function: PythonHook,
    *,
    match: str | None = None,
    timeout_s: float = TIMEOUT_S,
    advisory: bool = False,
) -> Hook:
    """A hook in code; it answers like a command, with None for silence.

    ``match`` are patterns of tool names, like ``"bash|write_*"``. Raises InvalidOptions.
    """
    if not callable(function):
        raise InvalidOptions(f"{function!r} is no function, so it cannot be a hook.")
    name = getattr(function, "__qualname__", type(function).__qualname__)
    options: dict[str, object] = {"timeout_s": timeout_s}
    if match is not None:
        options["match"] = match
    if advisory:
        options["advisory"] = True
    return _hook(_event(event), Function(function), shown(name, _NAME_CHARS), "code", options)


def hooks_of_settings(
    settings: str | bytes, origin: str
) -> tuple[tuple[Hook, ...], tuple[Problem, ...]]:
    """The hooks of a settings file, in their order, and what is wrong with them. Never raises."""
    try:
        content = settings_object(settings)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return _not_understood(origin, why)
    return hooks_of_section(content.get("hooks", {}), f"{origin}: hooks")


def hooks_of_section(section: object, origin: str) -> tuple[tuple[Hook, ...], tuple[Problem, ...]]:
    """The hooks of the section ``hooks`` of settings, and what is wrong. Never raises."""
    if not isinstance(section, dict):
        return _not_understood(origin, f"is not an object but {type(section).__name__}")
    hooks: list[Hook] = []
    problems: list[Problem] = []
    for key, entries in section.items():
        where = f"{origin}.{key}"
        event = next((each for each in EVENTS if each == key), None)
        if event is None:
            known = ", ".join(EVENTS)
            found, wrong = _not_understood(where, f"is no event (known are {known})")
        elif not isinstance(entries, list):
            found, wrong = _unreadable(event, where, "is not a list")
        elif len(entries) > MAX_HOOKS:
            found, wrong = _unreadable(event, where, f"has more than {MAX_HOOKS} entries")
        else:
            found, wrong = _hooks_of_list(event, entries, where)
        hooks.extend(found)
        problems.extend(wrong)
    return tuple(hooks), tuple(problems)


def _hooks_of_list(
    event: HookEvent, entries: list[object], where: str
) -> tuple[tuple[Hook, ...], tuple[Problem, ...]]:
    hooks: list[Hook] = []
    problems: list[Problem] = []
    for number, entry in enumerate(entries):
        place = f"{where}[{number}]"
        try:
            hooks.append(_hook_of_entry(event, entry, place))
        except InvalidOptions as error:
            given = entry if isinstance(entry, dict) else {}
            found, wrong = _unreadable(event, place, error.message, given)
            hooks.extend(found)
            problems.extend(wrong)
    return tuple(hooks), tuple(problems)


def _hook_of_entry(event: HookEvent, entry: object, origin: str) -> Hook:
    if not isinstance(entry, dict):
        raise InvalidOptions(f"is not an object but {type(entry).__name__}")
    unknown = [key for key in entry if key not in _KEYS]
    if unknown:
        known = ", ".join(_KEYS)
        raise InvalidOptions(f"has the unknown key {unknown[0]!r} (known are {known})")
    command, url = entry.get("command"), entry.get("url")
    if (command is None) == (url is None):
        raise InvalidOptions("needs either a command or a url")
    action: Command | Address
    if url is None:
        action = Command(_text("command", command))
        name = shown(action.text, _NAME_CHARS)
    else:
        action = Address(_checked_url(_text("url", url)))
        parts = urlsplit(action.url)  # its query may hold a key
        name = shown(urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")), _NAME_CHARS)
    return _hook(event, action, name, origin, entry)


def _hook(
    event: HookEvent,
    action: Command | Address | Function,
    name: str,
    origin: str,
    options: Mapping[str, object],
) -> Hook:
    timeout_s = options.get("timeout_s", TIMEOUT_S)
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if not is_number or not 0 < timeout_s <= MAX_TIMEOUT_S:  # type: ignore[operator]
        raise InvalidOptions(f"timeout_s={timeout_s!r} is not between 0 and {MAX_TIMEOUT_S:g} s")
    advisory = options.get("advisory")
    if advisory is not None and not isinstance(advisory, bool):
        raise InvalidOptions(f"advisory={advisory!r} is neither true nor false")
    if advisory is False and not _can_guard(event):
        raise InvalidOptions(f"advisory=false, but at {event} nothing is left to be blocked")
    return Hook(
        event=event,
        action=action,
        name=name,
        origin=origin,
        is_guard=_can_guard(event) and not advisory,
        match=_match(event, options.get("match")),
        timeout_s=float(timeout_s),  # type: ignore[arg-type]
    )


def _event(event: object) -> HookEvent:
    found = next((each for each in EVENTS if each == event), None)
    if found is None:
        advice = f"The events are {', '.join(EVENTS)}."
        raise InvalidOptions(f"{event!r} is no event of hooks.", advice=advice)
    return found


def _can_guard(event: HookEvent) -> bool:
    return event.startswith("before_")


def _match(event: HookEvent, match: object) -> tuple[str, ...]:
    if match is None:
        return ()
    if not event.endswith("_tool"):
        raise InvalidOptions(f"match={match!r}, but {event} is about no tool")
    if not isinstance(match, str) or not _PATTERNS.fullmatch(match):
        raise InvalidOptions(f"match={match!r} is no pattern like 'bash|write_*'")
    return tuple(match.split("|"))


def _text(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidOptions(f"{key} is not text")
    if len(value) > MAX_TEXT:
        raise InvalidOptions(f"{key} is longer than {MAX_TEXT:,} characters")
    if any(not char.isprintable() and char not in "\n\t" for char in value):
        raise InvalidOptions(f"{key} holds an invisible character")
    return value


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, has_credentials = parts.hostname, "@" in parts.netloc
        _ = parts.port
    except ValueError as error:
        raise InvalidOptions(f"url is no address ({error})") from None
    if parts.scheme.lower() not in ("http", "https") or not host or re.search(r"[\s\\]", url):
        raise InvalidOptions("url is no address like 'https://example.org/hook'")
    if has_credentials:  # and it is not shown
        raise InvalidOptions("url holds a user name or a password")
    return url


def _unreadable(
    event: HookEvent, where: str, problem: str, entry: Mapping[str, object] | None = None
) -> tuple[tuple[Hook, ...], tuple[Problem, ...]]:
    given = entry or {}
    if not _can_guard(event) or given.get("advisory") is True:
        return (), (Problem(where, f"{problem}.", "It does not run."),)
    try:
        match = _match(event, given.get("match"))
    except InvalidOptions:
        match = ()
    blocker = Hook(event, Unreadable(problem), where, where, is_guard=True, match=match)
    effect = f"It does not run, and {event} blocks what it may have guarded."
    return (blocker,), (Problem(where, f"{problem}.", effect),)


def _not_understood(where: str, problem: str) -> tuple[tuple[Hook, ...], tuple[Problem, ...]]:
    """Nobody knows which guards there were meant to be: no tool runs until it is mended."""
    return _unreadable("before_tool", where, problem)


# Answers ----------------------------------------------------------------------------------------


def verdict_on_output(output: bytes, event: HookEvent) -> Verdict:
    """What a command printed, or a server sent back, and said that all went well."""
    if not output.strip():
        return ALLOWED
    try:
        answer = settings_object(output)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        said = shown(output[:400].decode("utf-8", "replace"), _NAME_CHARS)
        return failed(f"answered {said!r}, which is no answer: {why}")
    return verdict_on(answer, event)


def verdict_on(answer: object, event: HookEvent) -> Verdict:
    """What an answer means: None or ``{"decision": "allow" | "deny", "reason"?, "args"?}``."""
    if answer is None:
        return ALLOWED
    if not isinstance(answer, Mapping):
        return failed(f"answered with {type(answer).__name__}, not with an object")
    unknown = [key for key in answer if key not in ("decision", "reason", "args")]
    if unknown:
        return failed(f"answered with the unknown key {shown(str(unknown[0]), _NAME_CHARS)!r}")
    decision, reason, args = answer.get("decision"), answer.get("reason"), answer.get("args")
    if decision not in ("allow", "deny"):
        said = shown(str(decision), _NAME_CHARS)
        return failed(f"answered with the decision {said!r}, which is neither 'allow' nor 'deny'")
    if reason is not None and not isinstance(reason, str):
        return failed(f"gave {type(reason).__name__} as its reason, not text")
    if decision == "deny":
        return Verdict("deny", shown(reason or "", MAX_REASON))
    if args is None:
        return Verdict("allow", shown(reason or "", MAX_REASON))
    if event != "before_tool":
        return failed(f"wants to change arguments at {event}, where there are none to change")
    if not isinstance(args, Mapping) or not all(isinstance(key, str) for key in args):
        return failed("wants arguments that are not an object")
    return Verdict("allow", shown(reason or "", MAX_REASON), dict(args))


def shown(text: str, most: int) -> str:
    """``text`` on one line, at most ``most`` characters of it, nothing in it invisible."""
    line = " ".join(text.split())
    cut = line if len(line) <= most else line[: most - 1] + "…"
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in cut)

"""The hooks of a session: the user's own, and those of a project that is trusted.

Every way into a folder comes through ``opened_project``: making a session, loading one, another
working directory, a sub-agent that has its own. Nobody is asked here; the host reads the warning
and decides, and where there is no host nothing of the project runs.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ..core.events import TurnError
from ..policy.hooks import Command, Hook, Unreadable, hooks_of_settings
from ..policy.rules import EVERYTHING_ASKS, Problem, Rules, read_rules
from .settings import ProjectSettings
from .trust import (
    FILES,
    Contents,
    ProjectTrust,
    Source,
    Thing,
    TrustWarning,
    contents_of,
    settings_bytes,
)


class Project(Struct, frozen=True):
    """A project as a session may use it.

    ``active`` is all that holds by trust; ``rules`` are all of its rules, but for allow rules that
    wait: neither trusted nor made on this machine. ``warning`` lists what waits, the first time
    that this content is met.
    """

    folder: Path
    is_trusted: bool
    hooks: tuple[Hook, ...]
    active: tuple[Thing, ...]
    rules: Rules
    problems: tuple[Problem, ...]
    warning: TrustWarning | None


def user_hooks(user: Path) -> tuple[tuple[Hook, ...], tuple[Problem, ...]]:
    """The hooks of the settings in the user's own folder, and what is wrong with them.

    While those settings cannot be read, no tool runs: nobody knows what was to guard it.
    """
    file = user / "settings.json"
    try:
        content = settings_bytes(file)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        blocker = Hook("before_tool", Unreadable(f"{why}"), str(file), str(file), is_guard=True)
        problem = Problem(str(file), f"cannot be read: {why}.", "No hook and no tool runs.")
        return (blocker,), (problem,)
    return ((), ()) if content is None else hooks_of_settings(content, str(file))


def opened_project(folder: Path, trust: ProjectTrust, user: Path) -> Project:
    """What holds of the project in ``folder``. Never raises, runs nothing, stores nothing.

    ``user`` is the user's own settings folder, which knows the allow rules made on this machine.
    """
    approved = ProjectSettings(folder, user).rules()[0].allow
    contents = contents_of(folder, frozenset(rule.text for rule in approved))
    is_trusted = trust.covers(contents) and bool(contents.waiting)
    hooks: list[Hook] = []
    problems = [*contents.problems]
    rules = EVERYTHING_ASKS if problems else Rules()
    for source, content in contents.settings.items():
        read, wrong = read_rules(content)
        allow = tuple(rule for rule in read.allow if is_trusted or rule in approved)
        rules = rules.joined(replace(read, allow=allow))
        problems.extend(wrong)
        if is_trusted:
            found, wrong = hooks_of_settings(content, FILES[source].as_posix())
            hooks.extend(_pinned(hook, contents, source) for hook in found)
            problems.extend(wrong)
    warning = trust.warning(contents)
    if warning is None:
        problems.extend(_never_taken(contents))
    problems.extend(contents.lesser)
    active = contents.waiting if is_trusted else ()
    return Project(
        folder=contents.folder,
        is_trusted=is_trusted,
        hooks=tuple(hooks),
        active=active,
        rules=rules,
        problems=tuple(problems),
        warning=warning,
    )


def warning_event(warning: TrustWarning) -> TurnError:
    """How the warning is told where the host takes none."""
    return TurnError(
        scope="sdk.notice", message=warning.message, recoverable=True, error_kind=warning.code
    )


def _pinned(hook: Hook, contents: Contents, source: Source) -> Hook:
    """A hook that runs as long as the files it names are those that were trusted."""
    if not isinstance(hook.action, Command):
        return hook
    place = hook.origin.partition(": ")[2]
    thing = next(t for t in contents.things if (t.source, t.place) == (source, place))
    if not thing.waits:
        return replace(hook, action=Unreadable(f"it can change unseen: {thing.text}"))
    return replace(hook, action=Command(hook.action.text, thing.files))


def _never_taken(contents: Contents) -> list[Problem]:
    return [
        Problem(
            FILES[thing.source].as_posix(),
            f"has {thing.place} = {thing.text}.",
            "It is never taken from a project.",
        )
        for thing in contents.things
        if not thing.waits
    ]

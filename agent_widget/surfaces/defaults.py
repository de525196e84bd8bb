"""What an AgentWidget has unless its user says otherwise: tools, system text, helper, rules."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidOptions
from ..core.events import TurnError
from ..engine.hooks import Hooks
from ..engine.permissions import Adjudicator, Permissions
from ..engine.subagents import Agent
from ..extend.hooks import opened_project, user_hooks, warning_event
from ..extend.mcp import project_servers, user_servers
from ..extend.settings import ProjectSettings, user_folder, user_rules
from ..extend.trust import ProjectTrust, TrustWarning
from ..policy.hooks import Hook
from ..policy.options import default_dialect, permission_options
from ..policy.rules import Problem, Rules, rules_of
from ..tools.base import Tool
from ..tools.bash import bash_tool
from ..tools.files import file_tools
from ..tools.mcp.client import NEEDS_SDK, has_sdk
from ..tools.mcp.config import ServerConfig
from .paths import DiskPaths


class Guarding(Struct, frozen=True):
    """The options of a chat that guard it; without ``reads_settings`` there are no others."""

    permission: Mapping[str, Any] | None = None
    adjudicator: Adjudicator | Literal[False] | None = None
    hooks: tuple[Hook, ...] = ()
    trust_project_hooks: bool | str = False
    on_warning: Callable[[TrustWarning], None] | None = None
    reads_settings: bool = True


_SECRET_FILES: Final = (
    "read(**/.env)",
    "read(**/.env.*)",
    "read(**/*.pem)",
    "read(**/*.key)",
    "read(**/id_rsa*)",
    "read(**/id_ed25519*)",
    "read(**/.netrc)",
    "read(**/credentials*)",
)
SECRETS: Final = rules_of(ask=_SECRET_FILES).gentle()
"""What reading needs no question for is not secrets; holds in every mode but ``allow_all``."""

HELPER: Final = Agent(
    name="helper",
    description="Hand a self-contained task to a helper agent; it sees only the task text.",
    system="You are a helper agent. Do the task with your tools and report the result briefly.",
)

_OPENING: Final = "You are an assistant inside a Jupyter notebook, next to the user's data."
_TOOL_LINES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (
        ("list_variables", "describe_variable"),
        "Look before you answer: {} read the user's variables.",
    ),
    (("run_python",), "{} runs code in the user's own namespace after the user allowed it."),
    (("run_python",), "Prefer short code whose last expression or plot shows the result."),
    (("read_file", "list_files", "search_files"), "To read the working directory there is {}."),
    (("edit_file", "write_file", "bash"), "To change it, after the user allowed it, there is {}."),
)
_CLOSING: Final = "Never guess values you can read. Answer in Markdown, briefly."


def default_system(names: tuple[str, ...]) -> str:
    """The system text for a model that has the tools of these ``names``; it names no other."""
    lines = [_OPENING]
    for tools, line in _TOOL_LINES:
        active = [name for name in tools if name in names]
        if active:
            lines.append(line.format(", ".join(active)))
    return " ".join([*lines, _CLOSING])


def workspace_tools(root: Path | None) -> list[Tool]:
    """File tools and bash for ``root``; without bash where no shell is installed."""
    if root is None:
        return []
    tools: list[Tool] = [*file_tools(root)]
    with contextlib.suppress(InvalidOptions):
        tools.append(bash_tool(root, shell=default_dialect(os.name)))
    return tools


_told: Final[set[tuple[str, str]]] = set()
"""Folders and contents of projects that a person was told of: once in each kernel is enough."""


class Guards(Struct, frozen=True):
    """What stands between a call and its work: rules, hooks; and what there is to say of them.

    ``given`` are the rules of code, ``kept`` those of settings. ``servers`` are the MCP servers
    that the user's settings and a trusted project name.
    """

    permissions: Permissions
    hooks: Hooks
    servers: tuple[ServerConfig, ...]
    notices: tuple[str | TurnError, ...]
    given: Rules
    kept: Rules


def guards(
    options: Guarding,
    host_adjudicator: Adjudicator | None,
    root: Path,
    hide: Callable[[str], str],
) -> Guards:
    """The guards of code, of the user's settings, and of the project in ``root``.

    A project may always make things stricter; its hooks and allow rules hold only with trust.
    """
    given = permission_options(options.permission, host_shell=default_dialect(os.name))
    secrets = rules_of() if given.effective_mode == "allow_all" else SECRETS
    if not options.reads_settings:
        permissions = Permissions(
            replace(given, rules=given.rules.joined(secrets)),
            DiskPaths(root),
            adjudicator=options.adjudicator,
            host_adjudicator=host_adjudicator,
        )
        return Guards(permissions, Hooks(options.hooks, hide=hide), (), (), given.rules, rules_of())
    user = user_folder()
    project = opened_project(root, ProjectTrust(root, options.trust_project_hooks), user)
    own, own_problems = user_rules(user)
    own_hooks, hook_problems = user_hooks(user)
    kept = own.joined(project.rules)
    rules = given.rules.joined(kept, secrets)
    permissions = Permissions(
        replace(given, rules=rules),
        DiskPaths(root),
        project=(settings := ProjectSettings(root, user)),
        pins=settings,
        adjudicator=options.adjudicator,
        host_adjudicator=host_adjudicator,
    )
    hooks = Hooks((*own_hooks, *project.hooks, *options.hooks), folder=project.folder, hide=hide)
    own_servers, its_servers = user_servers(user), project_servers(project)
    problems = (
        *own_problems,
        *hook_problems,
        *project.problems,
        *own_servers.problems,
        *its_servers.problems,
    )
    servers = (*own_servers.configs, *its_servers.configs)
    if servers and not has_sdk():
        problems = (*problems, Problem("MCP servers", NEEDS_SDK, "None of them is started."))
    notices: list[str | TurnError] = [str(problem) for problem in dict.fromkeys(problems)]
    if (warning := project.warning) is not None:
        if options.on_warning is not None:
            options.on_warning(warning)
        elif (told := (warning.detail["cwd"], warning.detail["fingerprint"])) not in _told:
            _told.add(told)
            notices.append(warning_event(warning))
    return Guards(permissions, hooks, servers, tuple(notices), given.rules, kept)

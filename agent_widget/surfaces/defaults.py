"""What an AgentWidget has unless its user says otherwise: tools, system text, helper, rules."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal

from msgspec.structs import replace

from ..core.errors import InvalidOptions
from ..engine.permissions import Adjudicator, Permissions
from ..engine.subagents import Agent
from ..extend.settings import ProjectSettings, user_folder, user_rules
from ..policy.options import default_dialect, permission_options
from ..policy.rules import Problem, rules_of
from ..tools.base import Tool
from ..tools.bash import bash_tool
from ..tools.files import file_tools
from .paths import DiskPaths

SECRET_FILES: Final = (
    "read(**/.env)",
    "read(**/.env.*)",
    "read(**/*.pem)",
    "read(**/*.key)",
    "read(**/id_rsa*)",
    "read(**/id_ed25519*)",
    "read(**/.netrc)",
    "read(**/credentials*)",
)
"""Ask rules that always hold: what reading needs no question for is not secrets."""

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


def widget_permissions(
    option: Mapping[str, Any] | None,
    adjudicator: Adjudicator | Literal[False] | None,
    host_adjudicator: Adjudicator | None,
    root: Path,
) -> tuple[Permissions, tuple[Problem, ...]]:
    """What lets calls run here: code's own rules, the user's, the project's; and what is wrong."""
    given = permission_options(option, host_shell=default_dialect(os.name))
    user = user_folder()
    project = ProjectSettings(root, user)
    own, own_problems = user_rules(user)
    shared, shared_problems = project.rules()
    secrets = rules_of(ask=SECRET_FILES)
    options = replace(given, rules=given.rules.joined(own, shared, secrets))
    permissions = Permissions(
        options,
        DiskPaths(root),
        project=project,
        adjudicator=adjudicator,
        host_adjudicator=host_adjudicator,
    )
    return permissions, (*own_problems, *shared_problems)

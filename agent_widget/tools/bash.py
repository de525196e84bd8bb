"""The ``bash`` tool: shell commands in the working directory."""

from __future__ import annotations

import base64
import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from ..core.errors import InvalidOptions, ToolFailure
from .base import CallText, TextBlock, ToolContext, ToolOutput
from .display import current_capture
from .environment import command_environment
from .function import FunctionTool, tool
from .process import Ended, run_in_group
from .workspace import Workspace

Shell: TypeAlias = Literal["posix", "powershell"]

TIMEOUT_S: Final = 120.0
MAX_TIMEOUT_S: Final = 3_600.0

_DESCRIPTION: Final = """\
Run a {language} command in the working directory; returns its output and exit code.

Each command has a new shell: folders and variables set by one are not there for the next. \
Standard input is empty, so nothing can be asked. What is still running when the command has \
ended is killed. Environment variables that hold keys are left out."""


def bash_tool(
    root: str | os.PathLike[str] | None = None,
    *,
    shell: Shell = "posix",
    env: Mapping[str, str] | None = None,
) -> FunctionTool:
    """The ``bash`` tool: commands run in ``root``, by default the working directory of now.

    ``shell`` is the language of commands: ``posix`` (bash, else sh) or ``powershell`` (pwsh, else
    powershell). The session's ``host_shell`` must be the same, so that rules read what runs.
    ``env`` adds variables to those a command gets; see `environment` for which are left out.

    Raises InvalidOptions when ``root`` is not a folder or the shell is not installed.
    """
    workspace = Workspace(root)
    program = shell_program(shell)
    added = dict(env or {})
    language = "shell" if shell == "posix" else "PowerShell"
    description = _DESCRIPTION.format(language=language)

    def described(args: Mapping[str, Any]) -> CallText:
        return CallText(str(args["command"]), "bash" if shell == "posix" else "powershell")

    @tool(name="bash", kind="execute", description=description, describe=described)
    def bash(command: str, context: ToolContext, timeout_s: float = TIMEOUT_S) -> ToolOutput:
        """Run a command.

        Args:
            command: The command, exactly as it is typed at a prompt.
            context: Whom the call belongs to.
            timeout_s: Seconds after which the command is killed; 3600 at most.
        """
        _require_runnable(command, timeout_s)
        capture = current_capture()
        assert capture is not None
        ended = run_in_group(
            shell_arguments(program, shell, command),
            folder=str(workspace.root),
            environment=command_environment(os.environ, added),
            timeout_s=timeout_s,
            cancelled=context.cancelled,
            on_output=lambda data, text: capture.write(text, data),
        )
        return _output(ended, timeout_s, is_silent=not capture.whole.size_bytes)

    return bash


def shell_program(shell: Shell) -> str:
    """The program of that shell. Raises InvalidOptions when there is none."""
    if shell not in get_args(Shell):
        raise InvalidOptions(f"shell={shell!r}.", advice="Use 'posix' or 'powershell'.")
    names = ("bash", "sh") if shell == "posix" else ("pwsh", "powershell")
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        raise InvalidOptions(
            f"shell={shell!r} needs {' or '.join(names)}, and neither is on the PATH.",
            advice="Install one of them, or choose the other shell.",
        )
    return found


def shell_arguments(program: str, shell: Shell, command: str) -> list[str]:
    """The command line that runs exactly ``command``, whatever it begins with or quotes."""
    if shell == "powershell":
        code = base64.b64encode(command.encode("utf-16-le")).decode("ascii")
        options = ["-NoLogo", "-NoProfile", "-NonInteractive", "-OutputFormat", "Text"]
        return [program, *options, "-EncodedCommand", code]
    is_bash = os.path.basename(program).startswith("bash")  # noqa: PTH119
    return [program, *(["--noprofile", "--norc"] if is_bash else []), "-c", "--", command]


def _require_runnable(command: str, timeout_s: float) -> None:
    if not command.strip():
        raise ToolFailure("command is empty.")
    if "\0" in command:
        raise ToolFailure("command holds a NUL character, which no shell can be given.")
    if not 0 < timeout_s <= MAX_TIMEOUT_S:
        raise ToolFailure(f"timeout_s={timeout_s:g} is not between 0 and {MAX_TIMEOUT_S:g} s.")


def _output(ended: Ended, timeout_s: float, *, is_silent: bool) -> ToolOutput:
    is_error = ended.reason != "exited" or ended.code != 0
    notes = "\n".join([*(["(no output)"] if is_silent else []), *_notes(ended, timeout_s)])
    return ToolOutput((TextBlock(notes),) if notes else (), is_error)


def _notes(ended: Ended, timeout_s: float) -> Iterator[str]:
    yield from notes_on_end(ended, timeout_s)
    if ended.reason == "exited" and ended.code is not None and ended.code > 0:
        yield f"exit code {ended.code}"


def notes_on_end(ended: Ended, timeout_s: float) -> Iterator[str]:
    """What a reader has to know of how a command ended, but for its exit code."""
    if ended.left_running:
        yield "[The command left processes running; they were killed.]"
    if ended.reason == "timeout":
        yield f"[Timed out after {timeout_s:g} s: the command and all it started were killed.]"
    elif ended.reason == "stopped":
        yield "[Stopped: the command and all it started were killed.]"
    elif ended.code is not None and ended.code < 0:
        yield _signal_text(-ended.code)


def _signal_text(number: int) -> str:
    try:
        return f"killed by signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"killed by signal {number}"

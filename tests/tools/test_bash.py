from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agent_widget.core.errors import InvalidOptions, ToolFailure
from agent_widget.tools import TextBlock, ToolOutput, bash_tool
from agent_widget.tools.environment import is_withheld
from agent_widget.tools.outputfile import FILES, OutputFile, OutputFolder
from agent_widget.tools.truncate import LIVE_CHARS
from tests.tools.support.calls import Call, output_of

pytestmark = pytest.mark.anyio


async def ran(root: Path, command: str, **args: Any) -> ToolOutput:
    return await output_of(bash_tool(root), command=command, **args)


async def text(root: Path, command: str, **args: Any) -> str:
    return (await ran(root, command, **args)).text_for_model()


def group_members(group: int) -> list[int]:
    """The processes of a group that are alive, by the system's own list."""
    listed = subprocess.run(
        ["ps", "-eo", "pgid=,pid=,stat="], capture_output=True, text=True, check=True
    ).stdout
    rows = (line.split() for line in listed.splitlines())
    return [int(row[1]) for row in rows if int(row[0]) == group and not row[2].startswith("Z")]


def wait_for_end(process: int, timeout_s: float) -> None:
    """Wait until the process of that descriptor has ended."""
    with open(process, "rb", buffering=0) as ended:
        assert select.select([ended], [], [], timeout_s)[0], "it goes on"


def python(code: str, folder: str, *arguments: str) -> str:
    """What ``code`` prints in a Python of its own, whose temporary files are in ``folder``."""
    done = subprocess.run(
        [sys.executable, "-c", code, folder, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": folder},
    )
    return done.stdout


class Watched(Call):
    """A call of bash that can be awaited up to a piece of its live output."""

    def __init__(self, root: Path) -> None:
        super().__init__(bash_tool(root))
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        live = self.live

        def output(piece: str) -> None:
            live.append(piece)
            self._loop.call_soon_threadsafe(self._news.set)

        self.context = replace(self.context, output=output)

    async def until(self, pattern: str) -> re.Match[str]:
        """What ``pattern`` finds in the live output, as soon as it does."""
        while (found := re.search(pattern, "".join(self.live))) is None:
            self._news.clear()
            await self._news.wait()
        return found


async def test_output_error_and_exit_code_come_back_in_order(tmp_path: Path) -> None:
    output = await ran(tmp_path, "echo out; echo err >&2; echo end; exit 3")
    assert output == ToolOutput((TextBlock("out\nerr\nend"), TextBlock("exit code 3")), True)
    assert await ran(tmp_path, "true") == ToolOutput((TextBlock("(no output)"),))
    assert await text(tmp_path, "kill -SEGV $$") == "(no output)\nkilled by signal 11 (SIGSEGV)"


async def test_a_command_runs_as_it_is_written_in_the_root(tmp_path: Path) -> None:
    assert await text(tmp_path, "touch here; cd /; x=1; ls here") != "here"
    assert await text(tmp_path, 'ls; echo "${x-unset}"') == "here\nunset"
    assert "-i: command not found" in await text(tmp_path, "-i --posix")
    assert await text(tmp_path, "echo 'a  \"$x\" \\n é'") == 'a  "$x" \\n é'


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ({"command": " "}, "empty"),
        ({"command": "a\0b"}, "NUL"),
        ({"command": "true", "timeout_s": 0}, "between 0 and 3600"),
        ({"command": "true", "timeout_s": 3601}, "between 0 and 3600"),
        ({"command": "x" * 300_000}, "could not be started"),
    ],
)
async def test_what_cannot_be_run_is_refused(
    tmp_path: Path, args: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ToolFailure, match=problem):
        await output_of(bash_tool(tmp_path), **args)


async def test_standard_input_is_empty(tmp_path: Path) -> None:
    assert await text(tmp_path, "cat; read x; echo $?") == "1"


def test_the_question_shows_the_command_itself(tmp_path: Path) -> None:
    tool = bash_tool(tmp_path)
    assert (tool.kind, tool.read_only) == ("execute", False)
    command = "ls \u202e\n" + "x" * 100_000
    shown = tool.describe({"command": command})
    assert (shown.text, shown.language) == (command, "bash")


async def test_output_is_live_and_characters_are_never_split(tmp_path: Path) -> None:
    call = Watched(tmp_path)
    os.mkfifo(tmp_path / "go")
    # The first half of é, then nothing until this test has seen what came before it.
    command = r"printf 'a\xc3'; cat go; printf '\xa9b\rc\n'"
    running = asyncio.create_task(call.run(command=command))
    await call.until("a")
    assert "".join(call.live) == "a"
    await asyncio.to_thread((tmp_path / "go").write_text, "")
    assert (await running).text_for_model() == "c"
    assert "".join(call.live) == "aéb\rc\n"


async def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    assert await text(tmp_path, r"printf 'a\xffb\xc3'") == "a\ufffdb\ufffd"


# Ends -----------------------------------------------------------------------------------------


async def test_at_its_timeout_the_whole_group_is_gone_though_one_ignores_term(
    tmp_path: Path,
) -> None:
    output = await ran(tmp_path, "echo $$; (trap '' TERM; sleep 600) | cat", timeout_s=1)
    group, note = output.text_for_model().split("\n")
    assert output.is_error
    assert note == "[Timed out after 1 s: the command and all it started were killed.]"
    assert group_members(int(group)) == []


async def test_stop_ends_the_call_at_once_and_the_whole_group_soon(tmp_path: Path) -> None:
    call = Watched(tmp_path)
    command = "(trap '' TERM; echo $BASHPID; sleep 600) | cat; sleep 600 & wait"
    running = asyncio.create_task(call.run(command=f"echo group $$; {command}"))
    group = int((await call.until(r"group (\d+)\n\d"))[1])
    assert len(group_members(group)) >= 2
    members = [os.pidfd_open(process) for process in group_members(group)]
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    for member in members:
        await asyncio.to_thread(wait_for_end, member, 3)
    assert group_members(group) == []


async def test_a_well_behaved_command_ends_by_term_and_may_clean_up(tmp_path: Path) -> None:
    command = "trap 'echo bye; exit 0' TERM; echo hi; sleep 600 & wait"
    output = await ran(tmp_path, command, timeout_s=2)
    assert output.text_for_model().startswith("hi\nbye\n[Timed out")


async def test_what_a_command_leaves_running_is_killed_and_named(tmp_path: Path) -> None:
    output = await ran(tmp_path, "echo $$; sleep 600 >/dev/null 2>&1 & true")
    group, note = output.text_for_model().split("\n")
    assert note == "[The command left processes running; they were killed.]"
    assert not output.is_error
    assert group_members(int(group)) == []


async def test_what_a_command_leaves_for_a_moment_may_end_by_itself(tmp_path: Path) -> None:
    assert await text(tmp_path, "(sleep 0.2; echo late) & echo first") == "first\nlate"


async def test_a_pipe_that_someone_out_of_reach_keeps_open_is_not_waited_for(
    tmp_path: Path,
) -> None:
    output = await text(tmp_path, "setsid sh -c 'echo $$; exec sleep 600' & sleep 0.2")
    try:
        assert re.fullmatch(r"\d+", output)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(output), signal.SIGKILL)


LEAVES = """
import asyncio, sys, threading
from msgspec.structs import replace
from agent_widget.tools import bash_tool
from tests.tools.support.calls import Call

began = threading.Event()
call = Call(bash_tool(sys.argv[1]))

def output(piece):
    print(piece, flush=True)
    began.set()

call.context = replace(call.context, output=output)
running = call.run(command="trap '' TERM HUP; echo $$; sleep 600")
threading.Thread(target=asyncio.run, args=(running,), daemon=True).start()
began.wait()
"""


def test_a_program_that_ends_leaves_no_command_behind(tmp_path: Path) -> None:
    group = int(python(LEAVES, str(tmp_path)).split()[0])
    for process in group_members(group):  # a killed process may need a moment to be gone
        with contextlib.suppress(ProcessLookupError):
            wait_for_end(os.pidfd_open(process), 3)
    assert group_members(group) == []


# Size -----------------------------------------------------------------------------------------

GROWTH = """
import asyncio, resource, sys
from agent_widget.tools import bash_tool
from tests.tools.support.calls import Call

async def main():
    tool = bash_tool(sys.argv[1])
    await Call(tool).run(command="echo warm; exit 1")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    call = Call(tool)
    output = await call.run(command=sys.argv[2])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) * 1024, len("".join(call.live)), len(output.text_for_model()))
    print(output.text_for_model()[-300:])

asyncio.run(main())
"""


@pytest.mark.parametrize("of", ["tr '\\0' x </dev/zero", "yes"], ids=["one line", "lines"])
def test_a_hundred_megabytes_of_output_take_little_memory_and_are_in_a_file(
    tmp_path: Path, of: str
) -> None:
    command = f"{of} | head -c 100000000; echo; echo the end"
    sizes, _, said = python(GROWTH, str(tmp_path), command).partition("\n")
    growth_bytes, live_chars, model_chars = map(int, sizes.split())
    assert growth_bytes < 64_000_000
    assert live_chars <= LIVE_CHARS + 100
    assert model_chars <= 21_000
    assert "the end\n[The output has 100,000,009 bytes; its first 50,000,000 bytes are in" in said
    assert list(tmp_path.iterdir()) == []  # the file goes with the program that made it


def content_and_mode(path: Path) -> tuple[str, int]:
    return path.read_text(), path.stat().st_mode


async def test_a_long_output_is_whole_in_its_file_and_names_it(tmp_path: Path) -> None:
    tool = bash_tool(tmp_path)
    output = await output_of(tool, command="seq 20000")
    found = re.search(
        r"\[The output has ([\d,]+) bytes; all of it is in (\S+)\]", output.text_for_model()
    )
    assert found is not None
    data, mode = await asyncio.to_thread(lambda: content_and_mode(Path(found[2])))
    assert data == "".join(f"{n}\n" for n in range(1, 20_001))
    assert mode & 0o077 == 0
    assert output.text_for_model().startswith("1\n2\n")
    assert "\n20000\n" in output.text_for_model()


def written(folder: OutputFolder) -> Path:
    file = OutputFile(folder)
    file.write(b"x" * 100_000)
    file.close()
    assert file.path is not None
    return file.path


def test_only_the_newest_files_are_kept() -> None:
    folder = OutputFolder()
    paths = [written(folder) for _ in range(FILES + 2)]
    assert [path.exists() for path in paths] == [False, False] + [True] * FILES
    del folder
    assert not paths[-1].parent.exists()


# Surroundings ---------------------------------------------------------------------------------

WITHHELD = [
    ("OPENAI_API_KEY", "x"),
    ("anthropic_auth_token", "x"),
    ("AWS_ACCESS_KEY_ID", "x"),
    ("AWS_SECRET_ACCESS_KEY", "x"),
    ("AWS_SESSION_TOKEN", "x"),
    ("GITHUB_TOKEN", "x"),
    ("HF_TOKEN", "x"),
    ("PGPASSWORD", "x"),
    ("MYSQL_PWD", "x"),
    ("DB_PASS", "x"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/k.json"),
    ("JUPYTERHUB_API_TOKEN", "x"),
    ("AZURE_STORAGE_CONNECTION_STRING", "x"),
    ("NPM_CONFIG__AUTH", "x"),
    ("DOCKER_AUTH_CONFIG", "{}"),
    ("DATABASE_URL", "postgres://me:secret@host/db"),
    ("HARMLESS", "sk-abcdefghijklmnopqrstuvwxyz"),
    ("HARMLESS", "ghp_abcdefghijklmnopqrstuvwxyz0123"),
    ("BASH_ENV", "/x"),
    ("BASH_FUNC_ls%%", "() { rm x; }"),
]
PASSED = [
    ("PATH", "/bin"),
    ("HOME", "/home/me"),
    ("PWD", "/x"),
    ("OLDPWD", "/x"),
    ("LANG", "C.UTF-8"),
    ("SSH_AUTH_SOCK", "/tmp/agent"),
    ("SSH_ASKPASS", "/bin/ask"),
    ("XAUTHORITY", "/x"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("KEYBOARD", "de"),
    ("MONKEY", "x"),
    ("http_proxy", "http://proxy:3128"),
    ("DATABASE_URL", "postgres://me@host/db"),
]


@pytest.mark.parametrize(("name", "value"), WITHHELD)
def test_a_variable_that_holds_a_key_is_withheld(name: str, value: str) -> None:
    assert is_withheld(name, value)


@pytest.mark.parametrize(("name", "value"), PASSED)
def test_an_everyday_variable_is_passed_on(name: str, value: str) -> None:
    assert not is_withheld(name, value)


async def test_a_command_sees_no_key_but_those_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hidden")
    monkeypatch.setenv("PLAIN", "seen")
    monkeypatch.setenv("BASH_FUNC_ls%%", "() { echo not ls; }")
    tool = bash_tool(tmp_path, env={"GIVEN_TOKEN": "given"})
    output = await output_of(tool, command="ls; echo $SOME_API_KEY $PLAIN $GIVEN_TOKEN $TERM")
    assert output.text_for_model() == "seen given dumb"


@pytest.fixture
def streams_without_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(io.StringIO):
        def fileno(self) -> int:
            raise io.UnsupportedOperation("fileno")

    monkeypatch.setattr(sys, "stdout", Stream())
    monkeypatch.setattr(sys, "stderr", Stream())


async def test_it_works_where_the_streams_have_no_descriptors(
    tmp_path: Path, streams_without_descriptors: None
) -> None:
    assert await text(tmp_path, "echo hi; echo err >&2") == "hi\nerr"


def test_it_works_on_a_loop_that_cannot_start_processes(tmp_path: Path) -> None:
    class Loop(asyncio.SelectorEventLoop):
        async def subprocess_exec(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        subprocess_shell = subprocess_exec

    with asyncio.Runner(loop_factory=Loop) as runner:
        assert runner.run(text(tmp_path, "echo hi")) == "hi"


async def test_calls_run_beside_each_other(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    tool = bash_tool(tmp_path)
    reads, writes = await asyncio.gather(
        output_of(tool, command="cat p"), output_of(tool, command="echo met > p")
    )
    assert (reads.text_for_model(), writes.text_for_model()) == ("met", "(no output)")


# Shells ---------------------------------------------------------------------------------------


def test_a_shell_that_is_not_there_or_not_known_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidOptions, match="needs pwsh or powershell"):
        bash_tool(tmp_path, shell="powershell")
    with pytest.raises(InvalidOptions, match="needs bash or sh"):
        bash_tool(tmp_path)
    with pytest.raises(InvalidOptions, match="'fish'"):
        bash_tool(tmp_path, shell="fish")  # type: ignore[arg-type]


async def test_without_bash_sh_runs_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    tool = bash_tool(tmp_path)
    assert (await output_of(tool, command="echo -x; exit 2")).text_for_model() == "-x\nexit code 2"


async def test_powershell_gets_the_command_encoded_whatever_it_quotes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "pwsh"
    program.write_text('#!/bin/sh\nfor a; do echo "$a"; done\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    tool = bash_tool(tmp_path, shell="powershell")
    command = "Write-Output \"a 'b' $x\" | % { $_ } # é"
    assert tool.describe({"command": command}).language == "powershell"
    *options, code = (await output_of(tool, command=command)).text_for_model().split("\n")
    assert options[-1] == "-EncodedCommand"
    assert {"-NoProfile", "-NonInteractive"} <= set(options)
    assert base64.b64decode(code).decode("utf-16-le") == command

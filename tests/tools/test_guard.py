"""What is bound to a program ends with it, also when it is killed; what was let go does not."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from typing import Final

import pytest

WAIT_S: Final = 60.0
VICTIM: Final = """
import os, signal, subprocess
from agent_widget.tools.guard import GUARD

def started():
    process = subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=2)
    GUARD.bind(process.pid)
    return process.pid

first, free = started(), started()
shell = GUARD._shell
os.killpg(shell.pid, signal.SIGKILL)
os.waitid(os.P_PID, shell.pid, os.WEXITED | os.WNOWAIT)
GUARD.free(free)
forked = os.fork()
if not forked:
    GUARD.close()  # and what the parent has bound lives on
    os._exit(0)
os.waitpid(forked, 0)
last = started()
look = os.WEXITED | os.WNOHANG | os.WNOWAIT
alive = all(os.waitid(os.P_PID, pid, look) is None for pid in (first, free, last))
print(first, last, free, alive, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_a_killed_program_takes_with_it_what_is_bound_and_nothing_else() -> None:
    run = subprocess.run(
        [sys.executable, "-c", VICTIM], stdout=subprocess.PIPE, text=True, check=False, timeout=100
    )
    assert run.returncode == -signal.SIGKILL
    *pids, alive = run.stdout.split()
    assert alive == "True"
    first, last, free = map(int, pids)
    try:
        assert ends(first)
        assert ends(last)
        assert not ends(free, wait_s=0)
    finally:
        os.kill(free, signal.SIGKILL)


def ends(process: int, wait_s: float = WAIT_S) -> bool:
    """True once it has ended, False when it does not in this time."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], wait_s)[0])
    finally:
        os.close(descriptor)

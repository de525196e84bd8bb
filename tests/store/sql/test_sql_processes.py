"""Processes that share a session in a database: one of them writes at a time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.support.thorough import is_thorough

ROUNDS = 200 if is_thorough() else 60


@pytest.mark.timeout(600)
@pytest.mark.skipif(os.name != "posix", reason="processes are forked and stopped")
def test_owners_that_are_killed_or_stopped_lose_no_record_and_take_turns(where: str) -> None:
    """PERS-03: a dead owner is replaced in time, a stopped one writes nothing when it goes on."""
    counts = disturbed(where)
    assert counts["killed"] + counts["stopped"] == ROUNDS
    assert counts["killed"] > 0.4 * ROUNDS
    assert counts["replaced while stopped"] > 0.1 * ROUNDS
    assert counts["records"] > 2 * ROUNDS


def disturbed(where: str) -> dict[str, int]:
    """How often what happened; an AssertionError of the process when a record was lost."""
    command = [sys.executable, "-m", "tests.store.sql.rivals", where, str(ROUNDS)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed, problems = process.communicate(timeout=500)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # a rival may be stopped
        process.wait()
    assert process.returncode == 0, problems
    counts: dict[str, int] = json.loads(printed)
    return counts

"""Processes that share a session: one of them writes at a time, whatever happens to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.rivals import disturbed


@pytest.mark.skipif(os.name != "posix", reason="processes are forked and stopped")
def test_owners_that_are_killed_or_stopped_lose_no_record_and_take_turns(
    quick_folder: Path,
) -> None:
    """PERS-03: a dead owner is replaced in time, a stopped one writes nothing when it goes on."""
    counts = disturbed(f"jsonl:{quick_folder}", rounds=200)
    assert counts["killed"] + counts["stopped"] == 200
    assert counts["killed"] > 80
    assert counts["replaced while stopped"] > 20
    assert counts["records"] > 400

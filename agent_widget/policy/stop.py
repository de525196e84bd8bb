"""What a Stop does. Source: session steering document, "Stop, recovery, and handoff"."""

from __future__ import annotations

from typing import Literal

StopStep = Literal["commit", "acknowledge", "refuse"]


def stop_step(*, run_active: bool, stop_committed: bool) -> StopStep:
    """What a Stop needs now.

    ``commit``: store it, then clear the run override and acknowledge; if storing fails the run
    goes on and the command is answered with an error. ``acknowledge``: it is stored already.
    ``refuse``: nothing runs.
    """
    if not run_active:
        return "refuse"
    return "acknowledge" if stop_committed else "commit"

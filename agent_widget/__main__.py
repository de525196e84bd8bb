"""The command line of the package, also as ``python -m agent_widget``."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Final

from .surfaces.cli import Command
from .surfaces.cli import main as cli
from .testing import command

NOT_READ: Final = 141
"""The exit status when nobody reads on: that of other programs which are ended by a SIGPIPE."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    test = Command("run scenarios", command.add_arguments, command.run)
    try:
        status = cli(arguments, {"test": test})
        sys.stdout.flush()
    except BrokenPipeError:  # of a reader like head, which has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_READ
    return status


if __name__ == "__main__":
    sys.exit(main())

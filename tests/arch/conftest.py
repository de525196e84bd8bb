"""What the tests of the repository itself share: its root, and copies to build from."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.chromium import in_ci

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns("__pycache__", "node_modules", ".venv*", "*.pyc")


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def repository_files(root: Path) -> Sequence[Path]:
    """Every file that git tracks or would add, relative to the root."""
    if not (root / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    paths = [Path(name) for name in listing.split("\0") if name]
    present = [path for path in paths if (root / path).is_file()]
    assert Path("pyproject.toml") in present
    return present


@pytest.fixture
def bundle(root: Path) -> Path:
    """The built front end. `make test` builds it, so in CI it must be there."""
    path = root / "agent_widget/static/widget.js"
    if not path.is_file():
        reason = f"{path} is absent; `make test` builds it"
        if in_ci(os.environ):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return path


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    """A copy of what a build needs, without the tests, and with the bundle if there is one."""
    copy = tmp_path / "project with spaces"
    for name in (".build", "agent_widget", "js"):
        shutil.copytree(root / name, copy / name, ignore=NOT_COPIED)
    for name in (".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "pyproject.toml"):
        shutil.copy(root / name, copy / name)
    readme = root / "README.md"
    (copy / "README.md").write_text(readme.read_text() if readme.exists() else "# agent_widget\n")
    return copy

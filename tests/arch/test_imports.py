"""The import contracts hold, and they catch what they are there to catch."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LAYERS = (
    ("teaching",),
    ("testing",),
    ("surfaces",),
    ("extend",),
    ("engine",),
    ("tools", "providers", "store"),
    ("policy",),
    ("view",),
    ("core",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
NOT_DOWNWARDS = [
    (importer, imported)
    for importer in RANK
    for imported in RANK
    if importer != imported and RANK[importer] >= RANK[imported]
]
HEAVY = {"anywidget", "httpx", "ipywidgets", "jsonschema", "pydantic", "sqlalchemy", "traitlets"}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    return subprocess.run(
        [*command, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.fixture
def model(root: Path, tmp_path: Path) -> Path:
    """A package of empty layers under the contracts of this repository."""
    shutil.copy(root / "pyproject.toml", tmp_path)
    for name in ("", *RANK):
        folder = tmp_path / "agent_widget" / name
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").write_text("")
        (folder / "module.py").write_text("") if name else None
    return tmp_path


def imported_by(model: Path, layer: str, statement: str) -> subprocess.CompletedProcess[str]:
    (model / "agent_widget" / layer / "module.py").write_text(statement)
    return lint_imports(model)


def test_the_package_keeps_its_contracts(root: Path) -> None:
    done = lint_imports(root)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_import_down_the_layers_is_allowed(model: Path) -> None:
    done = imported_by(model, "surfaces", "import agent_widget.core.module")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_import_up_or_sideways_breaks_a_contract(model: Path) -> None:
    for importer in RANK:
        statements = [
            f"import agent_widget.{imported}.module"
            for source, imported in NOT_DOWNWARDS
            if source == importer
        ]
        (model / "agent_widget" / importer / "module.py").write_text("\n".join(statements))
    done = lint_imports(model)
    assert done.returncode == 1, done.stdout + done.stderr
    unseen = [
        (importer, imported)
        for importer, imported in NOT_DOWNWARDS
        if f"agent_widget.{importer} is not allowed to import agent_widget.{imported}:"
        not in done.stdout
    ]
    assert unseen == []


def test_a_package_outside_the_layers_breaks_a_contract(model: Path) -> None:
    (model / "agent_widget/misc").mkdir()
    (model / "agent_widget/misc/__init__.py").write_text("")
    assert lint_imports(model).returncode == 1


@pytest.mark.parametrize("layer", ["core", "policy", "view"])
@pytest.mark.parametrize("name", ["httpx", "anywidget", "ipywidgets", "traitlets", "asyncio"])
def test_the_pure_layers_import_no_host_and_no_io(model: Path, layer: str, name: str) -> None:
    assert imported_by(model, layer, f"import {name}").returncode == 1


def test_an_engine_that_knows_widgets_breaks_a_contract(model: Path) -> None:
    assert imported_by(model, "engine", "import ipywidgets").returncode == 1


def test_core_imports_msgspec_and_the_standard_library_alone(root: Path) -> None:
    files = sorted((root / "agent_widget/core").rglob("*.py"))
    foreign = {
        f"{path.relative_to(root)}: {name}"
        for path in files
        for name in imported_roots(ast.parse(path.read_text()))
        if name not in sys.stdlib_module_names | {"agent_widget", "msgspec"}
    }
    assert len(files) > 1
    assert foreign == set()


def imported_roots(tree: ast.Module) -> set[str]:
    """The top-level names that a module imports; relative imports have none."""
    roots = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            roots.add(node.module.partition(".")[0])
    return roots


def test_importing_core_loads_no_host_and_no_client() -> None:
    code = "import sys, agent_widget.core; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.split())
    assert "msgspec" in loaded
    assert loaded & HEAVY == set()

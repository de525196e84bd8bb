"""No setting, key or kernel of the person who runs the tests reaches them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir

from tests.support.isolation import isolated


def test_settings_and_keys_of_the_person_are_left_out(tmp_path: Path) -> None:
    mine = {
        "OPENAI_API_KEY": "sk-mine",
        "ANTHROPIC_AUTH_TOKEN": "mine",
        "OPENAI_BASE_URL": "http://mine",
        "JUPYTER_PATH": "/mine",
        "JUPYTER_CONFIG_DIR": "/mine",
        "AGENT_WIDGET_MODEL": "mine",
        "NO_PROXY": "mine",
    }
    kept = {"PATH": "/bin", "HOME": "/mine", "AGENT_WIDGET_CHROMIUM": "/bin/chromium"}
    environ = isolated({**mine, **kept}, tmp_path)
    assert {name: environ.get(name) for name in mine if environ.get(name) == mine[name]} == {}
    assert {name: environ.get(name) for name in kept} == kept


def test_jupyter_reads_and_writes_in_the_folder_of_the_run() -> None:
    folder = Path(os.environ["IPYTHONDIR"]).parent
    assert Path(jupyter_config_dir()).is_relative_to(folder)
    assert Path(jupyter_data_dir()).is_relative_to(folder)


def test_the_kernel_python3_is_the_one_of_this_environment() -> None:
    spec = KernelSpecManager().get_kernel_spec("python3")
    assert Path(spec.resource_dir).is_relative_to(sys.prefix)

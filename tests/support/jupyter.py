"""Real Jupyter servers for tests: JupyterLab or Notebook 7, on a free port, without a token."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal
from urllib.error import URLError
from urllib.request import Request, urlopen

App = Literal["lab", "notebook"]

START_S: Final = 60.0
POLL_S: Final = 0.1
# What takes long to import and is not ours: kernels do it before a test gets them.
IMPORTED_EARLY: Final = "import anywidget, httpx, matplotlib.pyplot, pandas, pydantic\n"
MODULES: Final = {"lab": "jupyterlab", "notebook": "notebook"}
EXPOSING: Final = {"lab": "LabApp", "notebook": "JupyterNotebookApp"}
# No question about news and no look for a newer version: both would go to the network.
NOTIFICATIONS: Final = {
    "fetchNews": "false",
    "checkForUpdates": False,
    "doNotDisturbMode": True,
}


class JupyterServer:
    """A server under test. Its notebooks are in ``notebooks``; ``log`` is what it printed."""

    def __init__(self, app: App, folder: Path, kernels: Mapping[str, Mapping[str, str]]) -> None:
        """``kernels``: further kernels by name, each with its environment variables."""
        self.app = app
        self.notebooks = folder / "notebooks"
        self.log = folder / "server.log"
        self._settings = folder / "settings"
        self._folder = folder
        self.notebooks.mkdir(parents=True)
        for name, variables in kernels.items():
            self._write_kernel(name, variables)
        plugin = "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
        self._write_json(self._settings / plugin, NOTIFICATIONS)
        warm = self._folder / "ipython/profile_default/startup/warm.py"
        warm.parent.mkdir(parents=True)
        warm.write_text(IMPORTED_EARLY)
        self._port = free_port()
        self._process = self._start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def close(self) -> None:
        """Shut down, kernels included."""
        with contextlib.suppress(URLError, OSError):
            self.request("POST", "/api/shutdown")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def request(self, method: str, path: str, body: object = None) -> Any:
        """The JSON answer of the server's REST interface, None for an empty one."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(
            self.url + path, data, {"Content-Type": "application/json"}, method=method
        )
        with urlopen(request, timeout=30) as response:
            text = response.read()
        return json.loads(text) if text else None

    def start_kernel(self, name: str = "python3") -> str:
        """Start a kernel and return its id; it may not be ready yet."""
        kernel_id: str = self.request("POST", "/api/kernels", {"name": name})["id"]
        return kernel_id

    def stop_kernel(self, kernel_id: str) -> None:
        """Shut one kernel down; harmless when it is gone."""
        with contextlib.suppress(URLError):
            self.request("DELETE", f"/api/kernels/{kernel_id}")

    def use_kernel(self, path: str, kernel_id: str) -> None:
        """Make that kernel the one of the notebook at ``path``."""
        kernel = {"id": kernel_id}
        session = {"path": path, "name": path, "type": "notebook", "kernel": kernel}
        self.request("POST", "/api/sessions", session)

    @contextlib.contextmanager
    def setting(self, plugin: str, values: Mapping[str, object]) -> Iterator[None]:
        """While it lasts, pages that open find ``values`` as the user's settings of ``plugin``."""
        path = f"/lab/api/settings/{plugin}"
        self.request("PUT", path, {"raw": json.dumps(values)})
        try:
            yield
        finally:
            self.request("PUT", path, {"raw": "{}"})

    def write_notebook(self, name: str, kernel: str = "python3") -> None:
        """Write a notebook with one empty cell."""
        cell: dict[str, object] = {
            "cell_type": "code",
            "id": "first",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": "",
        }
        spec = {"name": kernel, "display_name": kernel, "language": "python"}
        head = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": spec}}
        self._write_json(self.notebooks / name, {**head, "cells": [cell]})

    def read_notebook(self, name: str) -> Any:
        """The saved notebook, as JSON."""
        return json.loads((self.notebooks / name).read_text("utf-8"))

    def _start(self) -> subprocess.Popen[bytes]:
        options = {
            "ServerApp.root_dir": self.notebooks,
            "ServerApp.ip": "127.0.0.1",
            "ServerApp.port": self._port,
            "ServerApp.port_retries": 0,
            "ServerApp.open_browser": False,
            "ServerApp.allow_root": True,
            "ServerApp.disable_check_xsrf": True,
            "ServerApp.terminals_enabled": False,
            "IdentityProvider.token": "",
            "LabApp.extension_manager": "readonly",
            f"{EXPOSING[self.app]}.expose_app_in_browser": True,
        }
        arguments = [f"--{name}={value}" for name, value in options.items()]
        environ = {
            **os.environ,
            "JUPYTER_DATA_DIR": str(self._folder / "data"),
            "JUPYTER_RUNTIME_DIR": str(self._folder / "runtime"),
            "IPYTHONDIR": str(self._folder / "ipython"),
            "JUPYTERLAB_SETTINGS_DIR": str(self._settings),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._folder / "workspaces"),
        }
        with self.log.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", MODULES[self.app], *arguments],
                cwd=self.notebooks,
                env=environ,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._await_start(process)
        return process

    def _await_start(self, process: subprocess.Popen[bytes]) -> None:
        ends_at = time.monotonic() + START_S
        while process.poll() is None and time.monotonic() < ends_at:
            with contextlib.suppress(URLError, OSError):
                self.request("GET", "/api/status")
                return
            time.sleep(POLL_S)
        process.kill()
        process.wait()
        raise RuntimeError(f"Jupyter {self.app} did not start:\n{self.log.read_text()[-3000:]}")

    def _write_kernel(self, name: str, variables: Mapping[str, str]) -> None:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec = {"argv": command, "display_name": name, "language": "python", "env": variables}
        self._write_json(self._folder / "data/kernels" / name / "kernel.json", spec)

    @staticmethod
    def _write_json(path: Path, content: object) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content), "utf-8")


def free_port() -> int:
    """A port of the loopback interface that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port

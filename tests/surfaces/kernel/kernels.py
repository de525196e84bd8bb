"""Real kernels of several ipykernel releases, and a client that sees what a browser would see."""

from __future__ import annotations

import itertools
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

REPOSITORY = Path(__file__).parents[3]
DEADLINE_S = 60.0
"""What takes 0.4 s on an idle machine takes less than this on a loaded one, and ten minutes when
it is broken."""
OWN = version("ipykernel")
# 6.17.1 is what Colab pins; 7.1 and 7.3 route comms differently, and 7.4 differently again.
WITHOUT_SUBSHELLS = ["6.17.1", "6.31.0"]
WITH_SUBSHELLS = list(dict.fromkeys(["7.1.0", "7.3.0", OWN]))
RELEASES = [*WITHOUT_SUBSHELLS, *WITH_SUBSHELLS]
KIT = "from tests.surfaces.kernel.inkernel import *; kit = Kit()"


class NoKernel(Exception):
    """That release could not be had."""


def installed(version: str) -> Path:
    """A folder that, first on PYTHONPATH, makes a kernel one of that ipykernel release."""
    folder = Path(sys.prefix, "kernels", version)
    if (folder / "ipykernel").is_dir():
        return folder
    folder.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".new-") as fresh:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        made = subprocess.run(
            [*pip, "--target", fresh, f"ipykernel=={version}"],
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        if made.returncode:
            raise NoKernel(f"no ipykernel {version}: {made.stderr.strip()[-300:]}")
        shutil.copytree(fresh, folder, dirs_exist_ok=True)
    return folder


@dataclass
class Cell:
    """What came back for one request."""

    msg_id: str
    text: str = ""
    error: str | None = None
    idle: bool = False


@dataclass
class RealKernel:
    """One kernel process and its client; every wait ends after ``DEADLINE_S``."""

    version: str
    manager: KernelManager
    client: BlockingKernelClient
    comm_id: str = ""
    cells: dict[str, Cell] = field(default_factory=dict)
    told: list[dict[str, Any]] = field(default_factory=list)
    names: itertools.count[int] = field(default_factory=itertools.count)

    @classmethod
    def start(cls, version: str, folder: Path | None) -> RealKernel:
        """A kernel with the kit in it.

        Until the tap is in, ipykernel 7.0 to 7.3 may lose a request for good (its issue 1554).
        """
        for _ in range(2):
            kernel = cls._launched(version, folder)
            try:
                return kernel._prepared()
            except TimeoutError:
                kernel.close()
        return cls._launched(version, folder)._prepared()

    @classmethod
    def _launched(cls, version: str, folder: Path | None) -> RealKernel:
        path = [str(REPOSITORY)] if folder is None else [str(folder), str(REPOSITORY)]
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env={**os.environ, "PYTHONPATH": os.pathsep.join(path)})
        client = manager.blocking_client()
        client.start_channels()
        client.allow_stdin = False
        return cls(version, manager, client)

    def _prepared(self) -> RealKernel:
        try:
            self.client.wait_for_ready(timeout=DEADLINE_S)
        except RuntimeError as error:
            raise TimeoutError(str(error)) from error
        self.comm_id = self.run(f"{KIT}; print(kit.comm.comm_id)").strip()
        assert self.run("print(kit.host.ipykernel)").strip() == self.version
        self.end(self.begin("1 / 0"))  # a kernel's first traceback takes its time
        return self

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    @property
    def release(self) -> tuple[int, int]:
        major, minor = self.version.split(".")[:2]
        return int(major), int(minor)

    @property
    def has_shell_thread(self) -> bool:
        return self.release >= (7, 0)

    def name(self) -> str:
        """A request id that no other message has."""
        return f"r{next(self.names)}"

    def begin(self, code: str, *, allow_stdin: bool = False) -> Cell:
        """Start a cell."""
        msg_id = self.client.execute(code, allow_stdin=allow_stdin, stop_on_error=False)
        return self.cells.setdefault(msg_id, Cell(msg_id))

    def begin_of_notebook(self, cell_id: str, code: str) -> Cell:
        """Start a cell as a notebook does, which says which one of it that is."""
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": False}
        metadata = {"cellId": cell_id}
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        self.client.shell_channel.send(message)
        msg_id = message["header"]["msg_id"]
        return self.cells.setdefault(msg_id, Cell(msg_id))

    def begin_ready(self, code: str) -> Cell:
        """Start a cell and wait until it has called ``kit.ready()``."""
        cell = self.begin(code)
        self.until(lambda: "ready\n" in cell.text or cell.idle)
        assert not cell.idle, cell
        return cell

    def end(self, cell: Cell) -> Cell:
        """The cell after it has ended."""
        self.until(lambda: cell.idle)
        return cell

    def run(self, code: str) -> str:
        """What a cell prints; fails when it raises."""
        cell = self.end(self.begin(code))
        assert cell.error is None, cell.error
        return cell.text

    def send(
        self, content: dict[str, Any], *, subshell: str | None = None, buffer: bytes | None = None
    ) -> None:
        """A custom message as a front end sends it."""
        data = {"method": "custom", "content": content}
        message = self.client.session.msg("comm_msg", {"comm_id": self.comm_id, "data": data})
        if subshell is not None:
            message["header"]["subshell_id"] = subshell
        channel = self.client.shell_channel
        buffers = [] if buffer is None else [buffer]
        self.client.session.send(channel.socket, message, buffers=buffers)

    def answer(self, text: str) -> str:
        """Type that at the next ``input()``; its prompt."""
        request = self.client.get_stdin_msg(timeout=DEADLINE_S)
        self.client.input(text)
        return str(request["content"]["prompt"])

    def subshell(self) -> str:
        """Id of a new subshell, as JupyterLab makes one for its comms."""
        message = self.client.session.msg("create_subshell_request")
        self.client.control_channel.send(message)
        reply = self.client.get_control_msg(timeout=DEADLINE_S)
        assert reply["content"]["status"] == "ok"
        return str(reply["content"]["subshell_id"])

    def interrupt(self) -> None:
        """The kernel's own interrupt, as the host's Stop button sends it."""
        self.manager.interrupt_kernel()

    def tell(self, **wanted: Any) -> dict[str, Any]:
        """What the kit has told with those values."""
        found: list[dict[str, Any]] = []

        def look() -> bool:
            found[:] = [t for t in self.told if wanted.items() <= t.items()]
            return bool(found)

        self.until(look)
        return found[0]

    def until(self, condition: Callable[[], bool]) -> None:
        """Read what the kernel publishes until ``condition()``."""
        deadline = time.monotonic() + DEADLINE_S
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"nothing came from ipykernel {self.version}: {self.cells}")
            try:
                self._take(self.client.get_iopub_msg(timeout=left))
            except queue.Empty:
                continue

    def _take(self, message: dict[str, Any]) -> None:
        content = message["content"]
        parent = message["parent_header"].get("msg_id", "")
        cell = self.cells.setdefault(parent, Cell(parent))
        match message["msg_type"]:
            case "stream":
                cell.text += content["text"]
            case "error":
                cell.error = f"{content['ename']}: {content['evalue']}"
            case "status":
                cell.idle = cell.idle or content["execution_state"] == "idle"
            case "comm_msg":
                self.told.append(content["data"].get("content", {}))

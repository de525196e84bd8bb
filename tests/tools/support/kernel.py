"""A real kernel and everything it publishes."""

from __future__ import annotations

import json
import os
import queue
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

REPOSITORY = Path(__file__).parents[3]
DEADLINE_S = 30.0
OUTPUTS = frozenset({"stream", "display_data", "update_display_data", "execute_result", "error"})


class Kernel:
    """One kernel; ``outputs`` are all it ever published, as (request, kind, text)."""

    def __init__(self, first_on_path: Path | None = None) -> None:
        self.manager = KernelManager(kernel_name="python3", transport="ipc")
        # With pytest's mark in its environment a kernel would not watch its descriptors.
        environ = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
        path = [str(folder) for folder in (first_on_path, REPOSITORY) if folder is not None]
        self.manager.start_kernel(env={**environ, "PYTHONPATH": os.pathsep.join(path)})
        self.client: BlockingKernelClient = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.outputs: list[tuple[str, str, str]] = []
        self.idle: set[str] = set()
        self.seen: dict[str, list[tuple[str, str]]] = {}
        self.run("from tests.tools.support.inkernel import Kit\nkit = Kit()")

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()

    def begin(self, code: str) -> str:
        return str(self.client.execute(code, allow_stdin=False))

    def end(self, request: str) -> list[tuple[str, str]]:
        """What the front end shows below that cell."""
        return self.until(request, lambda: request in self.idle)

    def until(self, request: str, holds: Callable[[], bool]) -> list[tuple[str, str]]:
        """What the front end shows below that cell once ``holds()``."""
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < deadline, self.outputs
            self._take(0.2)
        self.seen[request] = self.shown(request)
        return self.seen[request]

    def unexpected(self) -> list[tuple[str, str]]:
        """Outputs of no cell of ours, and of cells that had ended before."""
        last = self.begin("")
        self.until(last, lambda: last in self.idle)
        owners = {owner for owner, _, _ in self.outputs}
        return [o for who in owners if (now := self.shown(who)) != self.seen.get(who) for o in now]

    def shown(self, request: str) -> list[tuple[str, str]]:
        """The outputs below that cell; text of one stream that came in pieces is one."""
        merged: list[tuple[str, str]] = []
        for owner, kind, text in self.outputs:
            if owner != request:
                continue
            if merged and kind in ("stdout", "stderr") and merged[-1][0] == kind:
                merged[-1] = (kind, merged[-1][1] + text)
            else:
                merged.append((kind, text))
        return merged

    def run(self, code: str) -> list[tuple[str, str]]:
        return self.end(self.begin(code))

    def text(self, code: str) -> str:
        """What a cell prints; it must do nothing else."""
        outputs = self.run(code)
        assert {kind for kind, _ in outputs} <= {"stdout"}, outputs
        return "".join(text for _, text in outputs)

    def report(self, call: str = "call") -> dict[str, Any]:
        """How the call in that variable ended; the cell that waits must show nothing else."""
        loaded: dict[str, Any] = json.loads(self.text(f"print(await {call}.ended())"))
        return loaded

    def python(self, code: str) -> dict[str, Any]:
        """The report of a run_python call that runs between cells."""
        self.text(f"call = kit.python({code!r})")
        return self.report()

    def reply(self, request: str) -> dict[str, Any]:
        while True:
            message = self.client.get_shell_msg(timeout=DEADLINE_S)
            if message["parent_header"].get("msg_id") == request:
                content: dict[str, Any] = message["content"]
                return content

    def _take(self, timeout_s: float) -> None:
        try:
            message = self.client.get_iopub_msg(timeout=timeout_s)
        except queue.Empty:
            return
        request = message["parent_header"].get("msg_id", "")
        kind, content = message["msg_type"], message["content"]
        if kind == "status" and content["execution_state"] == "idle":
            self.idle.add(request)
        elif kind == "stream":
            self.outputs.append((request, content["name"], content["text"]))
        elif kind == "error":
            self.outputs.append((request, kind, content["ename"]))
        elif kind in OUTPUTS:
            self.outputs.append((request, kind, content["data"].get("text/plain", "")))

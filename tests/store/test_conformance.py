"""Every store that comes with the package keeps every contract of a session store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_widget.store.jsonl import JsonlStore
from agent_widget.store.memory import MemoryStore
from agent_widget.testing.store_conformance import StoreConformance


@pytest.mark.anyio
class TestMemoryStore(StoreConformance):
    store: MemoryStore | None = None

    def open_store(self, clock: Callable[[], float]) -> MemoryStore:
        if self.store is None:  # another process would see nothing of it
            self.store = MemoryStore(clock=clock)
        return self.store


@pytest.mark.anyio
class TestJsonlStore(StoreConformance):
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path / "sessions"

    def open_store(self, clock: Callable[[], float]) -> JsonlStore:
        return JsonlStore(self.path, clock=clock)

    async def tear_end(self, session_id: str) -> None:
        with self.records(session_id).open("ab") as file:
            file.write(b'{"id":"e-torn","parent_id":null,"ts":1,"kind":"notice","data":{"n"')

    async def damage(self, session_id: str) -> None:
        lines = self.records(session_id).read_bytes().split(b"\n")
        lines[2] = lines[2].replace(b"notice", b"header")
        self.records(session_id).write_bytes(b"\n".join(lines))

    async def make_newer(self, session_id: str) -> None:
        content = self.records(session_id).read_bytes()
        self.records(session_id).write_bytes(content.replace(b'session":1', b'session":3', 1))

    async def stored(self) -> object:
        return sorted(
            (path, path.is_file() and path.read_bytes(), path.stat().st_mtime_ns)
            for path in self.path.rglob("*")
            if path.name != "lock"
        )

    def records(self, session_id: str) -> Path:
        return self.path / session_id / "records.jsonl"

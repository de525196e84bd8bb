"""Pictures of results are kept beside the journal, come back, and say so when they are lost."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from agent_widget import ToolOutput, tool
from agent_widget.engine.artifacts import MIN_CHARS
from agent_widget.store.base import SessionStore
from agent_widget.store.jsonl import JsonlStore
from agent_widget.store.sql import SqlStore
from agent_widget.testing.doubles import ScriptedModel, call, text
from agent_widget.tools.base import ImageBlock
from tests.engine.support import opened

pytestmark = pytest.mark.anyio

PICTURE = b64encode(bytes(range(256)) * (MIN_CHARS // 256)).decode()
SMALL = b64encode(b"small").decode()


@tool(read_only=True)
def draw() -> ToolOutput:
    """Draw."""
    return ToolOutput((ImageBlock("image/png", PICTURE), ImageBlock("image/png", SMALL)))


@pytest.fixture(params=["sqlite", "jsonl"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SessionStore:
    return SqlStore(tmp_path / "chats.db") if request.param == "sqlite" else JsonlStore(tmp_path)


def blocks(messages: Any) -> list[dict[str, Any]]:
    [part] = [part for message in messages for part in message.tool_calls]
    content: list[dict[str, Any]] = part.output["content"]
    return content


def lose_artifact(folder: Path) -> None:
    [artifact] = [path for path in folder.rglob("artifacts/*") if path.is_file()]
    artifact.unlink()


async def drawn(store: SessionStore) -> str:
    script = ScriptedModel([[call("draw")], [text("there")]])
    async with opened(script, [draw], store=store) as case:
        await case.send("draw")
        return case.session.session_id


async def test_a_picture_comes_back_and_is_not_in_the_journal(store: SessionStore) -> None:
    session_id = await drawn(store)
    stored = repr(await store.load(session_id))
    assert PICTURE not in stored
    assert SMALL in stored
    async with opened([], [draw], store=store, session_id=session_id) as case:
        assert [block["data"] for block in blocks(case.session.messages)] == [PICTURE, SMALL]
        forked = await case.session.tree.fork()
    async with opened([], [draw], store=store, session_id=forked) as case:
        assert [block["data"] for block in blocks(case.session.messages)] == [PICTURE, SMALL]


async def test_a_lost_picture_is_said_to_be_unavailable_and_the_call_stays_done(
    tmp_path: Path,
) -> None:
    session_id = await drawn(JsonlStore(tmp_path))
    lose_artifact(tmp_path)
    async with opened([], [draw], store=JsonlStore(tmp_path), session_id=session_id) as case:
        lost, kept = blocks(case.session.messages)
        assert lost == {
            "type": "unavailable",
            "mime": "image/png",
            "audience": "user",
            "artifact_unavailable": True,
        }
        assert kept["data"] == SMALL
        [part] = [part for message in case.session.messages for part in message.tool_calls]
        assert part.state == "done"


class Plain:
    """A store that knows records and nothing else."""

    def __init__(self, store: SessionStore) -> None:
        for name in ("label", "is_durable", "acquire", "renew", "release", "append", "load"):
            setattr(self, name, getattr(store, name))


async def test_a_store_without_artifacts_keeps_pictures_in_its_records(tmp_path: Path) -> None:
    plain: Any = Plain(JsonlStore(tmp_path))
    session_id = await drawn(plain)
    assert PICTURE in repr(await plain.load(session_id))
    async with opened([], [draw], store=plain, session_id=session_id) as case:
        assert [block["data"] for block in blocks(case.session.messages)] == [PICTURE, SMALL]

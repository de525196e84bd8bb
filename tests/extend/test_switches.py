"""A switch of a session is kept in the user's settings, and holds in the sessions that follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent_widget import create_session
from agent_widget.core.errors import InvalidOptions, SessionError
from agent_widget.engine.settings import Switch
from agent_widget.extend.settings import user_folder
from agent_widget.extend.switches import UserSwitches
from agent_widget.surfaces.sdk import ChatSession
from agent_widget.testing.doubles import ScriptedModel

pytestmark = pytest.mark.anyio


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's settings file, which is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("APPDATA", str(tmp_path))
    return user_folder() / "settings.json"


def written(file: Path, content: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(content, "utf-8")


def content_of(file: Path) -> str | None:
    return file.read_text("utf-8") if file.exists() else None


def switches(chat: ChatSession) -> tuple[bool, bool]:
    settings = chat.driver.session.settings
    return settings.auto_compaction_enabled, settings.auto_retry_enabled


async def chat_with(**options: Any) -> ChatSession:
    return await create_session(ScriptedModel([]), **options)


async def test_a_switch_changes_the_session_and_the_settings_and_later_sessions(
    file: Path,
) -> None:
    kept = {"permission": {"rules": {"deny": ["bash(rm *)"]}}, "other": ["ä"]}
    written(file, json.dumps(kept))
    async with await chat_with() as chat:
        assert switches(chat) == (True, True)
        await chat.call(lambda s: s.settings.set_auto_compaction_enabled(False))
        await chat.call(lambda s: s.settings.set_auto_retry_enabled(False))
        assert switches(chat) == (False, False)
    off = {"auto_compaction": False, "auto_retry": False}
    assert json.loads(content_of(file) or "") == {**kept, **off}
    async with await chat_with(compaction={"context_window": 8_192}) as chat:
        assert switches(chat) == (False, False)
        await chat.call(lambda s: s.settings.set_auto_compaction_enabled(True))
        assert switches(chat) == (True, False)
    async with await chat_with(compaction=False, auto_retry=True) as chat:  # code says so
        assert switches(chat) == (False, True)


async def test_what_cannot_be_kept_changes_nothing(file: Path) -> None:
    written(file, "{ broken")
    async with await chat_with() as chat:
        with pytest.raises(SessionError) as caught:
            await chat.call(lambda s: s.settings.set_auto_retry_enabled(False))
        assert caught.value.code == "settings_not_written"
        assert switches(chat) == (True, True)
        wrong: Any = "no"
        with pytest.raises(InvalidOptions):
            await chat.call(lambda s: s.settings.set_auto_retry_enabled(wrong))
    assert content_of(file) == "{ broken"


async def test_sessions_that_read_no_settings_write_none(file: Path) -> None:
    async with await chat_with(reads_settings=False) as chat:
        await chat.call(lambda s: s.settings.set_auto_retry_enabled(False))
        assert switches(chat) == (True, False)
    assert content_of(file) is None


@pytest.mark.parametrize("name", ["auto_compaction", "auto_retry"])
def test_a_word_in_place_of_a_switch_is_told_and_not_used(tmp_path: Path, name: Switch) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({name: "off"}), "utf-8")
    found = UserSwitches(tmp_path).read()
    assert getattr(found, name) is None
    (problem,) = found.problems
    assert name in str(problem)
    UserSwitches(tmp_path).write(name, False)
    assert getattr(UserSwitches(tmp_path).read(), name) is False

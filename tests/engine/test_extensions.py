"""A host binds itself to the hooks of a session: as often as it likes, one host after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from agent_widget.core.errors import SessionError
from agent_widget.engine.extensions import ExtensionBindings
from agent_widget.engine.hooks import HookFailure, Hooks
from agent_widget.policy.hooks import python_hook
from agent_widget.testing.doubles import text
from tests.engine.support import Person, opened

pytestmark = pytest.mark.anyio


def failing(_happening: Mapping[str, Any]) -> None:
    raise RuntimeError("no such luck")


async def test_binding_twice_starts_once_and_looks_twice_one_after_the_other() -> None:
    log: list[str] = []
    hooks = Hooks([python_hook("session_start", lambda _: log.append("session_start"))])
    async with opened([], hooks=hooks) as case:
        extensions = case.session.extensions
        assert extensions.mode is None

        async def discover() -> None:
            log.append("looks")
            await asyncio.sleep(0)
            log.append("has looked")

        extensions.discover = discover
        widget = ExtensionBindings(mode="widget", attendant=Person())
        await asyncio.gather(extensions.bind(widget), extensions.bind(ExtensionBindings()))
        assert log == ["session_start", *["looks", "has looked"] * 2]
        assert extensions.mode == "widget"  # what the second one did not say stays


async def test_a_host_hears_of_hooks_that_fail_and_of_the_end_even_if_it_fails_itself() -> None:
    heard: list[HookFailure | str] = []
    hooks = Hooks([python_hook("after_run", failing)])

    def on_error(failure: HookFailure) -> None:
        heard.append(failure)
        raise RuntimeError("and the host fails, too")

    async with opened([[text("a")], [text("b")]], hooks=hooks) as case:
        bindings = ExtensionBindings(on_error=on_error, on_shutdown=lambda: heard.append("end"))
        await case.session.extensions.bind(bindings)
        assert (await case.send("one")).ok
        assert (await case.send("two")).ok
        await case.session.close()
        first, second, end = heard
        assert isinstance(first, HookFailure)
        assert (first.origin, first.event) == ("code", "after_run")
        assert "no such luck" in first.message
        assert (second, end) == (first, "end")
        assert len(case.session.view.notices) == 1  # a person is told once
        with pytest.raises(SessionError) as caught:
            await case.session.extensions.bind(ExtensionBindings())
        assert caught.value.code == "session_closed"


async def test_a_search_that_fails_is_told_by_its_code_and_the_next_one_goes_on() -> None:
    async with opened([]) as case:
        extensions, found = case.session.extensions, list[str]()

        async def broken() -> None:
            raise OSError("gone")

        async def whole() -> None:
            found.append("skills")

        extensions.discover = broken
        with pytest.raises(SessionError, match="gone") as caught:
            await extensions.bind(ExtensionBindings(mode="script"))
        assert caught.value.code == "extension.resource_discover"
        extensions.discover = whole
        await extensions.bind(ExtensionBindings())
        assert found == ["skills"]


async def test_the_loop_underneath_is_one_object_whichever_way_it_is_reached() -> None:
    async with opened([[text("a")]]) as case:
        loop = case.session.agent_loop
        assert loop is case.session.runs
        run = await case.session.send("hi")
        assert loop.active is run
        await loop.wait_for_idle()
        assert loop.active is None

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.tools import FunctionTool, register, tool
from agent_widget.tools.registry import Registry, registry_of


def alpha(x: int) -> int:
    return x


def beta() -> None: ...


def test_tools_keep_their_order_and_plain_functions_become_tools_that_ask() -> None:
    registry = register([beta, tool(read_only=True)(alpha)])
    assert registry.names == ("beta", "alpha")
    assert [made.read_only for made in registry] == [False, True]
    assert registry.warnings == ()
    assert "beta" in registry
    assert registry.get("gamma") is None


def test_of_two_tools_with_one_name_the_first_wins_and_a_warning_names_it() -> None:
    first, second = tool(alpha), tool(name="alpha")(beta)
    registry = register([first, second, second])
    assert registry.get("alpha") is first
    assert len(registry) == 1
    assert len(registry.warnings) == 2
    assert "'alpha'" in registry.warnings[0]


def test_sources_have_an_order_and_of_one_name_the_first_wins() -> None:
    mine = tool(name="zeta")(beta)
    registry = registry_of(
        builtin=[alpha],
        extension=[mine, tool(name="gamma")(beta), tool(name="alpha")(beta)],
        sdk=[beta, tool(name="zeta")(alpha)],
    )
    assert registry.names == ("alpha", "gamma", "zeta", "beta")
    assert registry.get("zeta") is mine
    assert len(registry.warnings) == 2


def test_lists_of_names_say_which_tools_there_are_and_unknown_names_are_told() -> None:
    def named(allow: list[str] | None = None, exclude: Sequence[str] = ()) -> Registry:
        return registry_of(builtin=[alpha], sdk=[beta], allow=allow, exclude=exclude)

    assert named(allow=["beta"]).names == ("beta",)
    assert named(exclude=["beta"]).names == ("alpha",)
    assert named(allow=["beta", "alpha"], exclude=["beta"]).names == ("alpha",)
    assert named(allow=[]).names == ()
    [warning] = named(exclude=["betta"]).warnings
    assert "'betta'" in warning


@pytest.mark.parametrize("names", ["alpha", 3, [3]])
def test_what_is_no_list_of_names_is_refused(names: Any) -> None:
    for option in ("allow", "exclude"):
        with pytest.raises(InvalidOptions, match="list of names"):
            registry_of(builtin=[alpha], **{option: names})


@pytest.mark.parametrize("given", ["alpha", 3, FunctionTool, None])
def test_what_is_no_tool_is_refused(given: object) -> None:
    with pytest.raises(InvalidOptions, match="not a tool"):
        register([given])  # type: ignore[list-item]

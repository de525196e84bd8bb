from __future__ import annotations

import pytest

from agent_widget.core.errors import InvalidOptions
from agent_widget.tools import FunctionTool, register, tool


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


@pytest.mark.parametrize("given", ["alpha", 3, FunctionTool, None])
def test_what_is_no_tool_is_refused(given: object) -> None:
    with pytest.raises(InvalidOptions, match="not a tool"):
        register([given])  # type: ignore[list-item]
